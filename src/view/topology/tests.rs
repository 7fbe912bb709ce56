//! The machine drawn: what is said of its links and cards.

use crate::app::View;
use crate::timeline::Timeline;
use crate::view::fixture::Node;
use crate::view::stage::{of_timeline, recorded, screen};
use probes::model::{Gpu, GpuPath, LostCard, PathClass};

/// The line of the drawing that has this text.
fn line(node: &Node, text: &str) -> String {
    let screen = screen(&mut of_timeline(&Timeline::new(node.session()), View::Topology), (120, 40));
    let line = screen.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}:\n{screen}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_gpu_tells_which_rail_is_nearest_to_it() {
    let mut node = Node::with_rails(2);
    let path = |device: &str, class| GpuPath { device: device.into(), class: Some(class), ports: Vec::new() };
    node.topology.gpus.push(Gpu {
        name: "gpu0".into(),
        numa_node: Some(0),
        paths: vec![path("mlx5_bond_2", PathClass::Sys), path("mlx5_bond_1", PathClass::Pix)],
        ..Gpu::default()
    });
    let screen = screen(&mut of_timeline(&Timeline::new(node.session()), View::Topology), (80, 24));
    let line = screen.lines().find(|line| line.contains("gpu0")).unwrap();
    assert!(line.contains("PIX mlx5_bo") && screen.contains("2 rails, 1 GPU"), "{screen}");
}

#[test]
fn the_machine_is_drawn_with_a_link_that_trained_low() {
    let screen = screen(&mut recorded("mixed.rsz", View::Topology), (120, 40));
    assert!(screen.contains("↓ low ◀"), "{screen}");
}

#[test]
fn a_root_port_has_the_link_below_it_and_its_share() {
    let screen = screen(&mut recorded("shared-uplink.rsz", View::Topology), (250, 70));
    let ports: Vec<&str> = screen.lines().filter(|line| line.contains("root port")).collect();
    assert!(!ports.is_empty());
    for port in ports {
        for half in port.split("root port").skip(1) {
            assert!(half.contains("32 GT/s x16") && half.contains('%'), "{half}\n{screen}");
        }
    }
}

#[test]
fn a_link_of_unknown_speed_says_why() {
    let mut node = Node::with_rails(2);
    let hop = &mut node.topology.rails[0].pcie.as_mut().unwrap().hops[0];
    (hop.current_gt_per_s, hop.current_width) = (None, None);
    node.topology.gap("pcie", "mlx5_bond_1", "current_link_speed: says `Unknown`");
    let known = line(&node, "mlx5_bond_1");
    assert!(known.contains("unknown") && known.contains("current_link_speed: says `Unknown`"), "{known}");
    node.topology.rails[1].pcie = None;
    node.topology.gap("gids", "mlx5_bond_2", "PCIe path: bond1 rides on 0000:11:00.0 and 0000:12:00.0");
    let known = line(&node, "mlx5_bond_2");
    assert!(known.contains("none known bond1 rides on 0000:11:00.0"), "{known}");
}

#[test]
fn a_card_is_lost_only_where_the_rules_say_so() {
    let card = |is_vf, is_elsewhere, driver: Option<&str>| {
        let mut node = Node::with_rails(2);
        node.topology.lost_cards.push(LostCard {
            address: "0000:51:00.0".into(),
            driver: driver.map(str::to_owned),
            numa_node: Some(0),
            is_vf,
            is_elsewhere,
            ..LostCard::default()
        });
        line(&node, "51:00.0")
    };
    for (line, said) in [
        (card(false, false, Some("mlx5_core")), "✗ dead-hca"),
        (card(false, true, Some("mlx5_core")), "in another network namespace"),
        (card(true, false, Some("mlx5_core")), "a virtual function, driver mlx5_core"),
        (card(false, false, Some("vfio-pci")), "driver vfio-pci"),
    ] {
        assert!(line.contains(said), "{line}");
    }
}

#[test]
fn where_not_all_has_room_the_line_that_says_so_covers_no_row() {
    for height in 15..24 {
        let screen = screen(&mut recorded("shared-uplink.rsz", View::Topology), (80, height));
        let Some(line) = screen.lines().find(|line| line.contains(" rows 1-")) else { continue };
        assert!(line.trim_matches('"').trim().starts_with("rows 1-") && line.contains('↕'), "{screen}");
    }
}
