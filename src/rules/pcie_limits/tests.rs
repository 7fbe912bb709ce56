//! Paths that carry less than their wires, and links that rails share.

use super::RULE;
use crate::rules::Finding;
use crate::rules::testing::{Traffic, behind, found, hop, named, rail, two_sockets};
use probes::model::{Hop, Rail};

fn below(port: &str, address: &str, gt_per_s: f64, width: u32) -> Hop {
    Hop { upstream: Some(port.into()), ..hop(address, gt_per_s, width) }
}

fn findings(rails: Vec<Rail>) -> Vec<Finding> {
    found(&RULE, &two_sockets(rails), &Traffic::default())
}

#[test]
fn a_400g_port_in_a_gen4_slot_is_limited_by_pcie() {
    let rails = vec![
        behind("mlx5_0", vec![below("a", "0000:41:00.0", 16.0, 16)]),
        behind("mlx5_1", vec![below("b", "0000:42:00.0", 16.0, 16)]),
        behind("mlx5_2", vec![below("c", "0000:43:00.0", 32.0, 16)]),
    ];
    let found = findings(rails);
    assert_eq!(named(&found), ["pcie-limit mlx5_0,mlx5_1"]);
    assert_eq!(
        found[0].message,
        "mlx5_0 and mlx5_1: x16 at 16 GT/s: the PCIe path carries 28.8 GB/s of payload, the wire 49.0; \
         nothing is broken, PCIe is the limit"
    );
}

#[test]
fn a_link_that_trained_low_and_a_port_that_is_down_are_not_limited_by_pcie() {
    let narrow = Hop { current_width: Some(8), ..hop("0000:41:00.0", 32.0, 16) };
    let down =
        Rail { state: Some("DOWN".into()), ..behind("mlx5_1", vec![below("b", "0000:42:00.0", 16.0, 16)]) };
    assert_eq!(named(&findings(vec![behind("mlx5_0", vec![narrow]), down])), Vec::<String>::new());
}

#[test]
fn what_the_upper_end_of_a_link_could_do_is_said_where_it_is_not_known() {
    let narrow =
        Hop { current_width: Some(8), upstream_max_width: None, ..below("a", "0000:41:00.0", 32.0, 16) };
    let found = findings(vec![behind("mlx5_0", vec![narrow])]);
    assert_eq!(named(&found), ["pcie-limit mlx5_0"]);
    assert!(found[0].message.ends_with("or the slot can do no more is not known"), "{found:?}");
}

#[test]
fn a_speed_or_width_that_is_not_known_is_said_once() {
    let unknown = |device: &str, current_gt_per_s: Option<f64>, current_width: Option<u32>| {
        behind(device, vec![Hop { current_gt_per_s, current_width, ..hop("0000:41:00.0", 32.0, 16) }])
    };
    let mut software = rail("rxe0");
    software.pcie = None;
    let rails = vec![unknown("mlx5_0", None, Some(16)), unknown("mlx5_1", Some(32.0), None), software];
    assert_eq!(named(&findings(rails)), ["pcie-unknown mlx5_0,mlx5_1"]);
    let emulated = findings(vec![behind("mlx5_0", vec![hop("0000:41:00.0", 2.5, 1)])]);
    assert_eq!(named(&emulated), ["pcie-unknown mlx5_0"]);
    assert!(emulated[0].message.contains("x1 at 2.5 GT/s is what functions say"), "{emulated:?}");
}

#[test]
fn two_400g_rails_below_one_gen5_uplink_share_it() {
    let rails = ["1a", "1b"].map(|bus| {
        let own = below(&format!("0000:17:{bus}"), &format!("0000:{bus}:00.0"), 32.0, 16);
        behind(&format!("mlx5_{bus}"), vec![own, below("0000:15:01.0", "0000:16:00.0", 32.0, 16)])
    });
    let found = findings(rails.into());
    assert_eq!(named(&found), ["shared-pcie mlx5_1a,mlx5_1b"]);
    assert_eq!(
        found[0].message,
        "mlx5_1a and mlx5_1b share the link at 0000:16:00.0 below 0000:15:01.0 (x16 at 32 GT/s): it \
         carries 57.6 GB/s of payload, together they could bring 98.0"
    );
}

#[test]
fn what_a_cards_own_link_holds_back_does_not_fill_the_uplink() {
    // 2 × 25 GB/s of 400G ports on Gen4 x8 each fit through a Gen5 x16
    let rails = ["1a", "1b"].map(|bus| {
        let own = below(&format!("0000:17:{bus}"), &format!("0000:{bus}:00.0"), 16.0, 8);
        behind(&format!("mlx5_{bus}"), vec![own, below("0000:15:01.0", "0000:16:00.0", 32.0, 16)])
    });
    assert_eq!(named(&findings(rails.into())), ["pcie-limit mlx5_1a,mlx5_1b"]);
}

#[test]
fn cards_below_a_switch_that_a_file_names_without_its_ports_have_links_of_their_own() {
    // as NCCL's file has it: above the card is the switch, whose own link goes on
    let at = |bus: &str| {
        let own = below("0000:16:00.0", &format!("0000:{bus}:00.0"), 32.0, 16);
        let of_switch = Hop { upstream: None, ..hop("0000:16:00.0", 32.0, 16) };
        behind(&format!("mlx5_{bus}"), vec![own, of_switch])
    };
    assert_eq!(named(&findings(vec![at("19")])), Vec::<String>::new());
    let found = findings(vec![at("19"), at("1a")]);
    assert_eq!(named(&found), ["shared-pcie mlx5_19,mlx5_1a"]);
    assert_eq!(
        found[0].message,
        "mlx5_19 and mlx5_1a share the link at 0000:16:00.0 (x16 at 32 GT/s): it carries 57.6 GB/s of \
         payload, together they could bring 98.0"
    );
    let elsewhere = behind("mlx5_2", vec![below("0000:16:00.0", "0000:1b:00.0", 32.0, 16)]);
    assert_eq!(named(&findings(vec![at("19"), elsewhere])), Vec::<String>::new());
}

#[test]
fn functions_of_one_port_do_not_add_up() {
    let of_card = |device: &str, address: &str, is_vf: bool| {
        let mut rail = behind(device, vec![below("0000:40:01.0", address, 16.0, 16)]);
        rail.line_gbit_per_s = Some(200.0);
        rail.system_image_guid = Some("a".into());
        rail.is_vf = Some(is_vf);
        rail.pcie.as_mut().unwrap().address = address.into();
        rail
    };
    let vf = |n| of_card(&format!("mlx5_{n}"), &format!("0000:41:00.{n}"), true);
    let rails = vec![of_card("mlx5_0", "0000:41:00.0", false), vf(2), vf(3)];
    assert_eq!(named(&findings(rails)), Vec::<String>::new());
    let two_ports = vec![of_card("mlx5_0", "0000:41:00.0", false), of_card("mlx5_1", "0000:41:00.1", false)];
    assert_eq!(named(&findings(two_ports)), ["shared-pcie mlx5_0,mlx5_1"]);
}
