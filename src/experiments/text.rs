//! The diagnosis for people: at most 80 columns, or Markdown for a ticket.

use super::diagnosis::{Diagnosis, RailDiagnosis, not_together};
use super::hypotheses::{Answer, Hypothesis};
use super::told::OVER_TCP;
use crate::report::text::wrap::{Wrapped, clip};
use std::fmt::{self, Display, Formatter};

/// What the experiments cannot see.
const SCOPE: &str = "These are loads of railscope's own, placed by it, against this one peer. `railscope pins` looks at your own \
                     processes; with the roles changed, `railscope diagnose` looks at the peer.";

impl Diagnosis {
    fn heading(&self) -> String {
        let host = clip(self.hostname.as_deref().unwrap_or("unknown host"), 24);
        let peer =
            self.peer.as_deref().map_or(String::new(), |peer| format!(" reads from {}", clip(peer, 24)));
        format!("{} | {host}{peer} | {}", self.generated_by, self.load)
    }

    /// What it took, and what the figures are not.
    fn small_print(&self) -> String {
        let failed = self.experiments.iter().filter(|seen| seen.failed.is_some()).count();
        let failed =
            if failed > 0 { format!(", {failed} of them not measurable here") } else { String::new() };
        let short = if self.cut_short { "; ended before all were made" } else { "" };
        let caveat =
            self.caveat.as_ref().map_or(String::new(), |caveat| format!("; {}", caveat.to_uppercase()));
        let count = self.experiments.len();
        let noun = if count == 1 { "experiment" } else { "experiments" };
        format!("{count} {noun} in {:.0} s{failed}{short}{caveat}", self.took_s)
    }

    /// Rails that brought nothing by themselves.
    #[must_use]
    pub fn unmeasured(&self) -> usize {
        self.rails.iter().filter(|rail| rail.alone_gb_per_s.is_none()).count()
    }

    fn slow(&self) -> impl Iterator<Item = &RailDiagnosis> {
        self.rails.iter().filter(|rail| rail.slow)
    }

    /// Slow rails of which a shared limit does not speak already.
    fn slow_by_themselves(&self) -> impl Iterator<Item = &RailDiagnosis> {
        let is_told = |rail: &&RailDiagnosis| {
            self.shared_limits.iter().any(|limit| limit.devices.contains(&rail.device))
        };
        self.slow().filter(move |rail| !is_told(rail))
    }

    /// What several rails have in common, in a sentence each, and what to do.
    fn shared(&self) -> impl Iterator<Item = (String, String)> {
        self.shared_limits.iter().map(|limit| {
            let of_one = self.slow().find(|rail| limit.devices.contains(&rail.device));
            let cause = of_one.and_then(RailDiagnosis::first_cause).map_or_else(String::new, |held| {
                format!("; {} on each ({}, {}), of the first: {}", held.says, held.id, held.code, held.because)
            });
            let sentence = format!(
                "{}: {}: a limit that they share beyond this host's PCIe and memory: {}{cause}",
                limit.devices.join(", "),
                limit.cause,
                limit.because
            );
            let to_do = "what to do: look at what those rails have in common on the way: an uplink of a switch, \
                         the peer's own PCIe link or memory (`railscope diagnose` from there looks at the peer)";
            (sentence, to_do.to_owned())
        })
    }

    /// Its verdict in a sentence.
    fn verdict(&self) -> String {
        match self.slow().count() {
            0 if self.rails.iter().all(|rail| rail.alone_gb_per_s.is_none()) => {
                "nothing could be measured".to_owned()
            }
            0 if self.cut_short => {
                let left = match self.unmeasured() {
                    0 => String::new(),
                    1 => "; 1 was not measured".to_owned(),
                    count => format!("; {count} were not measured"),
                };
                format!("no rail was seen to be slow before it was ended{left}")
            }
            0 if self.unmeasured() > 0 => {
                format!("no rail that could be measured is slow, and {} could not be", self.unmeasured())
            }
            0 if not_together(&self.rails) => {
                "no rail is slow alone; all together could not be measured".to_owned()
            }
            0 if self.caveat.as_ref().is_some_and(|caveat| caveat.contains(OVER_TCP)) => {
                "not judged: a load over TCP proves nothing about a rail".to_owned()
            }
            0 => "no rail is slow".to_owned(),
            1 => "1 rail is slow".to_owned(),
            count => format!("{count} rails are slow"),
        }
    }
}

/// A sentence with a small letter first, unless its first word is an abbreviation.
fn in_mid_sentence(sentence: &str) -> String {
    let mut chars = sentence.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => sentence.to_owned(),
    }
}

impl RailDiagnosis {
    /// Why it is slow, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        if let Some(cause) = self.first_cause() {
            let others: Vec<String> =
                self.other_causes().map(|other| format!("{} ({})", other.id, other.code)).collect();
            let others =
                if others.is_empty() { String::new() } else { format!("; holds too: {}", others.join(", ")) };
            return format!(
                "{}: {} ({}, {}): {}{others}",
                self.device, cause.says, cause.id, cause.code, cause.because
            );
        }
        let of = |answer: Answer, says: &str| {
            let open = self.hypotheses.iter().filter(|held| held.answer == answer).map(|held| held.id);
            let open: Vec<&str> = open.collect();
            (!open.is_empty()).then(|| format!("{says}: {}", open.join(", ")))
        };
        let open = [
            of(Answer::Inconclusive, "inconclusive"),
            of(Answer::Unknown, "not measurable here, or at this end only"),
        ];
        let open: Vec<String> = open.into_iter().flatten().collect();
        let open = if open.is_empty() {
            "each of the seven was ruled out on this host; the peer's own memory and placement were not tried"
                .to_owned()
        } else {
            open.join("; ")
        };
        format!("{}: slow-unexplained: no cause was proven; {open}", self.device)
    }

    /// What mends it, or where that is told.
    fn to_do(&self) -> String {
        match self.cause {
            // nobody was misplaced here: the load sat where the platform says that the rail is
            Some("cross-numa") => "what to do: give this rail's threads and buffers the node that did better (H4 \
                below, `--place cpu:N,mem:N`, `numactl -N N -m N`); the node that the platform tells for it looks wrong, \
                so look at `railscope probe`, the BIOS and the slot"
                .to_owned(),
            cause => {
                let code = cause.unwrap_or("slow-unexplained");
                let mend = crate::rules::explain::of(code).map(|told| told.mend.trim_end_matches('.'));
                let mend = mend.map_or_else(String::new, |mend| format!("{} (", in_mid_sentence(mend)));
                let end = if mend.is_empty() { "" } else { ")" };
                format!("what to do: {mend}`railscope explain {code}`{end}")
            }
        }
    }

    fn figures(&self) -> [String; 3] {
        let figure = |value: Option<f64>| {
            value.map_or_else(
                || "?".to_owned(),
                |value| {
                    if value >= 0.1 { format!("{value:.2}") } else { crate::rules::rate(value) }
                },
            )
        };
        [figure(self.alone_gb_per_s), figure(self.together_gb_per_s), figure(self.ceiling_gb_per_s)]
    }

    fn remark(&self) -> &'static str {
        match (self.slow, self.control) {
            (true, _) => "SLOW",
            (false, true) => "control",
            (false, false) => "",
        }
    }
}

impl Display for Diagnosis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict())?;
        for (sentence, to_do) in self.shared() {
            write!(f, "{}", Wrapped { lead: "SLOW  ", text: &sentence })?;
            write!(f, "{}", Wrapped { lead: "  > ", text: &to_do })?;
        }
        for rail in self.slow_by_themselves() {
            write!(f, "{}", Wrapped { lead: "SLOW  ", text: &rail.sentence() })?;
            write!(f, "{}", Wrapped { lead: "  > ", text: &rail.to_do() })?;
        }
        writeln!(f)?;
        write!(f, "{}", Wrapped { lead: "", text: &self.heading() })?;
        write!(f, "{}", Wrapped { lead: "", text: &self.small_print() })?;
        writeln!(f)?;
        writeln!(f, "{:<20}{:>12}{:>14}{:>14}", "rail", "alone GB/s", "together GB/s", "ceiling GB/s")?;
        for rail in &self.rails {
            let [alone, together, ceiling] = rail.figures();
            let line = format!(
                "{:<20}{alone:>12}{together:>14}{ceiling:>14}  {}",
                clip(&rail.device, 19),
                rail.remark()
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        for rail in self.slow() {
            writeln!(f, "\n{}: {}", rail.device, rail.slow_because)?;
            for held in &rail.hypotheses {
                let text = format!("{}: {}", held.says, held.because);
                write!(
                    f,
                    "{}",
                    Wrapped { lead: &format!("  {} {:<4}", held.id, held.answer.to_string()), text: &text }
                )?;
            }
        }
        writeln!(f)?;
        write!(f, "{}", Wrapped { lead: "", text: SCOPE })?;
        for rail in &self.rails {
            if let Some(cost) = &rail.placement {
                writeln!(f)?;
                let text = format!("what another node costs {}: {cost}", rail.device);
                write!(f, "{}", Wrapped { lead: "", text: &text })?;
            }
        }
        for rail in self.rails.iter().filter(|rail| !rail.failed.is_empty()) {
            writeln!(f, "\n{}: not measured", rail.device)?;
            rail.failed.iter().try_for_each(|why| write!(f, "{}", Wrapped { lead: "  ", text: why }))?;
        }
        Ok(())
    }
}

/// The same as Markdown.
pub struct Markdown<'a>(pub &'a Diagnosis);

impl Display for Markdown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let diagnosis = self.0;
        writeln!(f, "## {}\n", diagnosis.verdict())?;
        diagnosis.shared().try_for_each(|(sentence, _)| writeln!(f, "- **{}**", cell(&sentence)))?;
        diagnosis
            .slow_by_themselves()
            .try_for_each(|rail| writeln!(f, "- **{}**", cell(&rail.sentence())))?;
        writeln!(f, "\n{}; {}\n", cell(&diagnosis.heading()), cell(&diagnosis.small_print()))?;
        writeln!(f, "| rail | alone GB/s | together GB/s | ceiling GB/s | |\n|---|--:|--:|--:|---|")?;
        for rail in &diagnosis.rails {
            let [alone, together, ceiling] = rail.figures();
            writeln!(f, "| `{}` | {alone} | {together} | {ceiling} | {} |", rail.device, rail.remark())?;
        }
        for rail in diagnosis.slow() {
            writeln!(
                f,
                "\n### `{}`: {}\n\n| | cause | holds | because |\n|---|---|---|---|",
                rail.device,
                cell(&rail.slow_because)
            )?;
            for Hypothesis { id, says, answer, because, .. } in &rail.hypotheses {
                writeln!(f, "| {id} | {says} | {answer} | {} |", cell(because))?;
            }
        }
        for rail in &diagnosis.rails {
            if let Some(cost) = &rail.placement {
                writeln!(f, "\nWhat another node costs `{}`: {}", rail.device, cell(cost))?;
            }
        }
        Ok(())
    }
}

/// Text that breaks no table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
