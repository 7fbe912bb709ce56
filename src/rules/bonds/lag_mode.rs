//! `lag-mode`: how the card chooses the leg that it sends on.

use super::Bonded;
use crate::rules::spread;
use crate::rules::wording::{list, rounded};
use crate::rules::{Finding, Severity};
use probes::model::{Bond, Load};
use std::collections::BTreeMap;

/// How mlx5 chooses the leg that a queue pair sends on; one finding for all bonds that do it alike.
pub(super) fn of_all(bonds: &[Bonded], load: Option<&Load>) -> Vec<Finding> {
    let mut modes: BTreeMap<(&str, Option<&str>), Vec<&Bonded>> = BTreeMap::new();
    for bonded in bonds {
        let carrying = bonded.bond.legs.iter().filter(|leg| leg.active == Some(true)).count();
        if let Some(mode) =
            bonded.bond.lag_port_select.as_deref().filter(|_| carrying >= 2 && bonded.carries_rdma())
        {
            modes.entry((mode, only_leg(&bonded.bond))).or_default().push(bonded);
        }
    }
    modes.into_iter().filter_map(|(key, bonds)| of_mode(key, &bonds, load)).collect()
}

/// The leg that the card sends everything over, as after a failure of the others.
fn only_leg(bond: &Bond) -> Option<&str> {
    let port = bond.lag.as_ref()?.only_port()?;
    let at = (0..bond.legs.len()).find(|at| bond.port_of_leg(*at) == port)?;
    Some(bond.legs[at].netdev.as_str())
}

fn of_mode((mode, only): (&str, Option<&str>), bonds: &[&Bonded], load: Option<&Load>) -> Option<Finding> {
    let leg = bonds.iter().filter_map(|bonded| bonded.leg_gb_per_s()).reduce(f64::max);
    let most = leg.map_or(String::new(), |gb| format!(", {gb:.1} GB/s raw"));
    let (how, advice) = match mode {
        "queue_affinity" => (
            "each queue pair is given a leg when it is made, in turn",
            "use a multiple of the legs in queue pairs, and load them alike; a program can set the leg itself \
             (mlx5dv_modify_qp_lag_port)",
        ),
        "hash" => (
            "the card hashes each packet's addresses and UDP source port to a leg",
            "use at least 4 queue pairs a leg, with different UDP source ports (flow labels)",
        ),
        _ => return None,
    };
    // who has them is not told to use them
    let has_enough = |bonded: &&Bonded| {
        let pairs = bonded.rails.first().and_then(|rail| spread::queue_pairs(load, rail, &[]));
        pairs.is_some_and(|pairs| spread::is_enough(&bonded.bond, pairs))
    };
    let (now, advice) = match only {
        Some(leg) => (
            format!(
                "; now the card sends everything over {leg}, as after a failure, though the bond lets the others carry too"
            ),
            "`dmesg -T | grep 'lag map'` tells when the legs were mapped so; the driver maps them anew when a leg's link \
             goes and comes back",
        ),
        None if bonds.iter().all(has_enough) => {
            (String::new(), "nothing to mend: the load has queue pairs enough for all legs")
        }
        None => (String::new(), advice),
    };
    let message = format!(
        "{}: LAG mode {mode}: {how}; what one queue pair sends stays on one leg{most}{now}",
        list(bonds.iter().flat_map(|bonded| &bonded.called)),
    );
    let netdevs: Vec<&str> = bonds.iter().map(|bonded| bonded.bond.netdev.as_str()).collect();
    let finding =
        Finding::on_ports("lag-mode", Severity::Info, bonds.iter().flat_map(|bonded| &bonded.rails), message)
            .with("bonds", netdevs)
            .with("lag_port_select", mode)
            .with("leg_gb_per_s", leg.map(rounded))
            .advise(advice);
    Some(match only {
        Some(leg) => finding.with("only_leg", leg),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::Finding;
    use crate::rules::testing::{Traffic, bond_with, found, named, two_sockets};
    use probes::model::Rail;

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&super::super::RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn the_lag_mode_is_told_where_several_legs_carry() {
        let mode = |mode: &str| bond_with(|bond| bond.lag_port_select = Some(mode.into()));
        let found = findings(vec![mode("queue_affinity")]);
        assert_eq!(named(&found), ["lag-mode mlx5_bond_1"]);
        assert_eq!(
            found[0].message,
            "mlx5_bond_1: LAG mode queue_affinity: each queue pair is given a leg when it is made, in turn; what \
             one queue pair sends stays on one leg, 25.0 GB/s raw"
        );
        assert_eq!(named(&findings(vec![mode("hash")])), ["lag-mode mlx5_bond_1"]);
        assert_eq!(named(&findings(vec![mode("something_new")])), Vec::<String>::new());
        let mut single = mode("hash");
        single.bond.as_mut().unwrap().legs[1].active = Some(false);
        single.bond.as_mut().unwrap().mode = Some("balance-xor".into());
        assert_eq!(named(&findings(vec![single])), Vec::<String>::new());
    }

    #[test]
    fn a_card_that_sends_everything_over_one_leg_is_told() {
        use probes::model::Lag;
        let mapped = |mode: &str, mapping: &[&str]| {
            let found = findings(vec![bond_with(|bond| {
                bond.lag_port_select = Some(mode.into());
                let mapping = mapping.iter().map(|&entry| entry.to_owned()).collect();
                bond.lag = Some(Lag { mapping, ..Lag::default() });
            })]);
            (
                found[0].evidence.get("only_leg").cloned().unwrap_or_default(),
                found[0].message.contains("everything over eth1,"),
            )
        };
        assert_eq!(mapped("queue_affinity", &["1:2", "2:2"]), ("eth1".into(), true));
        assert_eq!(mapped("hash", &["2"]), ("eth1".into(), true));
        assert_eq!(mapped("queue_affinity", &["1:1", "2:2"]), (serde_json::Value::Null, false));
        assert_eq!(mapped("hash", &["1", "2"]), (serde_json::Value::Null, false));
        assert_eq!(mapped("hash", &[]), (serde_json::Value::Null, false));
    }

    #[test]
    fn a_load_with_queue_pairs_enough_has_nothing_to_mend() {
        use crate::rules::testing::described;
        use probes::model::{Load, LoadOp};
        let advice = |qps| {
            let load = Some(Load { qps: Some(qps), ..described(LoadOp::Read) });
            let rail = bond_with(|bond| bond.lag_port_select = Some("hash".into()));
            found(
                &super::super::RULE,
                &two_sockets(vec![rail]),
                &Traffic { load, ..Traffic::loaded(&[48.0]) },
            )[0]
            .advice
            .clone()
        };
        assert!(advice(2).starts_with("use at least 4 queue pairs a leg"), "{}", advice(2));
        assert!(advice(8).starts_with("nothing to mend"), "{}", advice(8));
    }
}
