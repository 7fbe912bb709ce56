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
mod tests;
