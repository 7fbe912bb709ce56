//! The rails at a glance: a line each.

use super::rail::link_now;
use probes::model::{Rail, Topology};
use std::fmt::{self, Formatter};

/// Fewer rails than this are seen without a table.
const LEAST: usize = 3;
const BETWEEN: usize = 2;

/// A table of the rails in as many columns as the width has room for; the last ones are dropped first.
pub(super) fn write(f: &mut Formatter<'_>, topology: &Topology, columns: usize) -> fmt::Result {
    if topology.rails.len() < LEAST {
        return Ok(());
    }
    let heads =
        ["rail", "netdev", "state", "Gb/s", "node", "GID", "PCI link", "function", "firmware", "card"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(topology.rails.iter().map(cells));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let mut used = 0;
    let mut widths = Vec::new();
    for at in 0..heads.len() {
        let next = used + width(at) + if at == 0 { 0 } else { BETWEEN };
        if next > columns {
            break;
        }
        used = next;
        widths.push(width(at));
    }
    writeln!(f)?;
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(f, "{}", cells.join(&" ".repeat(BETWEEN)).trim_end())?;
    }
    Ok(())
}

fn cells(rail: &Rail) -> [String; 10] {
    let known = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let path = rail.pcie.as_ref();
    let own = path.and_then(|path| path.hops.first());
    [
        if rail.port == 1 { rail.device.clone() } else { format!("{}/{}", rail.device, rail.port) },
        known(rail.netdev.clone()),
        known(rail.state.clone()),
        known(rail.line_gbit_per_s.map(|rate| format!("{}", (rate * 10.0).round() / 10.0))),
        known(rail.numa_node.map(|node| node.to_string())),
        known(rail.gid.as_ref().map(|gid| gid.index.to_string())),
        known(own.filter(|hop| hop.current_gt_per_s.is_some() || hop.current_width.is_some()).map(link_now)),
        known(path.map(|path| path.address.clone())),
        known(rail.firmware.clone()),
        known(path.and_then(crate::report::rails::model).map(str::to_owned)),
    ]
}

#[cfg(test)]
mod tests {
    use probes::model::{Hop, PciePath, Rail, Topology};
    use std::fmt::{self, Display, Formatter};

    struct Glance(Topology, usize);

    impl Display for Glance {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            super::write(f, &self.0, self.1)
        }
    }

    fn rails(count: u32) -> Vec<Rail> {
        let hop = Hop { current_gt_per_s: Some(32.0), current_width: Some(16), ..Hop::default() };
        let rail = |at: u32| Rail {
            device: format!("mlx5_{at}"),
            port: 1,
            netdev: Some(format!("eth{at}")),
            state: Some("ACTIVE".into()),
            line_gbit_per_s: Some(400.0),
            pcie: Some(PciePath {
                address: "0000:1a:00.0".into(),
                hops: vec![hop.clone()],
                ..PciePath::default()
            }),
            ..Rail::default()
        };
        (0..count).map(rail).collect()
    }

    #[test]
    fn each_rail_has_a_line_and_a_narrow_terminal_loses_the_last_columns() {
        let glance = |rails, columns| Glance(Topology { rails, ..Topology::default() }, columns).to_string();
        assert_eq!(glance(rails(2), 80), "", "two rails need no table");
        let text = glance(rails(3), 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "rail    netdev  state   Gb/s  node  GID  PCI link     function      firmware");
        assert_eq!(lines[2], "mlx5_0  eth0    ACTIVE  400   -     -    32 GT/s x16  0000:1a:00.0  -");
        assert_eq!(lines.len(), 5);
        assert!(glance(rails(3), 50).lines().all(|line| line.len() <= 50));
    }
}
