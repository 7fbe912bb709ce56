//! The plan of a load: made by the client, checked by the server, opened by both.

mod bounds;
mod words;

pub(super) use bounds::{MOST_RATE_GB_PER_S, rate_is_possible, too_few_qps};

use super::end::End;
use super::error::PeerError;
use super::matching::Matching;
use super::message::{Line, Plan, Port, Slot};
use super::offer::Offer;
use probes::load::{Params, Place, Role};
use probes::model::{GidChoice, RailId, Topology};
use std::collections::{BTreeMap, BTreeSet};

impl Plan {
    /// The plan for rails that go together.
    ///
    /// # Errors
    ///
    /// The path MTU asked for is larger than one that a pair can do, or a batch does not fit the rails.
    pub fn new(
        matching: &Matching,
        ours: &[Offer],
        theirs: &[Offer],
        params: Params,
    ) -> Result<Self, PeerError> {
        let mut lines = Vec::new();
        for pair in &matching.pairs {
            let (Some(our), Some(their)) = (ours.get(pair.ours), theirs.get(pair.theirs)) else { continue };
            let port =
                |offer: &Offer, gid_index| Port { device: offer.device.clone(), port: offer.port, gid_index };
            lines.push(Line { client: port(our, pair.our_gid), server: port(their, pair.their_gid) });
            let active = our.path_mtu.into_iter().chain(their.path_mtu).min();
            if let (Some(asked), Some(active)) = (params.path_mtu, active)
                && asked > active
            {
                return Err(PeerError::BadPlan(format!(
                    "path MTU {asked} is more than {} and the peer's {} can do: {active}; \
                     raise the MTU of both netdevs or ask for less",
                    our.device, their.device
                )));
            }
        }
        params.check_shape(Some(lines.len())).map_err(PeerError::BadPlan)?;
        Ok(Self { lines, params, wants_frames: false })
    }

    /// How many threads each end has, in [`Plan::slots`].
    #[must_use]
    pub fn units(&self) -> usize {
        self.lines.len().saturating_mul(self.params.workers.max(1) as usize)
    }

    /// What each thread is called in messages, in the order in which ends are exchanged: all workers of the first
    /// line, then those of the next.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let workers = self.params.workers.max(1);
        (0..self.lines.len()).flat_map(move |line| (0..workers).map(move |worker| Slot { line, worker }))
    }

    /// Position of a slot in [`Plan::slots`]; `None` when the plan has no such slot.
    #[must_use]
    pub fn position(&self, slot: Slot) -> Option<usize> {
        let workers = self.params.workers.max(1);
        let known = slot.line < self.lines.len() && slot.worker < workers;
        known.then(|| slot.line * workers as usize + slot.worker as usize)
    }

    /// What the threads of an end are called by people.
    #[must_use]
    pub fn names(&self, role: Role) -> BTreeSet<String> {
        let ports: Vec<&Port> = self.ports(role).collect();
        let name = |slot: Slot| Some(slot.of(self, &ports.get(slot.line)?.device));
        self.slots().filter_map(name).collect()
    }

    /// The port of each line on the given end.
    #[must_use]
    pub fn ports(&self, role: Role) -> impl ExactSizeIterator<Item = &Port> {
        self.lines.iter().map(move |line| match role {
            Role::Reader => &line.client,
            Role::Target => &line.server,
        })
    }

    /// What this end opens: the rails in the order of the plan, and the topology with the GIDs agreed on.
    ///
    /// The server's buffers lie on the NIC's own node, in the memory that the server was started with, whatever the
    /// client asks for its own: a placement names nodes of one host, and so does a memory GPUs.
    ///
    /// # Errors
    ///
    /// A rail of the plan is not in the topology.
    pub fn for_end(&self, role: Role, end: &End) -> Result<(Topology, Vec<RailId>, Params), PeerError> {
        let mut topology = (*end.topology).clone();
        let mut rails = Vec::new();
        for Port { device, port, gid_index } in self.ports(role) {
            let found = topology.rails_with_id().find(|(_, r)| r.device == *device && r.port == *port);
            let Some((id, _)) = found else {
                return Err(PeerError::BadPlan(format!("{device} port {port} is no longer there")));
            };
            topology.rails[id.0].gid =
                Some(GidChoice { index: *gid_index, reason: "agreed with the peer".to_owned() });
            rails.push(id);
        }
        let params = match role {
            Role::Reader => self.params.clone(),
            Role::Target => Params {
                place: Place::Local,
                memory: end.memory(),
                labels: self.labels_there(),
                ..self.params.clone()
            },
        };
        Ok((topology, rails, Params { gid_index: None, ..params }))
    }

    /// The sets of flow labels by device of the server: a rail's two ends have the same.
    fn labels_there(&self) -> BTreeMap<String, u32> {
        let of =
            |line: &Line| Some((line.server.device.clone(), *self.params.labels.get(&line.client.device)?));
        self.lines.iter().filter_map(of).collect()
    }
}

impl Slot {
    /// The thread as people call it: the rail, or `worker 2 of mlx5_0` where the rail has several.
    pub(super) fn of(self, plan: &Plan, device: &str) -> String {
        if plan.params.workers > 1 {
            format!("worker {} of {device}", self.worker.saturating_add(1))
        } else {
            device.to_owned()
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::peer::fake;
    use crate::peer::matching::matching;
    use crate::peer::message::{Plan, Slot};

    use probes::load::{Memory, Params, Place, Role};

    pub fn plan() -> Plan {
        let (ours, theirs) = (fake::end("n1", 1).offers, fake::end("n2", 2).offers);
        Plan::new(&matching(&ours, &theirs), &ours, &theirs, Params::default()).unwrap()
    }

    #[test]
    fn every_thread_has_its_place_in_the_plan() {
        let mut plan = plan();
        plan.params.workers = 3;
        let slots: Vec<Slot> = plan.slots().collect();
        assert_eq!(slots.len(), plan.units());
        assert_eq!(slots[4], Slot { line: 1, worker: 1 });
        assert!(slots.iter().enumerate().all(|(at, slot)| plan.position(*slot) == Some(at)));
        assert_eq!(plan.position(Slot { line: 0, worker: 3 }), None);
        assert_eq!(plan.position(Slot { line: 2, worker: 0 }), None);
        assert_eq!(plan.amount(), "64K x 4 queue pairs and 3 threads a rail");
    }

    #[test]
    fn a_client_does_not_choose_the_servers_memory() {
        let mut plan = plan();
        plan.params.memory = Memory::Gpu(7);
        let end = fake::end("n2", 2);
        assert_eq!(plan.for_end(Role::Target, &end).unwrap().2.memory, Memory::Host);
        assert_eq!(plan.for_end(Role::Reader, &end).unwrap().2.memory, Memory::Gpu(7));
    }

    #[test]
    fn a_path_mtu_that_one_end_cannot_do_is_refused_before_anything_is_opened() {
        let (mut ours, theirs) = (fake::end("n1", 1).offers, fake::end("n2", 2).offers);
        ours[1].path_mtu = Some(1024);
        let params = Params { path_mtu: Some(4096), ..Params::default() };
        let error = Plan::new(&matching(&ours, &theirs), &ours, &theirs, params).unwrap_err();
        assert!(error.to_string().starts_with("path MTU 4096 is more than mlx5_1"), "{error}");
    }

    #[test]
    fn each_end_opens_its_own_rails_with_the_gids_agreed_on() {
        let mut plan = plan();
        plan.params.place = Place::Nodes { cpu: 1, mem: 0 };
        plan.params.gid_index = Some(3);
        plan.lines[1].server.gid_index = 7;
        plan.lines[1].server.device = "mlx5_1".to_owned();
        plan.params.labels = [("mlx5_1".to_owned(), 3)].into();
        let end = fake::end("n2", 2);
        let (topology, rails, params) = plan.for_end(Role::Target, &end).unwrap();
        assert_eq!(rails.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(topology.rails[1].gid.as_ref().unwrap().index, 7);
        assert_eq!((params.place, params.gid_index), (Place::Local, None));
        let (_, _, params) = plan.for_end(Role::Reader, &end).unwrap();
        assert_eq!((params.place, params.gid_index), (Place::Nodes { cpu: 1, mem: 0 }, None));
    }
}
