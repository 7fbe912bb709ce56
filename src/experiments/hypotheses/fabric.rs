//! H5: congestion, loss and pauses on the way, told by both ends.
//!
//! The data of a READ come to this host. On their way they are held up by what marks or drops them, and by what stops their
//! sender. So what counts at this end is what arrived marked or not at all, and the pauses that *it sent*; at the other end
//! the notifications that it obeyed, what it lost, and the pauses that it *received*. Pauses received here stop only
//! requests, and are told without being held against the rail. Nothing is "no" for an end that was not seen.
//!
//! Each is counted for each gigabyte that arrives, and beside the healthy rail in the same kind of load: some marks and
//! losses are ordinary life of a fast fabric. Alone and all together count each by itself, since what only meets others
//! together stands still alone.
//!
//! Pauses sent by this host say that it cannot take what arrives, which fills the queues that then are marked: they come
//! before marks, unless PCIe, placement or memory was already found to be why. A pause holds packets back and loses none, so
//! losses come before pauses, unless this host itself discarded packets.

use super::moved::{Count, End, Moved};
use super::{Answer, Case, Hypothesis, inconclusive};
use crate::experiments::plan::Kind;

/// Counters that grow by less for each gigabyte are ordinary life.
const NOTABLE_PER_GB: f64 = 1.0;
/// Where no rail is healthy nobody knows what is ordinary there, and it takes more: some fabrics mark a few packets of each
/// gigabyte all day.
const NOTABLE_WITHOUT_CONTROL_PER_GB: f64 = 5.0;
/// And so is what is not that many times as much as on the healthy rail.
const BEYOND_USUAL: f64 = 3.0;

/// Kinds of load in which counters are looked at.
const KINDS: [Kind; 2] = [Kind::Alone, Kind::Together];

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
        let mut shown = Shown { words: String::new(), worst: None, is_open: false };
        let (mut words, mut most) = (Vec::new(), 0.0);
        for &Sign { code, what, of } in signs {
            let Some(count) = own.grown(end, of) else {
                words.push(format!("{what} not counted"));
                shown.is_open = true;
                continue;
            };
            let Some(per_gb) = self.notable_per_gb(end, of) else {
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

    /// Growth for each gigabyte that is more than ordinary, in that of the two kinds of load where it is most.
    fn notable_per_gb(&self, end: End, of: Count) -> Option<f64> {
        let notable = KINDS.into_iter().filter_map(|kind| {
            let kind = [kind];
            let per_gb = self.moved(&self.rail.device, &kind).per_gb(end, of)?;
            let usual = self.control.and_then(|device| self.moved(device, &kind).per_gb(end, of));
            let least = usual
                .map_or(NOTABLE_WITHOUT_CONTROL_PER_GB, |usual| NOTABLE_PER_GB.max(BEYOND_USUAL * usual));
            (per_gb >= least).then_some(per_gb)
        });
        notable.reduce(f64::max)
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
mod tests {
    use crate::experiments::counted::Counted;
    use crate::experiments::far::FarRail;
    use crate::experiments::testing::{Host, answer, four_rails};
    use crate::experiments::{Answer, RailDiagnosis, Seen};

    const COUNTERS: [&str; 4] =
        ["hw/np_cnp_sent", "hw/out_of_sequence", "eth/rx_prio3_pause", "eth/tx_prio3_pause"];

    /// A node on which `mlx5_1` is slow and counts these in each load, while the other end tells this.
    fn with(counts: [u64; 4], sees: impl Fn(Seen) -> Seen) -> Vec<RailDiagnosis> {
        let mut topology = four_rails();
        for rail in &mut topology.rails {
            rail.counters = COUNTERS.iter().map(|name| (*name).to_owned()).collect();
        }
        let host = Host::of(topology, |_, device| Some(if device == "mlx5_1" { 20.0 } else { 48.0 }));
        let counting = move |device: &str| if device == "mlx5_1" { counts.to_vec() } else { vec![0; 4] };
        host.counting(counting).seeing(sees).diagnose().1
    }

    fn unseen(seen: Seen) -> Seen {
        seen.with_far(&[], Some("its railscope 0.0.9 does not tell what it counts".to_owned()))
    }

    /// The other end, whose rail for `mlx5_1` received so many pauses in each load.
    fn paused(count: u64) -> impl Fn(Seen) -> Seen {
        move |mut seen| {
            for rail in &mut seen.rails {
                let rx_pause = Some(if rail.device == "mlx5_1" { count } else { 0 });
                let nic =
                    Counted { rx_pause, throttled: Some(0), retransmits: Some(0), ..Counted::default() };
                let hostname = Some("storage-1".to_owned());
                rail.far = Some(FarRail { hostname, sent_gb: Some(20.0), nic, ..FarRail::default() });
            }
            seen
        }
    }

    #[test]
    fn pauses_received_by_the_reader_are_no_cause_of_slow_reads() {
        let rails = with([0, 0, 5000, 0], unseen);
        let (holds, because) = answer(&rails, "mlx5_1", "H5");
        assert_eq!((holds, rails[0].cause), (Answer::Unknown, Some("slow-unexplained")));
        assert!(because.starts_with("this end no: "), "{because}");
        assert!(because.contains("(they hold back requests, not the data of a READ)"), "{because}");
        assert!(
            because.ends_with(
                "the other end is not seen, because its railscope 0.0.9 does not tell what it counts"
            ),
            "{because}"
        );
    }

    #[test]
    fn pauses_received_by_the_sender_of_the_data_are_one_and_named_as_its() {
        let rails = with([0; 4], paused(4000));
        let (holds, because) = answer(&rails, "mlx5_1", "H5");
        assert_eq!((holds, rails[0].cause), (Answer::Yes, Some("rx-pause")), "{because}");
        let says = "on storage-1: pauses received +16000, 200 for each GB, ";
        assert!(because.starts_with(says) && because.contains("; this end no: "), "{because}");
    }

    #[test]
    fn an_end_that_was_seen_and_shows_nothing_makes_it_a_no() {
        assert_eq!(answer(&with([0; 4], paused(0)), "mlx5_1", "H5").0, Answer::No);
    }

    #[test]
    fn pauses_that_the_reader_sends_say_that_it_cannot_take_what_arrives() {
        let rails = with([3000, 0, 0, 5000], unseen);
        let (holds, because) = answer(&rails, "mlx5_1", "H5");
        assert_eq!((holds, rails[0].cause), (Answer::Yes, Some("tx-pause")), "{because}");
    }
}
