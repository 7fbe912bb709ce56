//! Completion queues and reliable-connected queue pairs.

use super::context::{Context, Open, mtu_code, narrow};
use super::error::Error;
use super::region::{Domain, ProtectionDomain};
use super::status::Status;
use rdma_sys::{
    ibv_access_flags, ibv_ah_attr, ibv_cq, ibv_gid, ibv_global_route, ibv_poll_cq, ibv_qp, ibv_qp_attr,
    ibv_qp_attr_mask, ibv_qp_init_attr, ibv_qp_state, ibv_qp_type, ibv_wc,
};
use std::mem::{MaybeUninit, zeroed};
use std::net::Ipv6Addr;
use std::ptr::null_mut;
use std::sync::Arc;

/// Completions taken from the queue at a time. perftest adapts between 16 and 1024; with one completion for a
/// whole chain of requests 32 of them cover hundreds of operations.
const BATCH: usize = 32;
const BATCH_I32: i32 = 32;

/// A completion queue and the room its completions are copied to.
#[derive(Debug)]
pub struct CompletionQueue {
    shared: Arc<Cq>,
    batch: Box<[MaybeUninit<ibv_wc>; BATCH]>,
}

/// What queue pairs share of a [`CompletionQueue`].
#[derive(Debug)]
struct Cq {
    open: Arc<Open>,
    cq: *mut ibv_cq,
}

// SAFETY: - verbs objects may be used from any thread; see `Open`
unsafe impl Send for Cq {}
// SAFETY: - as above
unsafe impl Sync for Cq {}

impl Drop for Cq {
    fn drop(&mut self) {
        // SAFETY: - the queue is live, and queue pairs that use it are gone: each holds an Arc of this
        unsafe { (self.open.calls.ibv_destroy_cq)(self.cq) };
    }
}

/// One completion.
#[repr(transparent)]
pub struct Completion(ibv_wc);

impl Completion {
    /// The id its work request was given.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.wr_id
    }

    /// How it went.
    #[must_use]
    pub fn status(&self) -> Status {
        Status(self.0.status)
    }
}

impl Context {
    /// Makes a completion queue with room for at least `entries`.
    ///
    /// # Errors
    ///
    /// `ibv_create_cq` failed: more than the device can do, or no memory.
    pub fn completion_queue(&self, entries: u32) -> Result<CompletionQueue, Error> {
        let entries = i32::try_from(entries).unwrap_or(i32::MAX);
        // SAFETY: - the context is open; no channel, no context pointer, vector 0, which every device has
        let cq = unsafe { (self.0.calls.ibv_create_cq)(self.0.context, entries, null_mut(), null_mut(), 0) };
        if cq.is_null() {
            return Err(Error::last(&self.0.device, "ibv_create_cq"));
        }
        let shared = Arc::new(Cq { open: Arc::clone(&self.0), cq });
        Ok(CompletionQueue { shared, batch: Box::new([const { MaybeUninit::uninit() }; BATCH]) })
    }
}

impl CompletionQueue {
    /// Takes the next completions, up to a batch; empty when nothing is done.
    ///
    /// # Errors
    ///
    /// The provider cannot read the queue: the device is gone.
    #[inline]
    pub fn poll(&mut self) -> Result<&[Completion], Error> {
        // SAFETY: - the queue is live and `batch` has room for BATCH entries
        let taken = unsafe { ibv_poll_cq(self.shared.cq, BATCH_I32, self.batch.as_mut_ptr().cast()) };
        let Ok(taken) = usize::try_from(taken) else {
            return Err(Error::last(&self.shared.open.device, "ibv_poll_cq"));
        };
        // SAFETY: - the provider has written the first `taken` entries
        //         - `Completion` is a transparent wrapper of `ibv_wc`
        Ok(unsafe { std::slice::from_raw_parts(self.batch.as_ptr().cast::<Completion>(), taken.min(BATCH)) })
    }
}

/// Where a queue pair's packets go.
#[derive(Clone, Debug)]
pub struct Path {
    /// Local port.
    pub port: u32,
    /// Path MTU, bytes.
    pub path_mtu: u32,
    /// The peer's queue pair number.
    pub peer_qpn: u32,
    /// First packet sequence number the peer sends.
    pub peer_psn: u32,
    /// The peer's LID; 0 on Ethernet.
    pub peer_lid: u16,
    /// The peer's GID; `None` for plain InfiniBand within a subnet.
    pub peer_gid: Option<Ipv6Addr>,
    /// Position of our GID in the port's table.
    pub gid_index: u32,
    /// Traffic class of the packets.
    pub traffic_class: u8,
    /// Flow label of the packets, 20 bits, which decides the UDP source port of RoCE v2 and by it the path that switches
    /// choose; 0: the driver's choice.
    pub flow_label: u32,
}

/// How much may be in flight, and how long to wait for it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// READs outstanding as initiator.
    pub initiator_depth: u32,
    /// READs of the peer answered at a time.
    pub responder_depth: u32,
    /// Timeout exponent: 4.096 µs × 2^n.
    pub timeout: u8,
}

/// A reliable-connected queue pair.
#[derive(Debug)]
pub struct QueuePair {
    domain: Arc<Domain>,
    /// Destroyed after the queue pair: fields are dropped after the body of `Drop`.
    _cq: Arc<Cq>,
    pub(in crate::ffi) qp: *mut ibv_qp,
}

// SAFETY: - verbs objects may be used from any thread; see `Open`
unsafe impl Send for QueuePair {}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: - the queue pair is live; outstanding requests are thrown out with it
        unsafe { (self.domain.open.calls.ibv_destroy_qp)(self.qp) };
    }
}

impl ProtectionDomain {
    /// Makes a queue pair with a send queue of `depth` requests, all of its completions in `queue`.
    ///
    /// # Errors
    ///
    /// `ibv_create_qp` failed: more than the device can do, or no memory.
    pub fn queue_pair(&self, queue: &CompletionQueue, depth: u32) -> Result<QueuePair, Error> {
        // SAFETY: - all-zero is a valid `ibv_qp_init_attr`: numbers and null pointers
        let mut attributes: ibv_qp_init_attr = unsafe { zeroed() };
        attributes.send_cq = queue.shared.cq;
        attributes.recv_cq = queue.shared.cq;
        attributes.cap.max_send_wr = depth;
        attributes.cap.max_send_sge = 1;
        // nothing is ever received, but some drivers refuse a queue of none
        attributes.cap.max_recv_wr = 1;
        attributes.cap.max_recv_sge = 1;
        attributes.qp_type = ibv_qp_type::IBV_QPT_RC;
        // SAFETY: - domain and queue are live and of the same context; `attributes` is valid for the call
        let qp = unsafe { (self.0.open.calls.ibv_create_qp)(self.0.pd, &raw mut attributes) };
        if qp.is_null() {
            return Err(Error::last(&self.0.open.device, "ibv_create_qp"));
        }
        Ok(QueuePair { domain: Arc::clone(&self.0), _cq: Arc::clone(&queue.shared), qp })
    }
}

impl QueuePair {
    /// Its number, which the peer must know.
    #[must_use]
    pub fn number(&self) -> u32 {
        // SAFETY: - the queue pair is live
        unsafe { (*self.qp).qp_num }
    }

    pub(super) fn device(&self) -> &str {
        &self.domain.open.device
    }

    fn modify(
        &mut self,
        call: &'static str,
        mut attributes: ibv_qp_attr,
        mask: ibv_qp_attr_mask,
    ) -> Result<(), Error> {
        let open = &self.domain.open;
        // SAFETY: - the queue pair is live, `attributes` is valid for the call and `mask` names what is set in it
        let answer =
            unsafe { (open.calls.ibv_modify_qp)(self.qp, &raw mut attributes, mask.0.cast_signed()) };
        Error::check(&open.device, call, answer)
    }

    /// RESET to INIT: bound to a port; the peer may read and write our memory.
    ///
    /// # Errors
    ///
    /// `ibv_modify_qp` failed.
    pub fn to_init(&mut self, port: u32) -> Result<(), Error> {
        let mut attributes = blank();
        attributes.qp_state = ibv_qp_state::IBV_QPS_INIT;
        attributes.port_num = narrow(port);
        attributes.qp_access_flags =
            ibv_access_flags::IBV_ACCESS_REMOTE_READ.0 | ibv_access_flags::IBV_ACCESS_REMOTE_WRITE.0;
        let mask = ibv_qp_attr_mask::IBV_QP_STATE
            | ibv_qp_attr_mask::IBV_QP_PKEY_INDEX
            | ibv_qp_attr_mask::IBV_QP_PORT
            | ibv_qp_attr_mask::IBV_QP_ACCESS_FLAGS;
        self.modify("ibv_modify_qp to INIT", attributes, mask)
    }

    /// INIT to RTR: knows its peer and answers it.
    ///
    /// # Errors
    ///
    /// `ibv_modify_qp` failed; mostly the address: GID index, RoCE version, subnet.
    pub fn to_rtr(&mut self, path: &Path, window: Window) -> Result<(), Error> {
        let mut attributes = blank();
        attributes.qp_state = ibv_qp_state::IBV_QPS_RTR;
        attributes.path_mtu = mtu_code(path.path_mtu).unwrap_or(1);
        attributes.dest_qp_num = path.peer_qpn;
        attributes.rq_psn = path.peer_psn;
        attributes.max_dest_rd_atomic = depth_code(window.responder_depth);
        // 0.64 ms; only of receives, which there are none of
        attributes.min_rnr_timer = 12;
        attributes.ah_attr = ibv_ah_attr {
            grh: ibv_global_route {
                dgid: ibv_gid { raw: path.peer_gid.map_or([0; 16], |gid| gid.octets()) },
                flow_label: path.flow_label,
                sgid_index: narrow(path.gid_index),
                // perftest's value: a fabric may route between the two ends
                hop_limit: 64,
                traffic_class: path.traffic_class,
            },
            dlid: path.peer_lid,
            sl: 0,
            src_path_bits: 0,
            static_rate: 0,
            is_global: u8::from(path.peer_gid.is_some()),
            port_num: narrow(path.port),
        };
        let mask = ibv_qp_attr_mask::IBV_QP_STATE
            | ibv_qp_attr_mask::IBV_QP_AV
            | ibv_qp_attr_mask::IBV_QP_PATH_MTU
            | ibv_qp_attr_mask::IBV_QP_DEST_QPN
            | ibv_qp_attr_mask::IBV_QP_RQ_PSN
            | ibv_qp_attr_mask::IBV_QP_MAX_DEST_RD_ATOMIC
            | ibv_qp_attr_mask::IBV_QP_MIN_RNR_TIMER;
        self.modify("ibv_modify_qp to RTR", attributes, mask)
    }

    /// RTR to RTS: may send, with `psn` as its first packet sequence number.
    ///
    /// # Errors
    ///
    /// `ibv_modify_qp` failed.
    pub fn to_rts(&mut self, psn: u32, window: Window) -> Result<(), Error> {
        let mut attributes = blank();
        attributes.qp_state = ibv_qp_state::IBV_QPS_RTS;
        attributes.sq_psn = psn;
        attributes.timeout = window.timeout;
        attributes.retry_cnt = 7;
        attributes.rnr_retry = 7;
        attributes.max_rd_atomic = depth_code(window.initiator_depth);
        let mask = ibv_qp_attr_mask::IBV_QP_STATE
            | ibv_qp_attr_mask::IBV_QP_SQ_PSN
            | ibv_qp_attr_mask::IBV_QP_TIMEOUT
            | ibv_qp_attr_mask::IBV_QP_RETRY_CNT
            | ibv_qp_attr_mask::IBV_QP_RNR_RETRY
            | ibv_qp_attr_mask::IBV_QP_MAX_QP_RD_ATOMIC;
        self.modify("ibv_modify_qp to RTS", attributes, mask)
    }
}

fn blank() -> ibv_qp_attr {
    // SAFETY: - all-zero is a valid `ibv_qp_attr`: numbers only, and fields outside the mask are not read
    unsafe { zeroed() }
}

/// A READ depth as the 8-bit fields of `ibv_qp_attr` take it.
fn depth_code(depth: u32) -> u8 {
    u8::try_from(depth).unwrap_or(u8::MAX)
}
