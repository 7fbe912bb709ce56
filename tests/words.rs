//! No message has a word of the trade that `railscope explain` does not define.
//!
//! Looked at are the findings of every recording and the texts of `explain` itself. A word of the trade is one in capitals or
//! with a hyphen; names of counters, functions and files (with `_`, or in backticks) are names.

use railscope::report;
use railscope::rules::Limits;
use railscope::rules::explain::{FAMILIES, TERMS, of, with_limits};
use railscope::session::{FrameSource, Replay};
use railscope::timeline::Timeline;
use std::collections::BTreeMap;
use std::path::Path;

/// Words that need no explaining to anybody at a server.
const PLAIN: &[&str] = &[
    "BIOS", "CPU", "DIMM", "GB", "GB/s", "Gb/s", "GPU", "GT/s", "IP", "IPv4", "IPv6", "MAC", "MTU", "NVIDIA",
    "PCI", "PCIe", "PID", "ROCm", "TCP", "UDP",
];

/// Words of ordinary English that are written with a hyphen, and names of others.
const HYPHENED: &[&str] = &[
    "balance-alb",
    "balance-rr",
    "balance-xor",
    "infiniband-diags",
    "last-level",
    "locked-memory",
    "made-up",
    "multi-host",
    "peer-memory",
    "peer-to-peer",
    "per-leg",
    "plug-in",
    "rdma-core",
    "single-numa-node",
    "source-based",
    "vfio-pci",
];

fn is_defined(word: &str) -> bool {
    let one = word.strip_suffix('s').unwrap_or(word);
    let is_term = |word: &str| {
        let parts =
            TERMS.iter().flat_map(|term| term.words).flat_map(|words| words.split(' ').chain([*words]));
        parts.into_iter().any(|known| known.eq_ignore_ascii_case(word))
    };
    [word, one]
        .iter()
        .any(|word| is_term(word) || of(word).is_some() || PLAIN.contains(word) || HYPHENED.contains(word))
}

/// Words of the trade in a text, without what stands in backticks.
fn of_the_trade(text: &str) -> Vec<&str> {
    let outside = text.split('`').step_by(2);
    let words = outside.flat_map(|text| {
        text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '/' | '.' | ':'))
    });
    words
        .map(|word| word.trim_matches(['-', '.', ':', '/']))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()) && !word.contains(['_', ':']))
        .flat_map(|word| if PLAIN.contains(&word) { vec![word] } else { word.split('/').collect() })
        .filter(|word| {
            let letters = word.as_bytes();
            let capitals = letters.windows(2).any(|two| two.iter().all(u8::is_ascii_uppercase));
            let hyphen = letters.windows(3).any(|three| {
                three[1] == b'-' && three[0].is_ascii_alphabetic() && three[2].is_ascii_alphabetic()
            });
            capitals || hyphen
        })
        .collect()
}

/// Words that nothing defines, each with a text that has it.
fn undefined(texts: impl IntoIterator<Item = String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for text in texts {
        for word in of_the_trade(&text).into_iter().filter(|word| !is_defined(word)) {
            found.entry(word.to_owned()).or_insert_with(|| text.clone());
        }
    }
    found
}

#[test]
fn a_word_that_nothing_defines_is_noticed() {
    let text = "mlx5_0: the XYZZY of eth-0 is `ABC`, 3 GB/s of READs per-frob (IPv4)".to_owned();
    assert_eq!(undefined([text]).into_keys().collect::<Vec<_>>(), ["XYZZY", "per-frob"]);
}

#[test]
fn every_word_of_the_findings_of_every_recording_is_defined() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(root.join("recordings")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "rsz") {
            continue;
        }
        let mut replay = Replay::open(&path).unwrap();
        let mut timeline = Timeline::new(replay.session());
        while let Some(frame) = replay.next_frame().unwrap() {
            timeline.push(frame);
        }
        let report = report::build(&timeline, &Limits::default(), &[]);
        texts.extend(report.findings.into_iter().flat_map(|found| [found.message, found.advice]));
    }
    assert!(texts.len() > 20, "{texts:?}");
    assert_eq!(undefined(texts), BTreeMap::new());
}

#[test]
fn every_word_of_what_explains_is_defined() {
    let texts = FAMILIES.iter().flat_map(|family| family.codes).flat_map(|known| {
        [known.means, known.fires, known.silent, known.mend].map(|text| with_limits(text, &Limits::default()))
    });
    let of_terms = TERMS.iter().map(|term| term.means.to_owned());
    assert_eq!(undefined(texts.chain(of_terms)), BTreeMap::new());
}
