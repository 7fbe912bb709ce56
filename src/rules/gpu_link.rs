//! `gpu-link-limit`: the PCIe link of the one GPU that all data go to, or come from, bounds the rails together.
//!
//! Fires when the load's rails together reach 70 % of the payload that the GPU's own link carries, and could bring
//! more than it. A GPU that idles lowers its link by itself, so the link is judged by what both of its ends can do
//! at the lanes it has, not by the speed the survey met.

use super::means::{latest_load, under_load};
use super::wording::{ports, rate, rounded};
use super::{Finding, Limits, Rule, Severity};
use crate::ceilings::{self, Ceilings};
use crate::timeline::Timeline;
use probes::model::{Gpu, Hop, LoadOp, LoadTarget, Rail, RailId, Topology};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["gpu-link-limit"], check };

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    judge(topology, timeline, limits).into_iter().collect()
}

fn judge(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Option<Finding> {
    let load = latest_load(timeline)?;
    let LoadTarget::Gpu(name) = &load.target else { return None };
    let gpu = topology.gpus.iter().find(|gpu| gpu.name == *name)?;
    let (carries, hop) = carries_gb_per_s(gpu)?;
    let rails: Vec<(RailId, Rail)> = topology
        .rails_with_id()
        .filter(|(_, rail)| load.drives(&rail.device))
        .map(|(id, rail)| (id, timeline.local().last_seen(id, rail)))
        .collect();
    // headers that NICs count do not cross the GPU's link
    let rates: Vec<(&Rail, f64)> = rails
        .iter()
        .filter_map(|(id, rail)| Some((rail, under_load(*id, timeline, limits, load.op)?)))
        .map(|(rail, rate)| (rail, rate.gb_per_s / rate.bytes.per_payload(rail)))
        .collect();
    let moved: f64 = rates.iter().map(|(_, gb)| gb).sum();
    let could: f64 = rails.iter().filter_map(|(_, rail)| Ceilings::of(rail).lowest()).sum();
    if rates.is_empty() || moved < limits.far_below_share * carries || could <= carries {
        return None;
    }
    let where_to = match load.op {
        LoadOp::Read => "into",
        LoadOp::Write => "out of",
    };
    let moving = || rates.iter().map(|(rail, _)| *rail);
    let message = format!(
        "{}: together {} GB/s of payload {where_to} {name}, whose PCIe link ({}) carries {carries:.1} GB/s: it bounds all of \
         them, whatever each wire could do ({could:.1} GB/s)",
        ports(moving(), &topology.rails),
        rate(moved),
        hop.address,
    );
    Some(
        Finding::on_ports("gpu-link-limit", Severity::Info, moving(), message)
            .and_on(name)
            .with("total_gb_per_s", rounded(moved))
            .with("gpu_pcie_gb_per_s", rounded(carries))
            .with("rails_gb_per_s", rounded(could))
            .with("limit_share", limits.far_below_share)
            .with("gpu", name.clone())
            .with("hop", hop.address.clone())
            .advise("nothing is broken; spread the data over several GPUs, each with the rails near it"),
    )
}

/// Payload of the GPU's own link, at the speed both of its ends can do.
fn carries_gb_per_s(gpu: &Gpu) -> Option<(f64, &Hop)> {
    let hop = gpu.pcie.hops.first().filter(|hop| !ceilings::is_made_up(hop))?;
    let could = [hop.max_gt_per_s, hop.upstream_max_gt_per_s].into_iter().flatten().reduce(f64::min);
    let gt_per_s = could.or(hop.current_gt_per_s)?;
    let lanes = f64::from(hop.current_width.or(hop.max_width)?);
    Some((ceilings::payload_of(hop, ceilings::lane_gb_per_s(gt_per_s) * lanes), hop))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, described, found, hop, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::{Gpu, Hop, Load, LoadOp, LoadTarget, PciePath};

    fn findings(target: LoadTarget, rates: [f64; 2]) -> Vec<Finding> {
        let mut topology = two_sockets(["mlx5_0", "mlx5_1"].map(rail).into());
        // an idle GPU has lowered its link
        let idle = Hop { current_gt_per_s: Some(2.5), ..hop("0000:19:00.0", 32.0, 16) };
        let pcie = PciePath { address: "0000:19:00.0".into(), hops: vec![idle], ..PciePath::default() };
        topology.gpus = vec![Gpu { name: "gpu0".into(), numa_node: Some(0), pcie, ..Gpu::default() }];
        let load = Load { target, ..described(LoadOp::Read) };
        found(&RULE, &topology, &Traffic { load: Some(load), ..Traffic::loaded(&rates) })
    }

    #[test]
    fn two_rails_that_fill_one_gpus_link_are_bounded_by_it() {
        let found = findings(LoadTarget::Gpu("gpu0".into()), [24.7, 24.8]);
        assert_eq!(named(&found), ["gpu-link-limit mlx5_0,mlx5_1,gpu0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0 and mlx5_1: together 48.8 GB/s of payload into gpu0, whose PCIe link (0000:19:00.0) carries 57.6 GB/s: \
             it bounds all of them, whatever each wire could do (98.0 GB/s)"
        );
    }

    #[test]
    fn a_link_with_room_an_unknown_gpu_and_host_memory_are_no_limit() {
        let quiet = Vec::<String>::new();
        assert_eq!(named(&findings(LoadTarget::Gpu("gpu0".into()), [10.0, 10.0])), quiet);
        assert_eq!(named(&findings(LoadTarget::Gpu("gpu7".into()), [24.7, 24.8])), quiet);
        assert_eq!(named(&findings(LoadTarget::Host, [24.7, 24.8])), quiet);
    }
}
