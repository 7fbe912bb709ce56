//! Whether the rates of two sessions may be held against each other.

use super::Side;
use crate::settings::Size;
use probes::model::{Load, LoadOp};
use std::fmt::Display;

/// Why not, in words; empty where they may.
pub(super) fn reasons_against(a: &Side, b: &Side) -> Vec<String> {
    let (Some(load_a), Some(load_b)) = (a.load(), b.load()) else {
        return vec![match (a.load(), b.load()) {
            (None, None) => "no load ran in either: the rates are other programs' bytes".to_owned(),
            (None, _) => "no load ran in A: its rates are other programs' bytes".to_owned(),
            _ => "no load ran in B: its rates are other programs' bytes".to_owned(),
        }];
    };
    let mut reasons = Vec::new();
    let simulated = |side: &Side, load: &Load| {
        side.timeline.session().simulated.is_some() || load.transport.as_deref() == Some("sim")
    };
    match (simulated(a, load_a), simulated(b, load_b)) {
        (true, false) => reasons.push("A is simulated and B is measured".to_owned()),
        (false, true) => reasons.push("B is simulated and A is measured".to_owned()),
        _ => {}
    }
    match (load_a.loopback, load_b.loopback) {
        (true, false) => reasons.push("A read from its own host, B over the fabric".to_owned()),
        (false, true) => reasons.push("B read from its own host, A over the fabric".to_owned()),
        _ => {}
    }
    for (side, load) in [("A", load_a), ("B", load_b)] {
        if load.is_functional_check() {
            reasons.push(format!("{side} went over TCP: a functional check, and no rate of a rail"));
        }
    }
    let op = |load: &Load| match load.op {
        LoadOp::Read => "READ",
        LoadOp::Write => "WRITE",
    };
    differ(&mut reasons, "operations", Some(op(load_a)), Some(op(load_b)));
    let size = |load: &Load| load.size_bytes.map(|bytes| Size(bytes).to_string());
    differ(&mut reasons, "message sizes", size(load_a), size(load_b));
    differ(&mut reasons, "queue pairs a rail", load_a.qps, load_b.qps);
    let both = |load: &Load| Some(if load.bidirectional { "both" } else { "one" });
    differ(&mut reasons, "directions", both(load_a), both(load_b));
    let held =
        |load: &Load| Some(load.rate_gb_per_s.map_or("none".to_owned(), |rate| format!("{rate} GB/s")));
    differ(&mut reasons, "caps on the rate", held(load_a), held(load_b));
    let batch = |load: &Load| Some(load.batch.map_or("none".to_owned(), |pages| pages.to_string()));
    differ(&mut reasons, "batches of a striped load", batch(load_a), batch(load_b));
    let leg = |load: &Load| Some(load.leg.map_or("any".to_owned(), |leg| leg.to_string()));
    differ(&mut reasons, "legs that were asked for", leg(load_a), leg(load_b));
    reasons
}

/// What one of them does not know is no difference.
fn differ<T: PartialEq + Display>(reasons: &mut Vec<String>, what: &str, a: Option<T>, b: Option<T>) {
    if let (Some(a), Some(b)) = (a, b)
        && a != b
    {
        reasons.push(format!("different {what}: {a} and {b}"));
    }
}
