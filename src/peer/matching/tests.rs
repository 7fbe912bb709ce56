use super::{By, matching};
use crate::peer::offer::Offer;
use crate::peer::subnet::tests::gid;
use probes::model::LinkLayer;

/// `mlx5_0 10.0.0.1/24`, with the state after it unless ACTIVE.
fn rails(texts: &[&str]) -> Vec<Offer> {
    texts.iter().map(|text| rail(text)).collect()
}

fn rail(text: &str) -> Offer {
    let mut words = text.split(' ');
    let device = words.next().unwrap().to_owned();
    let gids = words.next().filter(|a| *a != "-").map(gid).into_iter().collect();
    Offer {
        device,
        port: 1,
        netdev: None,
        link_layer: Some(LinkLayer::Ethernet),
        state: Some(words.next().unwrap_or("ACTIVE").to_owned()),
        numa_node: None,
        path_mtu: Some(4096),
        max_read_depth: Some(16),
        gids,
    }
}

/// Pairs as `ours=theirs`, with why.
fn pairs(ours: &[&str], theirs: &[&str]) -> Vec<(String, By)> {
    let (ours, theirs) = (rails(ours), rails(theirs));
    let found = matching(&ours, &theirs);
    let name = |p: &super::Pair| format!("{}={}", ours[p.ours].device, theirs[p.theirs].device);
    found.pairs.iter().map(|p| (name(p), p.by)).collect()
}

fn reasons(ours: &[&str], theirs: &[&str]) -> Vec<String> {
    let found = matching(&rails(ours), &rails(theirs));
    found.unmatched.iter().map(|u| format!("{}: {}", u.device, u.reason)).collect()
}

fn expect(expected: &[(&str, By)]) -> Vec<(String, By)> {
    expected.iter().map(|(pair, by)| ((*pair).to_owned(), *by)).collect()
}

#[test]
fn equal_names_in_one_subnet_are_a_pair_in_whatever_order() {
    assert_eq!(
        pairs(&["a 10.0.0.1/24", "b 10.0.1.1/24"], &["b 10.0.1.2/24", "a 10.0.0.2/24"]),
        expect(&[("a=a", By::NameAndSubnet), ("b=b", By::NameAndSubnet)])
    );
}

#[test]
fn swapped_names_are_matched_by_subnet() {
    assert_eq!(
        pairs(&["a 10.0.0.1/24", "b 10.0.1.1/24"], &["a 10.0.1.2/24", "b 10.0.0.2/24"]),
        expect(&[("a=b", By::Subnet), ("b=a", By::Subnet)])
    );
}

#[test]
fn other_names_are_matched_by_subnet() {
    assert_eq!(
        pairs(&["mlx5_0 10.0.0.1/24", "mlx5_1 10.0.1.1/24"], &["x 10.0.1.2/24", "y 10.0.0.2/24"]),
        expect(&[("mlx5_0=y", By::Subnet), ("mlx5_1=x", By::Subnet)])
    );
}

#[test]
fn all_rails_in_one_subnet_are_matched_by_name_alone() {
    assert_eq!(
        pairs(&["a 10.0.0.1/16", "b 10.0.1.1/16"], &["b 10.0.0.2/16", "a 10.0.1.2/16"]),
        expect(&[("a=a", By::NameAndSubnet), ("b=b", By::NameAndSubnet)])
    );
}

#[test]
fn several_rails_in_a_subnet_under_other_names_are_not_guessed() {
    let (ours, theirs) = (["a 10.0.0.1/16", "b 10.0.1.1/16"], ["x 10.0.0.2/16", "y 10.0.1.2/16"]);
    assert_eq!(pairs(&ours, &theirs), []);
    assert_eq!(
        reasons(&ours, &theirs)[0],
        "a: its subnet (10.0.0.0/16) has several rails, and no name decides: x, y of the peer"
    );
}

#[test]
fn link_local_addresses_leave_it_to_the_name() {
    assert_eq!(pairs(&["a fe80::1", "b fe80::2"], &["b fe80::3"]), expect(&[("b=b", By::Name)]));
    assert_eq!(
        reasons(&["a fe80::1", "b fe80::2"], &["b fe80::3"]),
        ["a: no rail of the peer has this name or is in its subnet (fe80::/64); it has b (fe80::3)"]
    );
}

#[test]
fn one_rail_each_is_a_pair_under_any_name() {
    assert_eq!(pairs(&["a fe80::1"], &["x fe80::2"]), expect(&[("a=x", By::OnlyOne)]));
    assert_eq!(pairs(&["a 10.0.0.1/31"], &["x 10.9.0.1/31"]), expect(&[("a=x", By::OnlyOne)]));
}

#[test]
fn a_routed_fabric_is_matched_by_name_and_says_so() {
    assert_eq!(
        pairs(&["a 10.1.0.1/31", "b 10.1.1.1/31"], &["a 10.2.0.1/31", "b 10.2.1.1/31"]),
        expect(&[("a=a", By::NameOverRoute), ("b=b", By::NameOverRoute)])
    );
}

#[test]
fn one_rail_in_another_subnet_is_left_out_where_the_others_share_theirs() {
    let (ours, theirs) = (["a 10.0.0.1/24", "b 10.0.1.1/24"], ["a 10.0.0.2/24", "b 10.0.9.2/24"]);
    assert_eq!(pairs(&ours, &theirs), expect(&[("a=a", By::NameAndSubnet)]));
    assert_eq!(
        reasons(&ours, &theirs),
        ["b: b of the peer is in another subnet (10.0.1.0/24 here, 10.0.9.0/24 there)"]
    );
}

#[test]
fn a_rail_that_carries_nothing_says_why() {
    assert_eq!(
        reasons(
            &["a 10.0.0.1/24 DOWN", "b 10.0.1.1/24", "c -", "d 10.0.3.1/24"],
            &["a 10.0.0.2/24", "b 10.0.1.2/24 INIT", "c 10.0.2.2/24", "d -"]
        ),
        [
            "a: it is DOWN",
            "b: b of the peer is INIT",
            "c: it has no usable GID: give its netdev an address",
            "d: d of the peer has no usable GID: give its netdev an address"
        ]
    );
}

#[test]
fn link_layers_do_not_mix() {
    let ours = rails(&["a fe80::1"]);
    let mut theirs = rails(&["a fe80::2"]);
    theirs[0].link_layer = Some(LinkLayer::InfiniBand);
    assert_eq!(matching(&ours, &theirs).unmatched[0].reason, "a of the peer has another link layer");
}

#[test]
fn the_gids_of_a_pair_are_the_first_in_one_subnet() {
    let mut ours = rails(&["a 10.0.0.1/24"]);
    let mut theirs = rails(&["a 10.7.0.2/24"]);
    theirs[0].gids.push(crate::peer::offer::OfferedGid { index: 5, ..gid("10.0.0.2/24") });
    let pair = matching(&ours, &theirs).pairs[0];
    assert_eq!((pair.our_gid, pair.their_gid, pair.by), (3, 5, By::NameAndSubnet));
    // an index asked for is the only one offered
    ours[0].gids = vec![crate::peer::offer::OfferedGid { index: 1, ..gid("fe80::1") }];
    theirs[0].gids.push(crate::peer::offer::OfferedGid { index: 1, ..gid("fe80::2") });
    let pair = matching(&ours, &theirs).pairs[0];
    assert_eq!((pair.our_gid, pair.their_gid, pair.by), (1, 1, By::Name));
}
