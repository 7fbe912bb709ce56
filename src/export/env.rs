//! Environment variables for NCCL and UCX, and a launcher per rail; the text can be sourced by a shell.
//!
//! Sources: NCCL documentation, "Environment Variables" (`NCCL_IB_HCA`: comma-separated, `=` in front matches
//! whole names, since `mlx5_1` alone would match `mlx5_10` as well; `NCCL_IB_GID_INDEX`;
//! `NCCL_IB_ROCE_VERSION_NUM` and the search of NCCL 2.21 and later); `OpenUCX` documentation, "Frequently
//! Asked Questions" (`UCX_NET_DEVICES=mlx5_0:1`); numactl(8).

mod launcher;

use probes::model::{DrawnBy, Gid, GidType, LinkLayer, Rail, Topology};
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

/// The text of `export --format env`.
#[derive(Clone, Copy, Debug)]
pub struct Env<'a>(pub &'a Topology);

impl Display for Env<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let topology = self.0;
        let host = topology.host.hostname.as_deref().unwrap_or("unknown host");
        comment(f, &format!("{} on {host}", crate::GENERATED_BY))?;
        let mut used = Vec::new();
        for rail in &topology.rails {
            match reason_against(rail, topology.drawn_by) {
                None => used.push(rail),
                Some(reason) => comment(f, &format!("{}: left out: {reason}", name(rail)))?,
            }
        }
        devices(f, &used)?;
        gid_index(f, &used)?;
        comment(f, "one launcher per rail: put it in front of the program that uses the rail")?;
        let mut taken = BTreeSet::new();
        for rail in used {
            launcher::write(f, topology, rail, &mut taken)?;
        }
        Ok(())
    }
}

/// One line that a shell passes over, whatever the text holds.
fn comment(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    writeln!(f, "# {line}")
}

/// Device and port as NCCL and UCX name them: `mlx5_0:1`.
fn name(rail: &Rail) -> String {
    format!("{}:{}", rail.device, rail.port)
}

/// Why a rail cannot be used by name; `None` when it can.
fn reason_against(rail: &Rail, drawn_by: Option<DrawnBy>) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !rail.device.chars().all(is_plain) {
        return Some("its name is none that a shell takes".to_owned());
    }
    if rail.port == 0 {
        return Some("port 0: no RDMA device".to_owned());
    }
    if rail.driver.as_deref() == Some("efa") {
        return Some("NCCL reaches EFA through the plugin aws-ofi-nccl, not by these variables".to_owned());
    }
    if rail.node_type.as_deref() == Some("RNIC") {
        // RFC 5044: a connection is a TCP stream, and has no address of InfiniBand's kind
        return Some("iWARP has no GID that NCCL or UCX could connect to".to_owned());
    }
    match rail.state.as_deref() {
        Some("ACTIVE") => {}
        // it lists the devices that it uses (`ncclIbInit` in src/transport/net_ib.cc), and no states
        None if drawn_by == Some(DrawnBy::Nccl) => {}
        None => return Some("the state of its port is not known".to_owned()),
        Some(state) => return Some(format!("the port is {state}")),
    }
    // a topology file has no GID table of such a port, and says so in a gap
    let needs_gid = rail.link_layer == Some(LinkLayer::Ethernet) && drawn_by.is_none();
    (needs_gid && rail.gid.is_none()).then(|| {
        let why = match (rail.gids.is_empty(), rail.gid_table_read) {
            (false, _) => "no usable GID",
            (true, true) => "no usable GID, its table is empty",
            (true, false) => "no usable GID, its table could not be read",
        };
        why.to_owned()
    })
}

fn devices(f: &mut Formatter<'_>, used: &[&Rail]) -> fmt::Result {
    if used.is_empty() {
        return comment(f, "NCCL_IB_HCA, UCX_NET_DEVICES: not set: no usable rail");
    }
    let names: Vec<String> = used.iter().map(|rail| name(rail)).collect();
    comment(f, "`=`: whole names, or mlx5_1 would take mlx5_10 as well")?;
    writeln!(f, "export NCCL_IB_HCA='={}'", names.join(","))?;
    writeln!(f, "export UCX_NET_DEVICES='{}'", names.join(","))
}

/// One index for all, where there is one.
fn gid_index(f: &mut Formatter<'_>, used: &[&Rail]) -> fmt::Result {
    let needing: Vec<&&Rail> =
        used.iter().filter(|rail| rail.link_layer == Some(LinkLayer::Ethernet)).collect();
    if needing.is_empty() {
        let any = |what: fn(&Rail) -> bool| used.iter().copied().any(what);
        let why = if used.is_empty() {
            "no usable rail"
        } else if any(|rail| rail.link_layer == Some(LinkLayer::InfiniBand)) {
            "InfiniBand needs none"
        } else if any(|rail| rail.gid_table_read) {
            "whether the ports are RoCE is not known"
        } else {
            "no GID table is known"
        };
        return comment(f, &format!("NCCL_IB_GID_INDEX: not set: {why}"));
    }
    let mut candidates: Vec<u32> = needing.iter().filter_map(|rail| Some(rail.gid.as_ref()?.index)).collect();
    candidates.sort_unstable();
    candidates.dedup();
    if let Some(index) = candidates.iter().find(|index| needing.iter().all(|rail| fits(rail, **index))) {
        if let Some(choice) = needing.iter().find_map(|rail| rail.gid.as_ref()) {
            comment(f, &format!("GID index {index}: {}", choice.reason))?;
        }
        return writeln!(f, "export NCCL_IB_GID_INDEX={index}");
    }
    let wants = needing.iter().map(|rail| match &rail.gid {
        Some(choice) => format!("{} wants {}", name(rail), choice.index),
        None => format!("{} has no usable GID", name(rail)),
    });
    let wants: Vec<String> = wants.collect();
    comment(f, &format!("NCCL_IB_GID_INDEX: not set: no index fits all rails: {}", wants.join(", ")))?;
    comment(
        f,
        "  leave it unset, as NCCL 2.21 and later find each rail's own (RoCE v2, IPv4 unless \
         NCCL_IB_ADDR_FAMILY says otherwise); for older ones give every rail the same addresses in the same order",
    )
}

/// Whether the entry at `index` is as good as the recommended one.
fn fits(rail: &Rail, index: u32) -> bool {
    let Some(choice) = &rail.gid else { return false };
    if choice.index == index {
        return true;
    }
    let entry = |index: u32| rail.gids.iter().find(|gid| gid.index == index);
    let (Some(best), Some(other)) = (entry(choice.index), entry(index)) else { return false };
    let is_routable = |gid: &Gid| !gid.address.is_unicast_link_local();
    let is_ipv4 = |gid: &Gid| gid.address.to_ipv4_mapped().is_some();
    other.kind == Some(GidType::RoceV2)
        && is_routable(other)
        && other.netdev == best.netdev
        && is_ipv4(other) == is_ipv4(best)
}

#[cfg(test)]
mod tests;
