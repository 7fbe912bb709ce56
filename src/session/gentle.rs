//! `--gentle`: a load that ends when the fabric begins to suffer.

use super::{FrameSource, SourceError, Stop};
use crate::rules;
use probes::model::{Frame, Load, Session};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Samples in a row in which a counter must grow; one may be chance, and the neighbours' traffic comes in bursts.
const SAMPLES: u32 = 3;

/// Pauses, and packets lost or sent again, each second, from which a sample counts as growth. Chosen: a pause frame
/// stops a port for at most 65 535 times 512 bits (IEEE 802.1Qbb), 84 µs at 400 Gb/s, so ten are below a thousandth
/// of the second; as many packets sent again are nothing beside millions.
const FLOOR_PER_S: f64 = 10.0;

/// A source that ends the session, and so the load, after three samples in a row with growing pauses, timeouts or
/// retransmits. Why stands in the load's [`Load::ended`] from then on.
#[derive(Debug)]
pub struct Gentle<S> {
    source: S,
    stop: Stop,
    watch: Watch,
    ended: Arc<OnceLock<String>>,
}

impl<S: FrameSource> Gentle<S> {
    /// Watches what comes from `source`, which ends by `stop`.
    #[must_use]
    pub fn new(source: S, stop: Stop) -> Self {
        Self { source, stop, watch: Watch::default(), ended: Arc::default() }
    }

    /// Why the load was ended, once it was.
    #[must_use]
    pub fn ended(&self) -> Arc<OnceLock<String>> {
        self.ended.clone()
    }
}

impl<S: FrameSource> FrameSource for Gentle<S> {
    fn session(&self) -> Arc<Session> {
        self.source.session()
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let Some(mut frame) = self.source.next_frame()? else { return Ok(None) };
        if self.ended.get().is_none()
            && let Some(why) = self.watch.look(&self.source.session(), &frame)
        {
            let _ = self.ended.set(why);
            self.stop.stop();
        }
        if let (Some(why), Some(load)) = (self.ended.get(), &mut frame.load) {
            *load = Arc::new(Load { ended: Some(why.clone()), ..(**load).clone() });
        }
        Ok(Some(frame))
    }
}

/// How long each counter has been growing.
#[derive(Debug, Default)]
struct Watch {
    /// By rail and position among its counters.
    counters: BTreeMap<(usize, usize), Streak>,
}

#[derive(Clone, Copy, Debug)]
struct Streak {
    at_ns: u64,
    count: u64,
    samples: u32,
    /// What it counted before it began to grow.
    from: u64,
}

impl Watch {
    /// Why the load should end; `None` while all is well.
    fn look(&mut self, session: &Session, frame: &Frame) -> Option<String> {
        if frame.host != 0 {
            return None;
        }
        for (at, (rail, read)) in session.topology().rails.iter().zip(&frame.rails).enumerate() {
            for (number, (name, count)) in rail.counters.iter().zip(&read.counters).enumerate() {
                let (Some(strain), Some(count)) = (rules::strain_of(name), *count) else { continue };
                let now = Streak { at_ns: frame.at_ns, count, samples: 0, from: count };
                let streak = self.counters.entry((at, number)).or_insert(now);
                let seconds = frame.at_ns.saturating_sub(streak.at_ns) as f64 / 1e9;
                let more = count.saturating_sub(streak.count);
                if seconds <= 0.0 {
                    continue;
                }
                // a timeout stalls a queue pair for tens of milliseconds: each one counts
                let grows = match strain {
                    rules::Strain::Timeouts => more > 0,
                    rules::Strain::Pauses | rules::Strain::Retransmits => {
                        more as f64 / seconds >= FLOOR_PER_S
                    }
                };
                *streak = if grows {
                    Streak { at_ns: frame.at_ns, count, samples: streak.samples + 1, from: streak.from }
                } else {
                    now
                };
                if streak.samples >= SAMPLES {
                    let short = name.split_once('/').map_or(name.as_str(), |(_, short)| short);
                    return Some(format!(
                        "gentle: {strain} on {}: {short} grew in {SAMPLES} samples in a row, by {} to {count}",
                        rail.device,
                        count - streak.from
                    ));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Gentle;
    use crate::session::{FrameSource, SourceError, Stop};
    use probes::model::{Frame, Load, Rail, RailFrame, Session, Topology};
    use std::sync::Arc;

    const COUNTERS: [&str; 4] =
        ["eth/rx_prio3_pause", "hw/local_ack_timeout_err", "hw/out_of_sequence", "hw/np_cnp_sent"];

    /// Frames, one a second, until they are told to end and then one more, as a live load's are.
    struct Counting {
        session: Arc<Session>,
        counts: std::vec::IntoIter<[Option<u64>; 4]>,
        at_ns: u64,
        stop: Stop,
        last_words: bool,
    }

    impl FrameSource for Counting {
        fn session(&self) -> Arc<Session> {
            self.session.clone()
        }

        fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
            if self.stop.is_stopped() && std::mem::replace(&mut self.last_words, true) {
                return Ok(None);
            }
            let Some(counts) = self.counts.next() else { return Ok(None) };
            self.at_ns += 1_000_000_000;
            let rail = RailFrame { counters: counts.to_vec(), ..RailFrame::default() };
            Ok(Some(Frame {
                at_ns: self.at_ns,
                rails: vec![rail],
                load: Some(Arc::new(Load::default())),
                ..Frame::default()
            }))
        }
    }

    /// How many frames come of a load with these counts each second, and why it was ended.
    fn ended(counts: &[[u64; 4]]) -> (usize, Option<String>) {
        let rail = Rail {
            device: "mlx5_0".into(),
            counters: COUNTERS.map(str::to_owned).to_vec(),
            ..Rail::default()
        };
        let session = Session {
            generated_by: "test".into(),
            started_unix_ms: None,
            interval_ns: 1_000_000_000,
            hosts: vec![Arc::new(Topology { rails: vec![rail], ..Topology::default() })],
            clock_offset_ns: None,
            simulated: None,
        };
        let stop = Stop::new();
        let counts: Vec<_> = counts.iter().map(|counts| counts.map(Some)).collect();
        let source = Counting {
            session: Arc::new(session),
            counts: counts.into_iter(),
            at_ns: 0,
            stop: stop.clone(),
            last_words: false,
        };
        let mut gentle = Gentle::new(source, stop.clone());
        let frames: Vec<Frame> = std::iter::from_fn(|| gentle.next_frame().unwrap()).collect();
        let said = frames.last().and_then(|frame| frame.load.as_ref()?.ended.clone());
        assert_eq!(said.as_ref(), gentle.ended().get());
        assert_eq!(said.is_some(), stop.is_stopped());
        (frames.len(), said)
    }

    #[test]
    fn pauses_that_rise_in_three_samples_in_a_row_end_the_load() {
        let (frames, why) =
            ended(&[[7, 0, 0, 0], [27, 0, 0, 0], [47, 0, 0, 0], [67, 0, 0, 0], [70, 0, 0, 0], [70; 4]]);
        assert_eq!(frames, 5, "and the last words of the load");
        assert_eq!(
            why.unwrap(),
            "gentle: pauses on mlx5_0: rx_prio3_pause grew in 3 samples in a row, by 60 to 67"
        );
    }

    #[test]
    fn every_timeout_counts_and_other_counters_do_not() {
        let (frames, why) = ended(&[[0, 1, 0, 0], [0, 2, 0, 9000], [0, 3, 0, 18000], [0, 4, 0, 27000]]);
        assert_eq!(frames, 4);
        assert!(why.unwrap().starts_with("gentle: timeouts on mlx5_0: local_ack_timeout_err grew"));
        assert_eq!(ended(&[[0, 0, 0, 0], [0, 0, 0, 9000], [0, 0, 0, 18000], [0, 0, 0, 27000]]).1, None);
    }

    #[test]
    fn a_few_pauses_a_second_and_a_burst_do_not() {
        assert_eq!(ended(&[[0; 4], [9, 0, 9, 0], [18, 0, 18, 0], [27, 0, 27, 0], [36, 0, 36, 0]]).1, None);
        let burst =
            [[0; 4], [5000, 0, 0, 0], [9000, 0, 0, 0], [9000, 0, 0, 0], [9100, 0, 0, 0], [9200, 0, 0, 0]];
        assert_eq!(ended(&burst).1, None);
    }

    #[test]
    fn a_counter_that_begins_anew_does_not() {
        assert_eq!(ended(&[[900, 0, 0, 0], [0; 4], [1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]]).1, None);
    }
}
