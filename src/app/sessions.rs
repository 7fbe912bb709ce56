//! The sessions of a folder: what is known of each by now, and which one is selected.

use super::filter::Filter;
use super::prompt::{Prompt, Question, Typed};
use super::{Action, selection};
use crate::rules::{Finding, Severity};
use crossterm::event::KeyEvent;
use std::path::{Path, PathBuf};

/// What a key does to a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nothing.
    None,
    /// It is to be drawn anew.
    Draw,
    /// This file is to be opened.
    Open(PathBuf),
    /// Put this into the clipboard of the terminal, and draw.
    Copy(String),
    /// Go back to the session that the list was opened from.
    Back,
    /// Leave.
    Leave,
}

/// What is known of one file.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing yet.
    Unread,
    /// What the session is.
    Read(Box<Summary>),
    /// It is a sweep, and what that amounts to.
    Sweep(Box<SweepSummary>),
    /// Why it cannot be opened.
    Damaged(String),
}

/// A session in a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Name of the host.
    pub host: Option<String>,
    /// Name of the host at the other end of its load.
    pub peer: Option<String>,
    /// Wall clock at the start, milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    /// Time of its last frame, nanoseconds since it began; `None` when neither end can be read.
    pub length_ns: Option<u64>,
    /// Rails of this host.
    pub rails: usize,
    /// Whether nothing of it is a measurement.
    pub simulated: bool,
    /// Findings at its end, worst first; `None` when its end cannot be judged.
    pub findings: Option<Vec<Finding>>,
    /// What is not as it should be with the file, for people.
    pub warning: Option<String>,
}

/// A sweep in a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSummary {
    /// Name of the host.
    pub host: Option<String>,
    /// Wall clock at the start, milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    /// Rails that were driven.
    pub rails: usize,
    /// Whether nothing of it is a measurement.
    pub simulated: bool,
    /// Points that are measured, and all there are.
    pub points: (usize, usize),
    /// What they amount to, in words.
    pub statements: Vec<String>,
}

/// A file of the folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// What is known of it.
    pub state: State,
}

/// What becomes known of the folder.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Its files, in the order of the list; how many others are no sessions.
    Files(Vec<Entry>, usize),
    /// What the file at this place of the list is.
    File(usize, State),
    /// The folder cannot be read.
    Unreadable(String),
}

/// The sessions of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sessions {
    folder: PathBuf,
    /// `None` before the folder was read.
    entries: Option<Vec<Entry>>,
    others: usize,
    unreadable: Option<String>,
    selected: usize,
    /// The session that the list was opened from, which is selected once it is listed.
    from: Option<PathBuf>,
    filter: Filter,
    /// A text that is being typed.
    prompt: Option<Prompt>,
    notice: Option<String>,
}

impl Entry {
    /// A file of which nothing is known but that it is there.
    #[must_use]
    pub fn unread(path: PathBuf, bytes: u64) -> Self {
        Self { path, bytes, state: State::Unread }
    }

    /// Its name without the folder's.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}

impl Entry {
    /// All that it is found by.
    fn words(&self) -> String {
        let mut words = vec![self.name()];
        match &self.state {
            State::Unread => {}
            State::Damaged(_) => words.push("damaged".to_owned()),
            State::Sweep(sweep) => words.extend(sweep.host.clone().into_iter().chain(["sweep".to_owned()])),
            State::Read(session) => {
                words.extend(session.host.clone().into_iter().chain(session.peer.clone()));
                words.extend(session.findings.iter().flatten().map(|finding| finding.code.to_string()));
            }
        }
        words.join(" ")
    }
}

impl Summary {
    /// The worst of what was found; what explains it may stand before it, and be no fault.
    #[must_use]
    pub fn worst(&self) -> Option<&Finding> {
        // of equals the first
        self.findings.as_ref()?.iter().rev().max_by_key(|finding| finding.severity)
    }
}

impl Sessions {
    /// The folder, before anything is known of it; `from` is the session that it was opened from.
    #[must_use]
    pub fn new(folder: PathBuf, from: Option<PathBuf>) -> Self {
        Self { folder, from, ..Self::default() }
    }

    /// The session that the list was opened from.
    #[must_use]
    pub fn from(&self) -> Option<&Path> {
        self.from.as_deref()
    }

    /// What only some are listed by, as it was typed.
    #[must_use]
    pub fn filter(&self) -> &str {
        self.filter.text()
    }

    /// A text that is being typed.
    #[must_use]
    pub fn prompt(&self) -> Option<&Prompt> {
        self.prompt.as_ref()
    }

    /// The files that are listed, with their places in the folder.
    #[must_use]
    pub fn listed(&self) -> Vec<(usize, &Entry)> {
        let all = self.entries.iter().flatten().enumerate();
        all.filter(|(_, entry)| self.filter.takes_name(&entry.words())).collect()
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its sessions; `None` before it was read.
    #[must_use]
    pub fn entries(&self) -> Option<&[Entry]> {
        self.entries.as_deref()
    }

    /// How many of its files are no sessions.
    #[must_use]
    pub fn others(&self) -> usize {
        self.others
    }

    /// Why it cannot be read.
    #[must_use]
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Place of the selected session in the folder.
    #[must_use]
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The selected session; `None` where none is listed.
    #[must_use]
    pub fn entry(&self) -> Option<&Entry> {
        let mut listed = self.listed().into_iter();
        listed.find(|(place, _)| *place == self.selected).map(|(_, entry)| entry)
    }

    /// How many were not looked into yet.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.entries.iter().flatten().filter(|entry| entry.state == State::Unread).count()
    }

    /// How many have an error, how many a warning as the worst that was found, and how many cannot be opened.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        let worst = |severity| {
            let is = |entry: &&Entry| match &entry.state {
                State::Read(summary) => summary.worst().is_some_and(|finding| finding.severity == severity),
                State::Unread | State::Sweep(_) | State::Damaged(_) => false,
            };
            self.entries.iter().flatten().filter(is).count()
        };
        let damaged = |entry: &&Entry| matches!(entry.state, State::Damaged(_));
        let damaged = self.entries.iter().flatten().filter(damaged).count();
        (worst(Severity::Error), worst(Severity::Warning), damaged)
    }

    /// What the last key has to say.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Takes what became known.
    pub fn learn(&mut self, known: Known) {
        match known {
            Known::Files(entries, others) => {
                let name = self.from.as_ref().and_then(|path| path.file_name());
                let place = entries.iter().position(|entry| name.is_some() && entry.path.file_name() == name);
                self.selected = place.unwrap_or(0);
                (self.entries, self.others) = (Some(entries), others);
            }
            Known::File(place, state) => {
                if let Some(entry) = self.entries.as_mut().and_then(|entries| entries.get_mut(place)) {
                    entry.state = state;
                }
                self.keep_selected();
            }
            Known::Unreadable(why) => self.unreadable = Some(why),
        }
    }

    /// Takes a key as text; `None` while none is typed.
    pub fn types(&mut self, key: KeyEvent) -> Option<Choice> {
        let prompt = self.prompt.as_mut()?;
        match prompt.key(key) {
            Typed::On => self.filter = Filter::new(&prompt.text),
            Typed::Done => self.prompt = None,
            Typed::GivenUp => {
                self.prompt = None;
                self.filter = Filter::default();
            }
        }
        self.keep_selected();
        Some(Choice::Draw)
    }

    /// Takes a text that was pasted.
    pub fn pasted(&mut self, text: &str) -> Choice {
        let Some(prompt) = &mut self.prompt else { return Choice::None };
        prompt.put(text);
        self.filter = Filter::new(&prompt.text);
        self.keep_selected();
        Choice::Draw
    }

    /// Of those that are listed, one is selected.
    fn keep_selected(&mut self) {
        let listed = self.listed();
        let is_listed = listed.iter().any(|(place, _)| *place == self.selected);
        if let (false, Some((first, _))) = (is_listed, listed.first()) {
            self.selected = *first;
        }
    }

    /// Takes a key.
    pub fn act(&mut self, action: Action) -> Choice {
        self.notice = None;
        let to = match action {
            Action::Back if !self.filter().is_empty() => {
                self.filter = Filter::default();
                return Choice::Draw;
            }
            Action::Back if self.from.is_some() => return Choice::Back,
            Action::Quit | Action::Back => return Choice::Leave,
            Action::Open => return self.open(),
            Action::Copy => return self.copy(),
            Action::Filter => {
                let text = self.filter().to_owned();
                self.prompt = Some(Prompt { text, ..Prompt::new(Question::Sessions) });
                return Choice::Draw;
            }
            Action::Start => Action::First,
            Action::End => Action::Last,
            Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::First | Action::Last => {
                action
            }
            _ => return Choice::None,
        };
        let places: Vec<usize> = self.listed().into_iter().map(|(place, _)| place).collect();
        let at = places.iter().position(|place| *place == self.selected);
        let last = places.len().saturating_sub(1);
        let to = selection::moved(at.or(Some(0)), to, last).min(last);
        self.selected = places.get(to).copied().unwrap_or(self.selected);
        Choice::Draw
    }

    /// Says this until the next key.
    pub fn say(&mut self, text: String) {
        self.notice = Some(text);
    }

    fn open(&mut self) -> Choice {
        match self.entry().map(|entry| (&entry.state, &entry.path)) {
            Some((State::Damaged(_), _)) => {
                self.notice = Some("it cannot be opened, for the reason below".to_owned());
                Choice::Draw
            }
            Some((_, path)) => Choice::Open(path.clone()),
            None => Choice::None,
        }
    }

    /// Says why what was to be opened was not.
    pub fn refuse(&mut self, why: String) {
        if let Some(entry) = self.entries.as_mut().and_then(|entries| entries.get_mut(self.selected)) {
            entry.state = State::Damaged(why);
        }
        self.notice = Some("it cannot be opened, for the reason below".to_owned());
    }

    fn copy(&mut self) -> Choice {
        let Some(entry) = self.entry() else { return Choice::None };
        let command =
            format!("railscope replay {}", crate::printable::for_shell(&entry.path.to_string_lossy()));
        self.notice = Some(format!("copied: {command}"));
        Choice::Copy(command)
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Entry, Known, Sessions, State, Summary};
    use crate::app::Action;
    use crate::rules::{Finding, Severity};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use std::path::PathBuf;

    fn listed(names: &[&str]) -> Sessions {
        let mut sessions = Sessions::new("runs".into(), Some("elsewhere/b.rsz".into()));
        let entry = |name: &&str| Entry::unread(PathBuf::from("runs").join(name), 1000);
        sessions.learn(Known::Files(names.iter().map(entry).collect(), 0));
        sessions
    }

    #[test]
    fn the_file_that_was_looked_at_is_selected_and_keys_move_from_there() {
        let mut sessions = listed(&["a.rsz", "b.rsz", "c.rsz"]);
        assert_eq!(sessions.selected(), 1);
        for (action, at) in [(Action::Down, 2), (Action::Down, 2), (Action::First, 0), (Action::End, 2)] {
            assert_eq!(sessions.act(action), Choice::Draw);
            assert_eq!(sessions.selected(), at, "{action:?}");
        }
        assert_eq!(sessions.act(Action::Open), Choice::Open("runs/c.rsz".into()));
        assert_eq!(sessions.act(Action::Copy), Choice::Copy("railscope replay runs/c.rsz".into()));
        assert_eq!(sessions.act(Action::Back), Choice::Back, "to where one came from");
        assert_eq!(sessions.act(Action::Quit), Choice::Leave);
        assert_eq!(Sessions::new("runs".into(), None).act(Action::Back), Choice::Leave);
    }

    #[test]
    fn a_filter_lists_files_by_name_host_and_code_and_keys_keep_to_them() {
        let mut sessions = listed(&["a.rsz", "b.rsz", "c.rsz", "d.rsz"]);
        let summary = Summary {
            host: Some("gpu17".into()),
            findings: Some(vec![Finding::new("half-rate", Severity::Warning, ["mlx5_3"], "")]),
            ..Summary::default()
        };
        for at in [2, 3] {
            sessions.learn(Known::File(at, State::Read(Box::new(summary.clone()))));
        }
        let mut typed = |text: &str| {
            assert_eq!(sessions.act(Action::Filter), Choice::Draw);
            let keys = text.chars().map(KeyCode::Char).chain([KeyCode::Enter]);
            keys.for_each(|key| drop(sessions.types(KeyEvent::new(key, KeyModifiers::NONE))));
            let listed: Vec<String> = sessions.listed().iter().map(|(_, entry)| entry.name()).collect();
            let selected = sessions.entry().map(Entry::name);
            assert_eq!(sessions.act(Action::Back), Choice::Draw, "all are listed again");
            (listed.join(" "), selected)
        };
        assert_eq!(typed("HALF gpu17"), ("c.rsz d.rsz".into(), Some("c.rsz".into())));
        assert_eq!(typed("d.r"), ("d.rsz".into(), Some("d.rsz".into())));
        assert_eq!(typed("nothing"), (String::new(), None));
        assert_eq!(
            typed("rsz"),
            ("a.rsz b.rsz c.rsz d.rsz".into(), Some("d.rsz".into())),
            "it stayed selected"
        );
    }

    #[test]
    fn what_is_damaged_is_not_opened() {
        let mut sessions = listed(&["a.rsz", "b.rsz"]);
        sessions.learn(Known::File(1, State::Damaged("is no recording".into())));
        assert_eq!((sessions.unread(), sessions.counts()), (1, (0, 0, 1)));
        assert_eq!(sessions.act(Action::Open), Choice::Draw);
        assert!(sessions.notice().unwrap().starts_with("it cannot be opened"));
    }

    #[test]
    fn nothing_happens_in_an_empty_folder() {
        let mut sessions = listed(&[]);
        assert_eq!(sessions.act(Action::Open), Choice::None);
        assert_eq!(sessions.act(Action::Copy), Choice::None);
        assert_eq!((sessions.act(Action::Down), sessions.selected()), (Choice::Draw, 0));
    }
}
