//! One rail, from the device to queue pairs that wait for their peers. All of it runs on the rail's own thread.

use super::host_memory;
use super::layout::{Layout, MOST_DEPTH, MOST_QPS};
use super::leg;
use super::placement::Placement;
use super::{Endpoint, LoadError, Params, QpAddress, RemoteBuffer, Role, pattern};
use crate::ffi::buffer::Buffer;
use crate::ffi::verbs::{
    CompletionQueue, Context, Limits, Port, ProtectionDomain, QueuePair, Region, RelaxedOrdering,
};
use crate::model::{LinkLayer, LoadOp, Rail};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv6Addr;
use std::sync::Arc;

/// A rail with its memory registered and its queue pairs in INIT.
pub(super) struct OpenRail {
    pub(super) endpoint: Endpoint,
    pub(super) relaxed_ordering: RelaxedOrdering,
    /// Node the buffer lies on.
    pub(super) buffer_node: Option<u32>,
    /// Size of the buffer's pages, bytes; `None` of a GPU's.
    pub(super) page_bytes: Option<u64>,
    pub(super) params: Params,
    pub(super) layout: Layout,
    /// Where our own requests read into or write from; `None` where this end posts none.
    pub(super) local: Option<Arc<Region>>,
    /// What the peer's requests read or write; `None` where it posts none.
    pub(super) exposed: Option<Arc<Region>>,
    pub(super) queue_pairs: Vec<QueuePair>,
    pub(super) queue: CompletionQueue,
}

/// Opens the device and makes everything that does not need the peer. The calling thread is bound already.
pub(super) fn open(
    rail: &Rail,
    params: &Params,
    role: Role,
    place: &Placement,
) -> Result<OpenRail, LoadError> {
    if let Some(number) = leg::of_sender(params, role) {
        leg::check(rail, number)?;
    }
    let context = Context::open(&rail.device)?;
    let (limits, port) = (context.limits()?, context.port(rail.port)?);
    check(rail, params, &limits, &port)?;
    let link_layer = port.link_layer.or(rail.link_layer).unwrap_or(LinkLayer::Ethernet);
    let (gid_index, gid) = address(&context, rail, params, link_layer)?;

    let layout = Layout::new(params);
    let domain = context.protection_domain()?;
    let Memory { local, exposed, node: buffer_node } =
        Memory::take(&domain, rail, &layout, place, (params, role))?;
    let region = local.as_ref().or(exposed.as_ref());
    let depth = if role.posts(params) { params.depth } else { 1 };
    // room for an error completion of every request
    let queue = context.completion_queue(params.qps.saturating_mul(depth))?;
    let queue_pairs = queue_pairs(&domain, &queue, params.qps, depth, rail.port)?;

    let qps = queue_pairs.iter().map(|pair| QpAddress { qpn: pair.number(), psn: random_psn() }).collect();
    let buffer = exposed.as_ref().map(|region| RemoteBuffer {
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
        tcp: None,
        memory: params.memory,
        registered: region.and_then(|region| region.registered()),
    };
    Ok(OpenRail {
        endpoint,
        relaxed_ordering: region.map_or(RelaxedOrdering::NotSupported, |region| region.relaxed_ordering()),
        buffer_node,
        page_bytes: region.and_then(|region| region.buffer().page_bytes()),
        params: params.clone(),
        layout,
        local,
        exposed,
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

/// The memory of a rail, registered with its device.
struct Memory {
    local: Option<Arc<Region>>,
    exposed: Option<Arc<Region>>,
    /// Node that it lies on.
    node: Option<u32>,
}

impl Memory {
    /// Takes and registers what this end needs.
    fn take(
        domain: &ProtectionDomain,
        rail: &Rail,
        layout: &Layout,
        place: &Placement,
        (params, role): (&Params, Role),
    ) -> Result<Self, LoadError> {
        let memory = |content| -> Result<_, LoadError> {
            let (memory, node) = buffer(rail, layout, content, place)?;
            let region = domain.register(memory).map_err(|error| match &place.gpu {
                Some(gpu) => gpu.explained(error),
                None => LoadError::Verbs(error),
            })?;
            Ok((Arc::new(region), node))
        };
        // data come from memory that holds the pattern and go to memory that does not
        let (ours, theirs) = match params.op {
            LoadOp::Read => (Content::Zeros, Content::Pattern),
            LoadOp::Write => (Content::Pattern, Content::Zeros),
        };
        let local = role.posts(params).then(|| memory(ours)).transpose()?;
        let exposed = role.answers(params).then(|| memory(theirs)).transpose()?;
        let node = local.as_ref().or(exposed.as_ref()).and_then(|(_, node)| *node);
        let (local, exposed) = (local.map(|(region, _)| region), exposed.map(|(region, _)| region));
        Ok(Self { local, exposed, node })
    }
}

/// What memory holds before anything moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// What is looked for where the data go.
    Pattern,
    /// No word of the pattern.
    Zeros,
}

/// Memory on the wanted node, or of the wanted GPU.
fn buffer(
    rail: &Rail,
    layout: &Layout,
    content: Content,
    place: &Placement,
) -> Result<(Buffer, Option<u32>), LoadError> {
    let bytes = usize::try_from(layout.bytes()).unwrap_or(usize::MAX);
    let content: fn(usize) -> u64 = match content {
        Content::Pattern => pattern::word,
        Content::Zeros => |_| 0,
    };
    if let Some(gpu) = &place.gpu {
        let mut memory = Buffer::from(gpu.allocate(&rail.device, bytes)?);
        memory.fill(content).map_err(|error| gpu.failed(&rail.device, "filling a buffer", &error))?;
        return Ok((memory, gpu.numa_node));
    }
    let (pages, node) = host_memory::take(bytes, place.node, content).map_err(|cause| {
        LoadError::Other(format!(
            "{}: a buffer of {bytes} bytes: {cause}; try fewer QPs or smaller messages",
            rail.device
        ))
    })?;
    Ok((pages.into(), node))
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
