//! `fw-differs`: cards of one board id (PSID) run different firmware, so their behaviour may differ as well.

use super::wording::{list, verb};
use super::{Finding, Limits, Rule, Severity};
use crate::timeline::Timeline;
use probes::model::Topology;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The rule of this file.
pub(super) const RULE: Rule = Rule { codes: &["fw-differs"], check };

/// Devices of one board id by firmware.
type Versions<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn check(topology: &Topology, _: &Timeline, _: &Limits) -> Vec<Finding> {
    let mut boards: BTreeMap<&str, Versions<'_>> = BTreeMap::new();
    for rail in &topology.rails {
        if let (Some(board), Some(firmware)) = (&rail.board_id, &rail.firmware) {
            boards.entry(board).or_default().entry(firmware).or_default().insert(&rail.device);
        }
    }
    boards
        .iter()
        .filter(|(_, versions)| versions.len() > 1)
        .filter_map(|(board, v)| finding(topology, board, v))
        .collect()
}

fn finding(topology: &Topology, board: &str, versions: &Versions<'_>) -> Option<Finding> {
    // of equally common ones the newest counts as the usual one
    let (usual, with_it) =
        versions.iter().max_by_key(|(version, devices)| (devices.len(), numbers(version)))?;
    let odd =
        |device: &str| versions.iter().any(|(version, devices)| version != usual && devices.contains(device));
    let mut devices: Vec<&str> =
        topology.rails.iter().map(|rail| rail.device.as_str()).filter(|device| odd(device)).collect();
    devices.dedup();
    let each = list(versions.iter().filter(|(version, _)| *version != usual).map(|(version, devices)| {
        let devices: Vec<&str> = devices.iter().copied().collect();
        format!("{} {} {version}", list(devices.iter().copied()), verb(devices.len(), "runs", "run"))
    }));
    let message = format!(
        "firmware differs between cards of board id {board}: {each}, the other {} {} {usual}",
        with_it.len(),
        verb(with_it.len(), "runs", "run"),
    );
    let by_device: Map<String, Value> = versions
        .iter()
        .flat_map(|(version, devices)| devices.iter().map(|device| ((*device).to_owned(), (*version).into())))
        .collect();
    let address = topology.rail(devices.first()?)?.1.pcie.as_ref().map_or("ADDRESS", |path| &path.address);
    Some(
        Finding::new("fw-differs", Severity::Warning, devices.clone(), message)
            .with("board_id", board)
            .with("firmware", by_device)
            .with("commonest_firmware", *usual)
            .advise(format!(
                "bring all of them to one version: `flint -d {address} query`, then `mlxfwmanager -u` or the \
                 vendor's tool, and a reset (`mlxfwreset -d {address} reset`)"
            )),
    )
}

/// `28.39.1002` as numbers, to tell which version is newer.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Traffic, found, named, rail, two_sockets};
    use super::RULE;
    use crate::rules::Finding;
    use probes::model::Rail;

    fn card(device: &str, board: &str, firmware: &str) -> Rail {
        Rail { board_id: Some(board.into()), firmware: Some(firmware.into()), ..rail(device) }
    }

    fn findings(rails: Vec<Rail>) -> Vec<Finding> {
        found(&RULE, &two_sockets(rails), &Traffic::default())
    }

    #[test]
    fn the_odd_card_is_named() {
        let found = findings(vec![
            card("mlx5_0", "MT_0000000834", "28.39.1002"),
            card("mlx5_1", "MT_0000000834", "28.36.1010"),
            card("mlx5_2", "MT_0000000834", "28.39.1002"),
        ]);
        assert_eq!(named(&found), ["fw-differs mlx5_1"]);
        assert_eq!(
            found[0].message,
            "firmware differs between cards of board id MT_0000000834: mlx5_1 runs 28.36.1010, the other 2 run \
             28.39.1002"
        );
        assert_eq!(found[0].evidence["firmware"]["mlx5_1"], "28.36.1010");
    }

    #[test]
    fn of_two_the_older_one_is_the_odd_one() {
        let found = findings(vec![card("mlx5_0", "a", "28.9.1"), card("mlx5_1", "a", "28.39.1")]);
        assert_eq!(named(&found), ["fw-differs mlx5_0"]);
    }

    #[test]
    fn other_boards_and_unknown_versions_prove_nothing() {
        let first = card("mlx5_0", "a", "1.0");
        for second in [
            card("mlx5_1", "a", "1.0"),
            card("mlx5_1", "b", "2.0"),
            Rail { firmware: None, ..card("mlx5_1", "a", "2.0") },
            Rail { board_id: None, ..card("mlx5_1", "a", "2.0") },
        ] {
            assert_eq!(named(&findings(vec![first.clone(), second])), Vec::<String>::new());
        }
    }
}
