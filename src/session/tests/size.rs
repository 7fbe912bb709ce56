//! What a recording takes on disk.

use super::{Listed, record, session};
use crate::session::{FrameSource, Recorded, Replay};
use probes::model::{Frame, Rail, RailFrame, Session, Topology};
use std::collections::VecDeque;
use std::sync::Arc;

/// A node of eight bonds at ten samples a second: per rail 60 counters, of which a dozen move by ± 5 % a step.
fn sixty_counters(frame_count: u64) -> Listed {
    const RAILS: usize = 8;
    let rail = |n| Rail {
        device: format!("mlx5_bond_{n}"),
        counters: (0..58).map(|c| format!("hw/counter_{c}")).collect(),
        ..Rail::default()
    };
    let topology = Topology { rails: (1..=RAILS).map(rail).collect(), ..Topology::default() };
    let session = Arc::new(Session { hosts: vec![Arc::new(topology)], ..(*session(1)).clone() });
    let mut state = 1u64;
    let mut step = |mean: u64| {
        // Knuth's MMIX constants: noise enough, equal in every run
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        mean * 95 / 100 + (state >> 32) % (mean / 10 + 1)
    };
    let mut totals = [[1u64 << 50; 60]; RAILS];
    let mut frames = VecDeque::new();
    for seq in 0..frame_count {
        let rails = totals.iter_mut().map(|rail| {
            for (at, total) in rail.iter_mut().take(12).enumerate() {
                // from a rail at 49 GB/s down to packets and requests
                *total += step(4_900_000_000 >> (at * 2));
            }
            RailFrame {
                rx_bytes: Some(rail[0]),
                tx_bytes: Some(rail[1]),
                counters: rail[2..].iter().copied().map(Some).collect(),
                ..RailFrame::default()
            }
        });
        let rails = rails.collect();
        frames.push_back(Frame { seq, at_ns: seq * 100_000_000 + step(50_000), rails, ..Frame::default() });
    }
    Listed { session, frames }
}

#[test]
fn sixty_counters_cost_at_most_eighty_bytes_per_rail_and_sample() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sixty.rsz");
    record(sixty_counters(600), &path);
    let bytes = std::fs::metadata(&path).unwrap().len();
    let per_sample = bytes as f64 / 8.0 / 600.0;
    println!("{per_sample:.1} bytes per rail and sample");
    assert!(per_sample <= 80.0, "{per_sample:.1} bytes");
}

#[test]
fn a_file_is_never_larger_than_it_may_be_and_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.rsz");
    let most_bytes = 128 << 10;
    let mut recorded = Recorded::create_below(sixty_counters(600), &path, most_bytes).unwrap();
    let status = recorded.status();
    while recorded.next_frame().unwrap().is_some() {}
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(status.is_full() && status.trouble().is_none());
    assert!(bytes <= most_bytes && bytes > most_bytes * 9 / 10, "{bytes} bytes");
    let mut replay = Replay::open(&path).unwrap();
    let kept = super::frames(&mut replay);
    assert_eq!((replay.warning(), kept.len() as u64), (None, status.frames()));
    assert!(kept.iter().map(|frame| frame.seq).eq(0..status.frames()), "no hole before the end");
}
