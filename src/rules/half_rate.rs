//! `half-rate`: a bond of two legs runs at half of what both could carry, and the legs' own bytes are not
//! readable, so that one of them doing all the work can only be suspected.
//!
//! Fires at 42 to 54 % of the bond's goodput under load. Where the legs' bytes are readable,
//! `bond-leg-imbalance` judges them instead; where the PCIe path explains the rate, nothing is said.

use super::beside::Beside;
use super::means::{OVER, Over, Rate, UnderLoad, held, latest_load, load_direction, under_load};
use super::spread;
use super::wording::{called, list, rate, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings;
use crate::timeline::Timeline;
use probes::model::{Bond, LoadOp, Rail, RailId, Topology};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["half-rate"], check };

/// One leg of two carries 50 % of the goodput less what a load leaves unused, and a little more where the
/// counted bytes hold headers.
const LEAST_SHARE: f64 = 0.42;
const MOST_SHARE: f64 = 0.54;

/// A PCIe path that carries less than this share of the bond's goodput explains the rate by itself.
const PCIE_EXPLAINS_BELOW: f64 = 0.65;

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(op) = load_direction(timeline) else {
        return Vec::new();
    };
    let beside = Beside::of(topology, timeline, |id| under_load(id, timeline, limits, op));
    topology
        .rails_with_id()
        .filter_map(|(id, _)| {
            let rail = beside.rail(id);
            let bond = rail.bond.as_ref().filter(|bond| lets_two_legs_carry(bond))?;
            let goodput = ceilings::line_goodput_gb_per_s(&timeline.local().at_path_mtu(rail))?;
            // what the PCIe path carries, or leaves for this rail of what others take too, explains the rate
            let explains = |gb: f64| gb < PCIE_EXPLAINS_BELOW * goodput;
            let path = rail.pcie.as_ref().and_then(ceilings::path_payload_gb_per_s);
            if path.is_some_and(explains) || beside.payload_share_gb_per_s(id).is_some_and(explains) {
                return None;
            }
            judge(
                id,
                &Bonded { rail, name: called(rail, &topology.rails), bond, goodput },
                op,
                timeline,
                limits,
            )
        })
        .collect()
}

/// A rail on a bond that could run at half of what its legs carry.
struct Bonded<'a> {
    rail: &'a Rail,
    /// What a sentence calls it.
    name: String,
    bond: &'a Bond,
    /// Payload that all legs carry, GB/s.
    goodput: f64,
}

fn lets_two_legs_carry(bond: &Bond) -> bool {
    bond.legs.len() == 2
        && bond.carries_rdma != Some(false)
        && bond.mode.as_deref().is_some_and(|mode| mode == "802.3ad" || mode.starts_with("balance-"))
        && bond.legs.iter().all(|leg| leg.active == Some(true))
}

fn judge(
    id: RailId,
    &Bonded { rail, ref name, bond, goodput }: &Bonded<'_>,
    op: LoadOp,
    timeline: &Timeline,
    limits: &Limits,
) -> Option<Finding> {
    if legs_are_read(id, timeline) {
        return None;
    }
    let mean = |over: Over| {
        let means = UnderLoad::of(timeline.local(), id, over);
        let long_enough = |sum: &crate::timeline::Sum| held(timeline.session(), limits, sum);
        means.rate(op, long_enough)
    };
    // of the same bytes as the rate
    let together = |rate: &Rate| goodput * rate.bytes.per_payload(rail);
    let is_half = |rate: &Rate| (LEAST_SHARE..=MOST_SHARE).contains(&(rate.gb_per_s / together(rate)));
    let now = mean(Over::Window);
    let (seen, over) = match (now.filter(is_half), now) {
        (Some(seen), _) => (seen, ""),
        (None, now) => (
            mean(Over::Session).filter(is_half)?,
            if now.is_some() { OVER } else { ", over the whole session" },
        ),
    };
    let (gb, together) = (seen.gb_per_s, together(&seen));
    let processes = timeline.local().processes().unwrap_or_default();
    let queue_pairs = spread::queue_pairs(latest_load(timeline), rail, processes);
    let moves = if op == LoadOp::Read { "reads" } else { "writes" };
    let message = format!(
        "{name} {moves} {} GB/s, {:.0} % of the {together:.1} GB/s that {} of {} could carry together (half-rate: \
         {:.0} to {:.0} %): one leg may carry everything; their own bytes are not readable{over}",
        rate(gb),
        gb / together * 100.0,
        list(bond.legs.iter().map(|leg| leg.netdev.as_str())),
        bond.netdev,
        LEAST_SHARE * 100.0,
        MOST_SHARE * 100.0,
    );
    Some(
        Finding::on_ports("half-rate", Severity::Warning, [rail], message)
            .with("rate_gb_per_s", rounded(gb))
            .with("line_gb_per_s", rounded(together))
            .with("share", rounded(gb / together))
            .with("limit_least_share", LEAST_SHARE)
            .with("limit_most_share", MOST_SHARE)
            .with("direction", if op == LoadOp::Read { "read" } else { "write" })
            .with("queue_pairs", queue_pairs)
            .advise(advice(rail, bond, op, queue_pairs)),
    )
}

fn advice(rail: &Rail, bond: &Bond, op: LoadOp, queue_pairs: Option<u32>) -> String {
    let readable = format!(
        "make the legs' bytes readable (`ethtool -S {}` must show rx_vport_rdma_unicast_bytes)",
        bond.legs[0].netdev
    );
    let alone = if queue_pairs.is_some_and(|count| spread::is_enough(bond, count)) {
        format!(
            ", or load each leg alone (`railscope load PEER --rails {} --leg 1`, then `--leg 2`)",
            rail.device
        )
    } else {
        String::new()
    };
    format!("{readable}{alone}; {}", spread::advice(bond, op, queue_pairs))
}

/// Whether the bytes of every leg were read at any time: only then can `bond-leg-imbalance` judge them.
fn legs_are_read(id: RailId, timeline: &Timeline) -> bool {
    let sums = timeline.local().sums().rails.get(id.0);
    sums.is_some_and(|sums| {
        !sums.legs.is_empty() && sums.legs.iter().all(|leg| leg.rx.count + leg.tx.count > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, bonded, described, found, hop, named, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Hop, Load, LoadOp, Rail};

    fn at(rail: Rail, traffic: &Traffic) -> Vec<Finding> {
        found(&RULE, &two_sockets(vec![rail]), traffic)
    }

    #[test]
    fn half_of_a_bond_without_leg_bytes_is_suspicious() {
        let found = at(bonded("mlx5_bond_3"), &Traffic::loaded(&[25.1]));
        assert_eq!(named(&found), ["half-rate mlx5_bond_3"]);
        assert_eq!(
            found[0].message,
            "mlx5_bond_3 reads 25.1 GB/s, 50 % of the 49.7 GB/s that eth0 and eth1 of bond1 could carry together \
             (half-rate: 42 to 54 %): one leg may carry everything; their own bytes are not readable"
        );
        assert_eq!(found[0].evidence["share"], 0.505);
    }

    #[test]
    fn a_load_with_queue_pairs_enough_is_told_to_look_at_their_legs() {
        let advice = |qps| {
            let load = Some(Load { qps: Some(qps), ..described(LoadOp::Read) });
            at(bonded("mlx5_bond_3"), &Traffic { load, ..Traffic::loaded(&[25.1]) }).remove(0).advice
        };
        assert!(advice(2).contains("; use at least 4 queue pairs a leg (it has 2 for all)"), "{}", advice(2));
        let many = advice(16);
        assert!(!many.contains("at least") && many.contains("--rails mlx5_bond_3 --leg 1`"), "{many}");
    }

    #[test]
    fn other_rates_single_ports_and_idle_bonds_are_not() {
        for gb in [49.0, 35.0, 12.0, 0.0] {
            assert_eq!(
                named(&at(bonded("mlx5_bond_3"), &Traffic::loaded(&[gb]))),
                Vec::<String>::new(),
                "{gb}"
            );
        }
        let idle = Traffic { load: None, ..Traffic::loaded(&[25.1]) };
        assert_eq!(named(&at(bonded("mlx5_bond_3"), &idle)), Vec::<String>::new());
        let mut backup = bonded("mlx5_bond_3");
        backup.bond.as_mut().unwrap().mode = Some("active-backup".into());
        assert_eq!(named(&at(backup, &Traffic::loaded(&[25.1]))), Vec::<String>::new());
    }

    #[test]
    fn half_is_half_of_what_goes_at_the_path_mtu_of_the_load() {
        // of 49.0 GB/s at 4096 bytes 37.9 are left at 256
        let load = |path_mtu| Some(Load { path_mtu, ..described(LoadOp::Read) });
        let at_half = |path_mtu, gb| {
            let traffic = Traffic { load: load(path_mtu), ..Traffic::loaded(&[gb]) };
            at(bonded("mlx5_bond_3"), &traffic).len()
        };
        assert_eq!((at_half(None, 19.4), at_half(Some(256), 19.4)), (0, 1));
        assert_eq!((at_half(None, 25.1), at_half(Some(256), 25.1)), (1, 0));
    }

    #[test]
    fn a_load_that_was_kept_to_one_leg_is_at_half_by_request() {
        let load = Some(Load { leg: Some(2), ..described(LoadOp::Read) });
        let kept = Traffic { load, ..Traffic::loaded(&[25.1]) };
        assert_eq!(named(&at(bonded("mlx5_bond_3"), &kept)), Vec::<String>::new());
    }

    #[test]
    fn readable_legs_and_a_narrow_slot_leave_nothing_to_suspect() {
        let legs = Traffic { legs_rx_gb_per_s: vec![12.5, 12.6], ..Traffic::loaded(&[25.1]) };
        assert_eq!(named(&at(bonded("mlx5_bond_3"), &legs)), Vec::<String>::new());
        // two bonds behind one Gen5 x16 have 28.8 GB/s of it each
        let behind_one = ["mlx5_bond_3", "mlx5_bond_4"].map(|device| {
            let mut bond = bonded(device);
            let own = hop(if device.ends_with('3') { "0000:41:00.0" } else { "0000:5d:00.0" }, 32.0, 16);
            let uplink = Hop { upstream: Some("0000:15:01.0".into()), ..hop("0000:16:00.0", 32.0, 16) };
            bond.pcie.as_mut().unwrap().hops = vec![own, uplink];
            bond
        });
        let rates = Traffic::loaded(&[26.0, 26.0]);
        assert_eq!(named(&found(&RULE, &two_sockets(behind_one.to_vec()), &rates)), Vec::<String>::new());
        let mut narrow = bonded("mlx5_bond_3");
        narrow.pcie.as_mut().unwrap().hops = vec![hop("0000:41:00.0", 32.0, 8)];
        assert_eq!(named(&at(narrow, &Traffic::loaded(&[25.1]))), Vec::<String>::new());
    }
}
