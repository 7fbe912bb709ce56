//! Work requests prepared once and posted over and over, a chain at a time.

use super::error::Error;
use super::queues::QueuePair;
use super::region::Region;
use crate::model::LoadOp;
use rdma_sys::{ibv_post_send, ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode, rdma_t};
use std::io;
use std::sync::Arc;

/// One work request of a [`Ring`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Comes back in its completion.
    pub id: u64,
    /// Where the data lie in the local region, bytes from its start.
    pub local_offset: u64,
    /// Where they lie at the peer, virtual address there.
    pub remote_address: u64,
    /// Asks for a completion. An error completes a request in any case.
    pub signaled: bool,
    /// Ends a chain: what is posted with one doorbell.
    pub ends_chain: bool,
}

/// A queue pair with its work requests. Nothing is built while it runs: a post hands the provider a chain that
/// was linked at the start.
pub struct Ring {
    /// First request of each chain.
    chains: Box<[*mut ibv_send_wr]>,
    /// A request of its own that asks for a completion, with the addresses of the first.
    single: *mut ibv_send_wr,
    qp: QueuePair,
    /// What `chains` points into, and what those requests point to.
    /// Vectors, not boxes: moving a box would claim its contents for itself.
    _requests: Vec<ibv_send_wr>,
    _gathers: Vec<ibv_sge>,
    region: Arc<Region>,
    walker: Option<Walker>,
    bytes: u64,
    /// Requests of all chains.
    length: usize,
    /// After how many requests the only chain was cut, 0 for never: see [`Ring::post_first`].
    cut: usize,
}

/// A way over a part of the memory: each request goes to another place than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Where the first place lies in the local region, bytes from its start.
    pub first_offset: u64,
    /// Where it lies at the peer, virtual address there.
    pub remote_address: u64,
    /// From one place to the next, bytes; not below the message size.
    pub place_bytes: u64,
    /// How many places there are.
    pub places: u64,
    /// Places from one request's to the next one's, below their number.
    pub stride: u64,
}

/// A [`Walk`] under way. `position`, below `span`, is where the next request goes, in bytes from the first place.
struct Walker {
    position: u64,
    step: u64,
    span: u64,
    local: u64,
    remote: u64,
}

impl Walker {
    /// Sends the requests of a chain to the next places.
    #[inline]
    fn rewrite(&mut self, first: *mut ibv_send_wr) {
        // copies, so that the compiler need not fear that the requests are these
        let Self { mut position, step, span, local, remote } = *self;
        let mut next = first;
        while !next.is_null() {
            // SAFETY: - `next` is a request in a vector that the ring owns, with one gather entry in another
            //         - the provider has no hold on it: it copied what was posted before
            //         - the walk stays inside the region, see `Ring::walking`
            unsafe {
                (*(*next).sg_list).addr = local + position;
                (*next).wr.rdma.remote_addr = remote.wrapping_add(position);
                next = (*next).next;
            }
            position += step;
            if position >= span {
                position -= span;
            }
        }
        self.position = position;
    }
}

// SAFETY: - the pointers lead into vectors this value owns; verbs objects may be used from any thread
unsafe impl Send for Ring {}

impl Ring {
    /// Prepares `requests` of `bytes` each between `region` and the peer's memory with key `rkey`.
    ///
    /// # Errors
    ///
    /// A request lies outside the region, or the message is larger than a request can name.
    pub fn new(
        qp: QueuePair,
        region: Arc<Region>,
        op: LoadOp,
        (bytes, rkey): (u64, u32),
        requests: &[Request],
    ) -> Result<Self, Error> {
        let limit = |reason: String| Error::Limit { device: qp.device().to_owned(), reason };
        let length =
            u32::try_from(bytes).map_err(|_| limit(format!("a message of {bytes} bytes is too large")))?;
        let end = |request: &Request| request.local_offset.checked_add(bytes);
        if !requests.iter().all(|r| end(r).is_some_and(|end| end <= region.buffer().len() as u64)) {
            return Err(limit("a request lies outside its buffer".to_owned()));
        }
        let opcode = match op {
            LoadOp::Read => ibv_wr_opcode::IBV_WR_RDMA_READ,
            LoadOp::Write => ibv_wr_opcode::IBV_WR_RDMA_WRITE,
        };
        let lkey = region.lkey();
        let mut gathers: Vec<ibv_sge> = requests
            .iter()
            .map(|request| ibv_sge { addr: region.address() + request.local_offset, length, lkey })
            .collect();
        let prepare = |request: &Request, signaled: bool| {
            // SAFETY: - all-zero is a valid `ibv_send_wr`: numbers and null pointers
            let mut wr: ibv_send_wr = unsafe { std::mem::zeroed() };
            wr.wr_id = request.id;
            wr.num_sge = 1;
            wr.opcode = opcode;
            wr.send_flags = if signaled { ibv_send_flags::IBV_SEND_SIGNALED.0 } else { 0 };
            wr.wr.rdma = rdma_t { remote_addr: request.remote_address, rkey };
            wr
        };
        let mut prepared: Vec<ibv_send_wr> =
            requests.iter().map(|request| prepare(request, request.signaled)).collect();
        prepared.push(prepare(
            requests.first().ok_or_else(|| limit("no request was asked for".to_owned()))?,
            true,
        ));

        // from here on only raw pointers into the two vectors are used, so that none of them is invalidated
        let (first_wr, first_gather) = (prepared.as_mut_ptr(), gathers.as_mut_ptr());
        let mut chains = Vec::new();
        let mut starts_chain = true;
        for (at, request) in requests.iter().enumerate() {
            // SAFETY: - `at` is below the length of both vectors; the successor is only named where there is one
            unsafe {
                let wr = first_wr.add(at);
                (*wr).sg_list = first_gather.add(at);
                if starts_chain {
                    chains.push(wr);
                }
                starts_chain = request.ends_chain || at + 1 == requests.len();
                (*wr).next = if starts_chain { std::ptr::null_mut() } else { first_wr.add(at + 1) };
            }
        }
        // SAFETY: - it is the last request of the vector, behind those of the chains; there is a first gather entry
        let single = unsafe {
            let wr = first_wr.add(requests.len());
            (*wr).sg_list = first_gather;
            (*wr).next = std::ptr::null_mut();
            wr
        };
        Ok(Self {
            chains: chains.into_boxed_slice(),
            single,
            qp,
            _requests: prepared,
            _gathers: gathers,
            region,
            walker: None,
            bytes,
            length: requests.len(),
            cut: 0,
        })
    }

    /// The same with requests that walk, instead of keeping their places.
    ///
    /// # Errors
    ///
    /// A place lies outside the region, or is smaller than a message.
    pub fn walking(mut self, walk: Option<Walk>) -> Result<Self, Error> {
        let Some(walk) = walk else { return Ok(self) };
        let span = walk.places.checked_mul(walk.place_bytes);
        let end = span.and_then(|span| span.checked_add(walk.first_offset));
        let inside = end.is_some_and(|end| end <= self.region.buffer().len() as u64);
        if !inside || walk.place_bytes < self.bytes || walk.stride >= walk.places {
            let reason = "a place of the working set lies outside its buffer".to_owned();
            return Err(Error::Limit { device: self.qp.device().to_owned(), reason });
        }
        self.walker = Some(Walker {
            position: 0,
            step: walk.stride * walk.place_bytes,
            span: walk.places * walk.place_bytes,
            local: self.region.address() + walk.first_offset,
            remote: walk.remote_address,
        });
        Ok(self)
    }

    /// How many chains there are.
    #[must_use]
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    /// Posts a chain with one doorbell.
    ///
    /// # Errors
    ///
    /// The provider refuses it: the queue is full, or the queue pair is not in a state to send.
    ///
    /// # Panics
    ///
    /// There is no such chain.
    #[inline]
    pub fn post(&mut self, chain: usize) -> Result<(), Error> {
        if let Some(walker) = &mut self.walker {
            walker.rewrite(self.chains[chain]);
        }
        self.post_from(self.chains[chain])
    }

    /// Posts the first `count` requests of a ring that is one chain, with one doorbell; the last of them asks for a
    /// completion, whatever it asked for before, and the others do not. Everything posted before must be complete.
    ///
    /// # Errors
    ///
    /// As [`Ring::post`].
    ///
    /// # Panics
    ///
    /// There are not so many requests, or the ring is not one chain.
    #[inline]
    pub fn post_first(&mut self, count: usize) -> Result<(), Error> {
        if count != self.cut {
            self.cut_after(count);
        }
        self.post(0)
    }

    /// Lets the only chain end after `count` requests.
    fn cut_after(&mut self, count: usize) {
        assert!(self.chains.len() == 1 && (1..=self.length).contains(&count), "a part of one chain");
        let first = self.chains[0];
        // SAFETY: - the chain is the vector of `length` requests from its first on; `count` and `cut` are at most that,
        //           and a successor is only named where there is one
        //         - the provider has no hold on them: it copied what was posted before
        unsafe {
            if let Some(before) = self.cut.checked_sub(1) {
                let last = first.add(before);
                (*last).send_flags = 0;
                (*last).next =
                    if self.cut < self.length { first.add(self.cut) } else { std::ptr::null_mut() };
            }
            let last = first.add(count - 1);
            (*last).send_flags = ibv_send_flags::IBV_SEND_SIGNALED.0;
            (*last).next = std::ptr::null_mut();
        }
        self.cut = count;
    }

    /// Posts one request with the addresses and the id of the first, which always asks for a completion.
    ///
    /// # Errors
    ///
    /// As [`Ring::post`].
    pub fn post_single(&mut self) -> Result<(), Error> {
        self.post_from(self.single)
    }

    #[inline]
    fn post_from(&mut self, first: *mut ibv_send_wr) -> Result<(), Error> {
        let mut refused = std::ptr::null_mut();
        // SAFETY: - the queue pair is live
        //         - `first` leads a list, ended by null, of requests in a vector this value owns, each with one gather
        //           entry inside a region this value keeps alive; the provider copies them before it returns
        let answer = unsafe { ibv_post_send(self.qp.qp, first, &raw mut refused) };
        if answer == 0 { Ok(()) } else { Err(self.refused(answer)) }
    }

    #[cold]
    fn refused(&self, answer: i32) -> Error {
        let cause =
            if answer > 0 { io::Error::from_raw_os_error(answer) } else { io::Error::last_os_error() };
        Error::call(self.qp.device(), "ibv_post_send", cause)
    }

    /// The memory it reads into or writes from.
    #[must_use]
    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }
}
