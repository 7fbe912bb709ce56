//! `read-window`: a rail reads as much as its READ window lets through, and that is its lowest ceiling.
//!
//! Queue pairs × READs outstanding × message size / round trip of one READ alone. Fires from 90 % of it on: that round
//! trip was the fastest one before the load, so the window is rarely reached to the last percent. A rail well above it
//! refutes that round trip, and is left out. Source: IBTA 1.4, 9.4.4 (a queue pair keeps no more READs on the wire than both ends agreed to).

use super::means::{latest_load, under_load};
use super::wording::{called, list, rate, rounded, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::{Load, LoadOp, Rail, Topology};
use serde_json::{Map, Value};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["read-window"], check };

/// Share of the window from which on it is the limit.
const SHARE: f64 = 0.9;

/// Share of the window from which on the round trip was no fastest one: something held it up when it was measured.
const REFUTED: f64 = 1.1;

/// A rail at its window.
struct AtWindow<'a> {
    rail: &'a Rail,
    /// What a sentence calls it.
    name: String,
    gb_per_s: f64,
    window_gb_per_s: f64,
    round_trip_ns: u64,
    /// READs that a queue pair of the device can have on the wire.
    device_read_depth: Option<u32>,
}

fn check(topology: &Topology, timeline: &Timeline, limits: &Limits) -> Vec<Finding> {
    let Some(load) = latest_load(timeline).filter(|load| load.op == LoadOp::Read) else {
        return Vec::new();
    };
    let host = timeline.local();
    let full: Vec<AtWindow> = topology
        .rails_with_id()
        .filter_map(|(id, rail)| {
            let ceilings = host.ceilings(id, rail);
            let window = ceilings.read_window?;
            let others = [ceilings.line.or(ceilings.line_raw), ceilings.pcie];
            let is_lowest = others.into_iter().flatten().all(|other| window < other);
            let rate = under_load(id, timeline, limits, load.op)?;
            // which bytes it counts does not matter to what is lowest
            let (gb, window) = (rate.gb_per_s, window * rate.bytes.per_payload(rail));
            let is_at_window = (SHARE * window..REFUTED * window).contains(&gb);
            (is_lowest && is_at_window).then(|| AtWindow {
                rail,
                name: called(rail, &topology.rails),
                gb_per_s: gb,
                window_gb_per_s: window,
                round_trip_ns: host.round_trip_ns(id).unwrap_or(0),
                device_read_depth: load.device_read_depth.or(rail.max_read_depth),
            })
        })
        .collect();
    finding(load, &full).into_iter().collect()
}

fn finding(load: &Load, full: &[AtWindow<'_>]) -> Option<Finding> {
    let slowest = full
        .iter()
        .min_by(|a, b| (a.gb_per_s / a.window_gb_per_s).total_cmp(&(b.gb_per_s / b.window_gb_per_s)))?;
    let message = format!(
        "{}: the READs outstanding are the limit: {} of {} GB/s that {} of {} bytes bring at a round trip of {:.1} us",
        list(full.iter().map(|rail| rail.name.as_str())),
        rate(slowest.gb_per_s),
        rate(slowest.window_gb_per_s),
        outstanding(load),
        load.size_bytes?,
        slowest.round_trip_ns as f64 / 1e3,
    );
    let rates: Map<String, Value> =
        full.iter().map(|rail| (rail.name.clone(), rounded(rail.gb_per_s).into())).collect();
    Some(
        Finding::on_ports("read-window", Severity::Info, full.iter().map(|one| one.rail), message)
            .with("rates_gb_per_s", rates)
            .with("read_window_gb_per_s", rounded(slowest.window_gb_per_s))
            .with("round_trip_us", rounded(slowest.round_trip_ns as f64 / 1e3))
            .with("queue_pairs", load.qps)
            .with("read_depth", load.read_depth)
            .with("size_bytes", load.size_bytes)
            .with("limit_share", SHARE)
            .advise(advice(load, full)),
    )
}

/// What brings more: of a depth that is at its end already nothing is said.
fn advice(load: &Load, full: &[AtWindow<'_>]) -> String {
    let is_at_end = |one: &AtWindow<'_>| load.read_depth_on(&one.rail.device) >= one.device_read_depth;
    let deeper = if load.depth.is_some_and(|queue| load.read_depth.is_some_and(|depth| queue < depth)) {
        ", a deeper send queue (`--depth`)"
    } else if full.iter().all(|rail| rail.device_read_depth.is_some() && is_at_end(rail)) {
        ""
    } else {
        ", a greater READ depth at both ends (`--read-depth`)"
    };
    format!("more queue pairs (`--qps`){deeper} or larger messages (`--size`) bring more")
}

/// `4 queue pairs with 16 READs each`.
fn outstanding(load: &Load) -> String {
    let pairs = load.qps.unwrap_or(1);
    let pairs = format!("{pairs} queue {}", verb(pairs as usize, "pair", "pairs"));
    match load.read_depth.map(|depth| load.depth.map_or(depth, |queue| depth.min(queue))) {
        Some(depth) => format!("{pairs} with {depth} {} each", verb(depth as usize, "READ", "READs")),
        None => pairs,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found_in, named, rail, session, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use crate::timeline::Timeline;
    use probes::model::{
        Frame, Load, LoadOp, LoadOrigin, RailFrame, RailId, Worker, WorkerFrame, WorkerPhase,
    };
    use std::sync::Arc;

    /// One rail of 49 GB/s that moves so much a second, with messages of 4 KiB on one queue pair at 10 us.
    fn reading(gb_per_s: f64, op: LoadOp, read_depth: u32) -> Vec<Finding> {
        let topology = two_sockets(vec![rail("mlx5_0")]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        let asked = Worker { device: "mlx5_0".into(), read_depth: Some(read_depth), ..Worker::default() };
        let load = Arc::new(Load {
            origin: LoadOrigin::Ours,
            op,
            size_bytes: Some(4096),
            qps: Some(1),
            depth: Some(128),
            read_depth: Some(read_depth),
            workers: vec![asked],
            ..Load::default()
        });
        for seq in 0..5_u64 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of a test")]
            let bytes = (gb_per_s * 1e9) as u64 * seq;
            timeline.push(Frame {
                seq,
                at_ns: seq * 1_000_000_000,
                rails: vec![RailFrame { rx_bytes: Some(bytes), tx_bytes: Some(0), ..RailFrame::default() }],
                load: Some(load.clone()),
                workers: vec![WorkerFrame {
                    rail: Some(RailId(0)),
                    phase: WorkerPhase::Measuring,
                    bytes,
                    round_trip_ns: Some(10_000),
                    ..WorkerFrame::default()
                }],
                ..Frame::default()
            });
        }
        found_in(&RULE, &topology, &timeline)
    }

    #[test]
    fn a_rail_that_waits_for_answers_is_at_its_read_window() {
        // 16 x 4096 / 10 us = 6.55 GB/s
        let found = reading(6.4, LoadOp::Read, 16);
        assert_eq!(named(&found), ["read-window mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0: the READs outstanding are the limit: 6.4 of 6.6 GB/s that 1 queue pair with 16 READs each of \
             4096 bytes bring at a round trip of 10.0 us"
        );
    }

    #[test]
    fn a_depth_that_is_at_the_device_s_end_is_not_advised_again() {
        assert!(reading(6.4, LoadOp::Read, 16)[0].advice.contains("a greater READ depth at both ends"));
        let load = Load { read_depth: Some(16), device_read_depth: Some(16), ..Load::default() };
        let here = rail("mlx5_0");
        let at = |queue| {
            let full = super::AtWindow {
                rail: &here,
                name: "mlx5_0".into(),
                gb_per_s: 6.4,
                window_gb_per_s: 6.5,
                round_trip_ns: 10_000,
                device_read_depth: Some(16),
            };
            super::advice(&Load { depth: Some(queue), ..load.clone() }, &[full])
        };
        assert_eq!(at(128), "more queue pairs (`--qps`) or larger messages (`--size`) bring more");
        assert!(at(4).contains(", a deeper send queue (`--depth`) or"), "{}", at(4));
    }

    #[test]
    fn a_rail_below_its_window_a_write_and_a_window_above_the_wire_are_no_matter_of_it() {
        let quiet = Vec::<String>::new();
        assert_eq!(named(&reading(4.0, LoadOp::Read, 16)), quiet);
        assert_eq!(named(&reading(8.0, LoadOp::Read, 16)), quiet, "faster than a READ alone came back");
        assert_eq!(named(&reading(6.4, LoadOp::Write, 16)), quiet);
        assert_eq!(named(&reading(48.0, LoadOp::Read, 128)), quiet, "52 GB/s of window, 49 of wire");
    }
}
