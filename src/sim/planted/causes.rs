//! How each cause is planted.

use super::dice::Dice;
use super::{Cause, Planted};
use crate::ceilings::{line_goodput_gb_per_s, link_payload_gb_per_s, pcie_links};
use crate::sim::card::full_hop;
use crate::sim::flows::legs_of;
use crate::sim::world::{Grows, Memory, Unseen};
use probes::model::Hop;

/// A cause leaves a rail between these shares of what it could do: it is slow beyond doubt, and not dead.
const LEAVES: (f64, f64) = (0.35, 0.62);
/// Queue pairs, message and READs under way of the load that experiments make, for what a long way leaves of it.
const IN_FLIGHT: (f64, f64) = (8.0, (1 << 18) as f64);
/// Speeds and widths of a link above others that carries too little, the best first.
const UPLINKS: [(f64, u32); 5] = [(32.0, 16), (16.0, 16), (16.0, 8), (8.0, 16), (8.0, 8)];
/// Each generation of PCIe beside the one before it.
const BEFORE: [(f64, f64); 3] = [(32.0, 16.0), (16.0, 8.0), (8.0, 5.0)];

/// A node in which causes are being planted.
pub(super) struct Planting<'a> {
    pub(super) planted: &'a mut Planted,
    pub(super) dice: &'a mut Dice,
}

impl Planting<'_> {
    /// Plants a cause; one that this machine cannot have becomes a low link, which any can have.
    pub(super) fn plant(&mut self, cause: Cause) {
        let on = match cause {
            Cause::OneLeg => self.one_leg(),
            Cause::SharedLink => self.shared_link(),
            Cause::LowLink => self.low_link(),
            Cause::WrongNode => self.wrong_node(),
            Cause::Congestion => {
                let here = ["hw/np_ecn_marked_roce_packets", "hw/np_cnp_sent"];
                self.fabric(&here, "hw/rp_cnp_handled", (20.0, 400.0))
            }
            Cause::Loss => {
                let here = ["hw/out_of_sequence", "hw/implied_nak_seq_err"];
                self.fabric(&here, "hw/duplicate_request", (15.0, 60.0))
            }
            // what is paused is the sender of the data, at the other end
            Cause::Pauses => self.fabric(&[], "eth/rx_prio3_pause", (20.0, 400.0)),
            Cause::ReadWindow => self.read_window(),
            Cause::Cpu => self.cpu(),
            Cause::Memory => self.memory(),
            Cause::Unknown => self.unknown(),
        };
        let (cause, on) = if on.is_empty() { (Cause::LowLink, self.low_link()) } else { (cause, on) };
        if !self.planted.causes.contains(&cause) {
            self.planted.causes.push(cause);
        }
        for at in on {
            let (truth, unseen) = (&mut self.planted.rails[at], &self.planted.world.unseen[at]);
            let counters = &self.planted.world.topology.rails[at].counters;
            let lacks = |name: &str| !counters.iter().any(|counter| counter == name);
            let far_end = self.planted.world.far_end.as_ref();
            let is_unseen_there = |name: &str| !far_end.is_some_and(|far_end| far_end.counts(name));
            let is_hidden = match cause {
                Cause::OneLeg => unseen.hides.legs,
                Cause::Congestion => lacks("hw/np_cnp_sent") && is_unseen_there("hw/rp_cnp_handled"),
                Cause::Loss => lacks("hw/out_of_sequence") && is_unseen_there("hw/duplicate_request"),
                Cause::Pauses => is_unseen_there("eth/rx_prio3_pause"),
                Cause::ReadWindow => unseen.hides.round_trip,
                _ => false,
            };
            truth.causes.push(cause);
            if is_hidden {
                truth.hidden.push(cause);
            }
        }
    }

    /// Payload that the wire of a rail carries, GB/s.
    fn ceiling(&self, at: usize) -> f64 {
        line_goodput_gb_per_s(&self.planted.world.topology.rails[at]).unwrap_or_default()
    }

    fn leaves(&mut self) -> f64 {
        self.dice.between(LEAVES.0, LEAVES.1)
    }

    fn unseen(&mut self, at: usize) -> &mut Unseen {
        &mut self.planted.world.unseen[at]
    }

    /// Lets a counter grow where the NIC has it.
    fn grow(&mut self, at: usize, names: &[&str], per_gb: f64, grows: Grows) {
        let world = &mut self.planted.world;
        let counters = world.topology.rails[at].counters.iter().zip(&mut world.unseen[at].counters);
        for (_, counter) in counters.filter(|(name, _)| names.contains(&name.as_str())) {
            (counter.per_gb, counter.grows) = (counter.per_gb + per_gb, grows);
        }
    }

    /// A host that takes too little pushes back, where it may send pauses.
    fn pushes_back(&mut self, on: &[usize]) {
        if self.dice.one_in(2) {
            let per_gb = self.dice.between(30.0, 300.0);
            for &at in on {
                self.grow(at, &["eth/tx_prio3_pause"], per_gb, Grows::HostHolds);
            }
        }
    }

    fn one_leg(&mut self) -> Vec<usize> {
        let mut able = self.planted.world.able();
        able.retain(|&at| self.planted.world.topology.rails[at].bond.is_some());
        if able.is_empty() {
            return able;
        }
        let on = self.dice.some_of(&able, 2);
        for &at in &on {
            self.unseen(at).one_leg = true;
        }
        on
    }

    /// Rails of one node that are alike, or those below one switch.
    fn group(&mut self) -> Vec<usize> {
        let able = self.planted.world.able();
        let rails = &self.planted.world.topology.rails;
        let key = |at: usize| {
            let above = pcie_links(&rails[at]).into_iter().nth(1).map(|(link, _)| link);
            (rails[at].numa_node, above, rails[at].line_gbit_per_s.map(f64::to_bits))
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for at in able {
            match groups.iter_mut().find(|group| key(group[0]) == key(at)) {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        groups.retain(|group| group.len() > 1);
        if groups.is_empty() { Vec::new() } else { self.dice.one_of(&groups).clone() }
    }

    fn shared_link(&mut self) -> Vec<usize> {
        let group = self.group();
        if group.is_empty() {
            return group;
        }
        let has_switch =
            self.planted.world.topology.rails[group[0]].pcie.iter().any(|path| path.hops.len() > 1);
        // where a switch is already there, all of them hang on it
        let on = if has_switch { group } else { group[..2].to_vec() };
        let sum: f64 = on.iter().map(|&at| self.ceiling(at)).sum();
        let is_trained_low = self.dice.one_in(2);
        let link = |(gt_per_s, width): (f64, u32)| Hop {
            current_gt_per_s: Some(gt_per_s),
            current_width: Some(width),
            max_gt_per_s: Some(if is_trained_low { 32.0 } else { gt_per_s }),
            upstream_max_gt_per_s: Some(if is_trained_low { 32.0 } else { gt_per_s }),
            max_width: Some(if is_trained_low { 16 } else { width }),
            upstream_max_width: Some(if is_trained_low { 16 } else { width }),
            ..full_hop("0000:f0:00.0", "0000:ef:01.1")
        };
        let fits = |hop: &Hop| link_payload_gb_per_s(hop).is_some_and(|carries| carries < LEAVES.1 * sum);
        let Some(uplink) = UPLINKS.into_iter().map(link).find(fits) else { return Vec::new() };
        for (slot, &at) in on.iter().enumerate() {
            let Some(path) = self.planted.world.topology.rails[at].pcie.as_mut() else { continue };
            if let Some(above) = path.hops.get_mut(1) {
                let (address, upstream) = (above.address.clone(), above.upstream.clone());
                *above = Hop { address, upstream, ..uplink.clone() };
            } else {
                path.hops[0].upstream = Some(format!("0000:f1:{slot:02x}.0"));
                path.hops.push(uplink.clone());
            }
        }
        self.pushes_back(&on);
        on
    }

    fn low_link(&mut self) -> Vec<usize> {
        let able = self.planted.world.able();
        let on = self.dice.some_of(&able, 2);
        let kind = self.dice.below(4);
        for &at in &on {
            let rail = &mut self.planted.world.topology.rails[at];
            let Some(path) = rail.pcie.as_mut() else { continue };
            let is_direct = path.hops.len() == 1;
            let own = &mut path.hops[0];
            let speed = own.max_gt_per_s.unwrap_or_default();
            let before = BEFORE.iter().find(|(this, _)| *this == speed).map(|(_, before)| *before);
            match kind {
                1 => own.current_gt_per_s = before,
                2 => (own.current_gt_per_s, own.upstream_max_gt_per_s) = (before, before),
                3 if is_direct => {
                    // a switch of its own whose way up lost half its lanes
                    let bus = 0x80 + at;
                    let up = full_hop(&format!("0000:{bus:02x}:00.0"), &format!("0000:{:02x}:02.1", bus - 1));
                    path.hops[0].upstream = Some(format!("0000:{bus:02x}:01.0"));
                    path.hops.push(Hop {
                        current_gt_per_s: Some(speed),
                        max_gt_per_s: Some(speed),
                        upstream_max_gt_per_s: Some(speed),
                        current_width: Some(8),
                        ..up
                    });
                }
                _ => own.current_width = Some(8),
            }
        }
        self.pushes_back(&on);
        on
    }

    fn wrong_node(&mut self) -> Vec<usize> {
        let nodes: Vec<u32> = self.planted.world.topology.numa.iter().map(|node| node.node).collect();
        if nodes.len() < 2 {
            return Vec::new();
        }
        let able = self.planted.world.able();
        let at = *self.dice.one_of(&able);
        let told = self.planted.world.topology.rails[at].numa_node;
        let others: Vec<u32> = nodes.into_iter().filter(|node| Some(*node) != told).collect();
        let node = *self.dice.one_of(&others);
        let leaves = self.leaves() * self.ceiling(at);
        self.unseen(at).true_node = Some(node);
        self.planted.world.socket_link_gb_per_s = Some(leaves);
        self.pushes_back(&[at]);
        vec![at]
    }

    /// Bounds rails beyond the host: each by itself, or several by what they share out there.
    fn beyond(&mut self) -> (Vec<usize>, bool) {
        let able = self.planted.world.able();
        let on = self.dice.some_of(&able, 3);
        let is_shared = on.len() > 1 && self.dice.one_in(2);
        let sum: f64 = on.iter().map(|&at| self.ceiling(at)).sum();
        let leaves = self.leaves();
        if is_shared {
            // alone each of them has room
            self.planted.world.beyond_gb_per_s.push(leaves * sum);
        }
        for &at in &on {
            if !is_shared {
                let bound = leaves * self.ceiling(at);
                self.planted.world.beyond_gb_per_s.push(bound);
            }
            let out = self.planted.world.beyond_gb_per_s.len() - 1;
            self.unseen(at).beyond.push(out);
        }
        (on, is_shared)
    }

    /// What grows at this end for it, and at the other.
    fn fabric(&mut self, here: &[&str], there: &str, (low, high): (f64, f64)) -> Vec<usize> {
        let (on, _) = self.beyond();
        let per_gb = self.dice.between(low, high);
        for &at in &on {
            self.grow(at, here, per_gb, Grows::BeyondHolds);
            if let Some(far_end) = &mut self.planted.world.far_end {
                far_end.grow(at, there, per_gb, Grows::BeyondHolds);
            }
        }
        on
    }

    fn unknown(&mut self) -> Vec<usize> {
        let (on, is_shared) = self.beyond();
        if !is_shared && self.dice.one_in(3) {
            for &at in &on {
                self.unseen(at).wanders = 0.25;
            }
        }
        on
    }

    fn read_window(&mut self) -> Vec<usize> {
        let able = self.planted.world.able();
        let on = self.dice.some_of(&able, 2);
        let depth = *self.dice.one_of(&[1_u32, 2, 16]);
        for &at in &on {
            let rate = self.leaves() * self.ceiling(at);
            let stretch = self.dice.between(1.0, 2.5);
            let rail = &self.planted.world.topology.rails[at];
            let legs = legs_of(rail);
            let wire_ns = IN_FLIGHT.1 / (self.ceiling(at) / legs as f64);
            let in_flight = IN_FLIGHT.0 * f64::from(depth) * IN_FLIGHT.1;
            let unseen = self.unseen(at);
            unseen.round_trip_ns = Some(in_flight / rate / stretch - wire_ns);
            (unseen.stretch, unseen.peer_read_depth) = (stretch, Some(depth));
        }
        on
    }

    fn cpu(&mut self) -> Vec<usize> {
        let able = self.planted.world.able();
        let on = self.dice.some_of(&able, 2);
        for &at in &on {
            let does = self.leaves() * self.ceiling(at);
            self.unseen(at).thread_gb_per_s = Some(does);
        }
        on
    }

    fn memory(&mut self) -> Vec<usize> {
        let able = self.planted.world.able();
        let nodes: Vec<u32> =
            able.iter().filter_map(|&at| self.planted.world.topology.rails[at].numa_node).collect();
        let node = *self.dice.one_of(&nodes);
        let of_node = |at: &usize| self.planted.world.topology.rails[*at].numa_node == Some(node);
        let on: Vec<usize> = able.into_iter().filter(of_node).collect();
        let ceilings: Vec<f64> = on.iter().map(|&at| self.ceiling(at)).collect();
        // too little for one of them, or only for all
        let too_little_for = if self.dice.one_in(2) {
            ceilings.iter().copied().fold(f64::MAX, f64::min)
        } else {
            ceilings.iter().sum()
        };
        let hot_gb_per_s = self.leaves() * too_little_for;
        let cold_gb_per_s = hot_gb_per_s * self.dice.between(0.45, 0.75);
        self.planted.world.memory.insert(node, Memory { hot_gb_per_s, cold_gb_per_s });
        self.pushes_back(&on);
        on
    }
}
