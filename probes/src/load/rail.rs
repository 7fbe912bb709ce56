//! One rail, from the open device to connected queue pairs. All of it runs on the rail's own thread.

use super::layout::{Layout, MOST_DEPTH, MOST_QPS};
use super::placement::Placement;
use super::verbs::VerbsTransport;
use super::{Endpoint, LoadError, Params, QpAddress, RemoteBuffer, Role, pattern};
use crate::bind;
use crate::ffi::pages::Pages;
use crate::ffi::verbs::{
    CompletionQueue, Context, Limits, Path, Port, ProtectionDomain, QueuePair, Region, RelaxedOrdering, Ring,
    Window,
};
use crate::model::{LinkLayer, Rail};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv6Addr;
use std::sync::Arc;

/// A rail with its memory registered and its queue pairs in INIT.
pub(super) struct OpenRail {
    pub(super) endpoint: Endpoint,
    pub(super) relaxed_ordering: RelaxedOrdering,
    /// Node the buffer lies on.
    pub(super) buffer_node: Option<u32>,
    params: Params,
    layout: Layout,
    region: Arc<Region>,
    queue_pairs: Vec<QueuePair>,
    queue: CompletionQueue,
}

/// A rail whose queue pairs may send and answer.
pub(super) struct ConnectedRail {
    /// READs outstanding per queue pair, as negotiated.
    pub(super) read_depth: u32,
    pub(super) traffic: Traffic,
    pub(super) region: Arc<Region>,
    pub(super) layout: Layout,
}

/// What a connected rail does.
pub(super) enum Traffic {
    /// Posts work requests.
    Reader(VerbsTransport),
    /// Answers, in hardware; the queue pairs only have to exist.
    Target(Vec<QueuePair>),
}

/// Opens the device and makes everything that does not need the peer. The calling thread is bound already.
pub(super) fn open(
    rail: &Rail,
    params: &Params,
    role: Role,
    place: &Placement,
) -> Result<OpenRail, LoadError> {
    let context = Context::open(&rail.device)?;
    let (limits, port) = (context.limits()?, context.port(rail.port)?);
    check(rail, params, &limits, &port)?;
    let link_layer = port.link_layer.or(rail.link_layer).unwrap_or(LinkLayer::Ethernet);
    let (gid_index, gid) = address(&context, rail, params, link_layer)?;

    let layout = Layout::new(params);
    let (pages, buffer_node) = buffer(rail, &layout, role, place)?;
    let domain = context.protection_domain()?;
    let region = Arc::new(domain.register(pages)?);
    let depth = if role == Role::Reader { params.depth } else { 1 };
    // room for an error completion of every request
    let queue = context.completion_queue(params.qps.saturating_mul(depth))?;
    let queue_pairs = queue_pairs(&domain, &queue, params.qps, depth, rail.port)?;

    let qps = queue_pairs.iter().map(|pair| QpAddress { qpn: pair.number(), psn: random_psn() }).collect();
    let buffer = (role == Role::Target).then(|| RemoteBuffer {
        address: region.address(),
        rkey: region.rkey(),
        bytes: layout.bytes(),
    });
    let active_mtu = port.active_mtu.or(rail.path_mtu).unwrap_or(1024);
    let endpoint = Endpoint {
        device: rail.device.clone(),
        port: rail.port,
        link_layer,
        lid: port.lid,
        gid,
        gid_index,
        gid_type: rail.gids.iter().find(|entry| entry.index == gid_index).and_then(|entry| entry.kind),
        path_mtu: params.path_mtu.map_or(active_mtu, |asked| asked.min(active_mtu)),
        qps,
        max_initiator_depth: limits.max_initiator_depth,
        max_responder_depth: limits.max_responder_depth,
        buffer,
    };
    let relaxed_ordering = region.relaxed_ordering();
    Ok(OpenRail {
        endpoint,
        relaxed_ordering,
        buffer_node,
        params: params.clone(),
        layout,
        region,
        queue_pairs,
        queue,
    })
}

/// Refuses what cannot work, in words; the device would only say EINVAL.
fn check(rail: &Rail, params: &Params, limits: &Limits, port: &Port) -> Result<(), LoadError> {
    let device = &rail.device;
    let refuse = |reason: String| Err(LoadError::Other(format!("{device} port {}: {reason}", rail.port)));
    if params.qps == 0 || params.qps > MOST_QPS {
        return refuse(format!("{} queue pairs asked for; 1 to {MOST_QPS} make sense", params.qps));
    }
    if params.depth == 0 || params.depth > limits.max_depth.clamp(1, MOST_DEPTH) {
        let most = limits.max_depth.clamp(1, MOST_DEPTH);
        return refuse(format!("a depth of {} was asked for; the device can do 1 to {most}", params.depth));
    }
    if params.size_bytes == 0 || params.size_bytes > u64::from(port.max_message_bytes) {
        let most = port.max_message_bytes;
        return refuse(format!(
            "messages of {} bytes were asked for; the port can do 1 to {most}",
            params.size_bytes
        ));
    }
    let completions = params.qps.saturating_mul(params.depth);
    if completions > limits.max_completions {
        let most = limits.max_completions;
        return refuse(format!(
            "QPs times depth is {completions}; the device's completion queues hold {most}"
        ));
    }
    if !matches!(port.state, "ACTIVE" | "ACTIVE_DEFER") {
        return refuse(format!(
            "the port is {}; it must be ACTIVE (ip link, cable, subnet manager)",
            port.state
        ));
    }
    Ok(())
}

/// The GID that the queue pairs use, with its index.
fn address(
    context: &Context,
    rail: &Rail,
    params: &Params,
    link_layer: LinkLayer,
) -> Result<(u32, Ipv6Addr), LoadError> {
    let device = &rail.device;
    let index = match (params.gid_index, &rail.gid, link_layer) {
        (Some(asked), _, _) => asked,
        (None, Some(choice), _) => choice.index,
        (None, None, LinkLayer::InfiniBand) => 0,
        (None, None, LinkLayer::Ethernet) => {
            return Err(LoadError::Other(format!(
                "{device} port {}: no usable GID; give its netdev an IP address, or name a GID index \
                 (railscope probe shows the table)",
                rail.port
            )));
        }
    };
    let gid = context.gid(rail.port, index)?;
    if gid.is_unspecified() && link_layer == LinkLayer::Ethernet {
        return Err(LoadError::Other(format!("{device} port {}: GID index {index} is empty", rail.port)));
    }
    Ok((index, gid))
}

/// Memory on the wanted node: of a target filled with the pattern, of a reader with zeros, which it has not.
fn buffer(
    rail: &Rail,
    layout: &Layout,
    role: Role,
    place: &Placement,
) -> Result<(Pages, Option<u32>), LoadError> {
    let bytes = usize::try_from(layout.bytes()).unwrap_or(usize::MAX);
    let mut pages = Pages::map(bytes).map_err(|cause| {
        LoadError::Other(format!(
            "{}: a buffer of {bytes} bytes: {cause}; try fewer QPs or smaller messages",
            rail.device
        ))
    })?;
    let bound = place.node.filter(|node| bind::memory(&pages, *node).is_ok());
    match role {
        Role::Target => pages.fill(pattern::word),
        Role::Reader => pages.fill(|_| 0),
    }
    // where the pages lie counts, not where they were wished to
    let node = bind::node_of(&pages).or(bound);
    Ok((pages, node))
}

fn queue_pairs(
    domain: &ProtectionDomain,
    queue: &CompletionQueue,
    qps: u32,
    depth: u32,
    port: u32,
) -> Result<Vec<QueuePair>, LoadError> {
    (0..qps)
        .map(|_| {
            let mut pair = domain.queue_pair(queue, depth)?;
            pair.to_init(port)?;
            Ok(pair)
        })
        .collect()
}

/// A first packet sequence number: 24 bits that differ from run to run, so that a stray packet of an earlier
/// connection is not taken for one of this.
fn random_psn() -> u32 {
    let random = RandomState::new().build_hasher().finish();
    u32::try_from(random & 0x00ff_ffff).unwrap_or(0)
}

impl OpenRail {
    /// Connects each queue pair with its counterpart.
    ///
    /// # Errors
    ///
    /// The ends do not fit together, or a queue pair cannot reach its peer.
    pub(super) fn connect(self, peer: &Endpoint, role: Role) -> Result<ConnectedRail, LoadError> {
        let own = &self.endpoint;
        fits(own, peer, role, self.layout.bytes())?;
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
        let mut queue_pairs = self.queue_pairs;
        for ((pair, ours), theirs) in queue_pairs.iter_mut().zip(&own.qps).zip(&peer.qps) {
            let path = Path {
                port: own.port,
                path_mtu: own.path_mtu.min(peer.path_mtu),
                peer_qpn: theirs.qpn,
                peer_psn: theirs.psn,
                peer_lid: peer.lid,
                peer_gid: routed(own, peer).then_some(peer.gid),
                gid_index: own.gid_index,
                traffic_class: self.params.traffic_class,
            };
            pair.to_rtr(&path, window).map_err(|error| addressed(&error, own, peer))?;
            pair.to_rts(ours.psn, window)?;
        }
        let traffic = match (role, &peer.buffer) {
            (Role::Reader, Some(buffer)) => {
                let lanes = (0..).zip(queue_pairs);
                let rings = lanes
                    .map(|(lane, pair)| {
                        let requests = self.layout.requests(lane, buffer.address);
                        let message = (self.params.size_bytes, buffer.rkey);
                        Ring::new(pair, Arc::clone(&self.region), self.params.op, message, &requests)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                let (device, size) = (own.device.clone(), self.params.size_bytes);
                Traffic::Reader(VerbsTransport::new(device, size, self.params.depth, rings, self.queue))
            }
            _ => Traffic::Target(queue_pairs),
        };
        Ok(ConnectedRail {
            read_depth: window.initiator_depth,
            traffic,
            region: self.region,
            layout: self.layout,
        })
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

/// Refuses two ends that cannot talk.
fn fits(own: &Endpoint, peer: &Endpoint, role: Role, bytes: u64) -> Result<(), LoadError> {
    let (ours, theirs) = (&own.device, &peer.device);
    let refuse = |reason: String| Err(LoadError::Other(format!("{ours} and the peer's {theirs}: {reason}")));
    if own.link_layer != peer.link_layer {
        return refuse(format!("{:?} here, {:?} there", own.link_layer, peer.link_layer));
    }
    if own.qps.len() != peer.qps.len() {
        return refuse(format!("{} queue pairs here, {} there", own.qps.len(), peer.qps.len()));
    }
    if role == Role::Reader {
        let there = peer.buffer.map_or(0, |buffer| buffer.bytes);
        if there < bytes {
            return refuse(format!("the peer offers {there} bytes, this load reads {bytes}"));
        }
    }
    Ok(())
}

/// Adds both ends' addresses to an error of connecting: that is what it is about.
fn addressed(error: &crate::ffi::verbs::Error, own: &Endpoint, peer: &Endpoint) -> LoadError {
    let end = |endpoint: &Endpoint| {
        let kind = match endpoint.gid_type {
            Some(crate::model::GidType::RoceV2) => ", RoCE v2",
            Some(crate::model::GidType::IbOrRoceV1) if endpoint.link_layer == LinkLayer::Ethernet => {
                ", RoCE v1"
            }
            _ => "",
        };
        format!("{} (GID index {}{kind})", endpoint.gid, endpoint.gid_index)
    };
    LoadError::Other(format!("{error}; ours is {}, the peer's {} is {}", end(own), peer.device, end(peer)))
}

#[cfg(test)]
mod tests {
    use super::{fits, read_depth, routed};
    use crate::load::{Endpoint, QpAddress, RemoteBuffer, Role};
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
        let error = fits(&roce, &ib, Role::Reader, 1).unwrap_err().to_string();
        assert!(error.contains("Ethernet here, InfiniBand there"), "{error}");
        let error = fits(&roce, &roce, Role::Reader, 8192).unwrap_err().to_string();
        assert!(error.contains("offers 4096 bytes, this load reads 8192"), "{error}");
        assert!(fits(&roce, &roce, Role::Reader, 4096).is_ok());
    }
}
