//! Which of our rails reads from which of the peer's: by name or subnet, never by order.
//!
//! 1. the same device name and port on both hosts, in one subnet (or where the addresses do not tell);
//! 2. the only two rails left in a subnet, whatever they are called;
//! 3. where each end offers exactly one rail: those two;
//! 4. where the steps before found nothing at all: equal names over a route, as in fabrics in which
//!    every link is a subnet of its own.
//!
//! Both ports must be ACTIVE and of one link layer, and their GIDs of one RoCE version and address family.

use super::offer::{Offer, listed, plain};
use super::subnet::{Relation, Subnet, relation};
use std::fmt;

/// Why two rails were put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Equal names, one subnet.
    NameAndSubnet,
    /// Equal names; the addresses do not tell their subnet.
    Name,
    /// The only two in their subnet.
    Subnet,
    /// Neither end offers another rail.
    OnlyOne,
    /// Equal names in two subnets: works if the fabric routes between them.
    NameOverRoute,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NameAndSubnet => "same name, same subnet",
            Self::Name => "same name",
            Self::Subnet => "same subnet",
            Self::OnlyOne => "the only one each",
            Self::NameOverRoute => "same name, but two subnets: works if the fabric routes between them",
        })
    }
}

/// Two rails that read from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Position in our offers.
    pub ours: usize,
    /// Position in theirs.
    pub theirs: usize,
    /// GID index on our end.
    pub our_gid: u32,
    /// GID index on theirs.
    pub their_gid: u32,
    /// Why these two.
    pub by: By,
}

/// A rail of ours that found no partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// RDMA device.
    pub device: String,
    /// What stands in the way, in one phrase.
    pub reason: String,
}

/// What matching found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// Pairs, in the order of our offers.
    pub pairs: Vec<Pair>,
    /// Rails of ours without a partner.
    pub unmatched: Vec<Unmatched>,
}

/// Puts rails of two hosts together; pure.
#[must_use]
pub fn matching(ours: &[Offer], theirs: &[Offer]) -> Matching {
    let mut pairs = named(ours, theirs, |relation| match relation {
        Relation::Same => Some(By::NameAndSubnet),
        Relation::Untold => Some(By::Name),
        Relation::Different => None,
    });
    pairs.extend(alone_in_subnet(ours, theirs, &pairs));
    if pairs.is_empty() && ours.len() == 1 && theirs.len() == 1 {
        pairs.extend(fit(&ours[0], &theirs[0]).ok().map(|fit| fit.pair(0, 0, By::OnlyOne)));
    }
    if pairs.is_empty() {
        pairs = named(ours, theirs, |_| Some(By::NameOverRoute));
    }
    pairs.sort_by_key(|p| p.ours);
    let unmatched = ours
        .iter()
        .enumerate()
        .filter(|(at, _)| pairs.iter().all(|p| p.ours != *at))
        .map(|(_, offer)| Unmatched { device: offer.device.clone(), reason: why_not(offer, theirs, &pairs) })
        .collect();
    Matching { pairs, unmatched }
}

/// How two rails fit together.
struct Fit {
    our_gid: u32,
    their_gid: u32,
    relation: Relation,
}

impl Fit {
    fn pair(&self, ours: usize, theirs: usize, by: By) -> Pair {
        Pair { ours, theirs, our_gid: self.our_gid, their_gid: self.their_gid, by }
    }
}

/// The GIDs two rails can use with each other: the first in one subnet, else the first that fit at all.
fn fit(our: &Offer, their: &Offer) -> Result<Fit, String> {
    if !our.is_active() {
        return Err(format!("it is {}", state(our)));
    }
    if !their.is_active() {
        return Err(format!("{} of the peer is {}", their.device, state(their)));
    }
    if our.link_layer != their.link_layer {
        return Err(format!("{} of the peer has another link layer", their.device));
    }
    let mut fits = Vec::new();
    for a in &our.gids {
        for b in &their.gids {
            fits.extend(relation(our.link_layer, a, b).map(|relation| Fit {
                our_gid: a.index,
                their_gid: b.index,
                relation,
            }));
        }
    }
    let best = fits.iter().position(|f| f.relation == Relation::Same).unwrap_or(0);
    if fits.is_empty() {
        return Err(if our.gids.is_empty() {
            "it has no usable GID: give its netdev an address".to_owned()
        } else if their.gids.is_empty() {
            format!("{} of the peer has no usable GID: give its netdev an address", their.device)
        } else {
            format!("no GID of it and of the peer's {} share RoCE version and address family", their.device)
        });
    }
    Ok(fits.swap_remove(best))
}

/// Rails of equal name and port whose relation `by` accepts.
fn named(ours: &[Offer], theirs: &[Offer], by: impl Fn(Relation) -> Option<By>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (at, our) in ours.iter().enumerate() {
        let same = theirs.iter().position(|t| t.device == our.device && t.port == our.port);
        if let Some(their) = same
            && let Ok(fit) = fit(our, &theirs[their])
            && let Some(by) = by(fit.relation)
        {
            pairs.push(fit.pair(at, their, by));
        }
    }
    pairs
}

/// Pairs of rails that are each other's only partner in a subnet, among those not taken.
fn alone_in_subnet(ours: &[Offer], theirs: &[Offer], taken: &[Pair]) -> Vec<Pair> {
    let our_free: Vec<usize> = (0..ours.len()).filter(|i| taken.iter().all(|p| p.ours != *i)).collect();
    let their_free: Vec<usize> = (0..theirs.len()).filter(|i| taken.iter().all(|p| p.theirs != *i)).collect();
    let near = |our: usize, their: usize| {
        fit(&ours[our], &theirs[their]).ok().filter(|fit| fit.relation == Relation::Same)
    };
    let mut pairs = Vec::new();
    for &our in &our_free {
        let partners: Vec<usize> = their_free.iter().copied().filter(|t| near(our, *t).is_some()).collect();
        let [their] = partners[..] else { continue };
        let rivals = our_free.iter().filter(|o| near(**o, their).is_some()).count();
        if let (1, Some(fit)) = (rivals, near(our, their)) {
            pairs.push(fit.pair(our, their, By::Subnet));
        }
    }
    pairs
}

/// Why this rail of ours has no partner.
fn why_not(our: &Offer, theirs: &[Offer], pairs: &[Pair]) -> String {
    if !our.is_active() {
        return format!("it is {}", state(our));
    }
    let near: Vec<&str> = theirs
        .iter()
        .filter(|their| fit(our, their).is_ok_and(|fit| fit.relation == Relation::Same))
        .map(|their| their.device.as_str())
        .collect();
    let taken = |their: &Offer| {
        pairs
            .iter()
            .any(|p| theirs.get(p.theirs).is_some_and(|t| t.device == their.device && t.port == their.port))
    };
    let same_name = theirs.iter().find(|t| t.device == our.device && t.port == our.port);
    match (same_name, near.is_empty()) {
        (Some(their), true) => match fit(our, their) {
            Err(reason) => reason,
            Ok(_) if taken(their) => format!("{} of the peer belongs to another rail", their.device),
            Ok(_) => format!(
                "{} of the peer is in another subnet ({} here, {} there)",
                their.device,
                subnets(our),
                subnets(their)
            ),
        },
        (None, true) => format!(
            "no rail of the peer has this name or is in its subnet ({}); it has {}",
            subnets(our),
            listed(&theirs.iter().map(with_address).collect::<Vec<_>>(), "none")
        ),
        (_, false) => format!(
            "its subnet ({}) has several rails, and no name decides: {} of the peer",
            subnets(our),
            listed(&near, "none")
        ),
    }
}

fn state(offer: &Offer) -> &str {
    offer.state.as_deref().unwrap_or("in an unknown state")
}

/// The subnet of the preferred GID.
fn subnets(offer: &Offer) -> String {
    offer.gids.first().map_or_else(|| "no GID".to_owned(), |gid| Subnet(gid).to_string())
}

fn with_address(offer: &Offer) -> String {
    let address = offer.gids.first().map_or_else(|| "no GID".to_owned(), |g| plain(g.address).to_string());
    format!("{} ({address})", offer.device)
}

#[cfg(test)]
mod tests;
