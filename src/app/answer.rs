//! What becomes of a text that is typed.

use super::prompt::{Prompt, Question};
use super::{App, Command};

impl App {
    /// Takes what stands in the prompt.
    pub(super) fn answer(&mut self) -> Command {
        let Some(prompt) = self.prompt.take() else { return Command::None };
        let done = match prompt.question {
            Question::Time | Question::Rate if prompt.text.trim().is_empty() => Ok(Command::DrawNow),
            Question::Time => self.go_to_typed(&prompt.text),
            Question::Mark => Ok(self.mark(&prompt.text)),
            Question::Anew => self.start_anew(&prompt.text),
            Question::Rate => self.hold_to_typed(&prompt.text),
            // it is in force as it is typed
            Question::Filter | Question::Sessions => Ok(Command::DrawNow),
        };
        done.unwrap_or_else(|refusal| {
            self.prompt = Some(Prompt { refusal: Some(refusal), ..prompt });
            Command::DrawNow
        })
    }

    /// A key changed what stands in the prompt.
    pub(super) fn typed(&mut self) {
        let text = self.prompt.as_ref().filter(|prompt| prompt.question == Question::Filter);
        if let Some(text) = text.map(|prompt| prompt.text.clone()) {
            self.set_filter(&text);
        }
    }

    /// Nothing is to be typed any more.
    pub(super) fn give_up(&mut self) {
        if self.prompt.take().is_some_and(|prompt| prompt.question == Question::Filter) {
            self.set_filter("");
        }
    }

    /// Asks for what is to be listed, from what is in force on.
    pub(super) fn ask_filter(&mut self) {
        let text = self.filter().to_owned();
        self.prompt = Some(Prompt { text, ..Prompt::new(Question::Filter) });
    }

    /// Says this of the newest moment.
    fn mark(&mut self, text: &str) -> Command {
        self.how.marks.set(text);
        let kept = match &self.how.recording {
            Some(_) => "set",
            None => "set; it goes with the session, as nothing is being recorded",
        };
        self.say(&format!("mark {kept}"))
    }
}
