//! The names of a host, and where they stand in a text.

use super::super::{Capture, Entry};
use std::borrow::Cow;
use std::path::Path;

/// What stands for the host's name; RFC 2606 keeps `.example` free.
const HOST: &str = "masked-host";
const DOMAIN: &str = "masked-host.example";
/// The same of the other host of a session.
const PEER: &str = "masked-peer";
const PEER_DOMAIN: &str = "masked-peer.example";

/// The names of the host.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// As the kernel has it, possibly with its domain.
    full: Option<String>,
    /// Up to the first point.
    short: Option<String>,
    /// Whether the short name is a word that means something else too: a device (`node0`), a driver, the system's name
    /// (`debian`). It is replaced only where it can be nothing but the host.
    is_common_word: bool,
    /// Whether it is the other host of a session.
    is_peer: bool,
}

impl Names {
    pub(super) fn of(capture: &Capture) -> Self {
        let Some(Entry::File(text)) = capture.entries.get(Path::new("proc/sys/kernel/hostname")) else {
            return Self::default();
        };
        let own = |path: &Path| path.starts_with("sys") && !path.starts_with("sys/fs/cgroup");
        let paths = capture.entries.keys().filter(|path| own(path)).map(|path| path.to_string_lossy());
        // what system and processor are called
        let told = ["etc/os-release", "usr/lib/os-release", "proc/cpuinfo"].into_iter().filter_map(|path| {
            let Some(Entry::File(text)) = capture.entries.get(Path::new(path)) else { return None };
            Some(String::from_utf8_lossy(text))
        });
        Self::among(&String::from_utf8_lossy(text), paths.chain(told))
    }

    /// The names of a host of which these words tell that are no names of it: paths, devices, what its system is called.
    fn among<'a>(full: &str, mut words: impl Iterator<Item = Cow<'a, str>>) -> Self {
        let full = full.trim().to_owned();
        let short = full.split('.').next().unwrap_or_default().to_owned();
        if short.is_empty() || matches!(short.as_str(), "localhost" | "(none)") {
            return Self::default();
        }
        let is_common_word = short.len() < 2
            || short.bytes().all(|byte| byte.is_ascii_digit())
            || words.any(|text| !places(&text, &short).is_empty());
        Self { full: Some(full), short: Some(short), is_common_word, is_peer: false }
    }

    /// The names of a session's host, of which these words tell that are no names of it.
    pub(super) fn of_session(full: &str, words: &[String], is_peer: bool) -> Self {
        let words = words.iter().map(|word| Cow::Borrowed(word.as_str()));
        Self { is_peer, ..Self::among(full, words) }
    }

    #[cfg(test)]
    pub(super) fn of_host(name: &str) -> Self {
        Self::among(name, std::iter::empty())
    }

    /// Whether a text is nothing but one of the names.
    pub(super) fn is_host(&self, text: &str) -> bool {
        [&self.full, &self.short].into_iter().flatten().any(|name| name.eq_ignore_ascii_case(text))
    }

    /// The name that is replaced; `None` when the host has none of its own.
    pub(super) fn host(&self) -> Option<&str> {
        self.full.as_deref()
    }

    /// Replaces the names wherever they stand as words of their own.
    pub(super) fn replace(&self, text: &str) -> String {
        let (Some(full), Some(short)) = (&self.full, &self.short) else { return text.to_owned() };
        let (host, domain) = if self.is_peer { (PEER, PEER_DOMAIN) } else { (HOST, DOMAIN) };
        let text = if full == short { text.to_owned() } else { replaced(text, full, domain) };
        if self.is_common_word { text } else { replaced(&text, short, host) }
    }

    /// Replaces the names in a text that is known to speak of the host.
    pub(super) fn replace_certainly(&self, text: &str) -> String {
        let (Some(full), Some(short)) = (&self.full, &self.short) else { return text.to_owned() };
        let (host, domain) = if self.is_peer { (PEER, PEER_DOMAIN) } else { (HOST, DOMAIN) };
        let text = if full == short { text.to_owned() } else { replaced(text, full, domain) };
        replaced(&text, short, host)
    }
}

/// Where `word` stands in `text`, in capital letters or small, with no letter or digit beside it.
fn places(text: &str, word: &str) -> Vec<usize> {
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    // lengths in bytes stay the same
    text.to_ascii_lowercase()
        .match_indices(&word.to_ascii_lowercase())
        .map(|(at, _)| at)
        .filter(|at| {
            is_edge(text[..*at].chars().next_back()) && is_edge(text[at + word.len()..].chars().next())
        })
        .collect()
}

pub(super) fn replaced(text: &str, word: &str, by: &str) -> String {
    let mut done = String::with_capacity(text.len());
    let mut end = 0;
    for at in places(text, word) {
        done.push_str(&text[end..at]);
        done.push_str(by);
        end = at + word.len();
    }
    done + &text[end..]
}

#[cfg(test)]
mod tests {
    use super::Names;
    use crate::capture::{Capture, Entry};

    #[test]
    fn a_host_called_like_its_system_leaves_the_system_its_name() {
        let mut capture = Capture::default();
        for (path, text) in [
            ("proc/sys/kernel/hostname", "debian.acme.com\n"),
            ("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
        ] {
            capture.entries.insert(path.into(), Entry::File(text.into()));
        }
        let names = Names::of(&capture);
        assert_eq!(names.replace("Debian GNU/Linux 12"), "Debian GNU/Linux 12");
        assert_eq!(names.replace("from debian.acme.com"), "from masked-host.example");
    }
}
