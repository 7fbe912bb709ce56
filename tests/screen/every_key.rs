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

/// Words of what takes the next keys for itself. A replay takes no marks, and says so with the word of their prompt.
const TAKES_KEYS: [&str; 4] = ["go to:", "filter:", "keys and signs", "columns of the rails"];

/// Whether something takes the keys. What is said of a key tells that nothing does: Esc would leave the program then.
fn takes_keys(text: &str) -> bool {
    !text.contains("does nothing") && TAKES_KEYS.iter().any(|word| text.contains(word))
}

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
                text.contains(&format!("{marker} does nothing")) || takes_keys(&text)
            });
            while takes_keys(&person.contents()) {
                person.types("\x1b");
                person.waits_until("it is closed", |screen| !takes_keys(&screen.contents()));
            }
        }
        person.types("q");
        assert_eq!(person.is_left(), 0, "view {view}");
    }
}
