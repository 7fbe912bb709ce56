//! How the GPUs and the rails lie to each other.

use super::packed::Packed;
use crate::report::text::wrap::Wrapped;
use probes::model::{Acs, Gpu, PathClass, Readiness};
use std::collections::BTreeSet;
use std::fmt::{self, Formatter};

/// Columns of the table that fit beside each other.
const MOST_ACROSS: usize = 10;

pub(super) fn write(f: &mut Formatter<'_>, gpus: &[Gpu]) -> fmt::Result {
    // files of other programs name GPUs and nothing about them
    let told = |gpu: &Gpu| !gpu.paths.is_empty() || gpu.peermem.is_some() || gpu.dmabuf.is_some();
    if !gpus.iter().any(told) {
        return Ok(());
    }
    writeln!(f, "\nbetween GPUs and rails")?;
    for gpus in gpus.chunks(MOST_ACROSS) {
        table(f, gpus)?;
    }
    let seen: BTreeSet<PathClass> =
        gpus.iter().flat_map(|gpu| &gpu.paths).filter_map(|path| path.class).collect();
    if !seen.is_empty() {
        let parts: Vec<String> =
            seen.into_iter().map(|class| format!("{} {}", class.word(), meaning(class))).collect();
        write!(f, "{}", Packed { lead: "  ", parts: &parts })?;
    }
    for (what, of) in
        [("peermem", (|gpu| gpu.peermem.as_ref()) as Way), ("dmabuf", |gpu| gpu.dmabuf.as_ref())]
    {
        for text in by_answer(gpus, of) {
            write!(f, "{}", Wrapped { lead: &format!("  {what:<8}"), text: &text })?;
        }
    }
    let redirecting: BTreeSet<&str> = gpus
        .iter()
        .flat_map(|gpu| &gpu.paths)
        .flat_map(|path| &path.ports)
        .filter(|port| port.acs.is_some_and(Acs::redirects))
        .map(|port| port.address.as_str())
        .collect();
    if !redirecting.is_empty() {
        let ports = redirecting.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!("sends traffic between GPU and rail up to the CPU at {ports}");
        write!(f, "{}", Wrapped { lead: "  ACS     ", text: &text })?;
    }
    Ok(())
}

type Way = fn(&Gpu) -> Option<&Readiness>;

/// A row per RDMA device, a column per GPU.
fn table(f: &mut Formatter<'_>, gpus: &[Gpu]) -> fmt::Result {
    let Some(devices) = gpus.first().map(|gpu| &gpu.paths).filter(|paths| !paths.is_empty()) else {
        return Ok(());
    };
    let label = devices.iter().map(|path| path.device.chars().count()).max().unwrap_or(0).max(4);
    let column = gpus.iter().map(|gpu| gpu.name.chars().count()).max().unwrap_or(0).max(4);
    let mut row = |name: &str, cells: Vec<&str>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<column$}")).collect();
        let line = format!("  {name:<label$}  {}", cells.join("  "));
        writeln!(f, "{}", line.trim_end())
    };
    row("", gpus.iter().map(|gpu| gpu.name.as_str()).collect())?;
    for device in devices.iter().map(|path| path.device.as_str()) {
        let class = |gpu: &Gpu| gpu.path_to(device).and_then(|path| path.class);
        row(device, gpus.iter().map(|gpu| class(gpu).map_or("?", PathClass::word)).collect())?;
    }
    Ok(())
}

fn meaning(class: PathClass) -> &'static str {
    match class {
        PathClass::Pix => "one PCIe switch",
        PathClass::Pxb => "several PCIe switches",
        PathClass::Phb => "one host bridge",
        PathClass::Node => "one NUMA node",
        PathClass::Sys => "two NUMA nodes",
    }
}

/// One line per answer, with the GPUs' names where they do not all agree.
fn by_answer(gpus: &[Gpu], of: Way) -> Vec<String> {
    let mut rows: Vec<(&Readiness, Vec<&str>)> = Vec::new();
    for gpu in gpus {
        let Some(way) = of(gpu) else { continue };
        match rows.iter_mut().find(|(other, _)| *other == way) {
            Some((_, names)) => names.push(&gpu.name),
            None => rows.push((way, vec![&gpu.name])),
        }
    }
    let alike = rows.len() == 1;
    rows.into_iter()
        .map(|(way, names)| {
            let word = match way.ready {
                Some(true) => "ready",
                Some(false) => "NOT ready",
                None => "unknown",
            };
            let of = if alike { String::new() } else { format!("{}: ", names.join(", ")) };
            format!("{of}{word}, {}", way.reason)
        })
        .collect()
}
