//! Which keys do something where, and what is said of those that do not.

use super::{Action, App, Command, Keymap, View};
use crossterm::event::KeyEvent;

impl Action {
    /// Whether the key does something in this view; one of time or of the whole screen does in all of them.
    #[must_use]
    pub fn is_of(self, view: View) -> bool {
        match self {
            Self::Other | Self::Heat | Self::Sort | Self::Reverse | Self::Columns => view == View::Home,
            Self::ZoomIn | Self::ZoomOut | Self::Rails | Self::Findings => {
                matches!(view, View::Home | View::Rail)
            }
            Self::Open => matches!(view, View::Home | View::Topology | View::Placement),
            Self::HoldLoad | Self::Rate | Self::StartAnew => view == View::Load,
            Self::Filter => !matches!(view, View::Load | View::Experiments),
            _ => true,
        }
    }
}

/// What is said of a key that does nothing here.
#[must_use]
pub fn nothing_by(keys: &Keymap, key: KeyEvent) -> String {
    let key = super::shown((key.modifiers, key.code));
    let key = if key.is_empty() { "this key".to_owned() } else { key };
    format!("{key} does nothing here; {} shows what does", keys.first(Action::Help))
}

impl App {
    /// Says where a key is at home that does nothing in this view.
    pub(super) fn say_where(&mut self, action: Action) -> Command {
        let homes = View::ALL.into_iter().filter(|view| action.is_of(*view));
        let keys = self.keys();
        let names: Vec<String> =
            homes.map(|view| format!("{} view ({})", view.name(), keys.first(Action::Go(view)))).collect();
        let (key, here) = (keys.first(action), self.view.name());
        let text = format!("{key} does nothing in {here}: it is of the {}", names.join(", the "));
        self.say(&text)
    }
}

#[cfg(test)]
mod tests {
    use crate::app::{Action, View};

    #[test]
    fn no_key_is_of_no_view() {
        for binding in crate::app::BINDINGS {
            assert!(View::ALL.into_iter().any(|view| binding.action.is_of(view)), "{}", binding.name);
        }
        assert!(!Action::Sort.is_of(View::Load) && !Action::HoldLoad.is_of(View::Home));
    }
}
