//! `/proc/net/bonding/<netdev>`: the bonding driver's own account, older than its sysfs files.

use super::bonding::mii_up;

/// What the text says; everything it does not say is `None`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct BondingText {
    pub mode: Option<String>,
    pub xmit_hash_policy: Option<String>,
    pub active_leg: Option<String>,
    pub active_aggregator: Option<u32>,
    pub legs: Vec<LegText>,
}

/// The part of one leg.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LegText {
    pub netdev: String,
    pub link_up: Option<bool>,
    pub speed_gbit_per_s: Option<f64>,
    pub aggregator_id: Option<u32>,
    pub actor_port_state: Option<u32>,
    pub partner_port_state: Option<u32>,
}

/// The text names modes in words, sysfs by these names (Documentation/networking/bonding.rst, `mode`).
const MODES: [(&str, &str); 7] = [
    ("load balancing (round-robin)", "balance-rr"),
    ("fault-tolerance (active-backup)", "active-backup"),
    ("load balancing (xor)", "balance-xor"),
    ("fault-tolerance (broadcast)", "broadcast"),
    ("IEEE 802.3ad Dynamic link aggregation", "802.3ad"),
    ("transmit load balancing", "balance-tlb"),
    ("adaptive load balancing", "balance-alb"),
];

/// Which port a `port state` line speaks of.
#[derive(Clone, Copy)]
enum Lacp {
    Actor,
    Partner,
}

impl BondingText {
    /// Reads the text line by line. Lines it does not know are passed over.
    ///
    /// Source: `drivers/net/bonding/bond_procfs.c`.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut lacp = Lacp::Actor;
        for line in text.lines() {
            let Some((key, value)) = line.trim().split_once(':') else { continue };
            let value = value.trim();
            if key == "Slave Interface" {
                found.legs.push(LegText { netdev: value.to_owned(), ..LegText::default() });
                continue;
            }
            match (key, found.legs.last_mut()) {
                ("details actor lacp pdu", _) => lacp = Lacp::Actor,
                ("details partner lacp pdu", _) => lacp = Lacp::Partner,
                (_, Some(leg)) => leg.line(key, value, lacp),
                (_, None) => found.line(key, value),
            }
        }
        found
    }

    fn line(&mut self, key: &str, value: &str) {
        match key {
            "Bonding Mode" => {
                // `fault-tolerance (active-backup) (fail_over_mac active)` has more to say
                let known = MODES.iter().find(|(words, _)| value.starts_with(words));
                self.mode = known.map(|(_, mode)| (*mode).to_owned());
            }
            "Transmit Hash Policy" => self.xmit_hash_policy = value.split(' ').next().map(str::to_owned),
            "Currently Active Slave" if value != "None" => self.active_leg = Some(value.to_owned()),
            "Aggregator ID" => self.active_aggregator = value.parse().ok(),
            _ => {}
        }
    }
}

impl LegText {
    fn line(&mut self, key: &str, value: &str, lacp: Lacp) {
        match (key, lacp) {
            ("MII Status", _) => self.link_up = mii_up(value),
            ("Speed", _) => {
                let mbit = value.strip_suffix(" Mbps").and_then(|number| number.parse::<u32>().ok());
                self.speed_gbit_per_s = mbit.map(|mbit| f64::from(mbit) / 1000.0);
            }
            ("Aggregator ID", _) => self.aggregator_id = value.parse().ok(),
            ("port state", Lacp::Actor) => self.actor_port_state = value.parse().ok(),
            ("port state", Lacp::Partner) => self.partner_port_state = value.parse().ok(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BondingText, LegText};

    const ONE_LEG_OUT: &str = "\
Ethernet Channel Bonding Driver: v3.7.1 (April 27, 2011)

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
Transmit Hash Policy: layer3+4 (1)
MII Status: up

802.3ad info
LACP rate: fast
Active Aggregator Info:
\tAggregator ID: 2
\tNumber of ports: 1

Slave Interface: eth0
MII Status: up
Speed: 100000 Mbps
Aggregator ID: 1
details actor lacp pdu:
    port state: 7
details partner lacp pdu:
    port state: 13

Slave Interface: eth1
MII Status: down
Speed: Unknown
Aggregator ID: 2
";

    #[test]
    fn both_ends_lacp_states_are_told_apart() {
        let found = BondingText::parse(ONE_LEG_OUT);
        assert_eq!(
            (found.mode.as_deref(), found.xmit_hash_policy.as_deref()),
            (Some("802.3ad"), Some("layer3+4"))
        );
        assert_eq!(found.active_aggregator, Some(2));
        let first = LegText {
            netdev: "eth0".into(),
            link_up: Some(true),
            speed_gbit_per_s: Some(100.0),
            aggregator_id: Some(1),
            actor_port_state: Some(7),
            partner_port_state: Some(13),
        };
        let second = LegText {
            netdev: "eth1".into(),
            link_up: Some(false),
            aggregator_id: Some(2),
            ..LegText::default()
        };
        assert_eq!(found.legs, [first, second]);
    }

    #[test]
    fn an_active_backup_bond_names_its_leg() {
        let found = BondingText::parse(
            "Bonding Mode: fault-tolerance (active-backup) (fail_over_mac active)\nCurrently Active Slave: eth1\n",
        );
        assert_eq!(
            (found.mode.as_deref(), found.active_leg.as_deref()),
            (Some("active-backup"), Some("eth1"))
        );
    }

    #[test]
    fn noise_is_passed_over() {
        assert_eq!(BondingText::parse("::\n\u{fffd}: \nport state: 3\n"), BondingText::default());
    }
}
