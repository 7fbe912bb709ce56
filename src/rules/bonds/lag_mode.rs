//! `lag-mode`: how the card chooses the leg that it sends on.

use super::Bonded;
use crate::rules::spread;
use crate::rules::wording::{list, rounded};
use crate::rules::{Finding, Severity};
use probes::model::Load;
use std::collections::BTreeMap;

/// How mlx5 chooses the leg that a queue pair sends on; one finding for all bonds that do it alike.
pub(super) fn of_all(bonds: &[Bonded], load: Option<&Load>) -> Vec<Finding> {
    let mut modes: BTreeMap<&str, Vec<&Bonded>> = BTreeMap::new();
    for bonded in bonds {
        let carrying = bonded.bond.legs.iter().filter(|leg| leg.active == Some(true)).count();
        if let Some(mode) =
            bonded.bond.lag_port_select.as_deref().filter(|_| carrying >= 2 && bonded.carries_rdma())
        {
            modes.entry(mode).or_default().push(bonded);
        }
    }
    modes.into_iter().filter_map(|(mode, bonds)| of_mode(mode, &bonds, load)).collect()
}

fn of_mode(mode: &str, bonds: &[&Bonded], load: Option<&Load>) -> Option<Finding> {
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
    let advice = if bonds.iter().all(has_enough) {
        "nothing to mend: the load has queue pairs enough for all legs"
    } else {
        advice
    };
    let message = format!(
        "{}: LAG mode {mode}: {how}; what one queue pair sends stays on one leg{most}",
        list(bonds.iter().flat_map(|bonded| &bonded.called)),
    );
    let netdevs: Vec<&str> = bonds.iter().map(|bonded| bonded.bond.netdev.as_str()).collect();
    Some(
        Finding::on_ports("lag-mode", Severity::Info, bonds.iter().flat_map(|bonded| &bonded.rails), message)
            .with("bonds", netdevs)
            .with("lag_port_select", mode)
            .with("leg_gb_per_s", leg.map(rounded))
            .advise(advice),
    )
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
