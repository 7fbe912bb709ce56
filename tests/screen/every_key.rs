//! Every key of the table, pressed in every view.

use crate::person::Person;
use crossterm::event::{KeyCode, KeyModifiers};
use railscope::app::{Action, BINDINGS, Key, View};

/// What a terminal sends for a key.
fn sent(key: Key) -> String {
    let code = match key.1 {
        KeyCode::Char(char) if key.0.contains(KeyModifiers::CONTROL) => {
            return char::from(char as u8 & 0x1f).to_string();
        }
        KeyCode::Char(char) => return char.to_string(),
        KeyCode::Enter => "\r",
        KeyCode::Esc => "\x1b",
        KeyCode::Tab => "\t",
        KeyCode::BackTab => "\x1b[Z",
        KeyCode::Up => "\x1b[A",
        KeyCode::Down => "\x1b[B",
        KeyCode::Right => "\x1b[C",
        KeyCode::Left => "\x1b[D",
        KeyCode::Home => "\x1b[H",
        KeyCode::End => "\x1b[F",
        KeyCode::PageUp => "\x1b[5~",
        KeyCode::PageDown => "\x1b[6~",
        KeyCode::F(1) => "\x1bOP",
        other => panic!("{other:?}: what a terminal sends for it is not known here"),
    };
    code.to_owned()
}

/// Words of what takes the next keys for itself.
const TAKES_KEYS: [&str; 5] = ["go to:", "filter:", "mark:", "keys and signs", "columns of the rails"];

#[test]
fn every_key_of_the_table_is_pressed_in_every_view_and_the_screen_goes_on() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/mixed.rsz");
    for view in 1..=View::ALL.len() {
        let mut person = Person::runs(&["replay", recording]);
        person.sees("REPLAY");
        // the list of sessions is another screen, and has a test of its own
        let is_pressed = |action| !matches!(action, Action::Quit | Action::Back | Action::Sessions);
        let bindings = BINDINGS.iter().filter(|binding| is_pressed(binding.action));
        // these two do nothing: what is said of them tells that what came before them was taken
        for (key, marker) in bindings.flat_map(|binding| binding.keys).zip("xw".chars().cycle()) {
            person.types(&view.to_string());
            person.types(&sent(*key));
            person.types(&marker.to_string());
            person.waits_until(&format!("{key:?} was taken"), |screen| {
                let text = screen.contents();
                text.contains(&format!("{marker} does nothing"))
                    || TAKES_KEYS.iter().any(|word| text.contains(word))
            });
            while TAKES_KEYS.iter().any(|word| person.contents().contains(word)) {
                person.types("\x1b");
                person.waits_until("it is closed", |screen| {
                    !TAKES_KEYS.iter().any(|word| screen.contents().contains(word))
                });
            }
        }
        person.types("q");
        assert_eq!(person.is_left(), 0, "view {view}");
    }
}
