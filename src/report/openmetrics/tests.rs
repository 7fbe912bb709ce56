use super::OpenMetrics;
use crate::report::build;
use crate::rules::Limits;
use crate::rules::testing::{Traffic, bonded, rail, timeline, two_sockets};
use std::collections::BTreeSet;

fn printed(host: &str) -> String {
    let mut topology = two_sockets(vec![bonded("mlx5_bond_1"), rail("mlx5_1")]);
    topology.host.hostname = Some(host.into());
    let traffic = Traffic { legs_rx_gb_per_s: vec![24.4, 0.1], ..Traffic::loaded(&[24.5, 48.0]) };
    let timeline = timeline(topology, &traffic);
    let report = build(&timeline, &Limits::default(), &[]);
    OpenMetrics { report: &report, timeline: &timeline }.to_string()
}

/// Name, labels and value of a sample line, by the specification's grammar; quotes inside are escaped.
fn sample(line: &str) -> (String, String, f64) {
    let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("{line}"));
    let mut end = None;
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    let end = end.unwrap_or_else(|| panic!("{line}"));
    (name.to_owned(), rest[..end].to_owned(), rest[end + 1..].trim().parse().unwrap())
}

#[test]
fn it_keeps_the_rules_of_the_format() {
    let text = printed("n1 \"blue\\\"\n{x}");
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    let (mut families, mut samples) = (BTreeSet::new(), BTreeSet::new());
    let (mut family, mut kind, mut unit) = (String::new(), String::new(), String::new());
    for line in text.lines().filter(|line| *line != "# EOF") {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["#", "TYPE", name, of] => {
                (family, kind, unit) = ((*name).to_owned(), (*of).to_owned(), String::new());
                assert!(families.insert(family.clone()), "families stand together: {line}");
            }
            ["#", "UNIT", name, of] => {
                assert!(*name == family && name.ends_with(&format!("_{of}")), "{line}");
                unit = (*of).to_owned();
            }
            ["#", "HELP", name, _] => assert_eq!(*name, family, "{line}"),
            _ => {
                let (name, labels, value) = sample(line);
                let expected = if kind == "counter" { format!("{family}_total") } else { family.clone() };
                assert_eq!(name, expected, "{line}");
                assert!(value.is_finite() && (kind != "counter" || value >= 0.0), "{line}");
                assert!(samples.insert((name, labels)), "a label set stands once: {line}");
                assert!(["", "bytes", "seconds", "bytes_per_second"].contains(&unit.as_str()));
            }
        }
    }
    assert!(text.contains("host=\"n1 \\\"blue\\\\\\\"\\n{x}\""), "{text}");
}

#[test]
fn rates_are_bytes_a_second_and_counters_are_those_of_the_nic() {
    let text = printed("n1");
    for line in [
        "railscope_rail_received_bytes_per_second{host=\"n1\",device=\"mlx5_1\",port=\"1\"} 48000000000",
        "railscope_rail_received_bytes_total{host=\"n1\",device=\"mlx5_1\",port=\"1\"} 193000000000",
        "railscope_finding{host=\"n1\",device=\"mlx5_bond_1\",code=\"bond-leg-imbalance\",severity=\"warning\"} 1",
        "railscope_worst_severity{host=\"n1\"} 2",
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line}\nnot in\n{text}");
    }
}
