use super::{Diff, Judgement, Side, Worse, compare};
use crate::rules::Limits;
use crate::rules::testing::{described, process, rail, session, two_sockets};
use probes::model::{Frame, Load, LoadOp, Rail, RailFrame, Topology};
use std::sync::Arc;

/// Two rails that read for eight seconds, each at its own rate with a ripple of a hundredth.
fn side(topology: &Topology, rates_gb_per_s: [f64; 2], load: impl Into<Option<Load>>) -> Side {
    let mut side = Side::new("x.rsz".into(), Arc::new(session(topology.clone())));
    let load = load.into().map(Arc::new);
    let mut bytes = [1_000_000_000_u64; 2];
    for second in 0..=8_u64 {
        let rails =
            bytes.map(|rx| RailFrame { rx_bytes: Some(rx), tx_bytes: Some(0), ..RailFrame::default() });
        let processes = (second == 0).then(|| Arc::new(vec![process(1, "mlx5_0", "0-3")]));
        side.push(Frame {
            seq: second,
            at_ns: second * 1_000_000_000,
            rails: rails[..topology.rails.len()].to_vec(),
            load: load.clone(),
            processes,
            ..Frame::default()
        });
        for (total, rate) in bytes.iter_mut().zip(rates_gb_per_s) {
            let ripple = if second % 2 == 0 { 0.99 } else { 1.01 };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates of a test")]
            let more = (rate * ripple * 1e9) as u64;
            *total += more;
        }
    }
    side.end();
    side
}

fn node() -> Topology {
    let second = Rail { numa_node: Some(1), ..rail("mlx5_1") };
    let mut topology = two_sockets(vec![rail("mlx5_0"), second]);
    topology.host.hostname = Some("n1".into());
    topology.host.kernel = Some("6.1.0".into());
    topology
}

fn read() -> Load {
    described(LoadOp::Read)
}

fn diff(a: &Side, b: &Side) -> Diff {
    compare(a, b, &Limits::default(), &[], 1.0)
}

fn judgements(diff: &Diff) -> Vec<Judgement> {
    diff.rails.iter().map(|rail| rail.judgement).collect()
}

#[test]
fn a_session_against_itself_has_no_difference() {
    let one = side(&node(), [48.0, 48.0], read());
    let diff = diff(&one, &one);
    assert_eq!(judgements(&diff), [Judgement::Same, Judgement::Same]);
    assert!(!diff.is(Worse::Any) && diff.to_string().starts_with("no difference found\n"), "{diff}");
}

#[test]
fn a_slower_rail_a_new_finding_and_another_kernel_are_told_in_words() {
    let before = side(&node(), [48.0, 48.0], read());
    let mut changed = node();
    changed.host.kernel = Some("6.8.0".into());
    changed.rails[1].firmware = Some("28.41.1000".into());
    let after = side(&changed, [48.0, 24.0], read());
    let diff = diff(&before, &after);
    assert_eq!(judgements(&diff), [Judgement::Same, Judgement::Slower]);
    assert_eq!([Worse::Slower, Worse::Findings, Worse::Topology].map(|worse| diff.is(worse)), [true; 3]);
    let facts: Vec<(&str, &str, &str)> =
        diff.topology.iter().map(|one| (one.what, one.a.as_str(), one.b.as_str())).collect();
    assert_eq!(facts, [("kernel", "6.1.0", "6.8.0")]);
    assert_eq!(diff.known_in_one.len(), 1, "the firmware of B alone is no difference");
    insta::assert_snapshot!(diff.to_string());
    insta::assert_snapshot!(super::DiffTicket(&diff).to_string());
    let wide = diff.to_string().lines().map(|line| line.chars().count()).max();
    assert!(wide <= Some(80), "{diff}");
}

#[test]
fn rates_of_other_loads_are_not_compared_and_the_reason_is_said() {
    let one = side(&node(), [48.0, 48.0], read());
    for (load, reason) in [
        (None, "no load ran in B"),
        (Some(described(LoadOp::Write)), "different operations: READ and WRITE"),
        (
            Some(Load { size_bytes: Some(4096), ..described(LoadOp::Read) }),
            "different message sizes: 64K and 4K",
        ),
        (Some(Load { qps: Some(1), ..described(LoadOp::Read) }), "different queue pairs a rail: 4 and 1"),
        (
            Some(Load { loopback: true, ..described(LoadOp::Read) }),
            "B read from its own host, A over the fabric",
        ),
        (
            Some(Load { transport: Some("sim".into()), ..described(LoadOp::Read) }),
            "B is simulated and A is measured",
        ),
    ] {
        let other = side(&node(), [24.0, 24.0], load);
        let diff = diff(&one, &other);
        assert_eq!(judgements(&diff), [Judgement::NotJudged; 2], "{reason}");
        assert!(diff.not_comparable_because.iter().any(|said| said.starts_with(reason)), "{reason}: {diff}");
        assert!(!diff.is(Worse::Slower) && diff.unjudged() == 2);
    }
}

#[test]
fn a_rail_that_is_gone_is_worse_and_one_that_is_new_is_not() {
    let (two, mut less) = (node(), node());
    less.rails.truncate(1);
    let (two, one) = (side(&two, [48.0, 48.0], read()), side(&less, [48.0, 48.0], read()));
    let gone = diff(&two, &one);
    assert_eq!(judgements(&gone), [Judgement::Same, Judgement::Gone]);
    assert!(gone.is(Worse::Slower) && gone.is(Worse::Topology));
    let new = diff(&one, &two);
    assert_eq!(judgements(&new), [Judgement::Same, Judgement::New]);
    assert!(!new.is(Worse::Slower) && new.is(Worse::Topology));
}

#[test]
fn another_pinning_of_a_process_of_the_same_name_is_a_difference() {
    let mut a = side(&node(), [48.0, 48.0], read());
    let b = side(&node(), [48.0, 48.0], read());
    let moved = process(77, "mlx5_0", "4-7");
    a.push(Frame {
        seq: 9,
        at_ns: 9_000_000_000,
        processes: Some(Arc::new(vec![moved])),
        load: Some(Arc::new(read())),
        ..Frame::default()
    });
    let diff = diff(&a, &b);
    let pinning: Vec<&str> = diff.topology.iter().map(|one| one.a.as_str()).collect();
    assert_eq!(pinning, ["ib_read_bw: CPUs 4-7, may use memory of 0-1"], "{diff}");
}

#[test]
fn what_the_second_could_not_have_found_has_not_gone() {
    let slow = side(&node(), [48.0, 24.0], read());
    let quiet = side(&node(), [48.0, 48.0], None);
    let quieter = diff(&slow, &quiet);
    let codes = |list: &[super::Changed]| -> Vec<(String, Option<String>)> {
        list.iter().map(|one| (one.code.clone(), one.because.clone())).collect()
    };
    let because = Some("no load ran on it in B".to_owned());
    assert_eq!(codes(&quieter.not_judged), [("rail-imbalance".to_owned(), because)]);
    assert!(quieter.went.iter().all(|one| one.code != "rail-imbalance"), "{:?}", quieter.went);
    let text = quieter.to_string();
    assert!(text.contains("1 warning not judged in B"), "{text}");
    assert!(text.contains("      not judged: no load ran on it in B\n"), "{text}");
    let mended = diff(&slow, &side(&node(), [48.0, 48.0], read()));
    assert_eq!((codes(&mended.not_judged), mended.went.len()), (Vec::new(), 1));
    let news = diff(&quiet, &slow);
    assert_eq!(news.appeared[0].because.as_deref(), Some("no load ran on it in A"));
    assert!(news.is(Worse::Findings), "it is there, whatever was before");
}

/// A session whose other end is this host.
fn with_peer(peer: Topology) -> Side {
    let mut both = session(node());
    both.hosts.push(Arc::new(peer));
    let mut side = Side::new("x.rsz".into(), Arc::new(both));
    for (seq, host) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let rails = vec![RailFrame::default(); 2];
        side.push(Frame { host, seq, at_ns: seq * 1_000_000_000, rails, ..Frame::default() });
    }
    side.end();
    side
}

#[test]
fn the_other_ends_are_compared_where_both_sessions_have_them() {
    let mut changed = node();
    changed.host.hostname = Some("n2".into());
    let before = with_peer(changed.clone());
    changed.rails[0].path_mtu = Some(1024);
    changed.rails[0].max_path_mtu = Some(4096);
    let held = diff(&before, &with_peer(changed));
    let peer = held.peer.as_ref().unwrap();
    assert_eq!(peer.host(), "n2");
    assert_eq!(peer.topology.iter().map(|one| one.what).collect::<Vec<_>>(), ["path MTU"]);
    assert!(peer.appeared.iter().any(|one| one.code == "mtu-differs"), "{:?}", peer.appeared);
    assert_eq!([Worse::Topology, Worse::Findings].map(|worse| held.is(worse)), [true; 2]);
    assert!(held.topology.is_empty(), "{held}");
    assert!(held.to_string().contains("the other end, n2:\n  - mlx5_0: path MTU: 4096 -> 1024\n"), "{held}");
    let one_end = diff(&before, &side(&node(), [0.0, 0.0], None));
    assert_eq!((one_end.peer_only_in, one_end.peer), (Some("a"), None));
}

#[test]
fn what_was_found_on_another_port_of_a_card_has_come_anew() {
    let with_flap = |port: u32| {
        let mut topology = node();
        (topology.rails[1].device, topology.rails[1].port) = (topology.rails[0].device.clone(), 2);
        let down = topology.rails.iter_mut().find(|rail| rail.port == port).unwrap();
        (down.state, down.phys_state) = (Some("DOWN".into()), Some("Polling".into()));
        side(&topology, [48.0, 48.0], read())
    };
    let (before, after) = (with_flap(1), with_flap(2));
    let codes = |diff: &Diff| -> Vec<String> {
        let down = diff.appeared.iter().filter(|one| one.code == "link-down");
        down.map(|one| format!("{} {}", one.devices.join(","), one.message)).collect()
    };
    let changed = codes(&diff(&before, &after));
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].starts_with("mlx5_0 mlx5_0 port 2 is DOWN"), "{changed:?}");
    assert_eq!(codes(&diff(&after, &after)), Vec::<String>::new());
}
