//! What the node is, as Markdown to paste into a ticket.

use super::markdown::{cell, row, rule};
use super::probe_text::gib;
use crate::ceilings;
use probes::model::{NumaNode, Rail, Topology};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// The text of `railscope probe --format md`.
#[derive(Clone, Copy, Debug)]
pub struct ProbeMarkdown<'a>(pub &'a Topology);

const UNKNOWN: &str = "unknown";

impl Display for ProbeMarkdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let topology = self.0;
        let host = topology.host.hostname.as_deref().unwrap_or("unknown host");
        let rails = topology.rails.len();
        writeln!(f, "### {}: {rails} RDMA rail{}\n", cell(host), if rails == 1 { "" } else { "s" })?;
        environment(f, topology)?;
        nodes(f, &topology.numa)?;
        self.rails(f)?;
        gpus(f, topology)?;
        gaps(f, topology)?;
        writeln!(f, "\n`{}`, `railscope probe --format md`", crate::GENERATED_BY)
    }
}

impl ProbeMarkdown<'_> {
    fn rails(self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.rails.is_empty() {
            return writeln!(f, "\nNo RDMA device is visible here.");
        }
        row(
            f,
            "\n",
            &["rail", "netdev", "node", "state", "line", "PCIe", "GID", "MTU", "firmware", "board", "driver"],
        )?;
        rule(f, 11)?;
        for rail in &self.0.rails {
            let gid = rail.gid.as_ref().map(|choice| format!("{} ({})", choice.index, choice.reason));
            row(
                f,
                "",
                &[
                    &format!("{}:{}", rail.device, rail.port),
                    &text(rail.netdev.as_ref()),
                    &text(rail.numa_node.as_ref()),
                    &text(rail.state.as_ref()),
                    &rail.line_gbit_per_s.map_or(UNKNOWN.into(), |line| format!("{line:.0} Gb/s")),
                    &pcie(rail),
                    &gid.unwrap_or_else(|| "none".to_owned()),
                    &text(rail.path_mtu.as_ref()),
                    &text(rail.firmware.as_ref()),
                    &text(rail.board_id.as_ref()),
                    &text(rail.driver.as_ref()),
                ],
            )?;
        }
        Ok(())
    }
}

fn environment(f: &mut Formatter<'_>, topology: &Topology) -> fmt::Result {
    let host = &topology.host;
    let memlock = match (host.memlock_unlimited, host.memlock_bytes) {
        (Some(true), _) => "unlimited".to_owned(),
        (_, Some(bytes)) => format!("{bytes} bytes"),
        _ => UNKNOWN.to_owned(),
    };
    let balancing = host.numa_balancing.map(|on| if on { "on" } else { "off" });
    row(f, "", &["environment", ""])?;
    rule(f, 2)?;
    for (what, value) in [
        ("kernel", text(host.kernel.as_ref())),
        ("system", text(host.os.as_ref())),
        ("CPU", text(host.cpu_model.as_ref())),
        ("sockets, CPUs", format!("{}, {}", text(host.sockets.as_ref()), text(host.cpus.as_ref()))),
        ("memory", host.memory_bytes.map_or(UNKNOWN.into(), gib)),
        ("rdma-core", text(host.rdma_core.as_ref())),
        ("out-of-tree stack", host.ofed.clone().unwrap_or_else(|| "none found".to_owned())),
        ("locked memory", memlock),
        ("NUMA balancing", text(balancing.as_ref())),
        ("IOMMU", text(host.iommu.as_ref())),
    ] {
        row(f, "", &[what, &value])?;
    }
    Ok(())
}

fn nodes(f: &mut Formatter<'_>, nodes: &[NumaNode]) -> fmt::Result {
    if nodes.is_empty() {
        return Ok(());
    }
    row(f, "\n", &["NUMA node", "socket", "CPUs", "memory", "distances"])?;
    rule(f, 5)?;
    for node in nodes {
        let distances: Vec<String> = node.distances.iter().map(|(to, far)| format!("{to}: {far}")).collect();
        let distances = if distances.is_empty() { UNKNOWN.to_owned() } else { distances.join(", ") };
        let cpus = match &node.cpus {
            Some(cpus) if cpus.is_empty() => "none".to_owned(),
            cpus => text(cpus.as_ref()),
        };
        let memory = match node.memory_bytes {
            Some(0) => "none".to_owned(),
            bytes => bytes.map_or(UNKNOWN.into(), gib),
        };
        row(f, "", &[&node.node.to_string(), &text(node.socket.as_ref()), &cpus, &memory, &distances])?;
    }
    Ok(())
}

fn gpus(f: &mut Formatter<'_>, topology: &Topology) -> fmt::Result {
    if topology.gpus.is_empty() {
        return Ok(());
    }
    row(f, "\n", &["GPU", "address", "node", "nearest rails"])?;
    rule(f, 4)?;
    for gpu in &topology.gpus {
        let nearest = gpu.paths.iter().filter_map(|path| path.class).min();
        let near: Vec<String> = gpu
            .paths
            .iter()
            .filter(|path| path.class.is_some() && path.class == nearest)
            .map(|path| format!("{} {}", path.device, nearest.map_or("", probes::model::PathClass::word)))
            .collect();
        let near = if near.is_empty() { UNKNOWN.to_owned() } else { near.join(", ") };
        row(f, "", &[&gpu.name, &gpu.pcie.address, &text(gpu.numa_node.as_ref()), &near])?;
    }
    Ok(())
}

/// What is not known, one line a reason: four hundred rails may lack the same file.
fn gaps(f: &mut Formatter<'_>, topology: &Topology) -> fmt::Result {
    if topology.gaps.is_empty() {
        return Ok(());
    }
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for gap in &topology.gaps {
        by_reason.entry(&gap.reason).or_default().push(&gap.subject);
    }
    writeln!(f, "\n<details><summary>not known: {}</summary>\n", topology.gaps.len())?;
    for (reason, subjects) in by_reason {
        writeln!(f, "- {}: {}", cell(&subjects.join(", ")), cell(reason))?;
    }
    writeln!(f, "\n</details>")
}

/// The slowest hop: what holds for the whole path.
fn pcie(rail: &Rail) -> String {
    let Some(path) = &rail.pcie else { return "none".to_owned() };
    match ceilings::slowest_hop(path) {
        Some((hop, raw)) => {
            let speed = match (hop.current_gt_per_s, hop.current_width) {
                (Some(speed), Some(width)) => format!("{speed} GT/s x{width}, "),
                _ => String::new(),
            };
            format!("{} {speed}{raw:.1} GB/s", path.address)
        }
        None => format!("{} speed unknown", path.address),
    }
}

fn text(value: Option<impl Display>) -> String {
    value.map_or(UNKNOWN.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::ProbeMarkdown;
    use probes::model::{Gap, GidChoice, NumaNode, Rail, Topology};

    #[test]
    fn a_ticket_gets_tables_and_unknown_is_said() {
        let mut topology = Topology {
            numa: vec![NumaNode { node: 0, cpus: Some("0-3".parse().unwrap()), ..NumaNode::default() }],
            rails: vec![Rail {
                device: "mlx5_0".into(),
                port: 1,
                numa_node: Some(0),
                gid: Some(GidChoice { index: 3, reason: "RoCE v2".into() }),
                ..Rail::default()
            }],
            ..Topology::default()
        };
        topology.host.hostname = Some("n1|<script>".into());
        topology.gaps.push(Gap {
            probe: "x".into(),
            subject: "mlx5_0".into(),
            reason: "rate: no such file".into(),
        });
        let text = ProbeMarkdown(&topology).to_string();
        for line in [
            "### n1\\|\\<script\\>: 1 RDMA rail",
            "| kernel | unknown |",
            "| 0 | unknown | 0-3 | unknown | unknown |",
            "| mlx5_0:1 | unknown | 0 | unknown | unknown | none | 3 (RoCE v2) | unknown | unknown | unknown | unknown |",
            "- mlx5_0: rate: no such file",
        ] {
            assert!(text.lines().any(|printed| printed == line), "{line}\nnot in\n{text}");
        }
    }
}
