//! Which points a sweep makes.

use crate::settings::Size;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Most points of a sweep: a day at 15 s each is 5760.
const MOST_POINTS: usize = 4096;

/// Message sizes as typed: `1K..1M` (powers of two), `1K,4K,1M`, or both together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<Size>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => sizes.push(part.trim().parse::<Size>()?),
                Some((from, to)) => {
                    let (from, to): (Size, Size) = (from.trim().parse()?, to.trim().parse()?);
                    if from > to {
                        return Err(format!("`{part}`: the range begins above its end"));
                    }
                    let doubled = std::iter::successors(Some(from.0), |size| size.checked_mul(2));
                    sizes.extend(doubled.take_while(|size| *size <= to.0).map(Size));
                }
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self(sizes))
    }
}

/// The sizes, queue pairs and threads that a sweep goes through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// Message sizes, bytes, rising.
    pub sizes_bytes: Vec<u64>,
    /// Queue pairs per rail, rising.
    pub qps: Vec<u32>,
    /// Threads per rail, rising.
    pub workers: Vec<u32>,
}

/// One point of a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// Message size, bytes.
    pub size_bytes: u64,
    /// Queue pairs per rail.
    pub qps: u32,
    /// Threads per rail.
    pub workers: u32,
}

impl Grid {
    /// A grid of these values, each once and rising.
    ///
    /// # Errors
    ///
    /// In words: more threads than queue pairs everywhere, or more points than anybody waits for.
    pub fn new(sizes: &Sizes, qps: &[u32], workers: &[u32]) -> Result<Self, String> {
        let rising = |values: &[u32]| {
            let mut values = values.to_vec();
            values.sort_unstable();
            values.dedup();
            values
        };
        let sizes_bytes = sizes.0.iter().map(|size| size.0).collect();
        let grid = Self { sizes_bytes, qps: rising(qps), workers: rising(workers) };
        if let (Some(most), Some(fewest)) = (grid.qps.last(), grid.workers.first())
            && most < fewest
        {
            return Err(format!(
                "--workers {fewest} with --qps {most}: threads share the queue pairs of a rail, so each needs one; \
                 ask for fewer threads or more queue pairs"
            ));
        }
        match grid.spots().len() {
            0 => Err("there is no point to measure".to_owned()),
            points if points > MOST_POINTS => Err(format!(
                "{points} points: a sweep has {MOST_POINTS} at most; leave out sizes or queue pairs"
            )),
            _ => Ok(grid),
        }
    }

    /// All points in the order in which they are made: one curve after the other, sizes rising; without those of more
    /// threads than queue pairs.
    #[must_use]
    pub fn spots(&self) -> Vec<Spot> {
        let mut spots = Vec::new();
        for &workers in &self.workers {
            for &qps in &self.qps {
                if !has_a_queue_pair_each(workers, qps) {
                    continue;
                }
                spots.extend(self.sizes_bytes.iter().map(|&size_bytes| Spot { size_bytes, qps, workers }));
            }
        }
        spots
    }

    /// Curves of more threads than queue pairs, which cannot be made, in one line; `None` without one.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let all = self.workers.iter().flat_map(|workers| self.qps.iter().map(move |qps| (*workers, *qps)));
        let left_out: Vec<String> = all
            .filter(|(workers, qps)| !has_a_queue_pair_each(*workers, *qps))
            .map(|(workers, qps)| format!("--workers {workers} with --qps {qps}"))
            .collect();
        (!left_out.is_empty()).then(|| {
            format!(
                "left out: {}: threads share the queue pairs of a rail, so each needs one",
                left_out.join(", ")
            )
        })
    }
}

fn has_a_queue_pair_each(workers: u32, qps: u32) -> bool {
    workers <= qps
}

#[cfg(test)]
mod tests {
    use super::{Grid, Sizes, Spot};

    fn sizes(text: &str) -> Vec<u64> {
        text.parse::<Sizes>().unwrap().0.iter().map(|size| size.0).collect()
    }

    #[test]
    fn a_range_is_powers_of_two_and_a_list_is_itself() {
        assert_eq!(sizes("1K..8K"), [1024, 2048, 4096, 8192]);
        assert_eq!(sizes("64K,1K,3000"), [1024, 3000, 65536]);
        assert_eq!(sizes("1K..4K,4K,1M"), [1024, 2048, 4096, 1 << 20]);
        for bad in ["", "4K..1K", "1K..", "1K...2K", "x"] {
            assert!(bad.parse::<Sizes>().is_err(), "{bad}");
        }
    }

    #[test]
    fn one_curve_comes_after_the_other() {
        let grid = Grid::new(&"1K,2K".parse().unwrap(), &[4, 1, 4], &[1]).unwrap();
        let spot = |size_bytes, qps| Spot { size_bytes, qps, workers: 1 };
        assert_eq!(grid.spots(), [spot(1024, 1), spot(2048, 1), spot(1024, 4), spot(2048, 4)]);
    }

    #[test]
    fn more_threads_than_queue_pairs_are_refused_before_anything_is_opened() {
        let said = Grid::new(&"1K".parse().unwrap(), &[1], &[2, 4]).unwrap_err();
        assert!(said.starts_with("--workers 2 with --qps 1: threads share"), "{said}");
        let said = Grid::new(&"1..2G".parse().unwrap(), &(1..=200).collect::<Vec<_>>(), &[1]).unwrap_err();
        assert!(said.starts_with("6400 points: a sweep has 4096 at most"), "{said}");
    }

    #[test]
    fn the_one_cell_that_cannot_be_is_left_out_and_said() {
        let grid = Grid::new(&"1K".parse().unwrap(), &[1, 4], &[1, 2]).unwrap();
        let cells: Vec<_> = grid.spots().iter().map(|spot| (spot.workers, spot.qps)).collect();
        assert_eq!(cells, [(1, 1), (1, 4), (2, 4)]);
        let said = grid.left_out().unwrap();
        assert!(said.starts_with("left out: --workers 2 with --qps 1: threads share"), "{said}");
        assert_eq!(Grid::new(&"1K".parse().unwrap(), &[4], &[1, 2]).unwrap().left_out(), None);
    }
}
