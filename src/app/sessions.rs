//! The sessions of a folder: what is known of each by now, and which one is selected.

mod keys;
mod known;

use super::filter::Filter;
use super::prompt::Prompt;
use crate::rules::Severity;
pub use keys::Choice;
pub use known::{Entry, Known, State, Summary, SweepSummary};
use std::path::{Path, PathBuf};

/// The sessions of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sessions {
    folder: PathBuf,
    /// `None` before the folder was read.
    entries: Option<Vec<Entry>>,
    others: usize,
    unreadable: Option<String>,
    /// Places of the entries that the filter takes, ascending. A folder may have thousands: what becomes known of one is
    /// held against the filter by itself.
    listed: Vec<usize>,
    selected: usize,
    /// The session that the list was opened from, which is selected once it is listed.
    from: Option<PathBuf>,
    filter: Filter,
    /// A text that is being typed.
    prompt: Option<Prompt>,
    notice: Option<String>,
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
        let entries = self.entries.as_deref().unwrap_or_default();
        self.listed.iter().map(|place| (*place, &entries[*place])).collect()
    }

    /// How many files are listed.
    #[must_use]
    pub fn listed_count(&self) -> usize {
        self.listed.len()
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
        let at = self.place_in_list()?;
        self.entries.as_ref()?.get(self.listed[at])
    }

    /// Where the selected session stands in the list; `None` where it is not listed.
    #[must_use]
    pub fn place_in_list(&self) -> Option<usize> {
        self.listed.binary_search(&self.selected).ok()
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
                self.list_anew();
            }
            Known::File(place, state) => {
                self.become_known(place, state);
            }
            Known::Unreadable(why) => self.unreadable = Some(why),
        }
    }

    /// What a file is, which may put it on the list or take it off.
    fn become_known(&mut self, place: usize, state: State) {
        let Some(entry) = self.entries.as_mut().and_then(|entries| entries.get_mut(place)) else { return };
        entry.state = state;
        let is_taken = self.filter.takes_name(&entry.words());
        match self.listed.binary_search(&place) {
            Ok(at) if !is_taken => drop(self.listed.remove(at)),
            Err(at) if is_taken => self.listed.insert(at, place),
            Ok(_) | Err(_) => return,
        }
        self.keep_selected();
    }

    /// Lists only what this text takes.
    fn set_filter(&mut self, text: &str) {
        self.filter = Filter::new(text);
        self.list_anew();
    }

    fn list_anew(&mut self) {
        let all = self.entries.iter().flatten().enumerate();
        let taken = all.filter(|(_, entry)| self.filter.takes_name(&entry.words()));
        self.listed = taken.map(|(place, _)| place).collect();
        self.keep_selected();
    }

    /// Of those that are listed, one is selected.
    fn keep_selected(&mut self) {
        if let (None, Some(first)) = (self.place_in_list(), self.listed.first()) {
            self.selected = *first;
        }
    }

    /// Says this until the next key.
    pub fn say(&mut self, text: String) {
        self.notice = Some(text);
    }

    /// Says why what was to be opened was not.
    pub fn refuse(&mut self, why: String) {
        self.become_known(self.selected, State::Damaged(why));
        self.notice = Some("it cannot be opened, for the reason below".to_owned());
    }
}

#[cfg(test)]
mod tests;
