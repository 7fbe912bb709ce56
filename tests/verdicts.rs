//! `diagnose` asked about 500 nodes with one or two causes planted at random, and about 500 healthy ones.
//!
//! It sees topology and frames only, as it does of a live node: the plan says which load comes next, the world makes the
//! two frames of it, and on most nodes two samples of the other end. `make verdicts` prints what comes of it. What counts as right, rail by rail:
//!
//! * The planted causes leave the rail less than [`SLOW`] of what it would get on the same node without them, alone or with
//!   all rails loaded: it must be slow, and the cause that is named first must be one of those planted on it (of two, either
//!   one), by the code of its finding. Nothing is right for a cause that the model does not know but `slow-unexplained`.
//! * More than [`FINE`]: it must not be slow. Between the two either is right, as long as a cause that is named is one that
//!   was planted there.
//! * Where the NIC does not tell what alone would show a planted cause (bytes of the legs for one leg, the counters of the
//!   kind for the fabric, the round trip for the READ window), `slow-unexplained` with that hypothesis left open is right
//!   as well, and is counted as honest; another cause is as wrong as ever.
//!
//! A node is right when each of its rails is. A rail that cannot be loaded has no verdict.

use probes::load::WorkingSet;
use railscope::experiments::diagnosis::judge;
use railscope::experiments::{Base, RailDiagnosis, Seen, next, plan};
use railscope::rules::Limits;
use railscope::sim::{Cause, Machine, Planted, Setup, Truth, World};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

const SEEDS: u64 = 500;
/// Share of the nodes on which the verdict must be right.
const RIGHT: f64 = 0.95;
/// A rail that gets less of its due is slow: the limit at which a rail is far below its ceiling.
const SLOW: f64 = 0.70;
/// A rail that gets more of it is not.
const FINE: f64 = 0.92;

/// What is said of each rail of the node, and after how many loads.
fn diagnose(world: &World) -> (Vec<RailDiagnosis>, usize) {
    let base = Base { params: plan::usual(), cold: WorkingSet::Bytes(1 << 30) };
    let limits = Limits::default();
    let mut seen: Vec<Seen> = Vec::new();
    while let Some(step) = next(world.topology(), &base, &limits, &seen) {
        assert!(seen.len() < 400, "the plan ends");
        let setup = Setup::of(&step.params, None);
        let shown = world.window(&setup, &step.rails, &step.to_string(), Duration::from_secs(1));
        let here = Seen::between(step, world.topology(), &shown.from, &shown.to, shown.failures);
        seen.push(here.with_far(&shown.far, shown.far_gap));
    }
    (judge(world.topology(), &limits, &seen), seen.len())
}

/// How right a verdict on a rail is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Honest,
    Wrong,
}

fn of_rail(truth: &Truth, said: &RailDiagnosis) -> Verdict {
    let Some(share) = truth.share else { return Verdict::Right };
    let Some(cause) = said.cause else {
        return if share < SLOW { Verdict::Wrong } else { Verdict::Right };
    };
    if share > FINE {
        return Verdict::Wrong;
    }
    if truth.causes.iter().any(|planted| planted.codes().contains(&cause)) {
        return Verdict::Right;
    }
    let is_open = |planted: &Cause| {
        let held = said.hypotheses.iter().find(|held| Some(held.id) == planted.hypothesis());
        held.is_some_and(|held| held.answer.is_open())
    };
    if cause == "slow-unexplained" && truth.hidden.iter().any(is_open) {
        return Verdict::Honest;
    }
    Verdict::Wrong
}

/// What came of many nodes.
#[derive(Default)]
struct Tally {
    nodes: u64,
    right: u64,
    /// Nodes that are right by an honest answer.
    honest: u64,
    /// Nodes with a rail of which either verdict is right.
    between: u64,
    loads: usize,
    /// Planted beside named, by rail.
    named: BTreeMap<(String, String), u32>,
    machines: BTreeMap<Machine, [u64; 2]>,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, seed: u64, planted: &Planted) {
        let (said, loads) = diagnose(&planted.world);
        let mut verdict = Verdict::Right;
        for truth in &planted.rails {
            let said = said.iter().find(|rail| rail.device == truth.device).unwrap();
            let of_rail = of_rail(truth, said);
            let causes: Vec<String> = truth.causes.iter().map(|cause| format!("{cause:?}")).collect();
            if !causes.is_empty() || said.slow {
                let row = if causes.is_empty() { "nothing".to_owned() } else { causes.join(" + ") };
                let column = said.cause.unwrap_or("not slow");
                let column = if of_rail == Verdict::Honest { "open (no data)" } else { column };
                *self.named.entry((row, column.to_owned())).or_default() += 1;
            }
            if of_rail == Verdict::Wrong {
                self.wrong.push(format!(
                    "seed {seed}, {}, noise {:.0} %: {} {causes:?} {:.2}: {}; {}",
                    planted.machine.name(),
                    planted.world.noise() * 100.0,
                    truth.device,
                    truth.share.unwrap_or_default(),
                    said.cause.unwrap_or("not slow"),
                    said.first_cause().map_or(&said.slow_because, |held| &held.because)
                ));
            }
            verdict = match (verdict, of_rail) {
                (Verdict::Wrong, _) | (_, Verdict::Wrong) => Verdict::Wrong,
                (Verdict::Honest, _) | (_, Verdict::Honest) => Verdict::Honest,
                _ => Verdict::Right,
            };
        }
        self.nodes += 1;
        self.loads += loads;
        let is_right = verdict != Verdict::Wrong;
        self.right += u64::from(is_right);
        self.honest += u64::from(verdict == Verdict::Honest);
        let is_between = |truth: &Truth| truth.share.is_some_and(|share| (SLOW..=FINE).contains(&share));
        self.between += u64::from(planted.rails.iter().any(is_between));
        let [right, all] = self.machines.entry(planted.machine).or_default();
        (*right, *all) = (*right + u64::from(is_right), *all + 1);
    }

    fn print(&self, title: &str) {
        let mut text = format!(
            "\n{title}: {} of {} nodes right ({:.1} %), {} of them by saying that it cannot be measured there; on {} a rail \
             is between slow and fine; {:.1} loads a node\n",
            self.right,
            self.nodes,
            self.share() * 100.0,
            self.honest,
            self.between,
            self.loads as f64 / self.nodes as f64
        );
        let mut columns: Vec<&str> = self.named.keys().map(|(_, named)| named.as_str()).collect();
        columns.sort_unstable();
        columns.dedup();
        let rows = |two: bool| {
            let mut rows: Vec<&str> = self
                .named
                .keys()
                .map(|(row, _)| row.as_str())
                .filter(|row| row.contains('+') == two)
                .collect();
            rows.dedup();
            rows
        };
        for (what, rows) in [("one cause on the rail", rows(false)), ("two causes on the rail", rows(true))] {
            if rows.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n{what}: planted (rows) and named first (columns), rails");
            let _ = write!(text, "{:<24}", "");
            for column in &columns {
                let _ = write!(text, "{column:>10.9}");
            }
            text.push('\n');
            for row in rows {
                let _ = write!(text, "{row:<24.23}");
                for column in &columns {
                    let count = self.named.get(&(row.to_owned(), (*column).to_owned()));
                    let _ = write!(text, "{:>10}", count.map_or(".".to_owned(), u32::to_string));
                }
                text.push('\n');
            }
        }
        let _ = writeln!(text, "\nby machine: right of all");
        for (machine, [right, all]) in &self.machines {
            let _ = writeln!(text, "  {:<34}{right:>4} of {all}", machine.name());
        }
        let _ = writeln!(text, "\nwrong:");
        for line in &self.wrong {
            let _ = writeln!(text, "  {line}");
        }
        println!("{text}");
    }

    fn share(&self) -> f64 {
        self.right as f64 / self.nodes as f64
    }
}

#[test]
fn the_cause_that_is_named_first_is_one_that_was_planted() {
    let mut tally = Tally::default();
    for seed in 1..=SEEDS {
        tally.add(seed, &World::planted(seed));
    }
    tally.print("planted");
    assert!(tally.share() >= RIGHT, "{:.1} %", tally.share() * 100.0);
}

#[test]
fn no_rail_of_a_healthy_node_has_a_verdict() {
    let mut tally = Tally::default();
    for seed in 1..=SEEDS {
        tally.add(seed, &Planted::healthy(seed));
    }
    tally.print("healthy");
    assert_eq!(tally.wrong, Vec::<String>::new());
}
