//! The parameters of a load in one line, as every figure carries them.

use crate::settings::Size;
use probes::model::{Load, LoadOp, LoadOrigin};

/// `READ 64K x 4 QPs, depth 128, 8 threads, placed local`.
pub(crate) fn of_load(load: &Load, simulated: bool) -> String {
    let op = match load.op {
        LoadOp::Read => "READ",
        LoadOp::Write => "WRITE",
    };
    let size = load.size_bytes.map(|bytes| Size(bytes).to_string());
    let unit = |size: &str| if size.ends_with(|c: char| c.is_ascii_digit()) { " B" } else { "" };
    let size = size.map_or_else(String::new, |size| format!(" {size}{}", unit(&size)));
    let qps = match load.qps {
        Some(1) => " x 1 QP".to_owned(),
        Some(qps) => format!(" x {qps} QPs"),
        None => String::new(),
    };
    let mut parts = vec![format!("{op}{size}{qps}")];
    let is_simulated = simulated || load.is_simulated();
    parts.extend(match (load.origin, is_simulated, load.transport.as_deref()) {
        (LoadOrigin::Described, _, _) => Some("as described".to_owned()),
        (_, true, _) => Some("simulated".to_owned()),
        (_, _, Some("tcp")) => Some("over TCP, a functional check".to_owned()),
        (_, _, transport) => transport.map(|transport| format!("over {transport}")),
    });
    if load.loopback {
        parts.push("loopback, not fabric".to_owned());
    }
    if load.bidirectional {
        parts.push("both directions".to_owned());
    }
    parts.extend(load.depth.map(|depth| format!("depth {depth}")));
    parts.extend(load.read_depth.map(|depth| format!("READ depth {depth}")));
    parts.extend(load.batch.map(|pages| format!("striped in batches of {pages}")));
    parts.extend(load.rate_gb_per_s.map(|rate| format!("held to {rate} GB/s a rail")));
    parts.extend(load.leg.map(|leg| format!("sent on leg {leg}")));
    parts.extend(load.working_set_bytes.map(|bytes| format!("{} MiB a rail", bytes >> 20)));
    match load.workers.len() {
        0 => {}
        1 => parts.push("1 thread".to_owned()),
        threads => parts.push(format!("{threads} threads")),
    }
    parts.extend(load.place.as_ref().map(|place| format!("placed {place}")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::of_load;
    use crate::rules::testing::described;
    use probes::model::{Load, LoadOp, LoadOrigin};

    #[test]
    fn a_line_says_what_was_asked_for_and_what_is_no_measurement() {
        let load = Load { depth: Some(128), ..described(LoadOp::Read) };
        assert_eq!(of_load(&load, false), "READ 64K x 4 QPs, as described, depth 128");
        let ours = Load { origin: LoadOrigin::Ours, transport: Some("verbs".into()), loopback: true, ..load };
        assert_eq!(of_load(&ours, false), "READ 64K x 4 QPs, over verbs, loopback, not fabric, depth 128");
        assert_eq!(
            of_load(&Load { transport: None, ..ours }, true),
            "READ 64K x 4 QPs, simulated, loopback, not fabric, depth 128"
        );
    }
}
