//! What would spread a bond's traffic over its legs, by what is the case already.
//!
//! A queue pair is one flow (one UDP source port on RoCE v2), and hash policies keep a flow on one leg
//! (Documentation/networking/bonding.rst, `xmit_hash_policy`), so a few of them may well meet on one leg: with four a leg
//! that is one in some hundred.

use probes::model::{Bond, Load, LoadOp, Process, Rail};

/// Queue pairs for each leg that make an empty leg unlikely.
const ENOUGH_A_LEG: u32 = 4;

/// Of what is received.
const THE_SWITCH_CHOOSES: &str = "the receiving leg is chosen by the sender's leg and the switch: have it hash layer 3+4 (UDP \
                                  source port), and look at the same bond on the peer";

/// Queue pairs on this rail: the load's, else those of the processes that use it; `None` where one's are not known.
pub(super) fn queue_pairs(load: Option<&Load>, rail: &Rail, processes: &[Process]) -> Option<u32> {
    let of_load = load.filter(|load| load.drives(&rail.device)).and_then(|load| load.qps);
    let users = || processes.iter().filter(|process| process.device == rail.device);
    of_load.or_else(|| users().map(|user| user.queue_pairs).sum::<Option<u32>>().filter(|count| *count > 0))
}

/// Whether so many are enough for the legs of this bond.
pub(super) fn is_enough(bond: &Bond, queue_pairs: u32) -> bool {
    u32::try_from(bond.legs.len()).is_ok_and(|legs| queue_pairs >= ENOUGH_A_LEG.saturating_mul(legs))
}

/// What to change: more queue pairs where there are few, else what chooses their legs. Which leg receives is the switch's
/// choice; which leg sends is this card's.
pub(super) fn advice(bond: &Bond, op: LoadOp, queue_pairs: Option<u32>) -> String {
    let few = "with different UDP source ports, and spread each batch over all of them";
    let many = match queue_pairs {
        Some(count) if is_enough(bond, count) => {
            let chooses = match (op, bond.lag_port_select.as_deref()) {
                (LoadOp::Read, _) => THE_SWITCH_CHOOSES,
                (LoadOp::Write, Some("queue_affinity")) => {
                    "the card gives each a leg when it is made; set it yourself (LAG port affinity, \
                     mlx5dv_modify_qp_lag_port)"
                }
                (LoadOp::Write, _) => "the card hashes them to a leg",
            };
            return format!(
                "{count} queue pairs are enough, if their UDP source ports (flow labels) differ and each batch is spread over \
                 all of them; {chooses}"
            );
        }
        Some(count) => {
            format!("use at least {ENOUGH_A_LEG} queue pairs a leg (it has {count} for all), {few}")
        }
        None => format!("use at least {ENOUGH_A_LEG} queue pairs a leg, {few}"),
    };
    match (op, bond.lag_port_select.as_deref()) {
        (LoadOp::Read, _) => format!("{many}; {THE_SWITCH_CHOOSES}"),
        (LoadOp::Write, Some("queue_affinity")) => {
            format!("{many}; or set each queue pair's leg (LAG port affinity, mlx5dv_modify_qp_lag_port)")
        }
        (LoadOp::Write, _) => format!("{many}, since the card hashes them to a leg"),
    }
}

#[cfg(test)]
mod tests {
    use super::{advice, is_enough, queue_pairs};
    use crate::rules::testing::{bonded, described, process};
    use probes::model::{Load, LoadOp, Process};

    #[test]
    fn who_has_enough_queue_pairs_is_not_told_to_use_more() {
        let bond = bonded("mlx5_bond_0").bond.unwrap();
        let said = |count| advice(&bond, LoadOp::Read, count);
        assert!(said(None).starts_with("use at least 4 queue pairs a leg, with"), "{}", said(None));
        assert!(said(Some(2)).starts_with("use at least 4 queue pairs a leg (it has 2 for all), with"));
        assert!(said(Some(8)).starts_with("8 queue pairs are enough, if their UDP source ports"));
        for said in [said(None), said(Some(2)), said(Some(8))] {
            assert!(said.ends_with("and look at the same bond on the peer"), "{said}");
        }
        assert!(is_enough(&bond, 8) && !is_enough(&bond, 7));
    }

    #[test]
    fn the_load_tells_its_queue_pairs_and_else_all_users_must() {
        let rail = bonded("mlx5_bond_0");
        let user = |queue_pairs| Process { queue_pairs, ..process(1, "mlx5_bond_0", "0") };
        let load = Load { qps: Some(16), ..described(LoadOp::Read) };
        assert_eq!(queue_pairs(Some(&load), &rail, &[user(Some(1))]), Some(16));
        assert_eq!(queue_pairs(None, &rail, &[user(Some(1)), user(Some(2))]), Some(3));
        assert_eq!(queue_pairs(None, &rail, &[user(Some(1)), user(None)]), None);
        assert_eq!(queue_pairs(None, &rail, &[]), None);
    }
}
