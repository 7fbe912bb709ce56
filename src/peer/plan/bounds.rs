//! What a plan may ask for, and what may be said of it while it runs: the other end may be hostile.

use crate::peer::end::End;
use crate::peer::error::PeerError;
use crate::peer::link::printable_name;
use crate::peer::message::{Message, Plan, Port};
use crate::peer::offer::{Offer, listed};
use probes::load::{Endpoint, Params, Role, Transport, WorkingSet};

/// Bounds of what a client may ask for; those of the command line.
const MOST_QPS: u32 = 4096;
const MOST_WORKERS: u32 = 64;
/// Threads of all rails together; each has an open device and counters, and so a handful of open files.
const MOST_UNITS: u64 = 512;
/// Queue pairs of all rails together.
const MOST_QPS_IN_ALL: u64 = 16384;
/// TCP connections of all rails together, as each is an open file.
const MOST_CONNECTIONS: u64 = 512;
/// Warm-up, and measured time: a month.
const MOST_S: f64 = 31.0 * 86400.0;
const MOST_DEPTH: u32 = 16384;
/// Different things that go wrong on one thread, one after the other.
const TROUBLES_EACH: usize = 64;
/// Ports of a card, `MLX5_MAX_PORTS` of the driver.
const MOST_LEGS: u32 = 4;
const MOST_BATCH: u32 = 1 << 24;
const MOST_READ_DEPTH: u32 = 255;
/// Largest message of a queue pair, IBTA 1.4 section 9.7.3.
const MOST_SIZE_BYTES: u64 = 1 << 31;
/// More than any rail moves.
pub(in crate::peer) const MOST_RATE_GB_PER_S: f64 = 10_000.0;
/// More than any host has; what this one has is looked at too.
const MOST_WORKING_SET_BYTES: u64 = 1 << 44;
const PATH_MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// Whether a rail can be held to this rate.
pub(in crate::peer) fn rate_is_possible(gb_per_s: f64) -> bool {
    gb_per_s > 0.0 && gb_per_s <= MOST_RATE_GB_PER_S
}

impl Plan {
    /// Checks what a client sent against the rails that were offered and against our bounds.
    ///
    /// # Errors
    ///
    /// In words: which rail or parameter, and what is allowed.
    pub fn check(&self, offers: &[Offer]) -> Result<(), PeerError> {
        self.check_rails(offers).and_then(|()| self.check_params()).map_err(PeerError::BadPlan)
    }

    /// Checks that the buffers of an end leave the memory they lie in, the host's or a GPU's, at least half empty.
    ///
    /// # Errors
    ///
    /// In words: how much they need, and how much there is.
    pub fn check_memory(&self, end: &End) -> Result<(), PeerError> {
        match &end.gpu {
            None => self.check_memory_of("this host", end.topology.host.memory_bytes),
            Some(gpu) => self.check_memory_of(&gpu.label(), Some(gpu.memory_bytes)),
        }
    }

    fn check_memory_of(&self, owner: &str, there_are_bytes: Option<u64>) -> Result<(), PeerError> {
        let params = &self.params;
        let bytes = self.bytes();
        match there_are_bytes {
            Some(all) if bytes > all / 2 => Err(PeerError::BadPlan(format!(
                "{} {} x {} need {:.1} GB of the {:.1} GB {owner} has: ask for fewer queue pairs, smaller \
                 messages or a smaller working set",
                self.lines.len(),
                if self.lines.len() == 1 { "rail" } else { "rails" },
                match params.working_set {
                    WorkingSet::Hot if params.qps == 1 => format!("1 queue pair x {} B", params.size_bytes),
                    WorkingSet::Hot => format!("{} queue pairs x {} B", params.qps, params.size_bytes),
                    WorkingSet::Bytes(bytes) => format!("a working set of {bytes} B"),
                },
                bytes as f64 / 1e9,
                all as f64 / 1e9
            ))),
            _ => Ok(()),
        }
    }

    /// Bytes of all buffers of one end.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // one buffer for each direction
        let directions = if self.params.bidirectional { 2 } else { 1 };
        self.params.bytes_per_rail().saturating_mul(directions).saturating_mul(self.lines.len() as u64)
    }

    fn check_rails(&self, offers: &[Offer]) -> Result<(), String> {
        if self.lines.is_empty() {
            return Err("the plan has no rails".to_owned());
        }
        for (at, line) in self.lines.iter().enumerate() {
            let Port { device, port, gid_index } = &line.server;
            let offer = offers.iter().find(|o| o.device == *device && o.port == *port);
            let offer = offer.ok_or_else(|| format!("{device} port {port} is not offered"))?;
            if !offer.is_active() {
                return Err(format!("{device} port {port} is not ACTIVE"));
            }
            if !offer.gids.iter().any(|g| g.index == *gid_index) {
                let known: Vec<u32> = offer.gids.iter().map(|g| g.index).collect();
                return Err(format!(
                    "{device} port {port} has nothing at GID index {gid_index}; it has {}",
                    listed(&known, "none")
                ));
            }
            if self.lines[..at].iter().any(|l| l.server.device == *device && l.server.port == *port) {
                return Err(format!("{device} port {port} is in the plan twice"));
            }
        }
        Ok(())
    }

    fn check_params(&self) -> Result<(), String> {
        let p = &self.params;
        let within = |what: &str, value: u64, most: u64| {
            if (1..=most).contains(&value) {
                Ok(())
            } else {
                Err(format!("{what} {value}: 1 to {most} are possible"))
            }
        };
        within("qps", p.qps.into(), MOST_QPS.into())?;
        within("workers", p.workers.into(), MOST_WORKERS.into())?;
        if p.workers > p.qps {
            return Err(too_few_qps(p));
        }

        within("threads on all rails", u64::from(p.workers) * self.lines.len() as u64, MOST_UNITS)?;
        let qps = u64::from(p.qps) * self.lines.len() as u64;
        match p.transport {
            Transport::Verbs => within("queue pairs on all rails", qps, MOST_QPS_IN_ALL)?,
            Transport::Tcp => within("connections on all rails", qps, MOST_CONNECTIONS)?,
        }
        within("depth", p.depth.into(), MOST_DEPTH.into())?;
        within("size", p.size_bytes, MOST_SIZE_BYTES)?;
        within("batch", p.batch.into(), MOST_BATCH.into())?;
        p.check_shape(Some(self.lines.len()))?;
        // no more than a queue holds at a time
        within("chain", p.chain.unwrap_or(1).into(), p.depth.into())?;
        within("completion moderation", p.cq_mod.unwrap_or(1).into(), p.depth.into())?;
        if !(0.0..=MOST_S).contains(&p.warmup_s) {
            return Err(format!("warm-up {} s: 0 to {MOST_S} are possible", p.warmup_s));
        }
        if let Some(seconds) = p.duration_s
            && !(seconds > 0.0 && seconds <= MOST_S)
        {
            return Err(format!("time {seconds} s: above 0 and up to {MOST_S} are possible"));
        }
        if let WorkingSet::Bytes(bytes) = p.working_set {
            within("working set", bytes, MOST_WORKING_SET_BYTES)?;
            p.check_working_set()?;
        }
        if let Some(rate) = p.rate_gb_per_s.filter(|rate| !rate_is_possible(*rate)) {
            return Err(format!("rate {rate} GB/s: above 0 and up to {MOST_RATE_GB_PER_S} are possible"));
        }
        within("read depth", p.read_depth.unwrap_or(1).into(), MOST_READ_DEPTH.into())?;
        if p.labels.len() > self.lines.len() {
            return Err(format!(
                "sets of flow labels of {} rails: the plan has {}",
                p.labels.len(),
                self.lines.len()
            ));
        }
        within("leg", p.leg.unwrap_or(1).into(), MOST_LEGS.into())?;
        p.check_transport()?;
        within("operations", p.operations.unwrap_or(1), u64::MAX)?;
        within("timeout", p.timeout.into(), 31)?;
        match p.path_mtu {
            Some(mtu) if !PATH_MTUS.contains(&mtu) => {
                Err(format!("path MTU {mtu}: {} are possible", listed(&PATH_MTUS, "none")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a message that comes from this end while the load runs has no more in it than the plan's threads and
    /// queue pairs can fill.
    ///
    /// # Errors
    ///
    /// In words: what there is too much of, or what the plan does not have.
    pub fn check_news(&self, message: &Message, from: Role) -> Result<(), String> {
        match message {
            Message::Progress(progress) => {
                let names = self.names(from);
                let stranger = progress.failed.iter().take(names.len()).find(|name| !names.contains(*name));
                if let Some(stranger) = stranger {
                    return Err(format!("`{}` is no thread of the plan", printable_name(stranger)));
                }
                let most = |what: &str, number: usize, most: usize| {
                    if number <= most {
                        Ok(())
                    } else {
                        Err(format!("{number} {what}: at most {most} are possible"))
                    }
                };
                most("failed threads", progress.failed.len(), names.len())?;
                most("troubles", progress.troubles.len(), names.len().saturating_mul(TROUBLES_EACH))?;
                most("threads that are back", progress.back.as_ref().map_or(0, Vec::len), names.len())?;
                most("rails", progress.rails, self.lines.len())?;
                if progress.seconds.is_finite() && progress.seconds >= 0.0 {
                    Ok(())
                } else {
                    Err(format!("{} seconds of a load", progress.seconds))
                }
            }
            Message::AtRest { operations, .. } if operations.len() > self.params.qps as usize => {
                Err(format!("{} queue pairs at rest of {}", operations.len(), self.params.qps))
            }
            _ => Ok(()),
        }
    }

    /// Checks an end that the peer sent for a line.
    ///
    /// # Errors
    ///
    /// In words: it does not fit the plan.
    pub fn check_endpoint(&self, theirs: &Endpoint, ours: &Endpoint, their_role: Role) -> Result<(), String> {
        if theirs.link_layer != ours.link_layer {
            return Err("the link layers differ".to_owned());
        }
        if theirs.qps.len() != ours.qps.len() {
            return Err(format!("it opened {} queue pairs, not {}", theirs.qps.len(), ours.qps.len()));
        }
        let bytes = theirs.buffer.map_or(0, |b| b.bytes);
        if their_role.answers(&self.params) && bytes < self.params.size_bytes {
            return Err(format!("its buffer of {bytes} bytes is smaller than a message"));
        }
        Ok(())
    }
}

/// Why there cannot be so many threads.
pub(in crate::peer) fn too_few_qps(params: &Params) -> String {
    format!(
        "{} workers share {} queue pairs: each needs one of its own; ask for --qps {} or fewer --workers",
        params.workers, params.qps, params.workers
    )
}

#[cfg(test)]
mod tests {

    use crate::peer::message::{Message, Plan, Progress, Slot};
    use crate::peer::plan::tests::plan;
    use crate::peer::{End, fake};
    use probes::ffi::cuda::Facts;
    use probes::load::{Role, Shape, Transport, WorkingSet};

    /// What the server says to a plan that was changed so.
    fn said(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = plan();
        change(&mut plan);
        plan.check(&fake::end("n2", 2).offers).unwrap_err().to_string()
    }

    #[test]
    fn a_plan_that_was_offered_is_accepted() {
        plan().check(&fake::end("n2", 2).offers).unwrap();
    }

    #[test]
    fn a_hostile_plan_is_refused_in_words() {
        assert_eq!(said(|p| p.lines.clear()), "the plan has no rails");
        assert_eq!(said(|p| p.lines[0].server.device = "x".to_owned()), "x port 1 is not offered");
        assert_eq!(
            said(|p| p.lines[0].server.gid_index = 9),
            "mlx5_0 port 1 has nothing at GID index 9; it has 3"
        );
        assert_eq!(said(|p| p.lines[1] = p.lines[0].clone()), "mlx5_0 port 1 is in the plan twice");
        assert_eq!(said(|p| p.params.qps = 0), "qps 0: 1 to 4096 are possible");
        assert_eq!(said(|p| p.params.qps = 1 << 20), "qps 1048576: 1 to 4096 are possible");
        assert_eq!(said(|p| p.params.workers = 65), "workers 65: 1 to 64 are possible");
        assert_eq!(
            said(|p| p.params.workers = 8),
            "8 workers share 4 queue pairs: each needs one of its own; ask for --qps 8 or fewer --workers"
        );
        assert_eq!(
            said(|p| p.params.size_bytes = 1 << 40),
            "size 1099511627776: 1 to 2147483648 are possible"
        );
        assert_eq!(
            said(|p| p.params.working_set = WorkingSet::Bytes(u64::MAX)),
            "working set 18446744073709551615: 1 to 17592186044416 are possible"
        );
        assert_eq!(
            said(|p| p.params.rate_gb_per_s = Some(-1.0)),
            "rate -1 GB/s: above 0 and up to 10000 are possible"
        );
        assert_eq!(said(|p| p.params.leg = Some(0)), "leg 0: 1 to 4 are possible");
        assert_eq!(said(|p| p.params.leg = Some(300)), "leg 300: 1 to 4 are possible");
        assert_eq!(
            said(|p| (p.params.shape, p.params.batch) = (Shape::Striped, 0)),
            "batch 0: 1 to 16777216 are possible"
        );
        assert_eq!(
            said(|p| (p.params.shape, p.params.batch) = (Shape::Striped, 4096)),
            "--batch 4096 over 2 rails is 512 pages for each of a thread's 4 queue pairs a rail, which hold 128: ask \
             for --depth 512, a smaller batch or more --qps"
        );
        assert_eq!(
            said(|p| (p.params.shape, p.params.bidirectional) = (Shape::Striped, true)),
            "--bidirectional and --shape striped: only one end posts batches; leave it out"
        );
        assert_eq!(said(|p| p.params.chain = Some(0)), "chain 0: 1 to 128 are possible");
        assert_eq!(said(|p| p.params.chain = Some(129)), "chain 129: 1 to 128 are possible");
        assert_eq!(
            said(|p| p.params.cq_mod = Some(1 << 20)),
            "completion moderation 1048576: 1 to 128 are possible"
        );
        assert_eq!(
            said(|p| p.params.path_mtu = Some(9000)),
            "path MTU 9000: 256, 512, 1024, 2048, 4096 are possible"
        );
    }

    #[test]
    fn a_hostile_plan_has_neither_an_absurd_time_nor_thousands_of_threads() {
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(said(|p| p.params.warmup_s = bad).starts_with("warm-up "), "{bad}");
            assert!(said(|p| p.params.duration_s = Some(bad)).starts_with("time "), "{bad}");
            assert!(said(|p| p.params.rate_gb_per_s = Some(bad)).starts_with("rate "), "{bad}");
        }
        assert!(said(|p| p.params.duration_s = Some(0.0)).starts_with("time 0 s"));
        let said = said(|p| (p.params.transport, p.params.qps) = (Transport::Tcp, 4096));
        assert_eq!(said, "connections on all rails 8192: 1 to 512 are possible");
    }

    #[test]
    fn news_of_more_than_the_plan_has_is_refused() {
        let mut plan = plan();
        plan.params.workers = 2;
        let check = |change: fn(&mut Progress)| {
            let mut progress = Progress::default();
            change(&mut progress);
            plan.check_news(&Message::Progress(progress), Role::Reader)
        };
        check(|_| ()).unwrap();
        check(|p| p.failed.push("worker 2 of mlx5_1".to_owned())).unwrap();
        assert_eq!(
            check(|p| p.failed.push("worker 3 of mlx5_1".to_owned())).unwrap_err(),
            "`worker 3 of mlx5_1` is no thread of the plan"
        );
        assert_eq!(
            check(|p| p.failed = vec!["worker 1 of mlx5_0".to_owned(); 110_000]).unwrap_err(),
            "110000 failed threads: at most 4 are possible"
        );
        assert!(check(|p| p.troubles = vec![String::new(); 110_000]).is_err());
        assert!(check(|p| p.seconds = f64::INFINITY).is_err());
        assert!(check(|p| p.rails = 3).is_err());
        assert!(check(|p| p.back = Some(vec![Slot { line: 0, worker: 0 }; 5])).is_err());
        let at_rest = Message::AtRest { slot: Slot { line: 0, worker: 0 }, operations: vec![0; 5] };
        assert!(plan.check_news(&at_rest, Role::Reader).is_err());
    }

    #[test]
    fn a_hostile_plan_cannot_ask_tcp_for_what_only_rdma_can() {
        let said = said(|p| (p.params.transport, p.params.leg) = (Transport::Tcp, Some(1)));
        assert_eq!(said, "--leg and --transport tcp: only --transport verbs can do that");
    }

    #[test]
    fn a_working_set_holds_a_message_of_each_queue_pair() {
        let said = said(|p| p.params.working_set = WorkingSet::Bytes(1024));
        assert_eq!(
            said,
            "--working-set 1024 B a rail is too small for 4 queue pairs x 65536 B: 262144 B is the least"
        );
    }

    #[test]
    fn buffers_leave_the_host_half_its_memory() {
        let mut plan = plan();
        plan.params.qps = 1024;
        plan.params.size_bytes = 1 << 24;
        plan.check_memory_of("this host", None).unwrap();
        plan.check_memory_of("this host", Some(1 << 37)).unwrap();
        let said = plan.check_memory_of("this host", Some(1 << 34)).unwrap_err().to_string();
        assert!(
            said.starts_with("2 rails x 1024 queue pairs x 16777216 B need 34.4 GB of the 17.2 GB"),
            "{said}"
        );
        plan.params.working_set = WorkingSet::Bytes(1 << 34);
        let said = plan.check_memory_of("this host", Some(1 << 35)).unwrap_err().to_string();
        assert!(
            said.starts_with("2 rails x a working set of 17179869184 B need 34.4 GB of the 34.4 GB"),
            "{said}"
        );
    }

    #[test]
    fn buffers_in_a_gpu_are_held_against_its_memory() {
        let mut plan = plan();
        plan.params.qps = 1024;
        plan.params.size_bytes = 1 << 24;
        let gpu = |memory_bytes| Facts {
            number: 1,
            model: "H100".to_owned(),
            pci_address: "0000:1b:00.0".to_owned(),
            memory_bytes,
            gpudirect: None,
            dmabuf: None,
            driver_cuda: (12, 4),
        };
        plan.check_memory(&End { gpu: Some(gpu(1 << 37)), ..fake::end("n2", 2) }).unwrap();
        let said = plan.check_memory(&End { gpu: Some(gpu(1 << 34)), ..fake::end("n2", 2) });
        let said = said.unwrap_err().to_string();
        assert!(said.contains("need 34.4 GB of the 17.2 GB GPU 1 (H100, 0000:1b:00.0) has"), "{said}");
    }
}
