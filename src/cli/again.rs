//! A load that begins once more, with other flags: what was typed at the start, and what is typed over it.

use super::{LoadArgs, negative};
use crate::printable::for_shell;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::ffi::OsString;

/// The word that takes a flag back.
const DEFAULT: &str = "default";

/// Flags that a load which goes on can be begun anew with.
const KNOBS: [&str; 23] = [
    "qps",
    "workers",
    "shape",
    "batch",
    "size",
    "operations",
    "leg",
    "transport",
    "op",
    "bidirectional",
    "depth",
    "read_depth",
    "chain",
    "cq_mod",
    "timeout",
    "gid_index",
    "tclass",
    "mtu",
    "place",
    "working_set",
    "memory",
    "rate",
    "warmup",
];
/// Those among them that most commands share.
const SHARED_KNOBS: [&str; 2] = ["rails", "duration"];

/// Two flags of which one alone can stand.
const EITHER: [(&str, &str); 2] = [("operations", "duration"), ("duration", "operations")];

/// What was typed after `railscope load`, flag by flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadWords(Vec<(String, OsString)>);

fn command() -> Command {
    LoadArgs::augment_args(Command::new("load"))
        .no_binary_name(true)
        .disable_help_flag(true)
        .args_override_self(true)
}

impl LoadWords {
    /// Words as they stand after `railscope load`.
    ///
    /// # Errors
    ///
    /// In words: they are none of a load.
    pub fn of(words: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let command = command();
        let found = command.clone().try_get_matches_from(words).map_err(|error| in_words(&error))?;
        Ok(Self(given(&command, &found)))
    }

    /// Those that this program was started with.
    ///
    /// # Errors
    ///
    /// As [`LoadWords::of`].
    pub fn of_process() -> Result<Self, String> {
        Self::of(std::env::args_os().skip_while(|word| word != "load").skip(1))
    }

    /// The same with these flags instead, separated by blanks; `FLAG default` takes one back.
    ///
    /// # Errors
    ///
    /// In words: there is no such flag or value, or it is none that a load which goes on can be begun anew with.
    pub fn changed(&self, typed: &str) -> Result<Self, String> {
        let command = command();
        let mut words: Vec<&str> = typed.split_whitespace().collect();
        let mut changed = self.0.clone();
        while let Some(at) = words.iter().position(|word| *word == DEFAULT) {
            let flag = at.checked_sub(1).map(|before| words[before]);
            let arg = flag.and_then(|flag| arg_of(&command, flag));
            let arg = arg.ok_or_else(|| {
                format!("`{DEFAULT}` stands behind the flag that it takes back, as in `-o {DEFAULT}`")
            })?;
            changes(arg)?;
            changed.retain(|(id, _)| id != arg.get_id().as_str());
            words.drain(at - 1..=at);
        }
        let typed = command.clone().try_get_matches_from(&words).map_err(|error| in_words(&error))?;
        for (id, value) in given(&command, &typed) {
            let arg = command.get_arguments().find(|arg| arg.get_id().as_str() == id);
            arg.map_or(Ok(()), changes)?;
            for (one, other) in EITHER {
                changed.retain(|(known, _)| id != one || known != other);
            }
            changed.retain(|(known, _)| *known != id);
            changed.push((id, value));
        }
        Ok(Self(changed))
    }

    /// The line that starts it, to be pasted into a shell; without the file of a recording, which would be there already.
    #[must_use]
    pub fn line(&self) -> String {
        let command = command();
        let mut line = "railscope load".to_owned();
        let kept = || self.0.iter().filter(|(id, _)| id != "record");
        let is_peer = |(id, _): &&(String, OsString)| id == "peer";
        for (id, value) in kept().filter(is_peer).chain(kept().filter(|word| !is_peer(word))) {
            let Some(arg) = command.get_arguments().find(|arg| arg.get_id().as_str() == id) else { continue };
            match (arg.get_short(), arg.get_long()) {
                (Some(short), _) => line.extend([" -".to_owned(), short.to_string()]),
                (None, Some(long)) => line.extend([" --", long]),
                (None, None) => {}
            }
            if arg.get_action().takes_values() {
                line.extend([" ", &for_shell(&value.to_string_lossy())]);
            }
        }
        line
    }

    /// The flags as a command has them.
    ///
    /// # Errors
    ///
    /// In words: two of them do not go together.
    pub fn args(&self) -> Result<LoadArgs, String> {
        let command = command();
        let mut words: Vec<OsString> = Vec::new();
        for (id, value) in &self.0 {
            let Some(arg) = command.get_arguments().find(|arg| arg.get_id().as_str() == id) else { continue };
            if let Some(long) = arg.get_long() {
                words.push(format!("--{long}").into());
            }
            if arg.get_action().takes_values() {
                words.push(value.clone());
            }
        }
        let found = command.try_get_matches_from(words).map_err(|error| in_words(&error))?;
        LoadArgs::from_arg_matches(&found).map_err(|error| in_words(&error))
    }
}

/// What was typed of these flags, and not what stands for what was not.
fn given(command: &Command, found: &ArgMatches) -> Vec<(String, OsString)> {
    let typed = |arg: &&Arg| found.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let of = |arg: &Arg| {
        let id = arg.get_id().as_str();
        let mut values = found.get_raw(id).into_iter().flatten();
        let mut value = values.next().map(OsString::from).unwrap_or_default();
        for more in values {
            value.push(",");
            value.push(more);
        }
        (id.to_owned(), value)
    };
    command.get_arguments().filter(typed).map(of).collect()
}

/// The flag that is written so.
fn arg_of<'a>(command: &'a Command, flag: &str) -> Option<&'a Arg> {
    let is = |arg: &&Arg| match (flag.strip_prefix("--"), flag.strip_prefix('-')) {
        (Some(long), _) => arg.get_long() == Some(long),
        (None, Some(short)) => arg.get_short().is_some_and(|known| *short == *known.to_string()),
        (None, None) => false,
    };
    command.get_arguments().find(is)
}

/// Whether a load that goes on can be begun anew with another value of it.
fn changes(arg: &Arg) -> Result<(), String> {
    let id = arg.get_id().as_str();
    if KNOBS.contains(&id) || SHARED_KNOBS.contains(&id) {
        return Ok(());
    }
    Err(match arg.get_long() {
        Some(flag) => format!("--{flag}: no knob of the load; leave, and start again with it"),
        None => "flags only, as in `-q 16`; of another peer a load begins anew".to_owned(),
    })
}

/// The first line of what the parser says, which is the reason.
fn in_words(error: &clap::Error) -> String {
    negative(error).unwrap_or_else(|| {
        let text = error.render().to_string();
        let line = text.lines().next().unwrap_or_default();
        line.strip_prefix("error: ").unwrap_or(line).to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::{KNOBS, LoadWords, SHARED_KNOBS, command};
    use crate::cli::LoadArgs;

    fn typed(line: &str) -> LoadWords {
        LoadWords::of(line.split_whitespace().map(Into::into)).unwrap()
    }

    fn anew(line: &str, changes: &str) -> Result<LoadArgs, String> {
        typed(line).changed(changes)?.args()
    }

    #[test]
    fn what_is_typed_wins_and_everything_else_stays() {
        let args = anew("n2:9 -q4 --size=1M -d a,b --token secret --for 30s -o 8", "-q 16 -d a").unwrap();
        assert_eq!((args.qps, args.size.unwrap().0, args.knobs.read_depth), (16, 1 << 20, Some(8)));
        assert_eq!(args.knobs.peer.as_deref(), Some("n2:9"));
        assert_eq!(args.common.overlay.rails, Some(vec!["a".to_owned()]));
        assert_eq!(args.common.duration.unwrap().0.as_secs(), 30);
        assert!(args.knobs.token.is_some());
        let same = anew("n2 -q 4 -b --preset peercache-1m", "").unwrap();
        assert_eq!((same.qps, same.knobs.bidirectional, same.preset.is_some()), (4, true, true));
    }

    #[test]
    fn default_takes_a_flag_back_and_a_count_takes_the_place_of_a_time() {
        let args = anew("n2 -q 8 -o 4 -b --rate 5", "-o default --rate default -b default").unwrap();
        assert_eq!(
            (args.qps, args.knobs.read_depth, args.knobs.rate, args.knobs.bidirectional),
            (8, None, None, false)
        );
        let args = anew("n2 --for 30s", "-n 1000").unwrap();
        assert_eq!((args.operations, args.common.duration.is_some()), (Some(1000), false));
        // typed twice, the later counts: the rate that a key set stands before what is typed
        assert_eq!(anew("n2", "--rate 5 --rate 7").unwrap().knobs.rate, Some(7.0));
    }

    #[test]
    fn what_is_no_knob_is_refused_by_name() {
        for (changes, says) in [
            ("-q 0", "0 is not in 1..=4096"),
            ("--qpz 4", "--qpz"),
            ("-s -5", "no flag takes a negative number"),
            ("n3", "flags only"),
            ("--record x.rsz", "--record: no knob"),
            ("--headless", "--headless: no knob"),
            ("--token default", "--token: no knob"),
            ("default", "stands behind the flag"),
            ("-q", "a value is required"),
        ] {
            let refused = anew("n2 --token f", changes).unwrap_err();
            assert!(refused.contains(says), "{changes}: {refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
    }

    #[test]
    fn the_line_starts_the_same_load_and_overwrites_no_recording() {
        let words = typed("n2:9 -q4 --size=1M -d a,b --record x.rsz -b")
            .changed("-q 16 --place cpu:0,mem:1")
            .unwrap();
        assert_eq!(words.line(), "railscope load n2:9 -s 1M -b -d a,b -q 16 --place cpu:0,mem:1");
    }

    #[test]
    fn every_knob_is_a_flag_of_load() {
        let command = command();
        for id in KNOBS.iter().chain(&SHARED_KNOBS) {
            assert!(command.get_arguments().any(|arg| arg.get_id().as_str() == *id), "{id}");
        }
    }
}
