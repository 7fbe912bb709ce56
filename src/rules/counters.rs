//! `counter-na`, `counter-reset`, `counter-saturated`: counters that are not there, went backwards or stand still at
//! their end.
//!
//! The counters of old are 4 to 32 bits wide and stop at their maximum (IBTA 1.4, 16.1.3.5, `PortCounters`);
//! which counters these are [`probes::counters::range`] tells.

use super::fabric::names;
use super::wording::{called, list, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::{HostTimeline, RailSums, Timeline};
use probes::counters::{AtEnd, range};
use probes::model::{LinkLayer, Rail, RailFrame, RailId, Topology};
use serde_json::{Map, Value};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["counter-na", "counter-reset", "counter-saturated"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let local = timeline.local();
    let mut found = Vec::new();
    if topology.drawn_by.is_some() {
        // a file that lists devices says nothing of their counters
        return found;
    }
    for ((id, rail), sums) in topology.rails_with_id().zip(&local.sums().rails) {
        let name = called(rail, &topology.rails);
        let port = (rail, name.as_str());
        let of_rail = [not_available(id, port, local, sums), saturated(id, port, local), reset(port, sums)];
        found.extend(of_rail.into_iter().flatten());
    }
    found
}

/// A direction whose bytes were never readable in the whole session.
fn not_available(
    id: RailId,
    (rail, called): (&Rail, &str),
    local: &HostTimeline,
    sums: &RailSums,
) -> Option<Finding> {
    let read = || local.frames().filter_map(|frame| frame.rails.get(id.0));
    if read().next().is_none() || read().all(|frame| frame.lost) {
        return None;
    }
    let never =
        |bytes: fn(&RailFrame) -> Option<u64>, rates: u64| rates == 0 && read().all(|r| bytes(r).is_none());
    // a counter at its end is there
    let [rx_stopped, tx_stopped] =
        STOPPED_BYTES.map(|name| rail.counters.iter().any(|counter| counter == name));
    let rx = !rx_stopped && never(|frame| frame.rx_bytes, sums.rx.count + sums.implausible_rx.count);
    let tx = !tx_stopped && never(|frame| frame.tx_bytes, sums.tx.count + sums.implausible_tx.count);
    let what = match (rx, tx) {
        (true, true) => "bytes received and sent are",
        (true, false) => "bytes received are",
        (false, true) => "bytes sent are",
        (false, false) => return None,
    };
    let device = &rail.device;
    Some(
        Finding::on_ports(
            "counter-na",
            Severity::Info,
            [rail],
            format!(
                "{called}: {what} readable neither in counters/ nor in hw_counters/, so the rate is not known \
                 (it is not 0)"
            ),
        )
        .with("rx_readable", !rx)
        .with("tx_readable", !tx)
        .advise(format!(
            "see what the driver says: `grep . /sys/class/infiniband/{device}/ports/{}/counters/port_*_data`; \
             a rate can still be had from a load of our own",
            rail.port
        )),
    )
}

/// Names under which a byte counter is listed that has come to its end; its bytes are not known then.
const STOPPED_BYTES: [&str; 2] = ["port/port_rcv_data", "port/port_xmit_data"];

fn saturated(id: RailId, (rail, called): (&Rail, &str), local: &HostTimeline) -> Option<Finding> {
    let newest = local.frames().rev().filter_map(|frame| frame.rails.get(id.0));
    let newest = newest.into_iter().find(|frame| !frame.counters.is_empty())?;
    let driver = rail.driver.as_deref();
    let mut stand: Vec<(&str, u64)> = Vec::new();
    for (name, value) in rail.counters.iter().zip(&newest.counters) {
        let range = range(driver, name).filter(|range| range.at_end == AtEnd::Stops);
        if let Some(range) = range.filter(|range| *value == Some(range.most)) {
            stand.push((name, range.most));
        }
    }
    let bytes_stand = stand.iter().any(|(name, _)| STOPPED_BYTES.contains(name));
    for (name, _) in &mut stand {
        *name = name.trim_start_matches("port/");
    }
    if stand.is_empty() {
        return None;
    }
    let device = &rail.device;
    let names = list(stand.iter().map(|(name, stop)| format!("{name} ({stop})")));
    let rate = if bytes_stand { ", so its rate is not known" } else { "" };
    let message = format!(
        "{called}: {names} {} at the maximum and {} no further{rate}",
        verb(stand.len(), "stands", "stand"),
        verb(stand.len(), "counts", "count"),
    );
    let values: Map<String, Value> =
        stand.iter().map(|(name, stop)| ((*name).to_owned(), (*stop).into())).collect();
    let port = rail.port;
    // perfquery speaks to a port by its LID, which only InfiniBand has
    let advice = if rail.link_layer == Some(LinkLayer::Ethernet) {
        "they cannot be set back from here but by loading the driver anew; go by the 64-bit ones (`ethtool -S`)".to_owned()
    } else {
        format!(
            "set them back and watch what grows: `perfquery -R -C {device} -P {port}` (infiniband-diags, root)"
        )
    };
    Some(
        Finding::on_ports("counter-saturated", Severity::Warning, [rail], message)
            .with("counters", values)
            .advise(advice),
    )
}

/// Counters that went backwards: of bytes, and those that tell of trouble. Others may be no counters but levels, such as the
/// queue pairs in use, which go down in ordinary life.
fn reset((rail, called): (&Rail, &str), sums: &RailSums) -> Option<Finding> {
    let further = rail.counters.iter().zip(&sums.counter_resets);
    let further = further.filter(|(name, times)| **times > 0 && names::tells_of_trouble(name));
    let further: Vec<(&str, u64)> = further
        .map(|(name, times)| (name.split_once('/').map_or(name.as_str(), |(_, name)| name), *times))
        .collect();
    let bytes = (sums.resets > 0).then_some(("a byte counter", sums.resets));
    let times = |times: u64| {
        format!("{times} {}", verb(usize::try_from(times).unwrap_or(usize::MAX), "time", "times"))
    };
    let each: Vec<String> = bytes
        .iter()
        .chain(&further)
        .map(|(what, count)| format!("{what} went backwards {}", times(*count)))
        .collect();
    let resets: u64 = bytes.iter().chain(&further).map(|(_, times)| times).sum();
    let left_out = if bytes.is_some() {
        "these intervals are left out of the means"
    } else {
        "what it counted in between is not known"
    };
    (resets > 0).then(|| {
        let message = format!("{called}: {}; {left_out}", list(each));
        let names: Vec<&str> = further.iter().map(|(name, _)| *name).collect();
        Finding::on_ports("counter-reset", Severity::Info, [rail], message)
            .with("resets", resets)
            .with("counters", names)
            .advise(
                "harmless once (driver reload, firmware reset); find out who clears counters if it goes on",
            )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, session, two_sockets};
    use super::RULE;
    use crate::rules::{Finding, Limits};
    use crate::timeline::Timeline;
    use probes::model::{DrawnBy, Frame, Rail, RailFrame, Topology};
    use std::sync::Arc;

    #[test]
    fn a_counter_that_goes_backwards_is_said() {
        let rates = vec![vec![0.1, 0.1], vec![-0.2, 0.1], vec![0.1, 0.1]];
        let traffic = Traffic { rx_gb_per_s: rates, ..Traffic::default() };
        let found = found(&RULE, &two_sockets(vec![rail("mlx5_0"), rail("mlx5_1")]), &traffic);
        assert_eq!(named(&found), ["counter-reset mlx5_0"]);
        assert_eq!(found[0].evidence["resets"], 1);
    }

    #[test]
    fn a_counter_of_losses_that_was_cleared_is_said_and_a_level_that_sinks_is_not() {
        let frames = |values: [u64; 4]| {
            values.map(|value| RailFrame {
                rx_bytes: Some(0),
                tx_bytes: Some(0),
                counters: vec![Some(value)],
                ..RailFrame::default()
            })
        };
        let found = read(&["hw/out_of_sequence"], &frames([6_140_236, 6_140_236, 0, 0]));
        assert_eq!(named(&found), ["counter-reset mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0: out_of_sequence went backwards 1 time; what it counted in between is not known"
        );
        let wrapped = [u64::from(u32::MAX) - 4, u64::from(u32::MAX), 3, 3];
        assert_eq!(named(&read(&["hw/out_of_sequence"], &frames(wrapped))), Vec::<String>::new());
        assert_eq!(named(&read(&["hw/active_qps"], &frames([9, 9, 2, 2]))), Vec::<String>::new());
    }

    /// Findings on one rail whose frames, a second apart, hold these readings.
    fn read(counters: &[&str], frames: &[RailFrame]) -> Vec<Finding> {
        let rail =
            Rail { counters: counters.iter().map(|&name| name.to_owned()).collect(), ..rail("mlx5_0") };
        let topology = two_sockets(vec![rail]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        for (seq, frame) in frames.iter().enumerate() {
            let at_ns = seq as u64 * 1_000_000_000;
            timeline.push(Frame { seq: seq as u64, at_ns, rails: vec![frame.clone()], ..Frame::default() });
        }
        (RULE.check)(&topology, &timeline, &Limits::default())
    }

    fn bytes(rx_bytes: Option<u64>, tx_bytes: Option<u64>) -> RailFrame {
        RailFrame { rx_bytes, tx_bytes, ..RailFrame::default() }
    }

    #[test]
    fn bytes_that_are_never_readable_are_not_zero() {
        let found = read(&[], &[bytes(None, None)]);
        assert_eq!(named(&found), ["counter-na mlx5_0"]);
        let found = read(&[], &[bytes(None, Some(1)), bytes(None, Some(2))]);
        assert!(found[0].message.starts_with("mlx5_0: bytes received are readable neither"), "{found:?}");
        // not every frame reads every counter
        assert_eq!(named(&read(&[], &[bytes(None, None), bytes(Some(0), Some(0))])), Vec::<String>::new());
        let gone = RailFrame { lost: true, ..RailFrame::default() };
        assert_eq!(named(&read(&[], &[gone])), Vec::<String>::new());
        assert_eq!(named(&found_without_frames()), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_lists_devices_has_no_counters_to_miss() {
        let drawn = Topology { drawn_by: Some(DrawnBy::Nccl), ..two_sockets(vec![rail("mlx5_0")]) };
        let mut timeline = Timeline::new(Arc::new(session(drawn.clone())));
        let frame = Frame { rails: vec![RailFrame::default()], ..Frame::default() };
        timeline.push(Arc::new(frame));
        assert_eq!((RULE.check)(&drawn, &timeline, &Limits::default()), Vec::new());
    }

    fn found_without_frames() -> Vec<Finding> {
        let topology: Topology = two_sockets(vec![rail("mlx5_0")]);
        let timeline = Timeline::new(Arc::new(session(topology.clone())));
        (RULE.check)(&topology, &timeline, &Limits::default())
    }

    #[test]
    fn a_counter_of_old_that_stands_at_its_maximum_is_named() {
        let frame = |symbol_error, link_downed| RailFrame {
            counters: vec![Some(symbol_error), Some(link_downed)],
            ..bytes(Some(8), Some(8))
        };
        let names = ["port/symbol_error", "port/link_downed"];
        let found = read(&names, &[frame(65535, 3), frame(65535, 3)]);
        assert_eq!(named(&found), ["counter-saturated mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0: symbol_error (65535) stands at the maximum and counts no further"
        );
        assert_eq!(named(&read(&names, &[frame(255, 254)])), Vec::<String>::new());
    }

    #[test]
    fn a_byte_counter_at_its_maximum_is_no_rail_without_counters() {
        let full = RailFrame { counters: vec![Some(u64::from(u32::MAX))], ..bytes(None, Some(400)) };
        let found = read(&["port/port_rcv_data"], &[full.clone(), full]);
        assert_eq!(named(&found), ["counter-saturated mlx5_0"]);
        assert_eq!(
            found[0].message,
            "mlx5_0: port_rcv_data (4294967295) stands at the maximum and counts no further, so its rate is not known"
        );
    }
}
