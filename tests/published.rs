//! A published READ baseline of a node with eight bonds, fed as a session: what the report makes of its figures.
//!
//! Per card, GB/s: 49.294 54.537 25.365 25.145 51.369 89.426 66.599 51.398, 413.1 together; two of them at half speed,
//! explained by their authors with unpinned readers (`PeerCache`, RDMA READ baseline). Each bond has two legs of 200 Gb/s
//! behind PCIe Gen5 x16, so its wire carries 49.0 GB/s of payload and its PCIe path 63.0 GB/s of anything.

use probes::model::{Frame, Load, LoadOp, LoadOrigin, RailFrame, Session};
use railscope::report;
use railscope::rules::Limits;
use railscope::session::FrameSource;
use railscope::sim::{Pace, Simulated};
use railscope::timeline::Timeline;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const PUBLISHED_GB_PER_S: [f64; 8] = [49.294, 54.537, 25.365, 25.145, 51.369, 89.426, 66.599, 51.398];

/// The report of ten seconds at these rates; the legs' own bytes were not published.
fn report_of_the_figures() -> Value {
    let every = Duration::from_secs(1);
    let node = Simulated::new("healthy", 1, every, Pace::AsFastAsPossible, None).unwrap();
    let header = Session { simulated: None, started_unix_ms: Some(0), ..Session::clone(&node.session()) };
    let load = Arc::new(Load {
        origin: LoadOrigin::Described,
        op: LoadOp::Read,
        size_bytes: Some(1 << 20),
        ..Load::default()
    });
    let mut timeline = Timeline::new(Arc::new(header));
    for second in 0..=10_u64 {
        let read = |gb_per_s: &f64| RailFrame {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^63 by far")]
            rx_bytes: Some((gb_per_s * 1e9) as u64 * second),
            tx_bytes: Some(0),
            ..RailFrame::default()
        };
        timeline.push(Frame {
            seq: second,
            at_ns: second * 1_000_000_000,
            rails: PUBLISHED_GB_PER_S.iter().map(read).collect(),
            load: Some(load.clone()),
            ..Frame::default()
        });
    }
    serde_json::to_value(report::build(&timeline, &Limits::default(), &[])).unwrap()
}

/// Devices that are found to have this.
fn devices(report: &Value, code: &str) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter().filter(|found| found["code"] == code);
    let mut devices: Vec<String> = findings
        .flat_map(|found| found["devices"].as_array().unwrap())
        .map(|device| device.as_str().unwrap().to_owned())
        .collect();
    devices.sort();
    devices
}

#[test]
fn the_two_slow_bonds_run_at_the_rate_of_one_leg() {
    assert_eq!(devices(&report_of_the_figures(), "half-rate"), ["mlx5_bond_3", "mlx5_bond_4"]);
}

#[test]
fn what_no_wire_carries_is_marked_and_left_out_of_the_sum() {
    let report = report_of_the_figures();
    assert_eq!(devices(&report, "implausible"), ["mlx5_bond_6", "mlx5_bond_7"]);
    assert_eq!(report["total"]["left_out"], serde_json::json!(["mlx5_bond_6", "mlx5_bond_7"]));
    // 413.1 without the two: what is left is less than the six wires carry together, but for what is above each wire
    let sum = report["total"]["rx_gb_per_s"].as_f64().unwrap();
    assert!((sum - 257.108).abs() < 0.01, "{sum}");
    assert_eq!(devices(&report, "above-port"), ["mlx5_bond_2", "mlx5_bond_5", "mlx5_bond_8"]);
}

#[test]
fn nothing_is_claimed_of_numa_without_evidence() {
    let report = report_of_the_figures();
    let codes: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap()).collect();
    assert!(!codes.iter().any(|code| code.contains("numa") || *code == "not-pinned"), "{codes:?}");
}
