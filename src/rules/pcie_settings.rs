//! `mrrs`, `relaxed-ordering`: settings of the card's own function that cost bandwidth.
//!
//! `mrrs`: the card reads host memory in requests of at most `MaxReadReq` (PCI Express Base Specification 5.0,
//! 7.5.3.4); a fast card needs the largest, 4096 bytes, to keep enough data under way. Fires below 4096 on a port
//! of 100 Gb/s or more. `relaxed-ordering`: data that arrive are written to host memory in strict order, which
//! some memory controllers do slowly. Fires where it is off, by the load or by the function's control register,
//! while a READ load (this host's memory is written) leaves the rail below 70 % of its lowest ceiling. Virtual
//! functions have neither setting of their own.

use super::beside::Beside;
use super::means::{latest_load, under_this_load};
use super::wording::{called, devices, list, rate, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{LoadOp, Rail, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["mrrs", "relaxed-ordering"], check };

const LARGEST_READ_REQUEST: u32 = 4096;
/// From this rate on the size of read requests matters.
const FAST_GBIT_PER_S: f64 = 100.0;

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let mut found = small_read_requests(topology, timeline);
    found.extend(strict_ordering(topology, timeline, limits));
    found
}

fn small_read_requests(topology: &Topology, timeline: &Timeline) -> Vec<Finding> {
    let mut alike: BTreeMap<u32, Vec<Rail>> = BTreeMap::new();
    for (id, rail) in
        topology.rails_with_id().filter(|(_, rail)| rail.is_vf != Some(true) && !rail.is_software())
    {
        let rail = timeline.local().last_seen(id, rail);
        let bytes = rail.pcie.as_ref().and_then(|path| path.max_read_request_bytes);
        let fast = rail.line_gbit_per_s.is_some_and(|line| line >= FAST_GBIT_PER_S);
        if let Some(bytes) = bytes.filter(|bytes| fast && *bytes < LARGEST_READ_REQUEST) {
            alike.entry(bytes).or_default().push(rail);
        }
    }
    alike
        .into_iter()
        .map(|(bytes, rails)| {
            let names = devices(&rails);
            let addresses: BTreeSet<&String> =
                rails.iter().filter_map(|rail| Some(&rail.pcie.as_ref()?.address)).collect();
            // the top three bits of Device Control are the size: 5 is 4096
            let commands: Vec<String> =
                addresses.iter().map(|address| format!("`setpci -s {address} CAP_EXP+8.w=5000:7000`")).collect();
            let message = format!(
                "{}: MaxReadReq is {bytes} bytes (limit {LARGEST_READ_REQUEST}): {} host memory in small pieces, \
                 which costs bandwidth on what this host sends",
                list(names.iter().copied()),
                verb(names.len(), "the card reads", "the cards read"),
            );
            Finding::new("mrrs", Severity::Warning, names, message)
                .with("max_read_request_bytes", bytes)
                .with("limit_bytes", LARGEST_READ_REQUEST)
                .advise(format!(
                    "as root: {}; lasting: the BIOS's setting of PCIe MaxReadReq, or a boot script",
                    commands.join(", ")
                ))
        })
        .collect()
}

fn strict_ordering(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(load) = latest_load(timeline).filter(|load| load.op == LoadOp::Read) else {
        return Vec::new();
    };
    let beside = Beside::of(topology, timeline, |id| under_this_load(id, timeline, limits, load));
    let mut found = Vec::new();
    for (id, _) in topology.rails_with_id().filter(|(_, rail)| load.drives(&rail.device)) {
        let rail = beside.rail(id);
        let by_card = rail.pcie.as_ref().is_some_and(|path| path.relaxed_ordering == Some(false));
        let by_load = load.relaxed_ordering == Some(false);
        if !(by_card || by_load) || rail.is_software() {
            continue;
        }
        let (Some(gb), Some(ceiling)) = (beside.rate_gb_per_s(id), beside.could_gb_per_s(id, timeline))
        else {
            continue;
        };
        if gb >= limits.far_below_share * ceiling {
            continue;
        }
        let (off, advice) = if by_card {
            let address = rail.pcie.as_ref().map_or("", |path| path.address.as_str());
            let command = format!("`setpci -s {address} CAP_EXP+8.w=10:10` (root)");
            ("in the card's PCIe control register", format!("allow it: {command}"))
        } else {
            (
                "by the load",
                "register the memory with IBV_ACCESS_RELAXED_ORDERING (perftest does unless told \
                 `--disable_pcie_relaxed`; NCCL: `NCCL_IB_PCI_RELAXED_ORDERING=1`)"
                    .to_owned(),
            )
        };
        let message = format!(
            "{}: relaxed ordering is off, {off}, and what it reads arrives with {} of {ceiling:.1} GB/s (limit \
             {:.0} %): strictly ordered writes to memory can be the reason",
            called(rail, &topology.rails),
            rate(gb),
            limits.far_below_share * 100.0,
        );
        found.push(
            Finding::on_ports("relaxed-ordering", Severity::Warning, [rail], message)
                .with("relaxed_ordering", false)
                .with("off_by", if by_card { "card" } else { "load" })
                .with("rate_gb_per_s", rounded(gb))
                .with("ceiling_gb_per_s", rounded(ceiling))
                .with("limit_share_of_ceiling", limits.far_below_share)
                .advise(advice),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, described, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Load, LoadOp, Rail};

    fn reading(device: &str, bytes: u32) -> Rail {
        let mut rail = rail(device);
        rail.pcie.as_mut().unwrap().max_read_request_bytes = Some(bytes);
        rail
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn small_read_requests_of_fast_cards_are_named_with_the_command_that_mends_them() {
        let found = findings(vec![reading("mlx5_0", 512), reading("mlx5_1", 4096), rail("mlx5_2")]);
        assert_eq!(named(&found), ["mrrs mlx5_0"]);
        assert!(found[0].advice.contains("`setpci -s 0000:41:00.0 CAP_EXP+8.w=5000:7000`"), "{found:?}");
    }

    #[test]
    fn slow_ports_ports_without_link_and_virtual_functions_are_left_alone() {
        let slow = Rail { line_gbit_per_s: Some(40.0), ..reading("mlx4_0", 512) };
        let down = Rail { state: Some("DOWN".into()), ..reading("mlx5_1", 512) };
        let vf = Rail { is_vf: Some(true), ..reading("mlx5_2", 128) };
        assert_eq!(named(&findings(vec![slow, down, vf])), Vec::<String>::new());
    }

    fn ordered(by_card: Option<bool>, by_load: Option<bool>, op: LoadOp, rate: f64) -> Vec<String> {
        let mut rail = rail("mlx5_0");
        rail.pcie.as_mut().unwrap().relaxed_ordering = by_card;
        let load = Load { relaxed_ordering: by_load, ..described(op) };
        let traffic = Traffic { load: Some(load), ..Traffic::loaded(&[rate]) };
        named(&found(&RULE, &two_sockets(vec![rail]), &traffic))
    }

    #[test]
    fn strict_ordering_is_named_where_memory_is_written_slowly() {
        assert_eq!(ordered(None, Some(false), LoadOp::Read, 16.0), ["relaxed-ordering mlx5_0"]);
        assert_eq!(ordered(Some(false), Some(true), LoadOp::Read, 16.0), ["relaxed-ordering mlx5_0"]);
    }

    #[test]
    fn a_fast_rail_a_write_and_ordering_that_is_on_or_unknown_are_fine() {
        let quiet = Vec::<String>::new();
        assert_eq!(ordered(Some(false), None, LoadOp::Read, 48.0), quiet);
        assert_eq!(ordered(Some(false), None, LoadOp::Write, 16.0), quiet);
        assert_eq!(ordered(Some(true), Some(true), LoadOp::Read, 16.0), quiet);
        assert_eq!(ordered(None, None, LoadOp::Read, 16.0), quiet);
    }
}
