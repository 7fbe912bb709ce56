//! The comparison for people: verdict first, at most 80 columns.

use super::{About, Changed, Diff, Difference, Judgement, Mean, RailChange};
use crate::report::wrap::{Wrapped, clip};
use crate::rules::Severity;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Widest device name that is printed whole.
const MOST_NAME: usize = 24;

impl Display for Diff {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict())?;
        writeln!(f)?;
        about(f, "A ", &self.a)?;
        about(f, "B ", &self.b)?;
        for reason in &self.not_comparable_because {
            write!(f, "{}", Wrapped { lead: "rates not comparable: ", text: reason })?;
        }
        self.rates(f)?;
        self.facts(f)?;
        changed(f, "that appeared in B", &self.appeared, Advice::Given)?;
        changed(f, "gone from A", &self.went, Advice::Left)?;
        changed(f, "of A that B could not tell of", &self.not_judged, Advice::Left)?;
        self.peers(f)
    }
}

impl Diff {
    /// What it comes to, in a line.
    pub(super) fn verdict(&self) -> String {
        let rails =
            |judgement: Judgement| self.rails.iter().filter(|rail| rail.judgement == judgement).count();
        let bad = |list: &[Changed]| list.iter().filter(|one| one.severity >= Severity::Warning).count();
        let parts = [
            part(rails(Judgement::Gone), "rail is gone", "rails are gone"),
            part(rails(Judgement::Slower), "rail is slower", "rails are slower"),
            part(bad(&self.appeared), "warning appeared", "warnings appeared"),
            part(rails(Judgement::Faster), "rail is faster", "rails are faster"),
            part(rails(Judgement::New), "rail is new", "rails are new"),
            part(bad(&self.went), "warning went", "warnings went"),
            part(bad(&self.not_judged), "warning not judged in B", "warnings not judged in B"),
            part(self.topology.len(), "fact differs", "facts differ"),
        ];
        let of_peer = self.peer.as_ref().filter(|peer| peer.differs()).map(|_| "the peer differs".to_owned());
        let parts: Vec<String> = parts.into_iter().flatten().chain(of_peer).collect();
        let differs = if parts.is_empty() { "no difference found".to_owned() } else { parts.join(", ") };
        match (self.comparable, rails(Judgement::NotJudged)) {
            (true, 0) => differs,
            (true, 1) => format!("{differs}; the rate of 1 rail could not be judged"),
            (true, many) => format!("{differs}; the rates of {many} rails could not be judged"),
            (false, _) => format!("{differs}; the rates could not be compared"),
        }
    }

    fn rates(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.rails.is_empty() {
            return Ok(());
        }
        let names = self.rails.iter().map(|rail| name(rail).chars().count());
        let columns = names.max().unwrap_or(0).clamp(5, MOST_NAME);
        writeln!(f, "\n{:<columns$}  {:>16}  {:>16}  {:>9}", "rail", "A GB/s", "B GB/s", "change %")?;
        for rail in &self.rails {
            let change = rail.change_percent.map_or(String::new(), |percent| format!("{percent:+.1}"));
            let [a, b] = means(rail);
            let line = format!(
                "{:<columns$}  {a:>16}  {b:>16}  {change:>9}  {}",
                clip(&name(rail), columns),
                word(rail, self.comparable),
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for rail in &self.rails {
            if let Some(because) = &rail.because {
                reasons.entry(because).or_default().push(name(rail));
            }
        }
        for (because, rails) in reasons {
            let text = format!("{}: {because}", rails.join(", "));
            write!(f, "{}", Wrapped { lead: "not judged: ", text: &text })?;
        }
        if self.rails.iter().any(|rail| rail.limit_gb_per_s.is_some()) {
            write!(f, "{}", Wrapped { lead: "", text: &self.how() })?;
        }
        Ok(())
    }

    /// How a difference is told from chance.
    pub(super) fn how(&self) -> String {
        format!(
            "Means of whole seconds under load, ± their standard error, slow swings included. Slower or faster is a \
             difference above 3 x sqrt(se_A^2 + se_B^2) and above {} % of A.",
            self.tolerance_percent
        )
    }

    fn facts(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.topology.is_empty() {
            writeln!(f, "\nwhat differs:")?;
        }
        differences(f, &self.topology)?;
        match self.known_in_one.len() {
            0 => Ok(()),
            1 => writeln!(f, "1 fact is known in one of them only (--json lists it)"),
            facts => writeln!(f, "{facts} facts are known in one of them only (--json lists them)"),
        }
    }

    fn peers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(letter) = self.peer_only_in {
            let letter = letter.to_uppercase();
            writeln!(f, "\nonly {letter} has the other end of its load, so that is not compared")?;
        }
        let Some(peer) = &self.peer else { return Ok(()) };
        if !peer.differs() {
            return writeln!(f, "\nthe other end, {}: no difference found", peer.host());
        }
        writeln!(f, "\nthe other end, {}:", peer.host())?;
        for (rails, word) in [(&peer.gone, "GONE"), (&peer.new, "new")] {
            if !rails.is_empty() {
                write!(f, "{}", Wrapped { lead: "  - ", text: &format!("{}: {word}", rails.join(", ")) })?;
            }
        }
        differences(f, &peer.topology)?;
        changed(f, "that appeared at the other end in B", &peer.appeared, Advice::Given)?;
        changed(f, "gone from the other end in A", &peer.went, Advice::Left)
    }
}

fn differences(f: &mut Formatter<'_>, differences: &[Difference]) -> fmt::Result {
    for (Difference { what, a, b, .. }, subjects) in alike(differences) {
        let text = format!("{}: {what}: {a} -> {b}", subjects.join(", "));
        write!(f, "{}", Wrapped { lead: "  - ", text: &text })?;
    }
    Ok(())
}

/// The same difference on several rails once, with those it is on.
pub(super) fn alike(differences: &[Difference]) -> Vec<(&Difference, Vec<&str>)> {
    let mut kinds: Vec<(&Difference, Vec<&str>)> = Vec::new();
    for one in differences {
        let is_alike = |known: &Difference| (known.what, &known.a, &known.b) == (one.what, &one.a, &one.b);
        match kinds.iter_mut().find(|(known, _)| is_alike(known)) {
            Some((_, subjects)) => subjects.push(&one.subject),
            None => kinds.push((one, vec![&one.subject])),
        }
    }
    kinds
}

fn part(count: usize, one: &str, several: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {several}")),
    }
}

fn about(f: &mut Formatter<'_>, lead: &str, side: &About) -> fmt::Result {
    write!(f, "{}", Wrapped { lead, text: &in_words(side) })
}

/// File, host, span, load.
pub(super) fn in_words(side: &About) -> String {
    let host = side.hostname.as_deref().unwrap_or("unknown host");
    let span = match side.frames {
        0 | 1 => "one look, no rates".to_owned(),
        frames => format!("{:.1} s, {frames} samples", side.duration_s),
    };
    let simulated = side.simulated.as_ref().map(|simulation| {
        format!(" | SIMULATED: scenario {}, seed {}", simulation.scenario, simulation.seed)
    });
    let load = side.load.as_ref().map(|load| format!(" | {load}"));
    format!("{} | {host} | {span}{}{}", side.name, simulated.unwrap_or_default(), load.unwrap_or_default())
}

pub(super) fn name(rail: &RailChange) -> String {
    if rail.port == 1 { rail.device.clone() } else { format!("{}:{}", rail.device, rail.port) }
}

/// `24.14 ± 0.02` of the first session and of the second; without one, why.
pub(super) fn means(rail: &RailChange) -> [String; 2] {
    let absent = |judgement| if rail.judgement == judgement { "not there" } else { "not under load" };
    [mean(rail.a.as_ref(), absent(Judgement::New)), mean(rail.b.as_ref(), absent(Judgement::Gone))]
}

fn mean(mean: Option<&Mean>, absent: &str) -> String {
    let Some(mean) = mean else { return absent.to_owned() };
    let decimals = if mean.mean_gb_per_s < 1.0 { 4 } else { 2 };
    let error = mean.standard_error_gb_per_s.map_or(String::new(), |error| format!(" ± {error:.decimals$}"));
    format!("{:.decimals$}{error}", mean.mean_gb_per_s)
}

/// Where nothing may be compared, that is said once and not on every rail.
pub(super) fn word(rail: &RailChange, comparable: bool) -> &'static str {
    match rail.judgement {
        Judgement::NotJudged if !comparable => "",
        judgement => judgement.word(),
    }
}

/// Whether what is to be done stands with a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Advice {
    Given,
    Left,
}

fn changed(f: &mut Formatter<'_>, heading: &str, list: &[Changed], advice: Advice) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nfindings {heading}:")?;
    for one in list {
        let devices = clip(&one.devices.join(","), 46);
        writeln!(f, "  {:<8} {:<20} {devices}", crate::report::severity_word(one.severity), one.code)?;
        if one.severity == Severity::Info {
            continue;
        }
        write!(f, "{}", Wrapped { lead: "      ", text: &one.message })?;
        if let Some(because) = &one.because {
            let lead = if advice == Advice::Given { "      no news: " } else { "      not judged: " };
            write!(f, "{}", Wrapped { lead, text: because })?;
        }
        if advice == Advice::Given && !one.advice.is_empty() {
            write!(f, "{}", Wrapped { lead: "    > ", text: &one.advice })?;
        }
    }
    Ok(())
}
