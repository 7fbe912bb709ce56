//! Draws from a seed.

use crate::sim::noise::Noise;

/// Draws that are the same in every run.
#[derive(Debug)]
pub(super) struct Dice(Noise);

impl Dice {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self(Noise::new(seed, stream))
    }

    /// One of the numbers below this, which is not 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "it is below a usize")]
        let drawn = (self.0.next() % count as u64) as usize;
        drawn
    }

    /// True once in so many times.
    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.0.next().is_multiple_of(count)
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (0.5 + 0.5 * self.0.around_zero())
    }

    /// One of these, of which there is at least one.
    pub(super) fn one_of<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    /// One or more of these, as many as come up, at most `most`; in their order.
    pub(super) fn some_of(&mut self, among: &[usize], most: usize) -> Vec<usize> {
        let count = 1 + self.below(most.min(among.len()));
        let mut left = among.to_vec();
        while left.len() > count {
            left.remove(self.below(left.len()));
        }
        left
    }
}
