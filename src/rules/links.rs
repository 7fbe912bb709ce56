//! `link-down`, `flap`, `link-width`: the state of a port's link.

use super::growth::Growth;
use super::infiniband;
use super::means::Over;
use super::wording::{called, list};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::{HostTimeline, Timeline};
use probes::model::{LinkLayer, Rail, RailId, Topology};

/// The rules of this file.
pub(super) const RULE: Rule = Rule { codes: &["link-down", "flap", "link-width"], check };

fn check(topology: &Topology, timeline: &Timeline, _: &Limits) -> Vec<Finding> {
    let local = timeline.local();
    let mut found = Vec::new();
    for (id, surveyed) in topology.rails_with_id() {
        let rail = local.last_seen(id, surveyed);
        found.extend(down(&rail));
        found.extend(flap(id, (&rail, &called(&rail, &topology.rails)), local));
        found.extend(width(&rail));
    }
    found
}

fn down(rail: &Rail) -> Option<Finding> {
    let (state, phys_state) = (rail.state.as_deref()?, rail.phys_state.as_deref()?);
    // Disabled was switched off by somebody, Sleep has no cable to train on
    if state == "ACTIVE" || !looks_for_a_link(phys_state) || infiniband::lacks_guid(rail) {
        return None;
    }
    // an InfiniBand netdev's driver does not tell of the link
    let look = match (rail.link_layer, rail.netdev.as_deref()) {
        (Some(LinkLayer::InfiniBand), _) if is_mellanox(rail) => {
            format!("; look with `ibstat {0} {1}`, `mlxlink -d {0}`", rail.device, rail.port)
        }
        (Some(LinkLayer::InfiniBand), _) => format!("; look with `ibstat {} {}`", rail.device, rail.port),
        (_, Some(netdev)) => format!("; look with `ethtool {netdev}`"),
        (_, None) => String::new(),
    };
    Some(
        Finding::on_ports(
            "link-down",
            Severity::Warning,
            [rail],
            format!(
                "{} port {} is {state} and {phys_state}: it is enabled and finds no link",
                rail.device, rail.port
            ),
        )
        .with("state", state)
        .with("phys_state", phys_state)
        .advise(format!("check cable, transceiver and the switch port, or disable the port if unused{look}")),
    )
}

fn is_mellanox(rail: &Rail) -> bool {
    rail.driver.as_deref().is_some_and(|driver| driver.starts_with("mlx"))
}

/// Whether a port in this physical state is enabled and tries: `PortConfigurationTraining` is how the kernel writes it
/// (`phys_state_to_str` in drivers/infiniband/core/sysfs.c).
fn looks_for_a_link(phys_state: &str) -> bool {
    matches!(phys_state, "Polling" | "Training" | "PortConfigurationTraining")
}

/// Counters of links that went down: of the port (IBTA 1.4, 16.1.3.5, `LinkDownedCounter`) and of the netdevs.
const DOWNS: [&str; 3] = ["port/link_downed", "hw/link_downed", "eth/link_down_events_phy"];

/// A link that went down in the session and is up at its end, by the states seen or by growth of a counter.
fn flap(id: RailId, (rail, name): (&Rail, &str), local: &HostTimeline) -> Option<Finding> {
    let leg_down = rail.bond.iter().flat_map(|bond| &bond.legs).any(|leg| leg.link_up == Some(false));
    if !rail.is_active() || leg_down {
        return None;
    }
    let at_s: Vec<f64> = local
        .sums()
        .events
        .iter()
        .filter(|event| event.is_of(rail) && event.is_link_loss())
        .map(|event| event.at_s)
        .collect();
    let grown = Growth::of(id, rail, local).grown(Over::Session, |name| DOWNS.contains(&name));
    let counted = grown.iter().map(|grown| grown.by).max().unwrap_or(0);
    let times = counted.max(at_s.len() as u64);
    if times == 0 {
        return None;
    }
    let mut evidence: Vec<String> =
        grown.iter().map(|grown| format!("{} +{}", grown.short(), grown.by)).collect();
    if !at_s.is_empty() {
        evidence.push(format!("seen at {} s", list(at_s.iter().map(|at| format!("{at:.1}")))));
    }
    let word = if times == 1 { "once" } else { "several times" };
    let bond = rail.bond.as_ref().map_or("", |_| " of a leg");
    // a bond has no transceiver, and an InfiniBand netdev's driver does not tell of its own
    let netdevs: Vec<&str> = match (&rail.bond, rail.link_layer) {
        (Some(bond), _) => bond.legs.iter().map(|leg| leg.netdev.as_str()).collect(),
        (None, Some(LinkLayer::InfiniBand)) => Vec::new(),
        (None, _) => rail.netdev.as_deref().into_iter().collect(),
    };
    let looks: Vec<String> = netdevs.iter().map(|netdev| format!(", `ethtool -m {netdev}`")).collect();
    let looks = looks.concat();
    Some(
        Finding::on_ports(
            "flap",
            Severity::Warning,
            [rail],
            format!("{name}: the link{bond} went down and came back {word} in this session: {}", list(evidence)),
        )
        .with("times", times)
        .with("at_s", at_s)
        .advise(format!(
            "check cable, transceiver and switch port, and the kernel's log: `dmesg -T | grep -iE 'link (up|down)'`{looks}"
        )),
    )
}

/// InfiniBand on one lane. Cables and ports have four (IBTA 1.4, volume 2, 5.1); two are how HDR and NDR ports
/// are split, one is a broken lane. Ethernet's `rate` is made up from the speed and tells nothing of lanes.
fn width(rail: &Rail) -> Option<Finding> {
    if rail.link_layer != Some(LinkLayer::InfiniBand) || !rail.is_active() {
        return None;
    }
    let rate = rail.rate_text.as_deref()?;
    let (_, lanes) = rate.split_once('(')?;
    let generation = lanes.strip_prefix("1X")?.trim_end_matches(')').trim();
    Some(
        Finding::on_ports(
            "link-width",
            Severity::Warning,
            [rail],
            format!(
                "{} port {}: one lane only ({rate}); an InfiniBand cable has four",
                rail.device, rail.port
            ),
        )
        .with("active_width", 1)
        .with("expected_width", 4)
        .with("generation", generation)
        .with("line_gbit_per_s", rail.line_gbit_per_s)
        .advise(format!(
            "reseat or change the cable; look at both ends with `iblinkinfo` and `mlxlink -d {}`",
            rail.device
        )),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        Traffic, bonded, counted, found, found_in, named, rail, session, two_sockets,
    };
    use super::RULE;
    use crate::timeline::Timeline;
    use probes::model::{Frame, LinkLayer, Rail, RailFrame};
    use std::sync::Arc;

    #[test]
    fn an_enabled_port_without_link_is_named_and_a_disabled_one_is_not() {
        let down = |device: &str, phys_state: &str| Rail {
            state: Some("DOWN".into()),
            phys_state: Some(phys_state.into()),
            ..rail(device)
        };
        let rails = vec![rail("mlx5_0"), down("mlx5_1", "Polling"), down("mlx5_2", "Disabled")];
        let found = found(&RULE, &two_sockets(rails), &Traffic::default());
        assert_eq!(named(&found), ["link-down mlx5_1"]);
    }

    #[test]
    fn where_to_look_at_a_link_depends_on_what_it_is() {
        let advice = |link_layer: LinkLayer, driver: &str| {
            let rail = Rail {
                state: Some("DOWN".into()),
                phys_state: Some("Polling".into()),
                netdev: Some("net0".into()),
                link_layer: Some(link_layer),
                driver: Some(driver.into()),
                ..rail("mlx5_0")
            };
            found(&RULE, &two_sockets(vec![rail]), &Traffic::default())[0].advice.clone()
        };
        assert!(advice(LinkLayer::Ethernet, "mlx5_core").ends_with("look with `ethtool net0`"));
        assert!(
            advice(LinkLayer::InfiniBand, "mlx5_core")
                .ends_with("look with `ibstat mlx5_0 1`, `mlxlink -d mlx5_0`")
        );
        assert!(advice(LinkLayer::InfiniBand, "hfi1").ends_with("look with `ibstat mlx5_0 1`"));
    }

    /// Findings on a rail whose port has these states, a second apart.
    fn states(words: &[&str]) -> Vec<String> {
        let surveyed = Rail { state: Some(words[0].to_owned()), ..rail("mlx5_0") };
        let topology = two_sockets(vec![surveyed]);
        let mut timeline = Timeline::new(Arc::new(session(topology.clone())));
        for (seq, word) in words.iter().enumerate() {
            let read = RailFrame {
                state: Some((*word).to_owned()),
                phys_state: Some(if *word == "ACTIVE" { "LinkUp" } else { "Polling" }.into()),
                ..RailFrame::default()
            };
            let at_ns = seq as u64 * 1_000_000_000;
            timeline.push(Frame { seq: seq as u64, at_ns, rails: vec![read], ..Frame::default() });
        }
        named(&found_in(&RULE, &topology, &timeline))
    }

    #[test]
    fn a_link_that_comes_back_is_a_flap_and_one_that_stays_down_is_none() {
        assert_eq!(states(&["ACTIVE", "DOWN", "ACTIVE"]), ["flap mlx5_0"]);
        assert_eq!(states(&["ACTIVE", "ACTIVE", "DOWN"]), ["link-down mlx5_0"]);
        assert_eq!(states(&["DOWN", "DOWN", "ACTIVE"]), Vec::<String>::new());
    }

    #[test]
    fn a_flap_between_two_samples_is_seen_by_its_counter() {
        let of = |rail: Rail, values: &[u64]| {
            let topology = two_sockets(vec![rail]);
            let rows: Vec<Vec<u64>> = values.iter().map(|&value| vec![value]).collect();
            named(&found_in(&RULE, &topology, &counted(&topology, &rows)))
        };
        let counting = |rail: Rail, name: &str| Rail { counters: vec![name.into()], ..rail };
        assert_eq!(of(counting(rail("mlx5_0"), "port/link_downed"), &[3, 3, 4]), ["flap mlx5_0"]);
        assert_eq!(of(counting(rail("mlx5_0"), "port/link_downed"), &[3, 3, 3]), Vec::<String>::new());
        let mut bond = counting(bonded("mlx5_bond_0"), "eth/link_down_events_phy");
        assert_eq!(of(bond.clone(), &[3, 4]), ["flap mlx5_bond_0"]);
        bond.bond.as_mut().unwrap().legs[1].link_up = Some(false);
        assert_eq!(of(bond, &[3, 4]), Vec::<String>::new());
    }

    #[test]
    fn infiniband_on_one_lane_is_named_and_on_two_is_ordinary() {
        let at = |rate: &str, state: &str, layer| {
            let rail = Rail {
                link_layer: Some(layer),
                rate_text: Some(rate.into()),
                state: Some(state.into()),
                ..rail("mlx5_0")
            };
            named(&found(&RULE, &two_sockets(vec![rail]), &Traffic::default()))
        };
        let quiet = Vec::<String>::new();
        assert_eq!(at("14 Gb/sec (1X FDR)", "ACTIVE", LinkLayer::InfiniBand), ["link-width mlx5_0"]);
        assert_eq!(at("100 Gb/sec (2X HDR)", "ACTIVE", LinkLayer::InfiniBand), quiet);
        assert_eq!(at("2.5 Gb/sec (1X SDR)", "DOWN", LinkLayer::InfiniBand), quiet);
        assert_eq!(at("25 Gb/sec (1X EDR)", "ACTIVE", LinkLayer::Ethernet), quiet);
    }
}
