//! What the points of a sweep amount to, in words that are computed.

use super::row::Point;
use super::saved::Sweep;
use crate::settings::Size;

/// Rates this near to each other are one plateau.
const FLAT: f64 = 0.05;
/// Fewer points in a row are no plateau.
const FEWEST_FLAT: usize = 3;
/// A point this far below both of its neighbours is a dip, seven times what repeated runs differ by.
const DIP: f64 = 0.07;
/// Messages and bytes are read one after the other; beyond this they contradict each other.
const INCONSISTENT: f64 = 0.01;

/// One curve: what was asked for, and its rates by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Queue pairs per rail.
    pub qps: u32,
    /// Threads per rail.
    pub workers: u32,
    /// What it is called: `4 QPs`, or `4 QPs, 2 workers` where threads differ too.
    pub name: String,
    /// Size in bytes and Gb/s, sizes rising; points without a rate, and those with a failed rail or a restart, are left out.
    pub rates: Vec<(u64, f64)>,
}

/// All curves of a sweep that have points.
#[must_use]
pub fn curves(sweep: &Sweep) -> Vec<Curve> {
    let mut curves = Vec::new();
    for &workers in &sweep.grid.workers {
        for &qps in &sweep.grid.qps {
            let points = sweep.curve(qps, workers);
            let rate = |point: &&Point| Some((point.spot.size_bytes, point.good_gbit_per_s()?));
            let rates: Vec<_> = points.iter().filter_map(rate).collect();
            let mut name = if qps == 1 { "1 QP".to_owned() } else { format!("{qps} QPs") };
            if sweep.grid.workers.len() > 1 {
                name = format!("{name}, {workers} worker{}", if workers == 1 { "" } else { "s" });
            }
            if !rates.is_empty() {
                curves.push(Curve { qps, workers, name, rates });
            }
        }
    }
    curves
}

/// What the points amount to, a line each.
#[must_use]
pub fn statements(sweep: &Sweep) -> Vec<String> {
    let curves = curves(sweep);
    let mut lines: Vec<String> = curves.iter().flat_map(shape).collect();
    for &workers in &sweep.grid.workers {
        let of: Vec<&Curve> = curves.iter().filter(|curve| curve.workers == workers).collect();
        lines.extend(of.iter().skip(1).filter_map(|curve| difference(of.first()?, curve)));
    }
    for &qps in &sweep.grid.qps {
        let of: Vec<&Curve> = curves.iter().filter(|curve| curve.qps == qps).collect();
        lines.extend(of.iter().skip(1).filter_map(|curve| difference(of.first()?, curve)));
    }
    lines.extend(consistency(sweep));
    lines.push(moderation(sweep));
    lines
}

/// Peak, lowest point, dips and plateau of one curve.
fn shape(curve: &Curve) -> Vec<String> {
    let Curve { name, rates, .. } = curve;
    let by_rate = |a: &&(u64, f64), b: &&(u64, f64)| a.1.total_cmp(&b.1);
    let (Some(peak), Some(trough)) = (rates.iter().max_by(by_rate), rates.iter().min_by(by_rate)) else {
        return Vec::new();
    };
    let at = |(size, rate): (u64, f64)| format!("{rate:.2} Gb/s at {}", Size(size));
    if rates.len() < 2 {
        return vec![format!("{name}: {}, the only point", at(*peak))];
    }
    let spread = 100.0 * (peak.1 - trough.1) / peak.1;
    let mut lines =
        vec![format!("{name}: peak {}, trough {} ({spread:.1} % below the peak)", at(*peak), at(*trough))];
    for three in rates.windows(3) {
        let (left, here, right) = (three[0].1, three[1].1, three[2].1);
        let below = 1.0 - here / left.min(right);
        if below > DIP {
            lines.push(format!(
                "{name}: a dip at {}: {:.1} % below both neighbours",
                Size(three[1].0),
                100.0 * below
            ));
        }
    }
    if let Some(flat) = plateau(rates) {
        let lowest = flat.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
        let highest = flat.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let mean = flat.iter().map(|(_, rate)| rate).sum::<f64>() / flat.len() as f64;
        lines.push(format!(
            "{name}: flat from {} on, at {mean:.2} Gb/s, spread {:.1} % over {} sizes",
            Size(flat[0].0),
            100.0 * (highest - lowest) / mean,
            flat.len()
        ));
    } else if rates.len() >= FEWEST_FLAT {
        let last = Size(rates.last().map_or(0, |(size, _)| *size));
        let flat = 100.0 * FLAT;
        lines.push(format!(
            "{name}: not flat up to {last}: no {FEWEST_FLAT} sizes at its end within {flat:.0} %"
        ));
    }
    lines
}

/// The longest end of the curve whose rates lie within [`FLAT`] of their highest; `None` if it is too short.
fn plateau(rates: &[(u64, f64)]) -> Option<&[(u64, f64)]> {
    let is_flat = |end: &[(u64, f64)]| {
        let highest = end.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        end.iter().all(|(_, rate)| *rate >= (1.0 - FLAT) * highest)
    };
    let ends = (0..rates.len()).map(|from| &rates[from..]).filter(|end| end.len() >= FEWEST_FLAT);
    ends.into_iter().find(|end| is_flat(end))
}

/// One curve against another at every size both have.
fn difference(base: &Curve, other: &Curve) -> Option<String> {
    let both = other.rates.iter().filter_map(|(size, rate)| {
        let (_, before) = base.rates.iter().find(|(of, before)| of == size && *before > 0.0)?;
        Some((*size, 100.0 * (rate / before - 1.0)))
    });
    let both: Vec<(u64, f64)> = both.collect();
    let (size, most) = both.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    let each: Vec<String> =
        both.iter().map(|(size, percent)| format!("{} {}", Size(*size), signed(*percent))).collect();
    Some(format!(
        "{} against {}, in %: {}; the most {} % at {}",
        other.name,
        base.name,
        each.join(", "),
        signed(*most),
        Size(*size)
    ))
}

/// `+1.2`; what rounds to nothing is `+0.0`, never `-0.0`.
fn signed(percent: f64) -> String {
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    format!("{percent:+.1}")
}

/// Whether messages and bytes tell the same.
fn consistency(sweep: &Sweep) -> Option<String> {
    let off = |point: &Point| {
        let (gbit, mpps) = (point.good_gbit_per_s()?, point.all.mpps.filter(|mpps| *mpps > 0.0)?);
        let from_messages = mpps * 8.0 * point.spot.size_bytes as f64 / 1e3;
        Some((gbit / from_messages - 1.0).abs())
    };
    let all: Vec<f64> = sweep.points.iter().filter_map(off).collect();
    let most = all.iter().copied().reduce(f64::max)?;
    let verdict = if most <= INCONSISTENT { "agrees with" } else { "CONTRADICTS" };
    Some(format!(
        "Mpps x 8 x size {verdict} Gb/s at {} point{} (largest difference {:.2} %)",
        all.len(),
        if all.len() == 1 { "" } else { "s" },
        100.0 * most
    ))
}

/// Completion moderation, which makes curves of other tools bend where nothing else changes.
fn moderation(sweep: &Sweep) -> String {
    let (chain, signal) = sweep.params.chain_and_signal();
    let every = if signal == 1 { "every request".to_owned() } else { format!("every {signal} requests") };
    format!(
        "Completion moderation is the same at every size: one completion is asked for {every}, chains \
         are {chain} long. perftest changes its own above 8 KiB, from 100 to 1, unless -Q is given"
    )
}

#[cfg(test)]
mod tests {
    use super::{Curve, consistency, curves, difference, moderation, plateau, shape, signed, statements};
    use crate::sweep::grid::Grid;
    use crate::sweep::row::Point;
    use crate::sweep::saved::Sweep;
    use probes::load::Params;

    /// The eight sizes of a published sweep with one and with four queue pairs, in Gb/s.
    const ONE: [f64; 8] = [50.2, 63.0, 77.68, 63.9, 50.0, 51.0, 51.5, 51.6];
    const FOUR: [f64; 8] = [52.46, 52.4, 52.39, 51.0, 50.1, 51.2, 51.5, 51.55];

    fn sweep() -> Sweep {
        let sizes = "1K,2K,4K,8K,16K,64K,256K,1M".parse().unwrap();
        let mut sweep = Sweep::new(Params::default(), 15.0, Grid::new(&sizes, &[1, 4], &[1]).unwrap());
        for spot in sweep.grid.spots() {
            let at = sweep.grid.sizes_bytes.iter().position(|size| *size == spot.size_bytes).unwrap();
            let mut point = Point { spot, ..Point::default() };
            let rate = if spot.qps == 1 { ONE[at] } else { FOUR[at] };
            point.all.gbit_per_s = Some(rate);
            point.all.mpps = Some(rate * 1e3 / 8.0 / spot.size_bytes as f64);
            sweep.add(point);
        }
        sweep
    }

    #[test]
    fn peak_trough_plateau_and_differences_are_stated_with_their_places() {
        let lines = statements(&sweep());
        let expected = [
            "1 QP: peak 77.68 Gb/s at 4K, trough 50.00 Gb/s at 16K (35.6 % below the peak)",
            "1 QP: flat from 16K on, at 51.02 Gb/s, spread 3.1 % over 4 sizes",
            "4 QPs: peak 52.46 Gb/s at 1K, trough 50.10 Gb/s at 16K (4.5 % below the peak)",
            "4 QPs: flat from 1K on, at 51.58 Gb/s, spread 4.6 % over 8 sizes",
            "4 QPs against 1 QP, in %: 1K +4.5, 2K -16.8, 4K -32.6, 8K -20.2, 16K +0.2, 64K +0.4, 256K +0.0, 1M -0.1; \
             the most -32.6 % at 4K",
            "Mpps x 8 x size agrees with Gb/s at 16 points (largest difference 0.00 %)",
        ];
        assert_eq!(lines[..expected.len()], expected);
        assert!(
            lines[expected.len()].starts_with("Completion moderation is the same at every size"),
            "{lines:?}"
        );
        assert_eq!(lines.len(), expected.len() + 1);
    }

    #[test]
    fn a_point_below_both_neighbours_is_a_dip() {
        let curve = |rates: &[f64]| Curve {
            qps: 1,
            workers: 1,
            name: "1 QP".to_owned(),
            rates: rates.iter().enumerate().map(|(at, rate)| (1024 << at, *rate)).collect(),
        };
        let lines = shape(&curve(&[40.0, 30.0, 45.0, 48.0]));
        assert_eq!(lines[1], "1 QP: a dip at 2K: 25.0 % below both neighbours");
        assert_eq!(lines[2], "1 QP: not flat up to 8K: no 3 sizes at its end within 5 %");
        assert_eq!(shape(&curve(&[40.0])), ["1 QP: 40.00 Gb/s at 1K, the only point"]);
        assert_eq!(shape(&curve(&[])), Vec::<String>::new());
    }

    #[test]
    fn two_sizes_are_said_to_be_neither_flat_nor_not() {
        let curve =
            Curve { qps: 1, workers: 1, name: "1 QP".to_owned(), rates: vec![(1024, 40.0), (2048, 41.0)] };
        assert_eq!(shape(&curve).len(), 1, "{:?}", shape(&curve));
    }

    #[test]
    fn a_point_that_failed_is_no_trough() {
        let mut odd = sweep();
        odd.points[4].left_out = Some("mlx5_0 failed".to_owned());
        let lines = statements(&odd);
        assert!(lines[0].contains("trough 50.20 Gb/s at 1K"), "{lines:?}");
        for point in &mut odd.points {
            point.all.gbit_per_s = None;
        }
        assert!(!statements(&odd).iter().any(|line| line.contains("NaN") || line.contains("peak")));
    }

    #[test]
    fn what_rounds_to_nothing_has_no_minus_and_one_request_is_one() {
        assert_eq!([signed(-0.01), signed(0.0), signed(-0.06)], ["+0.0", "+0.0", "-0.1"]);
        let params = Params { cq_mod: Some(1), chain: Some(1), ..Params::default() };
        let said = moderation(&Sweep { params, ..Sweep::default() });
        assert!(said.contains("asked for every request, chains"), "{said}");
    }

    #[test]
    fn two_points_are_no_plateau() {
        assert_eq!(plateau(&[(1, 50.0), (2, 50.0)]), None);
        assert_eq!(plateau(&[(1, 10.0), (2, 50.0), (4, 50.0), (8, 49.0)]).map(<[_]>::len), Some(3));
    }

    #[test]
    fn only_sizes_that_both_curves_have_are_compared() {
        let mut short = sweep();
        short.points.retain(|point| point.spot.qps == 4 || point.spot.size_bytes == 4096);
        let curves = curves(&short);
        let said = difference(&curves[0], &curves[1]).unwrap();
        assert_eq!(said, "4 QPs against 1 QP, in %: 4K -32.6; the most -32.6 % at 4K");
    }

    #[test]
    fn messages_that_do_not_make_the_bytes_are_said() {
        let mut odd = sweep();
        odd.points[3].all.mpps = odd.points[3].all.mpps.map(|mpps| mpps * 1.5);
        let said = consistency(&odd).unwrap();
        assert_eq!(said, "Mpps x 8 x size CONTRADICTS Gb/s at 16 points (largest difference 33.33 %)");
        assert_eq!(consistency(&Sweep::default()), None);
    }
}
