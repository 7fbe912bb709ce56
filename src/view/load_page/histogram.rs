//! How long operations took, as bars: one for each doubling of the time.

use crate::app::App;
use crate::view::page::Page;
use probes::model::Latencies;
use ratatui::text::Span;

/// Cells of the longest bar.
const LONGEST: usize = 40;

/// Draws the bars that hold something, and those between them.
pub fn draw(app: &App, page: &mut Page) {
    let mut all = Latencies::default();
    for rail in &app.with_load().local().sums().rails {
        all.add(&rail.latency);
    }
    let counts = octaves(&all);
    let (Some(first), Some(last)) =
        (counts.iter().position(|count| *count > 0), counts.iter().rposition(|count| *count > 0))
    else {
        return;
    };
    let theme = page.theme();
    let total: u64 = counts.iter().sum();
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let full = theme.pick("█", "#");
    for (octave, count) in counts.iter().enumerate().take(last + 1).skip(first) {
        let share = *count as f64 / total as f64 * 100.0;
        let cells = usize::try_from(u128::from(*count) * LONGEST as u128 / u128::from(most)).unwrap_or(0);
        // what happened is seen, however seldom
        let cells = cells.max(usize::from(*count > 0));
        let percent = if *count > 0 && share < 0.01 { "<0.01%".to_owned() } else { format!("{share:.2}%") };
        page.line(vec![
            Span::styled(
                format!("{:>9} ", format!("< {}", time(octave, theme.pick("µs", "us")))),
                theme.dim(),
            ),
            Span::styled(format!("{percent:>7} "), theme.plain()),
            Span::styled(full.repeat(cells), theme.good()),
        ]);
    }
}

/// Counts by the power of two below which the nanoseconds lie.
fn octaves(all: &Latencies) -> Vec<u64> {
    let mut counts = vec![0_u64; 64];
    for (bucket, count) in all.counts() {
        let middle = Latencies::middle_ns(bucket);
        let octave = (0..63).find(|octave| middle < 2_f64.powi(*octave)).unwrap_or(63);
        let at = usize::try_from(octave).unwrap_or(0);
        counts[at] = counts[at].saturating_add(count);
    }
    counts
}

/// Upper end of an octave: `512 ns`, `4.1 µs`, `67 ms`.
fn time(octave: usize, us: &str) -> String {
    let ns = 2_f64.powi(i32::try_from(octave).unwrap_or(0));
    let (number, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, us),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    if number < 10.0 { format!("{number:.1} {unit}") } else { format!("{number:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::{octaves, time};
    use probes::model::Latencies;

    #[test]
    fn a_doubling_of_time_is_a_bar() {
        let counts = octaves(&Latencies::from_counts([
            (Latencies::bucket(41_000), 97),
            (Latencies::bucket(70_000), 2),
            (Latencies::bucket(90_000), 1),
        ]));
        let bars: Vec<_> = counts.iter().enumerate().filter(|(_, count)| **count > 0).collect();
        assert_eq!(bars, [(16, &97), (17, &3)]);
        assert_eq!(
            [9, 12, 16, 26, 31].map(|octave| time(octave, "us")),
            ["512 ns", "4.1 us", "66 us", "67 ms", "2.1 s"]
        );
    }
}
