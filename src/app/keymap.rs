//! Keys as they are in force: the table, with what the config file changes.

use super::keys::{Action, BINDINGS, Key};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeMap;
use std::fmt;

/// Cells of the keys in the help.
const SHOWN_CELLS: usize = 8;

/// Which keys do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    /// One entry for each line of the table, in its order.
    keys: Vec<Vec<Key>>,
}

/// A `[keys]` table that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeymapError {
    /// There is no such action.
    #[error("[keys] {name}: there is no such action; `railscope keys` lists them")]
    Action {
        /// What stands there.
        name: String,
    },
    /// That is no key.
    #[error(
        "[keys] {name} = \"{key}\": no such key; write q, ?, ctrl-c, space, tab, shift-tab, enter, esc, up, down, left, right, pgup, pgdn, home, end or f1 to f12"
    )]
    Key {
        /// The action.
        name: String,
        /// What stands there.
        key: String,
    },
    /// One key for two actions.
    #[error("[keys] \"{key}\" does both `{one}` and `{other}`; give one of them another key")]
    Twice {
        /// The key.
        key: String,
        /// One action.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// Nothing leaves.
    #[error("[keys] quit has no key: the screen could not be left")]
    NoWayOut,
}

impl Default for Keymap {
    fn default() -> Self {
        Self { keys: BINDINGS.iter().map(|binding| binding.keys.to_vec()).collect() }
    }
}

impl Keymap {
    /// The table with these changes: names of actions, and the keys that do each instead of the table's.
    ///
    /// A key that is given to one action is taken from the one that had it in the table.
    ///
    /// # Errors
    ///
    /// An action or a key does not exist, a key is given twice, or no key leaves the screen.
    pub fn with(changes: &BTreeMap<String, Vec<String>>) -> Result<Self, KeymapError> {
        let mut map = Self::default();
        let mut given: Vec<(Key, usize)> = Vec::new();
        let mut is_named = vec![false; BINDINGS.len()];
        for (name, keys) in changes {
            let at = BINDINGS
                .iter()
                .position(|binding| binding.name == name)
                .ok_or_else(|| KeymapError::Action { name: name.clone() })?;
            is_named[at] = true;
            map.keys[at].clear();
            for text in keys {
                let key =
                    parse(text).ok_or_else(|| KeymapError::Key { name: name.clone(), key: text.clone() })?;
                if let Some((_, other)) = given.iter().find(|(known, _)| *known == key) {
                    let (one, other) = (BINDINGS[*other].name, BINDINGS[at].name);
                    return Err(KeymapError::Twice { key: shown(key), one, other });
                }
                given.push((key, at));
                map.keys[at].push(key);
            }
        }
        for (at, keys) in map.keys.iter_mut().enumerate().filter(|(at, _)| !is_named[*at]) {
            let before = keys.len();
            keys.retain(|key| given.iter().all(|(taken, _)| taken != key));
            // the last key of an action is not taken from it unsaid
            if keys.is_empty() && before > 0 {
                let lost = BINDINGS[at].keys.iter().find_map(|key| given.iter().find(|(k, _)| k == key));
                if let Some((key, by)) = lost {
                    let (one, other) = (BINDINGS[at].name, BINDINGS[*by].name);
                    return Err(KeymapError::Twice { key: shown(*key), one, other });
                }
            }
        }
        let quit = BINDINGS.iter().position(|binding| binding.action == Action::Quit);
        if quit.is_none_or(|at| map.keys[at].is_empty()) {
            return Err(KeymapError::NoWayOut);
        }
        Ok(map)
    }

    /// What this key asks for; `None` when it is no key of ours.
    #[must_use]
    pub fn action(&self, key: KeyEvent) -> Option<Action> {
        let mut modifiers = key.modifiers;
        if matches!(key.code, KeyCode::Char(_) | KeyCode::BackTab) {
            // the character already says it: `G`, `?`
            modifiers.remove(KeyModifiers::SHIFT);
        }
        let at = self.keys.iter().position(|keys| keys.contains(&(modifiers, key.code)));
        // whatever else a config file says, this leaves
        let leaves = (modifiers, key.code) == (KeyModifiers::CONTROL, KeyCode::Char('c'));
        at.map(|at| BINDINGS[at].action).or_else(|| leaves.then_some(Action::Quit))
    }

    /// All keys of an action; empty where it has none.
    #[must_use]
    pub fn keys(&self, action: Action) -> &[Key] {
        let at = BINDINGS.iter().position(|binding| binding.action == action);
        at.map_or(&[], |at| &self.keys[at])
    }

    /// The first key of an action, as it is written; empty where it has none.
    #[must_use]
    pub fn first(&self, action: Action) -> String {
        self.keys(action).first().map(|key| shown(*key)).unwrap_or_default()
    }

    /// Its keys, as many as have room in the help.
    #[must_use]
    pub fn in_short(&self, action: Action) -> String {
        let mut text = String::new();
        for key in self.keys(action) {
            let more = shown(*key);
            let gap = usize::from(!text.is_empty());
            if text.chars().count() + gap + more.chars().count() > SHOWN_CELLS && !text.is_empty() {
                break;
            }
            text.extend(std::iter::repeat_n(' ', gap));
            text += &more;
        }
        text
    }
}

/// The table as `railscope keys` prints it: the action, its keys, what it does.
impl fmt::Display for Keymap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<18}{:<16}what it does", "action", "keys")?;
        for binding in BINDINGS {
            let keys: Vec<String> = self.keys(binding.action).iter().map(|key| shown(*key)).collect();
            writeln!(f, "{:<18}{:<16}{}", binding.name, keys.join(" "), binding.help)?;
        }
        Ok(())
    }
}

/// Keys that have names.
const NAMED: &[(&str, &str, KeyCode)] = &[
    ("space", "space", KeyCode::Char(' ')),
    ("tab", "tab", KeyCode::Tab),
    ("shift-tab", "Sh-Tab", KeyCode::BackTab),
    ("enter", "Enter", KeyCode::Enter),
    ("esc", "Esc", KeyCode::Esc),
    ("backspace", "Bksp", KeyCode::Backspace),
    ("delete", "Del", KeyCode::Delete),
    ("insert", "Ins", KeyCode::Insert),
    ("up", "up", KeyCode::Up),
    ("down", "down", KeyCode::Down),
    ("left", "left", KeyCode::Left),
    ("right", "right", KeyCode::Right),
    ("pgup", "PgUp", KeyCode::PageUp),
    ("pgdn", "PgDn", KeyCode::PageDown),
    ("home", "Home", KeyCode::Home),
    ("end", "End", KeyCode::End),
];

/// The key as people read it: `q`, `Ctrl-C`, `PgUp`.
#[must_use]
pub fn shown(key: Key) -> String {
    let (modifiers, code) = key;
    let name = NAMED.iter().find(|(_, _, known)| *known == code).map(|(_, shown, _)| (*shown).to_owned());
    let word = name.unwrap_or_else(|| match code {
        KeyCode::Char(char) if modifiers.contains(KeyModifiers::CONTROL) => char.to_ascii_uppercase().into(),
        KeyCode::Char(char) => char.into(),
        KeyCode::F(number) => format!("F{number}"),
        _ => String::new(),
    });
    let held = [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-")];
    let held: String =
        held.iter().filter(|(held, _)| modifiers.contains(*held)).map(|(_, word)| *word).collect();
    format!("{held}{word}")
}

/// The key that a config file means.
fn parse(text: &str) -> Option<Key> {
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = text;
    loop {
        let lower = rest.to_ascii_lowercase();
        let (held, length) = if lower.starts_with("ctrl-") && rest.len() > 5 {
            (KeyModifiers::CONTROL, 5)
        } else if lower.starts_with("alt-") && rest.len() > 4 {
            (KeyModifiers::ALT, 4)
        } else {
            break;
        };
        modifiers |= held;
        rest = &rest[length..];
    }
    let mut chars = rest.chars();
    if let (Some(char), None) = (chars.next(), chars.next()) {
        let is_control = modifiers.contains(KeyModifiers::CONTROL);
        // a terminal sends Tab, Enter and Esc for these (ASCII 9, 13 and 27)
        if is_control && matches!(char.to_ascii_lowercase(), 'i' | 'm' | '[') {
            return None;
        }
        let char = if is_control { char.to_ascii_lowercase() } else { char };
        return (!char.is_control()).then_some((modifiers, KeyCode::Char(char)));
    }
    let lower = rest.to_ascii_lowercase();
    let named = NAMED.iter().find(|(name, _, _)| *name == lower).map(|(_, _, code)| *code);
    let function = || {
        let number: u8 = lower.strip_prefix('f')?.parse().ok()?;
        (1..=12).contains(&number).then_some(KeyCode::F(number))
    };
    named.or_else(function).map(|code| (modifiers, code))
}

#[cfg(test)]
mod tests {
    use super::{Keymap, KeymapError, parse, shown};
    use crate::app::{Action, BINDINGS};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use std::collections::BTreeMap;

    fn with(changes: &[(&str, &[&str])]) -> Result<Keymap, KeymapError> {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        let changes: BTreeMap<String, Vec<String>> =
            changes.iter().map(|(name, list)| ((*name).to_owned(), keys(list))).collect();
        Keymap::with(&changes)
    }

    fn of(map: &Keymap, modifiers: KeyModifiers, code: KeyCode) -> Option<Action> {
        map.action(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn keys_do_what_people_expect() {
        let map = Keymap::default();
        let of = |modifiers, code| of(&map, modifiers, code);
        assert_eq!(of(KeyModifiers::CONTROL, KeyCode::Char('c')), Some(Action::Quit));
        assert_eq!(of(KeyModifiers::NONE, KeyCode::Char('c')), Some(Action::Copy));
        assert_eq!(of(KeyModifiers::NONE, KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(of(KeyModifiers::SHIFT, KeyCode::Char('G')), Some(Action::Last));
        assert_eq!(of(KeyModifiers::SHIFT, KeyCode::Char('N')), Some(Action::PreviousFinding));
        assert_eq!(of(KeyModifiers::NONE, KeyCode::End), Some(Action::End));
        assert_eq!(of(KeyModifiers::SHIFT, KeyCode::Char('?')), Some(Action::Help));
        assert_eq!(of(KeyModifiers::SHIFT, KeyCode::BackTab), Some(Action::PreviousView));
        assert_eq!(of(KeyModifiers::NONE, KeyCode::Char(' ')), Some(Action::Pause));
    }

    #[test]
    fn a_key_is_written_as_it_is_read() {
        for key in BINDINGS.iter().flat_map(|binding| binding.keys) {
            let written = match shown(*key).as_str() {
                "Sh-Tab" => "shift-tab".to_owned(),
                other => other.to_owned(),
            };
            assert_eq!(parse(&written), Some(*key), "{written}");
        }
    }

    #[test]
    fn a_config_file_gives_an_action_other_keys() {
        let map = with(&[("quit", &["x", "ctrl-q"]), ("first", &["q"])]).unwrap();
        assert_eq!(of(&map, KeyModifiers::NONE, KeyCode::Char('q')), Some(Action::First));
        assert_eq!(of(&map, KeyModifiers::CONTROL, KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(of(&map, KeyModifiers::CONTROL, KeyCode::Char('c')), Some(Action::Quit), "always");
        assert_eq!(["ctrl-i", "Ctrl-M", "ctrl-["].map(parse), [None; 3], "Tab, Enter and Esc to a terminal");
        assert_eq!((map.first(Action::Quit), map.in_short(Action::Quit)), ("x".into(), "x Ctrl-Q".into()));
        // k is taken from `up`, which still has its arrow
        let map = with(&[("units", &["k"])]).unwrap();
        assert_eq!(of(&map, KeyModifiers::NONE, KeyCode::Char('k')), Some(Action::Units));
        assert_eq!(map.first(Action::Up), "up");
    }

    #[test]
    fn what_is_wrong_with_a_config_file_is_said() {
        let said = |changes| with(changes).unwrap_err().to_string();
        assert_eq!(
            said(&[("quitt", &["x"])]),
            "[keys] quitt: there is no such action; `railscope keys` lists them"
        );
        assert!(
            said(&[("quit", &["hyper-x"])]).starts_with("[keys] quit = \"hyper-x\": no such key; write q")
        );
        assert_eq!(
            said(&[("mark", &["x"]), ("units", &["x"])]),
            "[keys] \"x\" does both `mark` and `units`; give one of them another key"
        );
        assert_eq!(
            said(&[("mark", &["u"])]),
            "[keys] \"u\" does both `units` and `mark`; give one of them another key"
        );
        assert_eq!(said(&[("quit", &[])]), "[keys] quit has no key: the screen could not be left");
    }
}
