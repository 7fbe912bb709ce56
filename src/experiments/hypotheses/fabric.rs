//! H5: congestion, loss and pauses on the way, told by both ends.
//!
//! The data of a READ come to this host. On their way they are held up by what marks or drops them, and by what stops their
//! sender. So what counts at this end is what arrived marked or not at all, and the pauses that *it sent*; at the other end
//! the notifications that it obeyed, what it lost, and the pauses that it *received*. Pauses received here stop only
//! requests, and are told without being held against the rail. Nothing is "no" for an end that was not seen.
//!
//! Each is counted for each gigabyte that arrives, and beside the healthy rail in the same kind of load: some marks and
//! losses are ordinary life of a fast fabric. Alone and all together count each by itself, since what only meets others
//! together stands still alone; and only where the rail is slow: what shows beside others alone is none of a rail that by
//! itself is as slow.
//!
//! Pauses sent by this host say that it cannot take what arrives, which fills the queues that then are marked: they come
//! before marks, unless PCIe, placement or memory was already found to be why. A pause holds packets back and loses none, so
//! losses come before pauses, unless this host itself discarded packets.

use super::moved::{Count, End, Moved};
use super::{Answer, Case, Hypothesis, inconclusive};
use crate::experiments::plan::Kind;
use crate::experiments::rounds::Compared;
use crate::experiments::slow::why_slow_in;

/// Counters that grow by less for each gigabyte are ordinary life.
const NOTABLE_PER_GB: f64 = 1.0;
/// Where no rail is healthy nobody knows what is ordinary there, and it takes more: some fabrics mark a few packets of each
/// gigabyte all day.
const NOTABLE_WITHOUT_CONTROL_PER_GB: f64 = 5.0;
/// And so is what is not that many times as much as on the healthy rail.
const BEYOND_USUAL: f64 = 3.0;

/// Kinds of load in which counters are looked at.
static KINDS: [Kind; 2] = [Kind::Alone, Kind::Together];

/// One kind of trouble that holds up the data of a READ.
struct Sign {
    code: &'static str,
    what: &'static str,
    of: Count,
}

/// At the end that reads.
const HERE: [Sign; 3] = [
    Sign { code: "tx-pause", what: "pauses sent or packets discarded", of: |nic| nic.tx_pause },
    Sign { code: "ecn-cnp", what: "congestion marks", of: |nic| nic.marks },
    Sign { code: "retransmit", what: "packets lost or out of order", of: |nic| nic.retransmits },
];
/// At the end that sends the data.
const THERE: [Sign; 3] = [
    Sign { code: "rx-pause", what: "pauses received", of: |nic| nic.rx_pause },
    Sign { code: "ecn-cnp", what: "congestion notifications received", of: |nic| nic.throttled },
    Sign { code: "retransmit", what: "packets lost or out of order", of: |nic| nic.retransmits },
];

/// What one end shows.
struct Shown {
    words: String,
    /// The trouble that counts, by its code.
    worst: Option<&'static str>,
    /// Whether something cannot be told.
    is_open: bool,
}

impl Shown {
    fn answer(&self) -> &'static str {
        match (self.worst, self.is_open) {
            (Some(_), _) => "yes",
            (None, true) => "inconclusive",
            (None, false) => "no",
        }
    }
}

impl Case<'_> {
    pub(super) fn fabric(&self) -> Hypothesis {
        let hypothesis = |answer, because, code| Hypothesis {
            id: "H5",
            says: "the fabric: congestion, loss, pauses",
            answer,
            because,
            code,
        };
        let here = self.end(End::Here, &HERE);
        let there = self.seen_there().map(|host| (host, self.end(End::There, &THERE)));
        let received = self.moved(&self.rail.device, &KINDS).grown(End::Here, |nic| nic.rx_pause);
        let received = received.filter(|count| *count > 0).map_or_else(String::new, |count| {
            format!(", pauses received +{count} (they hold back requests, not the data of a READ)")
        });
        let own = format!("this end {}: {}{received}", here.answer(), here.words);
        if let Ok((host, shown)) = &there
            && let Some(code) = shown.worst.filter(|_| here.worst.is_none())
        {
            return hypothesis(Answer::Yes, format!("on {host}: {}; {own}", shown.words), code);
        }
        let says = match &there {
            Ok((host, shown)) => format!("{own}; on {host} {}: {}", shown.answer(), shown.words),
            Err(why) => format!("{own}; the other end is not seen, because {why}"),
        };
        let explained = here.worst.filter(|code| *code == "tx-pause").and_then(|_| self.held_by_this_host());
        if let Some(cause) = explained {
            return hypothesis(
                Answer::Inconclusive,
                inconclusive(&format!("{cause} explains the pauses; {says}")),
                "ecn-cnp",
            );
        }
        match (here.worst, &there) {
            (Some(code), _) => hypothesis(Answer::Yes, says, code),
            (None, Ok((_, shown))) if !here.is_open && !shown.is_open => {
                hypothesis(Answer::No, says, "ecn-cnp")
            }
            (None, Err(_)) if !here.is_open => hypothesis(Answer::Unknown, says, "ecn-cnp"),
            (None, _) => hypothesis(Answer::Inconclusive, says, "ecn-cnp"),
        }
    }

    /// The cause on this host that already explains why it cannot take what arrives.
    fn held_by_this_host(&self) -> Option<&'static str> {
        let causes = [self.low_link(), self.shared_link(), self.memory(), self.placement()];
        causes.into_iter().find(|held| held.answer == Answer::Yes).map(|held| held.id)
    }

    /// The host at the other end, where it told of this rail.
    ///
    /// # Errors
    ///
    /// In words: why it did not.
    pub(super) fn seen_there(&self) -> Result<String, String> {
        let loads =
            || self.seen.iter().filter(|seen| KINDS.iter().any(|kind| seen.step.is(kind, &self.rail.device)));
        let told = loads().find_map(|seen| seen.of(&self.rail.device)?.far.as_ref());
        if let Some(told) = told {
            return Ok(told.hostname.clone().unwrap_or_else(|| "the other end".to_owned()));
        }
        let why = loads().find_map(|seen| seen.far_gap.clone());
        Err(why.unwrap_or_else(|| "no load shows it".to_owned()))
    }

    /// What one end shows of these.
    fn end(&self, end: End, signs: &[Sign]) -> Shown {
        let own = self.moved(&self.rail.device, &KINDS);
        let is_slow_in = self.is_slow_in();
        let mut shown = Shown { words: String::new(), worst: None, is_open: false };
        let (mut words, mut most) = (Vec::new(), 0.0);
        for &Sign { code, what, of } in signs {
            let Some(count) = own.grown(end, of) else {
                words.push(format!("{what} not counted"));
                shown.is_open = true;
                continue;
            };
            let mut beside_others = KINDS.iter().filter(|kind| !is_slow_in.contains(kind));
            let notable = is_slow_in.iter().filter_map(|kind| self.notable_per_gb(kind, end, of));
            let Some(per_gb) = notable.reduce(f64::max) else {
                if let Some(elsewhere) = beside_others.find_map(|kind| self.notable_per_gb(kind, end, of)) {
                    words.push(format!("{what} +{count}, {elsewhere:.0} for each GB where it is no slower"));
                    shown.is_open = true;
                    continue;
                }
                words.push(format!("{what} +{count}"));
                shown.is_open |= count > 0 && !self.is_usual(end, of);
                continue;
            };
            words.push(format!("{what} +{count}, {per_gb:.0} for each GB"));
            let discards = own.grown(end, |nic| nic.discards).unwrap_or(0);
            let counts = match code {
                "retransmit" if end == End::Here && discards == 0 => f64::INFINITY,
                // a host that takes too little fills the queues that then are marked
                "tx-pause" => f64::MAX,
                _ => per_gb,
            };
            if counts > most {
                (most, shown.worst) = (counts, Some(code));
            }
        }
        shown.words = words.join(", ");
        shown
    }

    /// Kinds of load in which it lacks something that it does not lack in the other: all, where one of them is not known.
    fn is_slow_in(&self) -> &'static [Kind] {
        let is_slow = |kind| why_slow_in(kind, self.topology, self.rail, self.limits, self.seen).is_some();
        let (Ok(alone), Ok(together)) = (self.rates(&Kind::Alone), self.rates(&Kind::Together)) else {
            return &KINDS;
        };
        match (is_slow(&Kind::Alone), together.beside(&alone)) {
            (true, Compared::Less) => &KINDS,
            (true, _) => &KINDS[..1],
            (false, _) => &KINDS[1..],
        }
    }

    /// Growth for each gigabyte in loads of a kind, where it is more than ordinary.
    fn notable_per_gb(&self, kind: &Kind, end: End, of: Count) -> Option<f64> {
        let kind = std::slice::from_ref(kind);
        let per_gb = self.moved(&self.rail.device, kind).per_gb(end, of)?;
        let usual = self.control.and_then(|device| self.moved(device, kind).per_gb(end, of));
        let least =
            usual.map_or(NOTABLE_WITHOUT_CONTROL_PER_GB, |usual| NOTABLE_PER_GB.max(BEYOND_USUAL * usual));
        (per_gb >= least).then_some(per_gb)
    }

    /// Whether the healthy rail counts as much of it for each gigabyte.
    fn is_usual(&self, end: End, of: Count) -> bool {
        let own = self.moved(&self.rail.device, &KINDS).per_gb(end, of);
        let usual = self.control.and_then(|device| self.moved(device, &KINDS).per_gb(end, of));
        own.zip(usual).is_some_and(|(own, usual)| own < BEYOND_USUAL * usual)
    }

    /// What a rail moved and counted in loads of these kinds.
    pub(super) fn moved(&self, device: &str, kinds: &[Kind]) -> Moved<'_> {
        Moved::of(self.seen, device, kinds)
    }
}

#[cfg(test)]
mod tests;
