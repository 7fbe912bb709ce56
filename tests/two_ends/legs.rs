//! Legs of a bond: set on the end that sends, refused where that cannot be.

use super::{Server, end, load_of, nobody, params};
use crate::standin::over_the_stand_ins;
use probes::load::Params;
use probes::model::{Bond, Leg, LoadOp};
use railscope::peer::client::connect;
use railscope::peer::{End, Ended};
use std::sync::Arc;

/// The same end with rails that are bonds of two ports.
fn bonded(end: End) -> End {
    let mut topology = (*end.topology).clone();
    for rail in &mut topology.rails {
        let leg = |netdev: &str| Leg { netdev: netdev.into(), ..Leg::default() };
        let legs = vec![leg("eth0"), leg("eth1")];
        rail.driver = Some("mlx5_core".into());
        rail.bond = Some(Bond { netdev: "bond0".into(), legs, ..Bond::default() });
    }
    End { topology: Arc::new(topology), ..end }
}

const WITH_LABELS: (&str, &str) = ("STANDIN_FLOW_LABELS", "1");

/// Which ports were set since the process began, a line for each queue pair.
fn ports_set() -> Vec<String> {
    let text = std::fs::read_to_string(std::env::var_os("STANDIN_MLX5_SET").unwrap()).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn the_server_of_a_read_load_sends_on_the_leg_that_was_asked_for() {
    over_the_stand_ins(&[WITH_LABELS], || {
        // the reader need not be a bond
        let server = Server::start(bonded(end("n2", "there")));
        let asked = Params { leg: Some(2), ..params() };
        let (report, ended) = load_of(&server, end("n1", "here"), asked, nobody());
        assert!(matches!(ended, Ended::Here), "{ended:?}");
        let block = &report["load"];
        assert_eq!((&block["leg"], &block["errors"]), (&2.into(), &serde_json::json!({})));
        assert_eq!(block["threads"][0]["leg"], serde_json::Value::Null, "the peer sends");
        assert_eq!(block["legs"][0]["way"], "received");
        assert_eq!(block["legs"][0]["gap"], "it is no bond on this host");
        assert_eq!(ports_set(), ["stand0 2", "stand0 2", "stand1 2", "stand1 2"]);
        server.stop();
    });
}

#[test]
fn the_client_of_a_write_load_sends_on_the_leg_that_was_asked_for() {
    over_the_stand_ins(&[WITH_LABELS], || {
        let server = Server::start(end("n2", "there"));
        let asked = Params { leg: Some(2), op: LoadOp::Write, ..params() };
        let (report, _) = load_of(&server, bonded(end("n1", "here")), asked, nobody());
        let block = &report["load"];
        assert_eq!((&block["threads"][0]["leg"], &block["errors"]), (&2.into(), &serde_json::json!({})));
        let ways: Vec<_> = block["legs"].as_array().unwrap().iter().map(|row| &row["way"]).collect();
        assert_eq!(ways, ["sent", "received", "sent", "received"]);
        assert_eq!(ports_set(), ["stand0 2", "stand0 2", "stand1 2", "stand1 2"]);
        server.stop();
    });
}

#[test]
fn both_ends_of_a_load_of_both_directions_send_on_the_leg() {
    over_the_stand_ins(&[WITH_LABELS], || {
        let server = Server::start(bonded(end("n2", "there")));
        let asked = Params { leg: Some(2), bidirectional: true, ..params() };
        let (report, _) = load_of(&server, bonded(end("n1", "here")), asked, nobody());
        let block = &report["load"];
        assert_eq!((&block["threads"][1]["leg"], &block["errors"]), (&2.into(), &serde_json::json!({})));
        assert_eq!(ports_set(), [["stand0 2"; 4], ["stand1 2"; 4]].concat());
        server.stop();
    });
}

#[test]
fn a_rail_that_is_no_bond_is_left_out_and_the_others_go_on() {
    over_the_stand_ins(&[WITH_LABELS], || {
        let mut there = bonded(end("n2", "there"));
        Arc::make_mut(&mut there.topology).rails[1].bond = None;
        let server = Server::start(there);
        let asked = Params { leg: Some(2), ..params() };
        let connected = connect(end("n1", "here"), server.target(), asked, nobody()).unwrap();
        let said = connected.agreed.introduction(&[]);
        let left_out =
            "left out: n2 (127.0.0.1): stand1: not a LAG: it is no bond; load it without --leg".to_owned();
        assert!(said.contains(&left_out), "{said:?}");
        assert_eq!(ports_set(), ["stand0 2"; 2]);
        drop(connected);
        server.stop();
    });
}

/// What both ends say to a READ load with a leg that cannot be had from this server.
fn refused_leg(server: End) -> [String; 2] {
    let server = Server::start(server);
    let asked = Params { leg: Some(2), ..params() };
    let here =
        connect(bonded(end("n1", "here")), server.target(), asked, nobody()).err().unwrap().to_string();
    let [_, there] = server.stop_after_one_client();
    [here, there]
}

#[test]
fn a_rail_that_is_no_bond_is_refused_on_both_ends_before_anything_moves() {
    over_the_stand_ins(&[WITH_LABELS], || {
        for said in refused_leg(end("n2", "there")) {
            assert!(said.contains("stand0: not a LAG: it is no bond; load it without --leg"), "{said}");
        }
        assert_eq!(ports_set(), Vec::<String>::new());
    });
}

#[test]
fn a_leg_that_the_firmware_of_one_rail_refuses_ends_the_load_before_anything_moves() {
    // 95 = EOPNOTSUPP
    over_the_stand_ins(&[WITH_LABELS, ("STANDIN_MLX5_REFUSES", "95")], || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand1: not a LAG: mlx5dv_modify_qp_lag_port: Operation not"), "{said}");
            assert!(!said.contains("stand0"), "{said}");
        }
    });
}

#[test]
fn a_leg_that_is_set_but_not_used_is_said() {
    let moved = [WITH_LABELS, ("STANDIN_MLX5_ACTIVE", "1")];
    over_the_stand_ins(&moved, || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand0: leg 2 was set, but the firmware sends from leg 1"), "{said}");
        }
    });
}

#[test]
fn a_device_of_another_maker_is_not_a_lag() {
    let other = [WITH_LABELS, ("STANDIN_MLX5_OTHER", "1")];
    over_the_stand_ins(&other, || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand0: not a LAG: libmlx5 does not know the device"), "{said}");
        }
    });
}

#[test]
fn a_leg_without_its_library_is_refused_in_words() {
    let missing = [WITH_LABELS, ("RAILSCOPE_MLX5", "/nowhere/libmlx5.so.1")];
    over_the_stand_ins(&missing, || {
        for said in refused_leg(bonded(end("n2", "there"))) {
            assert!(said.contains("stand0: --leg needs libmlx5: /nowhere/libmlx5.so.1: "), "{said}");
            assert!(said.contains("rdma-core 30 and later have it"), "{said}");
        }
    });
}
