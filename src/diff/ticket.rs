//! The comparison as Markdown.

use super::text::{alike, in_words, means, name, word};
use super::{Changed, Diff, Difference, PeerDiff};
use crate::report::markdown::{cell, prose, row, rule};
use crate::rules::Severity;
use std::fmt::{self, Display, Formatter};

/// The text of `railscope diff --format md`.
#[derive(Clone, Copy, Debug)]
pub struct DiffTicket<'a>(pub &'a Diff);

impl Display for DiffTicket<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let diff = self.0;
        writeln!(f, "### {}\n", cell(&diff.verdict()))?;
        writeln!(f, "- A: {}", prose(&in_words(&diff.a)))?;
        writeln!(f, "- B: {}", prose(&in_words(&diff.b)))?;
        for reason in &diff.not_comparable_because {
            writeln!(f, "- the rates are not comparable: {}", prose(reason))?;
        }
        if !diff.rails.is_empty() {
            row(f, "\n", &["rail", "A GB/s", "B GB/s", "change %", ""])?;
            rule(f, 5)?;
        }
        for rail in &diff.rails {
            let change = rail.change_percent.map_or(String::new(), |percent| format!("{percent:+.1}"));
            let judgement = match &rail.because {
                Some(because) => format!("{}: {because}", word(rail, diff.comparable)),
                None => word(rail, diff.comparable).to_owned(),
            };
            let [a, b] = means(rail);
            row(f, "", &[&name(rail), &a, &b, &change, &judgement])?;
        }
        if diff.rails.iter().any(|rail| rail.limit_gb_per_s.is_some()) {
            writeln!(f, "\n{}", prose(&diff.how()))?;
        }
        if !diff.topology.is_empty() {
            writeln!(f, "\n#### What differs\n")?;
            row(f, "", &["where", "what", "A", "B"])?;
            rule(f, 4)?;
        }
        differences(f, &diff.topology)?;
        if !diff.known_in_one.is_empty() {
            writeln!(f, "\nFacts that one of them does not know: {}.", diff.known_in_one.len())?;
        }
        changed(f, "Findings that appeared in B", &diff.appeared)?;
        changed(f, "Findings gone from A", &diff.went)?;
        changed(f, "Findings of A that B could not tell of", &diff.not_judged)?;
        if let Some(letter) = diff.peer_only_in {
            let letter = letter.to_uppercase();
            writeln!(f, "\nOnly {letter} has the other end of its load, so that is not compared.")?;
        }
        if let Some(peer) = &diff.peer {
            of_peer(f, peer)?;
        }
        writeln!(f, "\n`{}`, `railscope diff --format md`", diff.generated_by)
    }
}

fn differences(f: &mut Formatter<'_>, differences: &[Difference]) -> fmt::Result {
    for (Difference { what, a, b, .. }, subjects) in alike(differences) {
        row(f, "", &[&subjects.join(", "), what, a, b])?;
    }
    Ok(())
}

fn of_peer(f: &mut Formatter<'_>, peer: &PeerDiff) -> fmt::Result {
    writeln!(f, "\n#### The other end: {}", cell(&peer.host()))?;
    if !peer.differs() {
        return writeln!(f, "\nNo difference found.");
    }
    for (rails, word) in [(&peer.gone, "gone"), (&peer.new, "new")] {
        if !rails.is_empty() {
            writeln!(f, "\n{word}: {}", cell(&rails.join(", ")))?;
        }
    }
    if !peer.topology.is_empty() {
        row(f, "\n", &["where", "what", "A", "B"])?;
        rule(f, 4)?;
    }
    differences(f, &peer.topology)?;
    changed(f, "Findings that appeared at the other end in B", &peer.appeared)?;
    changed(f, "Findings gone from the other end in A", &peer.went)
}

fn changed(f: &mut Formatter<'_>, heading: &str, list: &[Changed]) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n#### {heading}\n")?;
    for one in list {
        let severity = crate::report::severity_word(one.severity);
        let devices = cell(&one.devices.join(", "));
        if one.severity == Severity::Info {
            writeln!(f, "- {severity} `{}` on {devices}", one.code)?;
        } else {
            let because = one.because.as_ref().map_or(String::new(), |why| format!(" ({})", prose(why)));
            writeln!(f, "- **{severity}** `{}` on {devices}: {}{because}", one.code, prose(&one.message))?;
        }
    }
    Ok(())
}
