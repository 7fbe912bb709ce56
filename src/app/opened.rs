//! A rail that was opened from another view: where one came from, and which rails keys go among there.

use super::selection::moved;
use super::{Action, App, Command, Focus, View};
use crate::rules::{Finding, Severity};
use crate::view as screen;
use probes::model::{Rail, RailId};

/// What the rail in sight was opened from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    /// The view.
    pub from: View,
    /// The finding, if it was one: its code, and the rails it names.
    among: Option<(String, Vec<RailId>)>,
}

impl App {
    /// Goes to a view by its own key; to that of one rail with the rail that is selected here.
    pub(super) fn go_with_selection(&mut self, view: View) {
        let from = self.view;
        if view == View::Rail && from != View::Rail {
            let of_row = if from == View::Placement { screen::device_beside(self) } else { None };
            let of_finding = match self.selection.focus {
                // the one of them that keys have gone to already stays
                Focus::Findings if from == View::Home => {
                    let is_selected = |id: &&RailId| self.position_of(**id) == self.selection.rail;
                    let named = self.named_by_finding().map(|(_, named)| named).unwrap_or_default();
                    named.iter().find(is_selected).or(named.first()).copied()
                }
                _ => None,
            };
            let rails = &self.shown().topology().rails;
            let at = of_row.and_then(|device| rails.iter().position(|rail| rail.device == device));
            match at.map(RailId).or(of_finding) {
                Some(id) => self.select_rail(id),
                None => self.select_worst(),
            }
            self.lines[View::Rail.place()] = 0;
        }
        self.go(view);
    }

    /// Before a key chose a rail, that is the one of the worst finding, which the screen tells in full.
    fn select_worst(&mut self) {
        if self.selection.rail.is_some() {
            return;
        }
        self.selection.rail = self.worst_rail();
    }

    /// Place of the rail of the worst finding; `None` where none warns of a rail that is listed.
    fn worst_rail(&self) -> Option<usize> {
        let told = self.told_findings();
        let worst = told.iter().filter(|told| told.first.severity > Severity::Info);
        let rails = &self.shown().topology().rails;
        let of_finding = |finding: &Finding| {
            let is_named = |rail: &Rail| finding.devices.contains(&rail.device) && finding.is_about(rail);
            rails.iter().position(is_named)
        };
        worst
            .flat_map(|told| told.findings().filter_map(of_finding))
            .find_map(|at| self.position_of(RailId(at)))
    }

    /// Goes to the rail that is selected, or to those that the selected finding names.
    pub(super) fn open(&mut self) -> Command {
        let from = self.view;
        let mut among = None;
        match from {
            View::Home if self.selection.focus == Focus::Findings => {
                let Some((code, named)) = self.named_by_finding() else { return Command::None };
                let Some(first) = named.first().copied() else {
                    return self.say(&format!("{code} names no rail that is listed here"));
                };
                self.selection.rail = self.position_of(first);
                among = Some((code, named));
            }
            View::Placement => {
                let rails = &self.shown().topology().rails;
                let device = screen::device_beside(self);
                let Some(at) = rails.iter().position(|rail| Some(&rail.device) == device.as_ref()) else {
                    return self.say("there is no rail here to open");
                };
                self.select_rail(RailId(at));
            }
            _ => self.select_worst(),
        }
        self.go(View::Rail);
        self.lines[View::Rail.place()] = 0;
        self.opened = Some(Opened { from, among });
        Command::DrawNow
    }

    /// Selects a rail, which the filter may have taken for the name of its user.
    fn select_rail(&mut self, id: RailId) {
        if self.position_of(id).is_none() {
            self.set_filter("");
            self.say("the filter has ended: it does not list this rail");
        }
        self.selection.rail = self.position_of(id);
    }

    /// The code of the selected finding, and the listed rails that it and its like name, in its order.
    fn named_by_finding(&self) -> Option<(String, Vec<RailId>)> {
        let told = self.told_findings();
        let told = told.get(self.selection.finding.unwrap_or_default())?;
        let rails = &self.shown().topology().rails;
        let listed: Vec<RailId> = self.groups().into_iter().flat_map(|group| group.rails).collect();
        let of_device = |finding: &Finding, device: &str| {
            let is_named = |id: &RailId| rails[id.0].device == device && finding.is_about(&rails[id.0]);
            listed.iter().copied().filter(is_named).collect::<Vec<_>>()
        };
        let named = told
            .findings()
            .flat_map(|finding| finding.devices.iter().flat_map(move |device| of_device(finding, device)));
        Some((told.first.code.to_string(), named.collect()))
    }

    /// To the rail before or after: among those that were opened together, or among all that are listed.
    pub(super) fn next_rail(&mut self, action: Action) {
        self.lines[self.view.place()] = 0;
        let rail = self.selection.rail.unwrap_or(0);
        let listed = self.listed_rails();
        let (among, at) = match self.among() {
            Some((_, among, at)) => (among, at),
            None => (&[][..], rail),
        };
        let last = if among.is_empty() { listed } else { among.len() }.checked_sub(1);
        self.selection.rail = last.and_then(|last| {
            let to = moved(Some(at), action, last).min(last);
            among.get(to).map_or(Some(to), |id| self.position_of(*id))
        });
    }

    /// The code of the finding that the rail in sight was opened from, the rails it names, and which of them this one is.
    #[must_use]
    pub fn among(&self) -> Option<(&str, &[RailId], usize)> {
        let (code, among) = self.opened.as_ref()?.among.as_ref()?;
        let id = self.rail_at(self.selection.rail?)?;
        let at = among.iter().position(|other| *other == id)?;
        Some((code, among, at))
    }
}
