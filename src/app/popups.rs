//! What lies over a screen, and the one rule for all of it.
//!
//! While something does, keys are for the topmost alone: the key of back and that of quit close it, and so does the key that
//! opened it; keys that move move in it; that of the help lays the help over it; every other key does nothing. Ctrl-C
//! leaves the program all the same, which whoever takes the keys sees to.

use super::{Action, selection};

/// Something that lies over a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popup {
    /// The help, and its first line that is seen, from 0.
    Help(usize),
    /// The list of columns, and the entry that keys have moved to, from 0.
    Columns(usize),
}

/// What lies over a screen, the topmost last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Popups(Vec<Popup>);

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing lies over the screen, whose key it is.
    NotOpen,
    /// The topmost has taken it.
    Done,
    /// It chooses this entry of the topmost.
    Chosen(usize),
}

impl Popup {
    /// Whether it is opened by this key.
    fn is_opened_by(self, action: Action) -> bool {
        match self {
            Self::Help(_) => action == Action::Help,
            Self::Columns(_) => action == Action::Columns,
        }
    }
}

impl Popups {
    /// Lays this over all that is there.
    pub fn open(&mut self, popup: Popup) {
        self.0.push(popup);
    }

    /// Whether anything lies over the screen.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.0.is_empty()
    }

    /// The first line of the help that is seen, from 0; `None` while it is closed.
    #[must_use]
    pub fn help(&self) -> Option<usize> {
        self.0.iter().find_map(|popup| if let Popup::Help(line) = popup { Some(*line) } else { None })
    }

    /// The entry of the list of columns that keys have moved to, from 0; `None` while it is closed.
    #[must_use]
    pub fn columns(&self) -> Option<usize> {
        self.0.iter().find_map(|popup| if let Popup::Columns(entry) = popup { Some(*entry) } else { None })
    }

    /// Takes a key; `places` tells how many places keys can move to in a popup.
    pub fn take(&mut self, action: Action, places: impl FnOnce(Popup) -> usize) -> Taken {
        let Some(top) = self.0.last_mut() else { return Taken::NotOpen };
        match (action, *top) {
            (Action::Back | Action::Quit, _) => drop(self.0.pop()),
            (action, popup) if popup.is_opened_by(action) => drop(self.0.pop()),
            (Action::Help, _) => self.open(Popup::Help(0)),
            (Action::Open | Action::Pause, Popup::Columns(entry)) => return Taken::Chosen(entry),
            (action, popup) => {
                let last = places(popup).saturating_sub(1);
                let to = match action {
                    Action::Start => Action::First,
                    Action::End => Action::Last,
                    action => action,
                };
                let (Popup::Help(place) | Popup::Columns(place)) = top;
                *place = selection::moved(Some(*place), to, last).min(last);
            }
        }
        Taken::Done
    }
}

#[cfg(test)]
mod tests {
    use super::{Popup, Popups, Taken};
    use crate::app::{Action, BINDINGS};

    const POPUPS: [Popup; 2] = [Popup::Help(0), Popup::Columns(0)];

    fn open(popup: Popup) -> Popups {
        let mut popups = Popups::default();
        popups.open(popup);
        popups
    }

    #[test]
    fn every_popup_is_closed_by_back_by_quit_and_by_its_own_key() {
        for (popup, own) in POPUPS.into_iter().zip([Action::Help, Action::Columns]) {
            for action in [Action::Back, Action::Quit, own] {
                let mut popups = open(popup);
                assert_eq!(
                    (popups.take(action, |_| 9), popups.is_open()),
                    (Taken::Done, false),
                    "{action:?}"
                );
                assert_eq!(popups.take(action, |_| 9), Taken::NotOpen);
            }
        }
    }

    #[test]
    fn no_key_but_those_that_close_it_reaches_the_screen_behind_a_popup() {
        for popup in POPUPS {
            for binding in BINDINGS {
                let closes = matches!(binding.action, Action::Back | Action::Quit)
                    || popup.is_opened_by(binding.action);
                let mut popups = open(popup);
                assert_ne!(popups.take(binding.action, |_| 9), Taken::NotOpen, "{}", binding.name);
                assert_eq!(popups.is_open(), !closes, "{}", binding.name);
            }
        }
    }

    #[test]
    fn the_help_lies_over_another_popup_which_is_there_again_when_it_is_closed() {
        let mut popups = open(Popup::Columns(3));
        popups.take(Action::Help, |_| 9);
        popups.take(Action::Down, |_| 9);
        assert_eq!((popups.help(), popups.columns()), (Some(1), Some(3)));
        popups.take(Action::Quit, |_| 9);
        assert_eq!((popups.help(), popups.columns()), (None, Some(3)));
    }

    #[test]
    fn keys_move_in_a_popup_to_its_ends_and_no_further() {
        let mut popups = open(Popup::Columns(0));
        for (action, at) in
            [(Action::Up, 0), (Action::End, 8), (Action::Down, 8), (Action::Start, 0), (Action::PageDown, 8)]
        {
            popups.take(action, |_| 9);
            assert_eq!(popups.columns(), Some(at), "{action:?}");
        }
        assert_eq!(popups.take(Action::Open, |_| 9), Taken::Chosen(8));
    }
}
