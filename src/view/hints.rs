//! Keys as the foot of a screen and its help tell them, out of the one table of keys.

use super::segments::Segment;
use super::theme::Theme;
use crate::app::{Action, Keymap};

/// A key of a screen that is not of a session, or several that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Hint {
    /// What the keys do.
    pub actions: &'static [Action],
    /// Word at the foot of the screen, and its rank there, of which the highest gives way first; `None` leaves it out.
    pub foot: Option<(&'static str, u8)>,
    /// What they do, for the help.
    pub help: &'static str,
}

/// The shortest key of an action; empty where it has none.
pub fn shortest(keys: &Keymap, action: Action) -> String {
    let keys = keys.keys(action).iter().map(|key| crate::app::shown(*key));
    keys.min_by_key(|key| key.chars().count()).unwrap_or_default()
}

/// The shortest keys of actions that belong together: `j/k`, `[ ]`; empty where none has a key.
pub fn together(keys: &Keymap, actions: &[Action]) -> String {
    let keys: Vec<String> = actions.iter().map(|action| shortest(keys, *action)).collect();
    let is_plain = keys.iter().all(|key| key.chars().all(char::is_alphanumeric));
    let bound: Vec<String> = keys.into_iter().filter(|key| !key.is_empty()).collect();
    bound.join(if is_plain { "/" } else { " " })
}

/// A key and its word at the foot; `None` where it has no key.
pub fn piece(keys: &Keymap, actions: &[Action], (word, rank): (&str, u8), theme: Theme) -> Option<Segment> {
    let key = together(keys, actions);
    (!key.is_empty()).then(|| Segment::new(format!("{key} {word}"), theme.dim(), rank))
}

/// The foot of a screen with these keys.
pub fn foot(keys: &Keymap, hints: &[Hint], theme: Theme) -> Vec<Segment> {
    hints.iter().filter_map(|hint| piece(keys, hint.actions, hint.foot?, theme)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Hint, foot, together};
    use crate::app::{Action, Keymap};
    use crate::view::Theme;

    #[test]
    fn a_key_that_is_not_bound_is_not_told() {
        let without = |names: &[&str]| {
            let changes = names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
            Keymap::with(&changes).unwrap()
        };
        let pair = [Action::Down, Action::Up];
        assert_eq!(together(&Keymap::default(), &pair), "j/k");
        assert_eq!(together(&without(&["up"]), &pair), "j");
        assert_eq!(together(&Keymap::default(), &[Action::StepBack, Action::StepOn]), "[ ]");
        assert_eq!(together(&without(&["up", "down"]), &pair), "");
        let hint = Hint { actions: &[Action::Down, Action::Up], foot: Some(("select", 1)), help: "" };
        assert_eq!(foot(&without(&["up", "down"]), &[hint], Theme::default()).len(), 0);
    }
}
