//! Where a sweep was measured, and with what.

use super::saved::Sweep;
use probes::load::{Memory, Shape, WorkingSet};
use probes::model::LoadOp;

/// Where it was measured, and with what: stands above every table and picture.
#[must_use]
pub fn headings(sweep: &Sweep) -> Vec<String> {
    let host = &sweep.host;
    let params = &sweep.params;
    let op = match params.op {
        LoadOp::Read => "READ",
        LoadOp::Write => "WRITE",
    };
    let name = host.hostname.as_deref().filter(|name| !name.is_empty()).unwrap_or("a host without a name");
    let rails = match host.rails.len() {
        1 => format!("1 rail: {}", host.rails[0]),
        n => format!("{n} rails: {}", host.rails.join(", ")),
    };
    let mut what = vec![format!("{} s a point after {} s of warm-up", sweep.window_s, params.warmup_s)];
    what.push(format!("depth {}", params.depth));
    what.extend(params.read_depth.map(|depth| format!("READ depth {depth} asked for")));
    what.extend(params.chain.map(|chain| format!("chains of {chain}")));
    what.push(format!("placed {}", params.place));
    if let WorkingSet::Bytes(bytes) = params.working_set {
        what.push(format!("working set {} MB a rail", bytes / 1_000_000));
    }
    if let Memory::Gpu(number) = params.memory {
        what.push(format!("memory of GPU {number}"));
    }
    what.extend(params.rate_gb_per_s.map(|rate| format!("at most {rate} GB/s a rail")));
    what.extend(params.bidirectional.then(|| "both ways".to_owned()));
    what.extend((params.shape == Shape::Striped).then(|| "striped over the rails".to_owned()));
    let mut lines = vec![
        match &host.peer {
            Some(peer) => format!("sweep of {op} over {}, {name} and {peer}", host.transport),
            None => format!("sweep of {op} on {name}"),
        },
        rails,
        what.join(", "),
    ];
    let machine: Vec<&str> = [host.cpu_model.as_deref(), host.kernel.as_deref(), Some(&sweep.generated_by)]
        .into_iter()
        .flatten()
        .collect();
    lines.push(machine.join(", "));
    if host.simulated {
        lines.push("SIMULATED: what these rails should do by their ceilings; nothing is measured".to_owned());
    }
    if host.loopback {
        lines.push("LOOPBACK: the peer is this host, so no figure of the fabric".to_owned());
    }
    lines
}
