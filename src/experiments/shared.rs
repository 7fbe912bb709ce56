//! Rails that stop at one limit together.
//!
//! A rail that does less beside others than alone, whether or not it does well alone, meets a limit that it has in common with some of them. Where a PCIe
//! link or the memory of this host is that limit, the table of each rail says so. What is left lies beyond this host: an
//! uplink of a switch, the peer. It is one fact about several rails, and is told once. Those rails are loaded together
//! without the others: where they stop at the same sum, the limit is their own; where each does as well as alone, the
//! others are part of it.

use super::Seen;
use super::diagnosis::RailDiagnosis;
use super::far::{FarLink, FarRail};
use super::plan::Kind;
use super::rounds::{Compared, Rates};
use super::slow::slow_rails;
use crate::rules::{Limits, rate};
use probes::model::Topology;
use serde::Serialize;

/// Causes that say of a rail no more than that it is held back beyond this host's PCIe and memory.
const BEYOND: [&str; 4] = ["slow-unexplained", "ecn-cnp", "rx-pause", "retransmit"];
/// A link that carries this share of its payload rate is full, as in `hypotheses/shared_link.rs`.
const FULL: f64 = 0.80;
/// A sum that grows by less without the other rails is the same.
const SAME_SUM: f64 = 0.10;

/// A limit that several rails have in common, beyond this host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedLimit {
    /// Its rails.
    pub devices: Vec<String>,
    /// What they bring together, GB/s.
    pub together_gb_per_s: f64,
    /// The least and the most that one of them brings alone, GB/s.
    pub alone_gb_per_s: [f64; 2],
    /// What the loads showed, in words.
    pub because: String,
    /// The cause that was found on each of them.
    pub cause: &'static str,
}

/// Slow rails that do worse beside all than alone, in their order.
pub(super) fn dropping(topology: &Topology, limits: &Limits, seen: &[Seen]) -> Vec<String> {
    let drops = |device: &String| {
        let rates = |kind| Rates::of(seen, kind, device);
        matches!((rates(&Kind::Alone), rates(&Kind::Together)),
            (Ok(alone), Ok(together)) if together.beside(&alone) == Compared::Less)
    };
    slow_rails(topology, limits, seen).into_iter().filter(drops).collect()
}

/// Limits beyond this host that were met by several rails at once.
#[must_use]
pub fn shared_limits(
    topology: &Topology,
    limits: &Limits,
    seen: &[Seen],
    rails: &[RailDiagnosis],
) -> Vec<SharedLimit> {
    let dropping = dropping(topology, limits, seen);
    let found = BEYOND.into_iter().filter_map(|cause| {
        let of_cause =
            |device: &&String| rails.iter().any(|rail| rail.device == **device && rail.cause == Some(cause));
        let devices: Vec<String> = dropping.iter().filter(of_cause).cloned().collect();
        limit_of(seen, devices, cause)
    });
    found.collect()
}

fn limit_of(seen: &[Seen], mut devices: Vec<String>, cause: &'static str) -> Option<SharedLimit> {
    let mean = |kind: &Kind, device: &String| Rates::of(seen, kind, device).ok().map(|rates| rates.mean());
    let sum = |kind: &Kind, devices: &[String]| {
        devices.iter().map(|device| mean(kind, device)).sum::<Option<f64>>()
    };
    // one that does as well without the others is not held back by these
    let is_freed = |device: &String| {
        let rates = |kind| Rates::of(seen, kind, device).ok();
        rates(&Kind::Dropping)
            .zip(rates(&Kind::Alone))
            .is_some_and(|(without, alone)| without.beside(&alone) != Compared::Less)
    };
    let are_all_freed = devices.iter().all(is_freed);
    if !are_all_freed {
        devices.retain(|device| !is_freed(device));
    }
    if devices.len() < 2 {
        return None;
    }
    let beside_all = sum(&Kind::Together, &devices)?;
    let without = sum(&Kind::Dropping, &devices).filter(|_| !are_all_freed);
    let alone: Vec<f64> = devices.iter().filter_map(|device| mean(&Kind::Alone, device)).collect();
    let (least, most) = (alone.iter().copied().reduce(f64::min)?, alone.iter().copied().reduce(f64::max)?);
    let others = match (without, are_all_freed) {
        (_, true) if mean(&Kind::Dropping, &devices[0]).is_some() => {
            "; without the other rails each does as well as alone, so those are part of it".to_owned()
        }
        (Some(without), _) if without <= (1.0 + SAME_SUM) * beside_all => {
            format!("; without the other rails they stop at {}, so the limit is theirs", rate(without))
        }
        (Some(without), _) => format!("; without the other rails they bring {}", rate(without)),
        _ => String::new(),
    };
    let each = if most - least < 0.05 * most {
        format!("each alone brings {}", rate(most))
    } else {
        format!("each alone brings {} to {}", rate(least), rate(most))
    };
    let there = link_there(seen, &devices, beside_all).unwrap_or_default();
    Some(SharedLimit {
        because: format!("together they stop at {} GB/s; {each}{others}{there}", rate(beside_all)),
        together_gb_per_s: beside_all,
        alone_gb_per_s: [least, most],
        devices,
        cause,
    })
}

/// The PCIe link that their rails at the other end have in common and that is full then, in words.
fn link_there(seen: &[Seen], devices: &[String], together_gb_per_s: f64) -> Option<String> {
    let far = |device: &String| seen.iter().find_map(|seen| seen.of(device)?.far.as_ref());
    let rails: Option<Vec<&FarRail>> = devices.iter().map(far).collect();
    let (first, others) = rails.as_deref()?.split_first()?;
    let is_common = |link: &&FarLink| {
        others.iter().all(|other| other.links.iter().any(|of_other| of_other.link == link.link))
    };
    let is_full = |link: &&FarLink| together_gb_per_s >= FULL * link.carries_gb_per_s;
    let link = first.links.iter().filter(is_common).find(is_full)?;
    Some(format!(
        "; on {} all of them hang on one PCIe link ({}), which carries {} GB/s: that is the limit",
        first.host(),
        link.address,
        rate(link.carries_gb_per_s)
    ))
}

#[cfg(test)]
mod tests {
    use super::{SharedLimit, shared_limits};
    use crate::experiments::plan::Kind;
    use crate::experiments::testing::{Host, four_rails};
    use crate::rules::Limits;

    /// Limits on four rails of which the first three stop at 60 GB/s whenever `is_met` says so of how many are loaded.
    fn limits(is_met: fn(&Kind, usize) -> bool) -> Vec<SharedLimit> {
        let host = Host::of(four_rails(), |step, device| {
            let beyond = device != "mlx5_3" && is_met(&step.kind, step.rails.len());
            Some(if beyond { 20.0 } else { 48.0 })
        });
        let (seen, rails) = host.diagnose();
        shared_limits(&host.topology, &Limits::default(), &seen, &rails)
    }

    #[test]
    fn rails_that_stop_together_beyond_the_host_are_told_once() {
        let found = limits(|_, count| count > 1);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].devices, ["mlx5_0", "mlx5_1", "mlx5_2"]);
        assert_eq!(
            found[0].because,
            "together they stop at 60.0 GB/s; each alone brings 48.0; without the other rails they stop at 60.0, so the limit is theirs"
        );
    }

    #[test]
    fn where_they_do_well_without_the_others_those_are_part_of_the_limit() {
        let found = limits(|kind, _| *kind == Kind::Together);
        assert!(found[0].because.ends_with("so those are part of it"), "{}", found[0].because);
    }

    #[test]
    fn rails_that_are_as_slow_alone_share_no_limit() {
        assert_eq!(limits(|_, _| true), []);
    }

    #[test]
    fn a_rail_that_is_slow_alone_too_shares_the_limit_that_it_meets_beside_others() {
        let host = Host::of(four_rails(), |step, device| match device {
            "mlx5_3" => Some(48.0),
            _ if step.rails.len() > 1 => Some(15.0),
            "mlx5_0" => Some(30.0),
            _ => Some(48.0),
        });
        let (seen, rails) = host.diagnose();
        let found = shared_limits(&host.topology, &Limits::default(), &seen, &rails);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].devices, ["mlx5_0", "mlx5_1", "mlx5_2"]);
        assert!(found[0].because.contains("each alone brings 30.0 to 48.0;"), "{}", found[0].because);
    }
}
