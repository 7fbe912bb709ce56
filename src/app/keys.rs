//! Every key of the screen: one table, which also prints the help.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Close what lies over the screen; without that, leave.
    Back,
    /// Open or close the help.
    Help,
    /// Hold the picture, or let it go on.
    Pause,
    /// Next unit of rates.
    Units,
    /// Previous rail or finding.
    Up,
    /// Next rail or finding.
    Down,
    /// Ten up.
    PageUp,
    /// Ten down.
    PageDown,
    /// First rail or finding.
    First,
    /// Last rail or finding.
    Last,
    /// To the rails.
    Rails,
    /// To the findings.
    Findings,
    /// From rails to findings and back.
    Other,
    /// Replay twice as fast.
    Faster,
    /// Replay half as fast.
    Slower,
    /// One frame back, held there.
    StepBack,
    /// One frame on, held there.
    StepOn,
    /// Ask for a time to go to.
    Jump,
    /// To where the next finding begins.
    NextFinding,
    /// To where the finding before begins.
    PreviousFinding,
    /// To the next event or mark.
    NextEvent,
    /// To the event or mark before.
    PreviousEvent,
    /// Ask for a text, and keep it with the newest frame.
    Mark,
    /// To the oldest frame there is.
    Start,
    /// To the newest frame there is; of what is live, back to it.
    End,
}

/// One line of the help.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// What it does.
    pub action: Action,
    /// Keys that do it.
    pub keys: &'static [(KeyModifiers, KeyCode)],
    /// The keys as the help shows them.
    pub shown: &'static str,
    /// What it does, for the help.
    pub help: &'static str,
    /// Key and word for the line at the foot of the screen; `None` leaves it out there.
    pub foot: Option<&'static str>,
}

const fn plain(code: KeyCode) -> (KeyModifiers, KeyCode) {
    (KeyModifiers::NONE, code)
}

const fn letter(char: char) -> (KeyModifiers, KeyCode) {
    plain(KeyCode::Char(char))
}

const fn ctrl(char: char) -> (KeyModifiers, KeyCode) {
    (KeyModifiers::CONTROL, KeyCode::Char(char))
}

const fn binding(
    action: Action,
    keys: &'static [(KeyModifiers, KeyCode)],
    shown: &'static str,
    help: &'static str,
    foot: Option<&'static str>,
) -> Binding {
    Binding { action, keys, shown, help, foot }
}

/// Every key, in the order of the help.
pub const BINDINGS: &[Binding] = &[
    binding(Action::Help, &[letter('?'), plain(KeyCode::F(1))], "?", "this help", Some("? help")),
    // in raw mode Ctrl-C is a key, not a signal
    binding(Action::Quit, &[letter('q'), ctrl('c')], "q Ctrl-C", "leave", Some("q quit")),
    binding(Action::Back, &[plain(KeyCode::Esc)], "Esc", "close the help, else leave", None),
    binding(Action::Pause, &[letter(' ')], "space", "pause; sampling goes on", Some("space pause")),
    binding(Action::StepBack, &[letter('[')], "[", "one frame back", None),
    binding(Action::StepOn, &[letter(']')], "]", "one frame on", None),
    binding(Action::Jump, &[letter('g')], "g", "go to a time", None),
    binding(Action::Start, &[plain(KeyCode::Home)], "Home", "to the start", None),
    binding(Action::End, &[plain(KeyCode::End)], "End", "to the end, to live", None),
    binding(Action::NextFinding, &[letter('n')], "n", "where a finding begins", None),
    binding(Action::PreviousFinding, &[letter('N')], "N", "the same, backwards", None),
    binding(Action::NextEvent, &[letter('e')], "e", "to the next event", None),
    binding(Action::PreviousEvent, &[letter('E')], "E", "to the event before", None),
    binding(Action::Mark, &[letter('m')], "m", "set a mark, with a text", None),
    binding(Action::Faster, &[letter('+'), letter('=')], "+", "replay twice as fast", None),
    binding(Action::Slower, &[letter('-')], "-", "replay half as fast", None),
    binding(Action::Units, &[letter('u')], "u", "GB/s, Gb/s, GiB/s", Some("u units")),
    binding(Action::Other, &[plain(KeyCode::Tab)], "tab", "rails or findings", Some("tab findings")),
    binding(Action::Up, &[plain(KeyCode::Up), letter('k')], "up k", "one up", None),
    binding(Action::Down, &[plain(KeyCode::Down), letter('j')], "down j", "one down", Some("j/k select")),
    binding(Action::Rails, &[plain(KeyCode::Left), letter('h')], "left h", "to the rails", None),
    binding(Action::Findings, &[plain(KeyCode::Right), letter('l')], "right l", "to the findings", None),
    binding(Action::PageUp, &[plain(KeyCode::PageUp), ctrl('b')], "PgUp", "ten up", None),
    binding(Action::PageDown, &[plain(KeyCode::PageDown), ctrl('f')], "PgDn", "ten down", None),
    binding(Action::First, &[letter('H')], "H", "first rail or finding", None),
    binding(Action::Last, &[letter('L'), letter('G')], "L G", "last rail or finding", None),
];

/// What this key asks for; `None` when it is no key of ours.
#[must_use]
pub fn action(key: KeyEvent) -> Option<Action> {
    let mut modifiers = key.modifiers;
    if let KeyCode::Char(_) = key.code {
        // the character already says it: `G`, `?`
        modifiers.remove(KeyModifiers::SHIFT);
    }
    BINDINGS.iter().find(|b| b.keys.contains(&(modifiers, key.code))).map(|b| b.action)
}

#[cfg(test)]
mod tests {
    use super::{Action, BINDINGS, action};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    #[test]
    fn no_key_does_two_things() {
        let mut keys: Vec<_> = BINDINGS.iter().flat_map(|b| b.keys).collect();
        let all = keys.len();
        keys.sort_by_key(|key| format!("{key:?}"));
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn no_action_stands_in_the_table_twice() {
        for (at, one) in BINDINGS.iter().enumerate() {
            assert!(BINDINGS[at + 1..].iter().all(|other| other.action != one.action), "{:?}", one.action);
        }
    }

    #[test]
    fn keys_do_what_people_expect() {
        let of = |modifiers, code| action(KeyEvent::new(code, modifiers));
        assert_eq!(of(KeyModifiers::CONTROL, KeyCode::Char('c')), Some(Action::Quit));
        assert_eq!(of(KeyModifiers::NONE, KeyCode::Char('c')), None);
        assert_eq!(of(KeyModifiers::NONE, KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(of(KeyModifiers::SHIFT, KeyCode::Char('G')), Some(Action::Last));
        assert_eq!(of(KeyModifiers::SHIFT, KeyCode::Char('N')), Some(Action::PreviousFinding));
        assert_eq!(of(KeyModifiers::NONE, KeyCode::End), Some(Action::End));
        assert_eq!(of(KeyModifiers::SHIFT, KeyCode::Char('?')), Some(Action::Help));
        assert_eq!(of(KeyModifiers::NONE, KeyCode::Char(' ')), Some(Action::Pause));
    }
}
