//! Badges: what is the matter with a rail, in a sign and a word.

use crate::rules::{Finding, Severity};
use crate::view::Theme;
use probes::model::{Frame, Rail, RailId, WorkerPhase};
use ratatui::style::Style;
use ratatui::text::Span;
use std::collections::BTreeMap;
use widgets::Symbols;

/// A sign and a word on a rail's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    /// One character, and a letter for terminals that have seven-bit characters only.
    pub sign: (&'static str, &'static str),
    /// The same in a word or two.
    pub word: String,
    /// How bad it is.
    pub severity: Severity,
}

/// The sign of what is found about the card's own link.
pub const OF_LINK: (&str, &str) = ("↓", "P");

/// Signs and words of codes; `*` at the end stands for any rest. Warnings of other codes show their code.
const OF_CODES: &[(&str, (&str, &str), &str)] = &[
    ("cross-numa", ("⇄", "N"), "cross-NUMA"),
    ("bond-leg-imbalance", ("½", "L"), "one leg"),
    ("half-rate", ("½", "L"), "half rate"),
    ("bond-leg-down", ("½", "L"), "leg down"),
    ("lacp-leg-out", ("½", "L"), "leg out"),
    ("pcie-capped-by-slot", OF_LINK, "slot"),
    ("pcie-*", OF_LINK, "PCIe"),
    ("shared-pcie", ("◆", "*"), "shared PCIe"),
    ("fw-differs", ("≠", "F"), "firmware"),
    ("rail-imbalance", ("▼", "S"), "slow"),
    ("slow-unexplained", ("▼", "S"), "slow"),
    ("implausible", ("?", "?"), "implausible"),
];

/// Notes that get a badge.
const NOTED: &[&str] = &["cross-numa", "pcie-capped-by-slot", "shared-pcie"];

/// The legend of the help: sign, and what it stands for.
pub const LEGEND: &[(&str, &str, &str)] = &[
    ("⇄", "N", "memory or CPU on another node"),
    ("½", "L", "one leg of the bond does all"),
    ("↓", "P", "PCIe below the card's best"),
    ("▼", "S", "slower than its like"),
    ("≠", "F", "firmware unlike its like"),
    ("✗", "X", "down, gone or failing"),
    ("◆", "*", "a shared link leaves it less"),
    ("?", "?", "a rate that cannot be"),
    ("!", "!", "another warning, by code"),
];

impl Badge {
    fn of_finding(finding: &Finding) -> Option<Self> {
        let matches = |pattern: &str| match pattern.strip_suffix('*') {
            Some(begin) => finding.code.starts_with(begin),
            None => finding.code == pattern,
        };
        let severity = finding.severity;
        // what is merely worth knowing gets no badge, except where it sets this rail apart: a process on the other node of
        // a socket, a slot or a shared link that leaves it less than its card can do
        if severity == Severity::Info && !NOTED.contains(&&*finding.code) {
            return None;
        }
        Some(match OF_CODES.iter().find(|known| matches(known.0)) {
            Some(&(_, sign, word)) => Self { sign, word: word.to_owned(), severity },
            None if severity == Severity::Error => {
                Self { sign: ("✗", "X"), word: finding.code.clone().into_owned(), severity }
            }
            None => Self { sign: ("!", "!"), word: finding.code.clone().into_owned(), severity },
        })
    }

    fn failure(word: impl Into<String>) -> Self {
        Self { sign: ("✗", "X"), word: word.into(), severity: Severity::Error }
    }
}

/// Badges of a rail: what is plain from the newest frame, then what the rules found.
#[must_use]
pub fn of(id: RailId, rail: &Rail, latest: Option<&Frame>, findings: &[Finding]) -> Vec<Badge> {
    let mut badges = Vec::new();
    if let Some(frame) = latest {
        if frame.rails.get(id.0).is_some_and(|rail| rail.lost) {
            badges.push(Badge::failure("gone"));
        }
        let workers = || frame.workers.iter().filter(|worker| worker.rail == Some(id));
        let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
        for (status, count) in workers().flat_map(|worker| &worker.errors) {
            let sum = errors.entry(status).or_default();
            *sum = sum.saturating_add(*count);
        }
        // requests are thrown out behind an error: a badge of their own says nothing more
        if errors.len() > 1 {
            errors.remove("WR_FLUSH_ERR");
        }
        badges.extend(errors.iter().map(|(status, count)| Badge::failure(format!("{count} {status}"))));
        let back = workers().fold(0, |sum: u64, worker| sum.saturating_add(worker.restarts));
        if back > 0 {
            badges.push(Badge::failure(format!("back {back}x")));
        }
        if workers().any(|worker| worker.phase == WorkerPhase::Failed && worker.errors.is_empty()) {
            badges.push(Badge::failure("load failed"));
        }
    }
    let about = findings.iter().filter(|finding| {
        finding.is_about(rail) || finding.devices.iter().any(|device| is_part_of(device, rail))
    });
    badges.extend(about.filter_map(Badge::of_finding));
    let mut unique: Vec<Badge> = Vec::new();
    for badge in badges {
        if unique.iter().all(|known| (known.sign, &known.word) != (badge.sign, &badge.word)) {
            unique.push(badge);
        }
    }
    unique
}

/// Whether this names a part of the rail that is no RDMA device: its netdev, a leg of it or its PCI function.
fn is_part_of(name: &str, rail: &Rail) -> bool {
    let legs = rail.bond.iter().flat_map(|bond| &bond.legs);
    name != rail.device
        && (rail.netdev.as_deref() == Some(name)
            || rail.pcie.as_ref().is_some_and(|path| path.address == name)
            || legs.into_iter().any(|leg| leg.netdev == name))
}

/// The badges in so many cells: all signs, and words from the first on as far as there is room.
#[must_use]
pub fn spans(badges: &[Badge], cells: usize, theme: Theme) -> Vec<Span<'static>> {
    let sign = |badge: &Badge| match theme.symbols {
        Symbols::Unicode => badge.sign.0,
        Symbols::Ascii => badge.sign.1,
    };
    let mut left = cells;
    let mut spans = Vec::new();
    for (at, badge) in badges.iter().enumerate() {
        let gap = usize::from(at > 0);
        let after: usize = badges[at + 1..].iter().map(|later| 1 + widgets::width(sign(later))).sum();
        let short = sign(badge).to_owned();
        let long = format!("{short} {}", badge.word);
        let fits = |text: &str, reserve: usize| gap + widgets::width(text) + reserve <= left;
        let text = if fits(&long, after) {
            long
        } else if fits(&short, 0) {
            short
        } else {
            break;
        };
        left -= gap + widgets::width(&text);
        if gap > 0 {
            spans.push(Span::raw(" "));
        }
        spans.push(Span::styled(text, style(badge, theme)));
    }
    spans
}

/// Cells that all of them take in words.
#[must_use]
pub fn cells(badges: &[Badge], theme: Theme) -> usize {
    spans(badges, usize::MAX, theme).iter().map(|span| widgets::width(&span.content)).sum()
}

fn style(badge: &Badge, theme: Theme) -> Style {
    theme.severity(badge.severity)
}

#[cfg(test)]
mod tests {
    use super::{of, spans};
    use crate::rules::{Finding, Severity};
    use crate::view::Theme;
    use crate::view::theme::Colours;
    use probes::model::{Frame, Rail, RailFrame, RailId};
    use widgets::Symbols;

    fn found(code: &'static str, severity: Severity) -> Finding {
        Finding::new(code, severity, ["mlx5_3"], "")
    }

    fn text(findings: &[Finding], latest: Option<&Frame>, cells: usize, symbols: Symbols) -> String {
        let rail = Rail { device: "mlx5_3".into(), ..Rail::default() };
        let theme = Theme { colours: Colours::None, symbols };
        let badges = of(RailId(0), &rail, latest, findings);
        spans(&badges, cells, theme).iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn words_stand_where_there_is_room_and_signs_always() {
        let findings =
            [found("bond-leg-imbalance", Severity::Warning), found("cross-numa", Severity::Warning)];
        assert_eq!(text(&findings, None, 30, Symbols::Unicode), "½ one leg ⇄ cross-NUMA");
        assert_eq!(text(&findings, None, 12, Symbols::Unicode), "½ one leg ⇄");
        assert_eq!(text(&findings, None, 3, Symbols::Unicode), "½ ⇄");
        assert_eq!(text(&findings, None, 12, Symbols::Ascii), "L one leg N");
    }

    #[test]
    fn two_findings_of_one_family_are_one_badge() {
        let findings =
            [found("pcie-downgraded", Severity::Warning), found("pcie-path-degraded", Severity::Warning)];
        assert_eq!(text(&findings, None, 30, Symbols::Unicode), "↓ PCIe");
    }

    #[test]
    fn what_is_merely_worth_knowing_has_no_badge_unless_it_sets_the_rail_apart() {
        assert_eq!(text(&[found("lag-mode", Severity::Info)], None, 30, Symbols::Unicode), "");
        assert_eq!(
            text(&[found("shared-pcie", Severity::Info)], None, 30, Symbols::Unicode),
            "◆ shared PCIe"
        );
        let slot = found("pcie-capped-by-slot", Severity::Info);
        assert_eq!(text(&[slot], None, 30, Symbols::Unicode), "↓ slot");
        assert_eq!(text(&[found("cross-numa", Severity::Info)], None, 30, Symbols::Unicode), "⇄ cross-NUMA");
        assert_eq!(text(&[found("mrrs", Severity::Warning)], None, 30, Symbols::Unicode), "! mrrs");
        assert_eq!(text(&[found("no-sm", Severity::Error)], None, 30, Symbols::Unicode), "✗ no-sm");
    }

    #[test]
    fn a_lost_device_and_failed_requests_show_without_a_rule() {
        let errors = [("RETRY_EXC_ERR".to_owned(), 2)].into();
        let worker = probes::model::WorkerFrame { rail: Some(RailId(0)), errors, ..Default::default() };
        let rails = vec![RailFrame { lost: true, ..RailFrame::default() }];
        // two workers of one rail
        let frame = Frame { rails, workers: vec![worker.clone(), worker], ..Frame::default() };
        assert_eq!(text(&[], Some(&frame), 40, Symbols::Unicode), "✗ gone ✗ 4 RETRY_EXC_ERR");
    }

    #[test]
    fn what_was_thrown_out_behind_an_error_has_no_badge_of_its_own() {
        let failed = |errors: &[(&str, u64)]| {
            let errors = errors.iter().map(|(status, count)| ((*status).to_owned(), *count)).collect();
            let worker = probes::model::WorkerFrame { rail: Some(RailId(0)), errors, ..Default::default() };
            let frame =
                Frame { rails: vec![RailFrame::default()], workers: vec![worker], ..Frame::default() };
            text(&[], Some(&frame), 40, Symbols::Unicode)
        };
        assert_eq!(failed(&[("RETRY_EXC_ERR", 1), ("WR_FLUSH_ERR", 255)]), "✗ 1 RETRY_EXC_ERR");
        assert_eq!(failed(&[("WR_FLUSH_ERR", 256)]), "✗ 256 WR_FLUSH_ERR");
    }
}
