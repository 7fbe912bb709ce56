use super::masked_copy;
use crate::report;
use crate::rules::Limits;
use crate::rules::testing::{bonded, described, process, session, two_sockets};
use crate::session::writer::Writer;
use crate::session::{FrameSource, Replay};
use crate::timeline::Timeline;
use probes::model::{
    Failure, Frame, Gid, GidChoice, GidType, Load, LoadOp, Process, RailFrame, Rank, Session, Subnet,
};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const SECRETS: [&str; 12] = [
    "gpu17",
    "acme",
    "10.77.2",
    "a712",
    "a7:12",
    "trainer",
    "secret-llm",
    "Bob",
    "peerbox",
    "fea7",
    "job-4711",
    "cable",
];

fn secret_session() -> Session {
    let mut rail = bonded("mlx5_0");
    rail.system_image_guid = Some("b859:9f03:00a7:1234".into());
    let gid = |index, address: &str| Gid {
        index,
        address: address.parse().unwrap(),
        kind: Some(GidType::RoceV2),
        netdev: Some("enxb8599fa71234".into()),
    };
    rail.gids = vec![gid(1, "fe80::ba59:9fff:fea7:1234"), gid(3, "::ffff:10.77.2.1")];
    rail.gid = Some(GidChoice { index: 3, reason: "routable IPv4 10.77.2.1".into() });
    rail.subnets = vec![Subnet { netdev: "eth1".into(), network: "10.77.2.0/24".into() }];
    let mut here = two_sockets(vec![rail]);
    here.host.hostname = Some("gpu17.acme.com".into());
    here.gap("processes", "trainer", "gpu17: /proc/7/numa_maps of trainer: permission denied");
    let mut there = here.clone();
    there.host.hostname = Some("peerbox".into());
    Session {
        hosts: vec![Arc::new(here), Arc::new(there)],
        clock_offset_ns: Some(5),
        ..session(two_sockets(vec![]))
    }
}

fn frame(host: usize, second: u64, session: &Session) -> Frame {
    let user = Process {
        name: "trainer".into(),
        rank: Some(Rank { job: if second == 0 { "secret-llm".into() } else { "job-4711".into() }, rank: 0 }),
        ..process(7, "mlx5_0", "4-7")
    };
    let load = Load { ended: Some("by the peer peerbox at 10.77.2.9".into()), ..described(LoadOp::Read) };
    let mut later = (*session.hosts[host]).clone();
    later.rails[0].gid = Some(GidChoice { index: 3, reason: "now on gpu17".into() });
    Frame {
        host,
        seq: second,
        at_ns: second * 1_000_000_000,
        rails: vec![RailFrame {
            rx_bytes: Some(second * 24_000_000_000),
            tx_bytes: Some(0),
            ..RailFrame::default()
        }],
        processes: second.is_multiple_of(3).then(|| Arc::new(vec![user])),
        load: Some(Arc::new(load)),
        topology: (second == 4).then(|| Arc::new(later)),
        failures: vec![Failure::new(Some("mlx5_0"), "mlx5_0: peerbox (10.77.2.9) left")],
        marks: if second == 2 { vec!["Bob moved the cable".into()] } else { Vec::new() },
        ..Frame::default()
    }
}

fn text(path: &Path) -> String {
    let packed = std::fs::read(path).unwrap();
    let mut text = String::new();
    zstd::stream::read::Decoder::new(&packed[..]).unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Codes and devices of what is found.
fn found(path: &Path) -> Vec<(String, Vec<String>)> {
    let mut replay = Replay::open(path).unwrap();
    let mut timeline = Timeline::new(replay.session());
    while let Some(frame) = replay.next_frame().unwrap() {
        timeline.push(frame);
    }
    let report = report::build(&timeline, &Limits::default(), &[]);
    report.findings.iter().map(|one| (one.code.to_string(), one.devices.clone())).collect()
}

#[test]
fn no_secret_of_a_session_is_in_its_masked_copy_and_it_is_judged_alike() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.rsz"), folder.path().join("b.rsz"));
    let session = secret_session();
    let mut writer = Writer::create(&from, Arc::new(session.clone())).unwrap();
    for second in 0..8 {
        for host in 0..2 {
            writer.push(&Arc::new(frame(host, second, &session))).unwrap();
        }
    }
    writer.finish().unwrap();
    let original = text(&from);
    for secret in SECRETS {
        assert!(original.contains(secret), "{secret} is to be looked for");
    }
    let copy = masked_copy(&from, &to, &mut |_| {}).unwrap();
    let masked = text(&to);
    for secret in SECRETS {
        let at = masked.to_lowercase().find(&secret.to_lowercase());
        assert!(at.is_none(), "{secret}: {:?}", at.map(|at| &masked[at.saturating_sub(80)..at + 40]));
    }
    assert_eq!((copy.frames, copy.warning), (16, None));
    assert_eq!(copy.bytes, std::fs::metadata(&to).unwrap().len());
    assert_eq!(found(&from), found(&to));
    assert!(!found(&to).is_empty());
    let again = masked_copy(&from, &to, &mut |_| {}).unwrap_err().to_string();
    assert!(again.contains("b.rsz: exists already"), "{again}");
}
