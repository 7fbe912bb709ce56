//! Which rail and which finding the keys have moved to.

use super::Action;

/// The part of the screen that keys move in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// The rails.
    #[default]
    Rails,
    /// The findings.
    Findings,
}

/// Which rail and which finding the keys have moved to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The part that keys move in.
    pub focus: Focus,
    /// Position of the rail on the screen, from the top; `None` before a key chose one.
    pub rail: Option<usize>,
    /// Position of the finding, worst first; `None` before a key chose one.
    pub finding: Option<usize>,
    /// Lines of it that have been scrolled away, where it alone has more than there is room for.
    pub finding_from: usize,
}

const PAGE: usize = 10;

impl Selection {
    /// Moves as `action` says, among so many rails and findings, the selected one of which can be scrolled by `overflow` lines.
    pub(super) fn act(&mut self, action: Action, rails: usize, findings: usize, overflow: usize) {
        if self.focus == Focus::Findings && self.finding.is_some() {
            let from = self.finding_from.min(overflow);
            match action {
                Action::Down if from < overflow => {
                    self.finding_from = from + 1;
                    return;
                }
                Action::Up if from > 0 => {
                    self.finding_from = from - 1;
                    return;
                }
                _ => {}
            }
        }
        let before = self.finding;
        match action {
            Action::Rails => self.focus = Focus::Rails,
            Action::Findings => self.focus = Focus::Findings,
            Action::Other => {
                self.focus = match self.focus {
                    Focus::Rails => Focus::Findings,
                    Focus::Findings => Focus::Rails,
                }
            }
            _ => {}
        }
        let (slot, count) = match self.focus {
            Focus::Rails => (&mut self.rail, rails),
            Focus::Findings => (&mut self.finding, findings),
        };
        *slot = count.checked_sub(1).map(|last| moved(*slot, action, last).min(last));
        if self.finding != before {
            self.finding_from = 0;
        }
    }

    /// Moves among so many rails, whatever part of the first view keys move in.
    pub(super) fn act_on_rails(&mut self, action: Action, rails: usize) {
        self.rail = rails.checked_sub(1).map(|last| moved(self.rail, action, last).min(last));
    }
}

/// The first key only shows where the selection is.
pub(super) fn moved(from: Option<usize>, action: Action, last: usize) -> usize {
    match (action, from) {
        (Action::First, _) => 0,
        (Action::Last, _) => last,
        (Action::Up, Some(at)) => at.saturating_sub(1),
        (Action::Down, Some(at)) => at + 1,
        (Action::PageUp, Some(at)) => at.saturating_sub(PAGE),
        (Action::PageDown, Some(at)) => at + PAGE,
        (Action::PageDown, None) => PAGE,
        (_, at) => at.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Focus, Selection};

    #[test]
    fn the_first_key_shows_where_one_is_and_the_next_ones_move() {
        let mut selection = Selection::default();
        let mut rail = |action| {
            selection.act(action, 8, 0, 0);
            selection.rail
        };
        let steps =
            [Action::Down, Action::Down, Action::Up, Action::Up, Action::Last, Action::Down, Action::PageUp];
        assert_eq!(steps.map(&mut rail), [0, 1, 0, 0, 7, 7, 0].map(Some));
    }

    #[test]
    fn tab_goes_to_the_findings_and_back() {
        let mut selection = Selection::default();
        selection.act(Action::Other, 8, 3, 0);
        assert_eq!((selection.focus, selection.finding, selection.rail), (Focus::Findings, Some(0), None));
        selection.act(Action::Other, 8, 3, 0);
        assert_eq!((selection.focus, selection.rail), (Focus::Rails, Some(0)));
    }

    #[test]
    fn keys_read_a_finding_to_its_end_before_they_go_to_the_next() {
        let mut selection = Selection::default();
        selection.act(Action::Findings, 8, 3, 2);
        let mut at = |action| {
            selection.act(action, 8, 3, 2);
            (selection.finding, selection.finding_from)
        };
        assert_eq!([Action::Down; 3].map(&mut at), [(Some(0), 1), (Some(0), 2), (Some(1), 0)]);
        assert_eq!(
            [Action::Down, Action::Up, Action::Up].map(&mut at),
            [(Some(1), 1), (Some(1), 0), (Some(0), 0)]
        );
    }

    #[test]
    fn nothing_can_be_selected_where_nothing_is() {
        let mut selection = Selection::default();
        selection.act(Action::Findings, 8, 0, 0);
        selection.act(Action::Down, 8, 0, 0);
        assert_eq!(selection.finding, None);
    }
}
