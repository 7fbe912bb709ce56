//! The load of one simulated rail, and what its NIC counts meanwhile.

use super::clock::Clock;
use super::noise::Noise;
use probes::load::{LoadError, LoadTransport, Pumped};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most virtual time one pump moves.
const SLICE_NS: u64 = 10_000_000;
/// Share of its ceiling that a rail reaches in the mean, and how far it strays from that: slowly, and each leg by the slice.
const MEAN_SHARE: f64 = 0.985;
const SLOW_SHARE: f64 = 0.010;
const FAST_SHARE: f64 = 0.004;
/// How much of the slow noise stays from slice to slice.
const MEMORY: f64 = 0.95;

/// What a NIC has moved, by leg; written by the rail's thread alone.
#[derive(Debug, Default)]
pub(super) struct Nic {
    pub legs: Vec<NicLeg>,
}

/// One leg of it.
#[derive(Debug, Default)]
pub(super) struct NicLeg {
    /// Payload that came in, messages that are not complete included.
    pub payload_bytes: AtomicU64,
    /// READ requests that went out.
    pub requests: AtomicU64,
}

/// READ over a simulated rail: each pump moves what up to ten milliseconds allow.
pub(super) struct SimTransport {
    clock: Arc<Clock>,
    nic: Arc<Nic>,
    /// Payload rate of each leg with nothing lost, GB/s.
    rates_gb_per_s: Vec<f64>,
    size_bytes: u64,
    /// Most that it moves, GB/s: the bits of a number, which is changed from outside. Infinite: as much as goes.
    most: Arc<AtomicU64>,
    now_ns: u64,
    noise: Noise,
    /// The slow part of the noise, -1 to 1.
    drift: f64,
    /// Bytes of each leg that are less than one.
    rests: Vec<f64>,
    completed: u64,
}

impl SimTransport {
    pub(super) fn new(
        clock: Arc<Clock>,
        nic: Arc<Nic>,
        rates_gb_per_s: Vec<f64>,
        size_bytes: u64,
        noise: Noise,
    ) -> Self {
        let rests = vec![0.0; rates_gb_per_s.len()];
        let most = Arc::new(AtomicU64::new(f64::INFINITY.to_bits()));
        Self {
            clock,
            nic,
            rates_gb_per_s,
            size_bytes,
            most,
            now_ns: 0,
            noise,
            drift: 0.0,
            rests,
            completed: 0,
        }
    }

    /// What it moves with nothing lost and nothing held, GB/s.
    pub(super) fn rate_gb_per_s(&self) -> f64 {
        self.rates_gb_per_s.iter().sum()
    }

    /// Where the most that it moves is changed.
    pub(super) fn most(&self) -> Arc<AtomicU64> {
        self.most.clone()
    }

    /// Share of its rate that it is held to; 1 where it is not.
    fn held(&self) -> f64 {
        let most = f64::from_bits(self.most.load(Ordering::Relaxed));
        if most.is_finite() { (most / (MEAN_SHARE * self.rate_gb_per_s())).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Where in virtual time the rail is.
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Share of its ceiling that the rail as a whole reaches in the next slice.
    fn share(&mut self) -> f64 {
        self.drift = MEMORY * self.drift + (1.0 - MEMORY) * self.noise.around_zero() * 3.0;
        self.drift = self.drift.clamp(-1.0, 1.0);
        MEAN_SHARE + SLOW_SHARE * self.drift
    }
}

impl LoadTransport for SimTransport {
    fn pump(&mut self) -> Result<Pumped, LoadError> {
        let ns = (self.clock.target_ns().saturating_sub(self.now_ns)).min(SLICE_NS);
        if ns == 0 {
            return Ok(Pumped { polls: 1, empty_polls: 1, ..Pumped::default() });
        }
        self.now_ns += ns;
        let share = self.share();
        let held = self.held();
        let mut arrived = 0;
        let legs = self.nic.legs.len() as u64;
        for ((leg, rate), rest) in self.nic.legs.iter().zip(&self.rates_gb_per_s).zip(&mut self.rests) {
            let share = share + FAST_SHARE * self.noise.around_zero();
            // GB/s are bytes per nanosecond
            let bytes = rate * share * held * ns as f64 + *rest;
            *rest = bytes.fract();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "half a gigabyte at most"
            )]
            let whole = bytes as u64;
            let total = leg.payload_bytes.load(Ordering::Relaxed) + whole;
            leg.payload_bytes.store(total, Ordering::Relaxed);
            arrived += total;
        }
        let operations = arrived / self.size_bytes - self.completed;
        self.completed += operations;
        for (at, leg) in (0..).zip(&self.nic.legs) {
            // requests leave by the legs in turn, whatever leg the data come back on
            leg.requests.store((self.completed + legs - 1 - at) / legs, Ordering::Relaxed);
        }
        let bytes = operations * self.size_bytes;
        Ok(Pumped {
            bytes,
            operations,
            polls: 1,
            empty_polls: u64::from(operations == 0),
            ..Pumped::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Nic, NicLeg, SimTransport};
    use crate::sim::clock::Clock;
    use crate::sim::noise::Noise;
    use probes::load::{LoadTransport, Pumped};
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_rail_is_held_and_let_go_while_it_moves() {
        let clock = Arc::new(Clock::new(1));
        let nic = Arc::new(Nic { legs: vec![NicLeg::default()] });
        let mut rail = SimTransport::new(clock.clone(), nic, vec![49.0], 65536, Noise::new(1, 1));
        let most = rail.most();
        clock.leave(0);
        let mut moved_in_a_second = |most_gb_per_s: f64, second: u64| {
            most.store(most_gb_per_s.to_bits(), Ordering::Relaxed);
            clock.advance(second * 1_000_000_000);
            let mut bytes = 0;
            while rail.now_ns() < second * 1_000_000_000 {
                bytes += rail.pump().unwrap().bytes;
            }
            bytes as f64 / 1e9
        };
        let gb = [f64::INFINITY, 10.0, 0.0, 80.0]
            .into_iter()
            .zip(1..)
            .map(|(most, at)| moved_in_a_second(most, at));
        let gb: Vec<f64> = gb.collect();
        assert!((gb[1] - 10.0).abs() < 0.3 && gb[2] < 0.001, "{gb:?}");
        assert!(gb[0] > 45.0 && gb[3] > 45.0, "{gb:?}");
    }

    #[test]
    fn a_rail_moves_what_its_legs_allow_and_then_waits_for_the_clock() {
        let clock = Arc::new(Clock::new(1));
        let nic = Arc::new(Nic { legs: vec![NicLeg::default(), NicLeg::default()] });
        let mut rail =
            SimTransport::new(clock.clone(), nic.clone(), vec![24.5, 0.0], 65536, Noise::new(1, 1));
        assert_eq!(rail.pump().unwrap(), Pumped { polls: 1, empty_polls: 1, ..Pumped::default() });
        clock.leave(0);
        clock.advance(1_000_000_000);
        let (mut bytes, mut operations) = (0, 0);
        while rail.now_ns() < 1_000_000_000 {
            let pumped = rail.pump().unwrap();
            bytes += pumped.bytes;
            operations += pumped.operations;
        }
        assert_eq!(bytes, operations * 65536);
        assert!((23_700_000_000..24_500_000_000).contains(&bytes), "{bytes}");
        let [first, second] = [0, 1].map(|leg| nic.legs[leg].payload_bytes.load(Ordering::Relaxed));
        assert!(first >= bytes && first - bytes < 65536, "the message in flight is counted by the NIC");
        assert_eq!(second, 0);
        let requests: u64 = nic.legs.iter().map(|leg| leg.requests.load(Ordering::Relaxed)).sum();
        assert_eq!(requests, operations);
    }
}
