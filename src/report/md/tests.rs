use super::Ticket;
use crate::report::build;
use crate::rules::Limits;
use crate::rules::testing::{Traffic, bonded, timeline, two_sockets};

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
