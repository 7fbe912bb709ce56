//! The line at the foot of the screen that asks for a text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Most characters of a text.
const LONGEST: usize = 200;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// A time to go to.
    Time,
    /// What is to be said of this moment.
    Mark,
    /// The rate that the load is to be held to.
    Rate,
    /// With which knobs the load is to be started anew.
    Anew,
    /// Which rails and findings are to be listed.
    Filter,
    /// Which sessions of a folder are to be listed.
    Sessions,
}

/// A text that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What is asked for.
    pub question: Question,
    /// What was typed so far.
    pub text: String,
    /// Why the last answer was of no use.
    pub refusal: Option<String>,
}

/// What a key did to the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// It goes on.
    On,
    /// The text is as it is meant.
    Done,
    /// Never mind.
    GivenUp,
}

impl Prompt {
    /// An empty answer to this question.
    #[must_use]
    pub fn new(question: Question) -> Self {
        Self { question, text: String::new(), refusal: None }
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Typed {
        self.refusal = None;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Done,
            KeyCode::Esc => return Typed::GivenUp,
            KeyCode::Char('u') if is_control => self.text.clear(),
            KeyCode::Char('w') if is_control => {
                let kept = self.text.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.text.truncate(kept);
            }
            KeyCode::Char('h') if is_control => drop(self.text.pop()),
            KeyCode::Backspace => drop(self.text.pop()),
            KeyCode::Char(_) if is_control || key.modifiers.contains(KeyModifiers::ALT) => {}
            KeyCode::Char(char) => self.put(&char.to_string()),
            _ => {}
        }
        Typed::On
    }

    /// Takes a text that was pasted, in one line.
    pub(super) fn put(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.text.chars().count());
        let in_a_line = text.chars().map(|char| if char.is_whitespace() { ' ' } else { char });
        self.text.extend(in_a_line.filter(|char| !char.is_control()).take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Prompt, Question, Typed};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    #[test]
    fn a_text_is_typed_and_mended_as_in_a_shell() {
        let mut prompt = Prompt::new(Question::Time);
        let mut press = |modifiers, code| {
            prompt.key(KeyEvent::new(code, modifiers));
            prompt.text.clone()
        };
        let mut plain = |char| press(KeyModifiers::NONE, KeyCode::Char(char));
        "12:3".chars().for_each(|char| drop(plain(char)));
        assert_eq!(plain('q'), "12:3q", "no key of the screen");
        assert_eq!(press(KeyModifiers::NONE, KeyCode::Backspace), "12:3");
        assert_eq!(press(KeyModifiers::CONTROL, KeyCode::Char('x')), "12:3");
        assert_eq!(press(KeyModifiers::CONTROL, KeyCode::Char('u')), "");
    }

    #[test]
    fn a_pasted_text_becomes_one_short_line() {
        let mut prompt = Prompt::new(Question::Time);
        prompt.put("cable\r\nof\tbond3\x1b[2J");
        assert_eq!(prompt.text, "cable  of bond3[2J");
        assert_eq!(prompt.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL)), Typed::On);
        assert_eq!(prompt.text, "cable  of ");
        prompt.put(&"x".repeat(1000));
        assert_eq!(prompt.text.len(), LONGEST);
    }
}
