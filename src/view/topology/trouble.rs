//! What is the matter with a link of the machine, or why it is not known.

use super::tree::{Item, Part};
use crate::app::App;
use crate::ceilings;
use crate::report::rail_text;
use crate::rules::Severity;
use probes::model::{Hop, LostCard, RailId};
use ratatui::style::Style;

/// What stands behind a link: at length, and in short where that has no room.
pub struct Remark {
    /// Both.
    pub words: [String; 2],
    /// How it is drawn.
    pub style: Style,
    /// Whether it is a fault or a limit of the link, whose bar is drawn so too.
    pub is_of_link: bool,
}

/// What is to be said of the link of a row, which carries so much payload at most.
pub fn remark(app: &App, item: &Item, payload_gb_per_s: Option<f64>) -> Option<Remark> {
    let theme = app.theme();
    let dim = |text: String| Remark { words: [text.clone(), text], style: theme.dim(), is_of_link: false };
    match item.part {
        Part::Lost(at) => Some(of_card(app, &app.shown().topology().lost_cards[at])),
        Part::Gpu(_) => trouble(app, item, payload_gb_per_s),
        // with one card on it, the row below tells the same
        Part::Root if item.below < 2 => None,
        Part::Root | Part::Switch | Part::Rail(_) => {
            trouble(app, item, payload_gb_per_s).or_else(|| why_unknown(app, item).map(dim))
        }
    }
}

/// A card without an RDMA device is lost where the rules find it so; a virtual function or one of a virtual machine is not.
fn of_card(app: &App, card: &LostCard) -> Remark {
    let theme = app.theme();
    let found = app.findings().iter().find(|finding| finding.devices.contains(&card.address));
    if let Some(finding) = found {
        let sign = if finding.severity == Severity::Error { theme.pick("✗", "X") } else { "!" };
        let words = [format!("{sign} {}", finding.code), sign.to_owned()];
        return Remark { words, style: theme.severity(finding.severity), is_of_link: true };
    }
    let why = match card.driver.as_deref() {
        _ if card.is_elsewhere => "in another network namespace".to_owned(),
        Some(driver) if card.is_vf => format!("a virtual function, driver {driver}"),
        None if card.is_vf => "a virtual function without a driver".to_owned(),
        Some(driver) => format!("driver {driver}"),
        None => "no driver".to_owned(),
    };
    Remark { words: [why.clone(), why], style: theme.dim(), is_of_link: false }
}

/// Why speed or width of a link is not known, as the survey says; `None` where both are.
fn why_unknown(app: &App, item: &Item) -> Option<String> {
    let topology = app.shown().topology();
    let is_known = |hop: &Hop| {
        hop.raw_gb_per_s.is_some() || hop.current_gt_per_s.is_some() && hop.current_width.is_some()
    };
    if item.hop.is_some_and(is_known) {
        return None;
    }
    let of_item = |subject: &str| item.rails.iter().any(|id| topology.rails[id.0].device == subject);
    let reasons = topology.gaps.iter().filter(|gap| of_item(&gap.subject)).filter_map(|gap| match item.hop {
        None => gap.reason.strip_prefix("PCIe path")?.split_once(": ").map(|(_, why)| why.to_owned()),
        Some(hop) => {
            // of the card's own function the address goes without saying
            let own = gap.reason.strip_prefix(&format!("{}/", hop.address)).unwrap_or(&gap.reason);
            own.starts_with("current_link_").then(|| own.to_owned())
        }
    });
    reasons.into_iter().next()
}

/// What is the matter with its link.
fn trouble(app: &App, item: &Item, payload: Option<f64>) -> Option<Remark> {
    let theme = app.theme();
    let topology = app.shown().topology();
    let hop = item.hop?;
    let mut words: Vec<[String; 2]> = Vec::new();
    let mut severity = None;
    if rail_text::is_below_both_ends(hop) {
        let most = rail_text::link_at_most(hop).map(|most| format!(" of {most}")).unwrap_or_default();
        let down = theme.pick("↓", "v");
        words.push([format!("{down} trained low{most}"), format!("{down} low")]);
        severity = Some(Severity::Warning);
    }
    let line = |id: RailId| ceilings::line_goodput_gb_per_s(&topology.rails[id.0]);
    let limits = |id: &RailId| {
        let path = topology.rails[id.0].pcie.as_ref()?;
        let (slowest, _) = ceilings::slowest_hop(path)?;
        let is_slowest = slowest.address == hop.address;
        let is_below = payload.zip(line(*id)).is_some_and(|(payload, line)| payload < line);
        Some(is_slowest && is_below)
    };
    let wanted: f64 = item.rails.iter().filter_map(|id| line(*id)).sum();
    if item.rails.len() > 1 && payload.is_some_and(|payload| payload < wanted) {
        let (sign, count) = (theme.pick("◀", "<"), item.rails.len());
        let wanted = app.rates().text(wanted);
        words.push([
            format!("{sign} {count} rails share it, want {wanted}"),
            format!("{sign} {count} share it"),
        ]);
        severity = severity.max(Some(Severity::Info));
    } else if item.rails.iter().any(|id| limits(id) == Some(true)) {
        words.push([format!("{} limits", theme.pick("◀", "<")), theme.pick("◀", "<").to_owned()]);
        severity = severity.max(Some(Severity::Info));
    }
    let joined = |at: usize| words.iter().map(|word| word[at].as_str()).collect::<Vec<_>>().join(" ");
    severity.map(|severity| Remark {
        words: [joined(0), joined(1)],
        style: theme.severity(severity),
        is_of_link: true,
    })
}
