//! The report for people: verdict first, at most 80 columns.

use super::Report;
use crate::rules::Severity;
use std::fmt::{self, Display, Formatter, Write};

pub(crate) mod alike;
pub(crate) mod facts;
mod failures;
mod pages;
pub(super) mod table;
pub(crate) mod wrap;

use wrap::{Wrapped, clip};

/// Widest line, as terminals open; only a command to paste may be longer.
pub(super) const COLUMNS: usize = 80;

/// Most events and gaps that are printed; the JSON has all of them.
const MOST_LISTED: usize = 6;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(diagnosis) = &self.diagnosis {
            writeln!(f, "{diagnosis}")?;
        }
        self.heading(f)?;
        self.verdict(f)?;
        self.findings(f)?;
        f.write_char('\n')?;
        table::write(f, self)?;
        f.write_char('\n')?;
        facts::write(f, self)?;
        let Some(peer) = &self.peer else { return Ok(()) };
        let name = peer.host.hostname.as_deref().unwrap_or("unknown host");
        write!(f, "\npeer {}: ", clip(name, 30))?;
        peer.verdict(f)?;
        peer.findings(f)?;
        f.write_char('\n')?;
        table::write(f, peer)
    }
}

impl Report {
    fn heading(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let host = self.host.hostname.as_deref().unwrap_or("unknown host");
        let seen = self.seen();
        writeln!(f, "{} | {} | {seen}", self.generated_by, clip(host, 30))?;
        if let Some(simulation) = &self.simulated {
            writeln!(
                f,
                "SIMULATED: scenario {}, seed {}. Nothing here is a measurement.",
                simulation.scenario, simulation.seed
            )?;
        }
        Ok(())
    }

    /// What it covers, in words.
    pub(super) fn seen(&self) -> String {
        match (self.session.frames, self.session.from_s) {
            (0, _) => "no samples, no rates".to_owned(),
            (1, _) => "one look, no rates".to_owned(),
            (frames, None) => format!("{:.1} s, {frames} samples", self.session.duration_s),
            (frames, Some(from_s)) => {
                let until_s = from_s + self.session.duration_s;
                format!("{from_s:.1} s to {until_s:.1} s, {frames} samples")
            }
        }
    }

    fn findings(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for told in alike::told(&self.findings, &self.rails) {
            let finding = told.first;
            let all: Vec<&str> = told.devices().collect();
            let count = told.count_in_words().map(|count| format!(" {count}")).unwrap_or_default();
            let room = COLUMNS - 30 - count.len();
            let devices = match all.join(",") {
                long if !count.is_empty() && long.chars().count() > room => format!("{}, ...", all[0]),
                names => names,
            };
            let devices = clip(&devices, room);
            writeln!(f, "\n{:<8} {:<20} {devices}{count}", word(finding.severity), finding.code)?;
            write!(f, "{}", Wrapped { lead: "    ", text: &finding.message })?;
            if let Some(text) = told.others_in_words() {
                write!(f, "{}", Wrapped { lead: "    ", text: &text })?;
            }
            if !finding.advice.is_empty() {
                write!(f, "{}", Wrapped { lead: "  > ", text: &finding.advice })?;
            }
        }
        Ok(())
    }

    /// Whether any rail has a rate.
    pub(super) fn has_rates(&self) -> bool {
        self.rails.iter().any(|rail| rail.rx_gb_per_s.is_some() || rail.tx_gb_per_s.is_some())
    }

    /// The verdict in a line, and what of the load went wrong, a line each.
    pub(super) fn verdict_words(&self) -> (String, Vec<String>) {
        let bad = self.bad_words();
        let good = self.counted(Severity::Info, "thing worth knowing", "things worth knowing");
        let troubles =
            self.load.as_ref().map(|load| facts::troubles(load, self.session.duration_s)).unwrap_or_default();
        let is_cut_short = self.load.as_ref().is_some_and(|load| load.ended.is_some());
        let verdict = match (bad.is_empty(), good) {
            (true, good) if is_cut_short && troubles.is_empty() => {
                let what = "the load ended before its time".to_owned();
                [what].into_iter().chain(good).collect::<Vec<_>>().join(", ")
            }
            (true, good) if !troubles.is_empty() => {
                let met = self.load.as_ref().is_some_and(super::LoadBlock::met_errors);
                let what = if met { "the load met errors" } else { "the load moved nothing on a rail" };
                [what.to_owned()].into_iter().chain(good).collect::<Vec<_>>().join(", ")
            }
            (true, None) => "nothing wrong found".to_owned(),
            (true, Some(good)) => format!("nothing wrong found, {good}"),
            (false, None) => bad.join(", "),
            (false, Some(good)) => format!("{}, {good}", bad.join(", ")),
        };
        // what is wrong at the other end must not stand a page below "nothing wrong"
        let there =
            self.peer.as_ref().map(|peer| (peer, peer.bad_words())).filter(|(_, bad)| !bad.is_empty());
        let verdict = match there {
            Some((peer, bad)) => {
                let host = peer.host.hostname.as_deref().unwrap_or("the peer");
                format!("{} on {}; here {verdict}", bad.join(", "), clip(host, 30))
            }
            None => verdict,
        };
        (verdict, troubles)
    }

    /// `2 errors`, `1 warning`: what is wrong on this host; empty where nothing is.
    fn bad_words(&self) -> Vec<String> {
        [
            self.counted(Severity::Error, "error", "errors"),
            self.counted(Severity::Warning, "warning", "warnings"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// How many findings are of a severity, in words; `None` where none is.
    fn counted(&self, severity: Severity, one: &str, several: &str) -> Option<String> {
        match self.findings.iter().filter(|found| found.severity == severity).count() {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {several}")),
        }
    }

    fn verdict(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (verdict, troubles) = self.verdict_words();
        writeln!(f, "{verdict}")?;
        troubles.iter().try_for_each(|trouble| write!(f, "{}", Wrapped { lead: "", text: trouble }))
    }
}

pub(crate) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "WARNING",
        Severity::Error => "ERROR",
    }
}
