use super::Ticket;
use crate::report::build;
use crate::rules::testing::{Traffic, bonded, rail, timeline, two_sockets};
use crate::rules::{Finding, Limits, Severity};

#[test]
fn a_ticket_says_first_what_is_wrong_and_what_to_do() {
    let mut topology = two_sockets(vec![bonded("mlx5_bond_1")]);
    topology.host.hostname = Some("n1<b>".into());
    topology.gap("firmware", "mlx5_bond_1", "fw_ver: permission denied");
    let traffic = Traffic { legs_rx_gb_per_s: vec![24.4, 0.1], ..Traffic::loaded(&[24.5]) };
    let text = Ticket(&build(&timeline(topology, &traffic), &Limits::default(), &[])).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "### n1\\<b\\>: 1 warning");
    assert_eq!(lines[2], "- **WARNING** `bond-leg-imbalance` on mlx5_bond_1");
    assert!(lines[4].starts_with("  - to do: "), "{text}");
    for line in [
        "| rail | received GB/s | sent GB/s | could do GB/s as counted | % |",
        "| mlx5_bond_1 | 24.50 | 0.00 | 49.71 line | 49 |",
        "| leg eth0 | 24.40 | 0.00 |  |  |",
        "- mlx5_bond_1 (firmware): fw\\_ver: permission denied",
    ] {
        let line = line.replace("\\_", "_");
        assert!(lines.contains(&line.as_str()), "{line}\nnot in\n{text}");
    }
}

#[test]
fn findings_that_are_alike_are_told_once_as_in_the_text() {
    let rails = ["mlx5_0", "mlx5_1", "mlx5_2"].map(rail).into();
    let mut report = build(&timeline(two_sockets(rails), &Traffic::default()), &Limits::default(), &[]);
    let flap = |device: &str, severity| {
        Finding::new("flap", severity, [device], format!("{device}: the link went down once"))
            .advise("look at it")
    };
    report.findings = vec![
        flap("mlx5_0", Severity::Warning),
        flap("mlx5_2", Severity::Warning),
        flap("mlx5_1", Severity::Info),
    ];
    let text = Ticket(&report).to_string();
    assert!(text.contains("- **WARNING** `flap` on mlx5_0, mlx5_2\n"), "{text}");
    let said = "  - mlx5_0: the link went down once; the same of mlx5_2, but for figures and netdevs\n";
    assert_eq!((text.matches("- **WARNING**").count(), text.matches(said).count()), (1, 1), "{text}");
}
