//! Every key of the screen: one table, of which the help, `railscope keys` and the config file's `[keys]` are made.

use super::View;
use crossterm::event::{KeyCode, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Begin a diagnosis where a peer is known, or end the one that goes on.
    Diagnose,
    /// Close what lies over the screen; without that, to the first view; there, leave.
    Back,
    /// Open or close the help.
    Help,
    /// To this view.
    Go(View),
    /// To the view at the right of this one.
    NextView,
    /// To the view at the left of this one.
    PreviousView,
    /// The selected rail in full.
    Open,
    /// Hold the picture, or let it go on.
    Pause,
    /// Next unit of rates.
    Units,
    /// Next colours.
    Colours,
    /// On the first view: rates over the whole session, or not.
    Heat,
    /// Ask for which rails and findings are to be listed.
    Filter,
    /// Sort rails by the next that there is.
    Sort,
    /// Sort them the other way round.
    Reverse,
    /// Choose the columns of the rails.
    Columns,
    /// Less of the past in trends and strips.
    ZoomIn,
    /// More of it.
    ZoomOut,
    /// Sample more often.
    SampleMore,
    /// Sample less often.
    SampleLess,
    /// Previous rail, finding or line.
    Up,
    /// Next rail, finding or line.
    Down,
    /// Ten up.
    PageUp,
    /// Ten down.
    PageDown,
    /// First rail, finding or line.
    First,
    /// Last rail, finding or line.
    Last,
    /// To the rails; where one rail is shown, the one before.
    Rails,
    /// To the findings; where one rail is shown, the next.
    Findings,
    /// From rails to findings and back.
    Other,
    /// List the sessions of the folder that this one is in.
    Sessions,
    /// Let the load post nothing, or go on.
    HoldLoad,
    /// Ask for the rate that the load is to be held to.
    Rate,
    /// Ask with which knobs the load is to be started anew.
    StartAnew,
    /// Copy the command beside what is selected.
    Copy,
    /// Replay twice as fast; on the Load view of a load that goes on: raise its rate cap.
    Faster,
    /// Replay half as fast; on the Load view of a load that goes on: lower its rate cap.
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

/// A key: what is held, and what is pressed.
pub type Key = (KeyModifiers, KeyCode);

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// What it does.
    pub action: Action,
    /// The action as the config file names it.
    pub name: &'static str,
    /// Keys that do it unless the config file says otherwise.
    pub keys: &'static [Key],
    /// What it does, for the help.
    pub help: &'static str,
    /// Word for the line at the foot of the screen; `None` leaves it out there.
    pub foot: Option<&'static str>,
}

const fn plain(code: KeyCode) -> Key {
    (KeyModifiers::NONE, code)
}

const fn letter(char: char) -> Key {
    plain(KeyCode::Char(char))
}

const fn ctrl(char: char) -> Key {
    (KeyModifiers::CONTROL, KeyCode::Char(char))
}

const fn binding(
    action: Action,
    name: &'static str,
    keys: &'static [Key],
    help: &'static str,
    foot: Option<&'static str>,
) -> Binding {
    Binding { action, name, keys, help, foot }
}

/// Every action, in the order of the help.
pub const BINDINGS: &[Binding] = &[
    binding(Action::Help, "help", &[letter('?'), plain(KeyCode::F(1))], "this help", Some("help")),
    // in raw mode Ctrl-C is a key, not a signal
    binding(Action::Quit, "quit", &[letter('q'), ctrl('c')], "leave", Some("quit")),
    binding(Action::Back, "back", &[plain(KeyCode::Esc)], "back; out of a replay", None),
    binding(Action::Go(View::Home), "home", &[letter('1')], "every rail, and findings", None),
    binding(Action::Go(View::Topology), "topology", &[letter('2')], "the machine drawn", None),
    binding(Action::Go(View::Rail), "rail", &[letter('3')], "one rail in full", None),
    binding(Action::Go(View::Placement), "placement", &[letter('4')], "who uses the rails", None),
    binding(Action::Go(View::Load), "load", &[letter('5')], "the load in full", None),
    binding(Action::Go(View::Experiments), "experiments", &[letter('6')], "which cause: a diagnosis", None),
    binding(Action::Diagnose, "diagnose", &[letter('d')], "begin or end a diagnosis", None),
    binding(Action::NextView, "next-view", &[plain(KeyCode::Tab)], "next view", Some("views")),
    binding(Action::PreviousView, "previous-view", &[plain(KeyCode::BackTab)], "view before", None),
    binding(Action::Open, "open", &[plain(KeyCode::Enter)], "this rail in full", Some("rail")),
    binding(Action::Up, "up", &[plain(KeyCode::Up), letter('k')], "one up", None),
    binding(Action::Down, "down", &[plain(KeyCode::Down), letter('j')], "one down", Some("select")),
    binding(Action::Rails, "left", &[plain(KeyCode::Left), letter('h')], "to rails; rail before", None),
    binding(
        Action::Findings,
        "right",
        &[plain(KeyCode::Right), letter('l')],
        "to findings; next rail",
        Some("findings"),
    ),
    binding(Action::Other, "other", &[letter('o')], "rails or findings", None),
    binding(Action::PageUp, "page-up", &[plain(KeyCode::PageUp), ctrl('b')], "ten up", None),
    binding(Action::PageDown, "page-down", &[plain(KeyCode::PageDown), ctrl('f')], "ten down", None),
    binding(Action::First, "first", &[letter('H')], "to the first", None),
    binding(Action::Last, "last", &[letter('L'), letter('G')], "to the last", None),
    binding(Action::Filter, "filter", &[letter('/')], "only some rails, findings", Some("filter")),
    binding(Action::Sort, "sort", &[letter('s')], "sort rails by the next", Some("sort")),
    binding(Action::Reverse, "reverse", &[letter('r')], "sort the other way round", None),
    binding(Action::Columns, "columns", &[letter('v')], "choose the columns", None),
    binding(Action::ZoomIn, "zoom-in", &[letter(',')], "less of the past", None),
    binding(Action::ZoomOut, "zoom-out", &[letter('.')], "more: 30 s to all", None),
    binding(Action::Copy, "copy", &[letter('c'), letter('y')], "copy its command", None),
    binding(Action::Pause, "pause", &[letter(' ')], "pause; sampling goes on", Some("pause")),
    binding(Action::StepBack, "step-back", &[letter('[')], "one frame back", None),
    binding(Action::StepOn, "step-on", &[letter(']')], "one frame on", None),
    binding(Action::Jump, "jump", &[letter('g')], "go to a time", None),
    binding(Action::Start, "start", &[plain(KeyCode::Home)], "to the start", None),
    binding(Action::End, "end", &[plain(KeyCode::End)], "to the end, to live", None),
    binding(Action::NextFinding, "next-finding", &[letter('n')], "where a finding begins", None),
    binding(Action::PreviousFinding, "previous-finding", &[letter('N')], "the same, backwards", None),
    binding(Action::NextEvent, "next-event", &[letter('e')], "to the next event", None),
    binding(Action::PreviousEvent, "previous-event", &[letter('E')], "to the event before", None),
    binding(Action::Mark, "mark", &[letter('m')], "set a mark, with a text", None),
    binding(Action::Faster, "faster", &[letter('+'), letter('=')], "replay faster; load: more", None),
    binding(Action::Slower, "slower", &[letter('-')], "replay slower; load: less", None),
    binding(Action::HoldLoad, "hold-load", &[letter('X')], "hold the load, let it go", None),
    binding(Action::Rate, "rate", &[letter('R')], "type the load's rate cap", None),
    binding(Action::StartAnew, "start-anew", &[letter('S')], "start the load anew", None),
    binding(Action::SampleMore, "sample-more", &[letter('<')], "sample more often", None),
    binding(Action::SampleLess, "sample-less", &[letter('>')], "less often: 0.1 to 10 s", None),
    binding(Action::Sessions, "sessions", &[letter('b')], "sessions of this folder", None),
    binding(Action::Units, "units", &[letter('u')], "GB/s, Gb/s, GiB/s", Some("units")),
    binding(Action::Heat, "heat", &[letter('z')], "rates over the session", None),
    binding(Action::Colours, "colours", &[letter('t')], "next colours", None),
];

#[cfg(test)]
mod tests {
    use super::{Action, BINDINGS};
    use crate::app::{Keymap, View};

    #[test]
    fn no_key_does_two_things() {
        let mut keys: Vec<_> = BINDINGS.iter().flat_map(|b| b.keys).collect();
        let all = keys.len();
        keys.sort_by_key(|key| format!("{key:?}"));
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn no_action_and_no_name_stands_in_the_table_twice() {
        for (at, one) in BINDINGS.iter().enumerate() {
            let rest = &BINDINGS[at + 1..];
            assert!(rest.iter().all(|other| other.action != one.action), "{:?}", one.action);
            assert!(rest.iter().all(|other| other.name != one.name), "{:?}", one.name);
        }
    }

    #[test]
    fn every_view_has_the_key_of_its_place() {
        for (at, view) in View::ALL.into_iter().enumerate() {
            let map = Keymap::default();
            let keys = map.keys(Action::Go(view));
            let number = char::from_digit(u32::try_from(at).unwrap() + 1, 10).unwrap();
            assert_eq!(keys, [super::letter(number)]);
        }
    }
}
