use super::{OfferError, offers};
use probes::addresses::Address;
use probes::model::{Gid, GidChoice, GidType, Rail, Topology};

fn rail(device: &str, state: &str) -> Rail {
    let gid = |index, address: &str, kind| Gid {
        index,
        address: address.parse().unwrap(),
        kind: Some(kind),
        netdev: Some("eth0".to_owned()),
    };
    Rail {
        device: device.to_owned(),
        port: 1,
        state: Some(state.to_owned()),
        gids: vec![
            gid(0, "fe80::1", GidType::IbOrRoceV1),
            gid(1, "fe80::1", GidType::RoceV2),
            gid(3, "::ffff:10.0.0.1", GidType::RoceV2),
        ],
        gid: Some(GidChoice { index: 3, reason: String::new() }),
        ..Rail::default()
    }
}

fn two() -> Topology {
    Topology { rails: vec![rail("mlx5_0", "ACTIVE"), rail("mlx5_1", "DOWN")], ..Topology::default() }
}

#[test]
fn the_recommended_gid_comes_first_and_knows_its_prefix() {
    let addresses = [Address { netdev: "eth0".to_owned(), ip: "10.0.0.1".parse().unwrap(), prefix_bits: 20 }];
    let offered = offers(&two(), &addresses, None, None).unwrap();
    let gids: Vec<_> = offered[0].gids.iter().map(|g| (g.index, g.prefix_bits)).collect();
    assert_eq!(gids, [(3, Some(20)), (1, None), (0, None)]);
}

#[test]
fn a_rail_that_is_not_there_is_named_with_those_that_are() {
    let error = offers(&two(), &[], Some(&["mlx5_7".to_owned()]), None).unwrap_err();
    assert_eq!(error.to_string(), "no rail `mlx5_7` on this host; it has mlx5_0, mlx5_1");
}

#[test]
fn a_named_rail_must_be_active_and_an_unnamed_one_is_told_as_it_is() {
    let error = offers(&two(), &[], Some(&["mlx5_1".to_owned()]), None).unwrap_err();
    assert!(error.to_string().starts_with("mlx5_1 port 1 is DOWN, not ACTIVE"), "{error}");
    let all = offers(&two(), &[], None, None).unwrap();
    assert_eq!(all.iter().map(super::Offer::is_active).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_host_without_an_active_rail_offers_nothing() {
    let topology = Topology { rails: vec![rail("mlx5_1", "DOWN")], ..Topology::default() };
    let error = offers(&topology, &[], None, None).unwrap_err();
    assert_eq!(error.to_string(), "no rail of this host is ACTIVE: mlx5_1 is DOWN");
}

#[test]
fn a_gid_index_that_is_empty_on_a_rail_is_an_error() {
    let chosen = offers(&two(), &[], None, Some(1)).unwrap();
    assert_eq!(chosen[0].gids.iter().map(|g| g.index).collect::<Vec<_>>(), [1]);
    let error = offers(&two(), &[], None, Some(5)).unwrap_err();
    assert!(matches!(error, OfferError::NoSuchGid { index: 5, .. }), "{error}");
    assert!(error.to_string().ends_with("it has 0, 1, 3"), "{error}");
}
