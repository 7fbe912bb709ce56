//! Two ends of a rail find each other: what they agree on, and their queue pairs.

use super::layout::Layout;
use super::leg;
use super::rail::OpenRail;
use super::striped::Stripe;
use super::verbs::VerbsTransport;
use super::{Endpoint, LoadError, Role};
use crate::ffi::verbs::{Error, Path, QueuePair, Region, Ring, Window};
use crate::model::{GidType, LinkLayer, LoadOp};
use std::sync::Arc;

/// A rail whose queue pairs may send and answer.
pub(super) struct ConnectedRail {
    /// READs outstanding per queue pair, as negotiated.
    pub(super) read_depth: u32,
    pub(super) traffic: Traffic,
    /// Where our own requests read into or write from.
    pub(super) local: Option<Arc<Region>>,
    /// What the peer's requests read or write.
    pub(super) exposed: Option<Arc<Region>>,
    pub(super) layout: Layout,
}

/// A connected rail of a striped load, on the end that posts.
pub(super) struct ConnectedStripe {
    /// READs outstanding per queue pair, as negotiated.
    pub(super) read_depth: u32,
    pub(super) stripe: Stripe,
    /// Where the requests read into or write from.
    pub(super) local: Arc<Region>,
    pub(super) layout: Layout,
}

/// What a connected rail does.
pub(super) enum Traffic {
    /// Posts work requests.
    Reader(Box<VerbsTransport>),
    /// Answers, in hardware; the queue pairs only have to exist.
    Target(Vec<QueuePair>),
}

impl OpenRail {
    /// Connects each queue pair with its counterpart.
    ///
    /// # Errors
    ///
    /// The ends do not fit together, or a queue pair cannot reach its peer.
    pub(super) fn connect(mut self, peer: &Endpoint, role: Role) -> Result<ConnectedRail, LoadError> {
        let window = self.reach(peer, role)?;
        let own = &self.endpoint;
        let posts = role.posts(&self.params);
        let queue_pairs = self.queue_pairs;
        let traffic = match (&self.local, &peer.buffer) {
            (Some(local), Some(buffer)) if posts => {
                let lanes = (0..).zip(queue_pairs);
                let rings = lanes
                    .map(|(lane, pair)| {
                        let requests = self.layout.requests(lane, buffer.address);
                        let message = (self.params.size_bytes, buffer.rkey);
                        let walk = self.layout.walk(lane, buffer.address);
                        Ring::new(pair, Arc::clone(local), self.params.op, message, &requests)?.walking(walk)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                let (device, size) = (own.device.clone(), self.params.size_bytes);
                let transport =
                    VerbsTransport::new(device, size, self.params.depth, &self.layout, rings, self.queue);
                Traffic::Reader(Box::new(match self.params.op {
                    LoadOp::Read => transport.with_round_trip(),
                    LoadOp::Write => transport,
                }))
            }
            _ => Traffic::Target(queue_pairs),
        };
        Ok(ConnectedRail {
            read_depth: window.initiator_depth,
            traffic,
            local: self.local,
            exposed: self.exposed,
            layout: self.layout,
        })
    }

    /// The same on the end that posts, for a striped load.
    ///
    /// # Errors
    ///
    /// As [`OpenRail::connect`].
    pub(super) fn connect_stripe(mut self, peer: &Endpoint) -> Result<ConnectedStripe, LoadError> {
        let window = self.reach(peer, Role::Reader)?;
        let device = self.endpoint.device;
        let (Some(local), Some(buffer)) = (self.local, &peer.buffer) else {
            return Err(LoadError::Other(format!("{device}: the peer offers no memory")));
        };
        let message = (self.params.size_bytes, buffer.rkey);
        let rings = (0..)
            .zip(self.queue_pairs)
            .map(|(lane, pair)| {
                let requests = self.layout.batch_requests(lane, buffer.address);
                let walk = self.layout.batch_walk(lane, buffer.address);
                Ring::new(pair, Arc::clone(&local), self.params.op, message, &requests)?.walking(walk)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let (size_bytes, depth) = (self.params.size_bytes, self.params.depth);
        Ok(ConnectedStripe {
            read_depth: window.initiator_depth,
            stripe: Stripe::new(device, size_bytes, depth, rings, self.queue),
            local,
            layout: self.layout,
        })
    }

    /// Brings each queue pair to its counterpart, ready to send and to answer.
    fn reach(&mut self, peer: &Endpoint, role: Role) -> Result<Window, LoadError> {
        let own = &self.endpoint;
        let posts = role.posts(&self.params);
        fits(own, peer, posts.then(|| self.layout.bytes()))?;
        let window = Window {
            initiator_depth: read_depth(
                own.max_initiator_depth,
                peer.max_responder_depth,
                self.params.read_depth,
            ),
            responder_depth: read_depth(
                own.max_responder_depth,
                peer.max_initiator_depth,
                self.params.read_depth,
            ),
            timeout: self.params.timeout,
        };
        let pairs = self.queue_pairs.iter_mut().zip(&own.qps).zip(&peer.qps);
        for (place, ((pair, ours), theirs)) in (0..).zip(pairs) {
            let path = Path {
                port: own.port,
                path_mtu: own.path_mtu.min(peer.path_mtu),
                peer_qpn: theirs.qpn,
                peer_psn: theirs.psn,
                peer_lid: peer.lid,
                peer_gid: routed(own, peer).then_some(peer.gid),
                gid_index: own.gid_index,
                traffic_class: self.params.traffic_class,
                flow_label: leg::label(&self.params, &own.device, place, ours.qpn),
            };
            pair.to_rtr(&path, window).map_err(|error| addressed(&error, own, peer))?;
            pair.to_rts(ours.psn, window)?;
            if let Some(number) = leg::of_sender(&self.params, role) {
                leg::send_from(pair, &own.device, number)?;
            }
        }
        Ok(window)
    }
}

/// READs that may be outstanding: what we can start, what the peer can answer, and what was asked.
fn read_depth(initiator: u32, responder: u32, asked: Option<u32>) -> u32 {
    initiator.min(responder).min(asked.unwrap_or(u32::MAX)).clamp(1, u32::from(u8::MAX))
}

/// Whether packets carry a global route header: always on Ethernet, on InfiniBand between subnets.
fn routed(own: &Endpoint, peer: &Endpoint) -> bool {
    let subnet = |endpoint: &Endpoint| endpoint.gid.octets()[..8].to_owned();
    own.link_layer == LinkLayer::Ethernet || peer.lid == 0 || subnet(own) != subnet(peer)
}

/// Refuses two ends that cannot talk. `bytes` is what this end reads or writes of the peer's memory.
fn fits(own: &Endpoint, peer: &Endpoint, bytes: Option<u64>) -> Result<(), LoadError> {
    let (ours, theirs) = (&own.device, &peer.device);
    let refuse = |reason: String| Err(LoadError::Other(format!("{ours} and the peer's {theirs}: {reason}")));
    if own.link_layer != peer.link_layer {
        return refuse(format!("{:?} here, {:?} there", own.link_layer, peer.link_layer));
    }
    if own.qps.len() != peer.qps.len() {
        return refuse(format!("{} queue pairs here, {} there", own.qps.len(), peer.qps.len()));
    }
    if let Some(bytes) = bytes {
        let there = peer.buffer.map_or(0, |buffer| buffer.bytes);
        if there < bytes {
            return refuse(format!("the peer offers {there} bytes, this load needs {bytes}"));
        }
    }
    Ok(())
}

/// Adds both ends' addresses to an error of connecting: that is what it is about.
fn addressed(error: &Error, own: &Endpoint, peer: &Endpoint) -> LoadError {
    let end = |endpoint: &Endpoint| {
        let kind = match endpoint.gid_type {
            Some(GidType::RoceV2) => ", RoCE v2",
            Some(GidType::IbOrRoceV1) if endpoint.link_layer == LinkLayer::Ethernet => ", RoCE v1",
            _ => "",
        };
        format!("{} (GID index {}{kind})", endpoint.gid, endpoint.gid_index)
    };
    LoadError::Other(format!("{error}; ours is {}, the peer's {} is {}", end(own), peer.device, end(peer)))
}

#[cfg(test)]
mod tests {
    use super::{fits, read_depth, routed};
    use crate::load::{Endpoint, Memory, QpAddress, RemoteBuffer};
    use crate::model::LinkLayer;

    fn endpoint(link_layer: LinkLayer, lid: u16, gid: &str) -> Endpoint {
        Endpoint {
            device: "mlx5_0".into(),
            port: 1,
            link_layer,
            lid,
            gid: gid.parse().unwrap(),
            gid_index: 3,
            gid_type: None,
            path_mtu: 4096,
            qps: vec![QpAddress { qpn: 7, psn: 9 }],
            max_initiator_depth: 128,
            max_responder_depth: 16,
            buffer: Some(RemoteBuffer { address: 0, rkey: 1, bytes: 4096 }),
            tcp: None,
            memory: Memory::Host,
            registered: None,
        }
    }

    #[test]
    fn the_read_depth_is_what_both_ends_can_do() {
        assert_eq!(read_depth(128, 16, None), 16);
        assert_eq!(read_depth(16, 128, None), 16);
        assert_eq!(read_depth(128, 16, Some(4)), 4);
        assert_eq!(read_depth(0, 16, None), 1);
    }

    #[test]
    fn roce_is_always_routed_and_infiniband_only_between_subnets() {
        let roce = endpoint(LinkLayer::Ethernet, 0, "::ffff:10.0.0.1");
        assert!(routed(&roce, &roce));
        let ib = endpoint(LinkLayer::InfiniBand, 4, "fe80::1");
        assert!(!routed(&ib, &endpoint(LinkLayer::InfiniBand, 5, "fe80::2")));
        assert!(routed(&ib, &endpoint(LinkLayer::InfiniBand, 5, "fec0::2")));
    }

    #[test]
    fn ends_that_cannot_talk_are_refused_in_words() {
        let (roce, ib) = (endpoint(LinkLayer::Ethernet, 0, "::1"), endpoint(LinkLayer::InfiniBand, 1, "::1"));
        let error = fits(&roce, &ib, Some(1)).unwrap_err().to_string();
        assert!(error.contains("Ethernet here, InfiniBand there"), "{error}");
        let error = fits(&roce, &roce, Some(8192)).unwrap_err().to_string();
        assert!(error.contains("offers 4096 bytes, this load needs 8192"), "{error}");
        assert!(fits(&roce, &roce, Some(4096)).is_ok());
    }
}
