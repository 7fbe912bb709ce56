//! What commands have no use for: left out of their help, and refused in words of our own.

use super::Cli;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

/// Flags that most commands share and these refuse.
const REFUSED: &[(&str, &[&str])] = &[
    ("demo", &["root", "steps"]),
    ("probe", &["record", "duration", "every", "steps", "headless"]),
    ("replay", &["root", "steps", "every"]),
    ("report", &["record", "root", "steps", "headless"]),
];

/// The command line, whose help lists for each command what it takes.
#[must_use]
pub fn command() -> Command {
    REFUSED.iter().fold(Cli::command(), |all, (name, flags)| {
        all.mut_subcommand(name, |command| {
            flags.iter().fold(command, |command, flag| command.mut_arg(flag, |arg| arg.hide(true)))
        })
    })
}

/// What is wrong with a negative number (`--for -5s`), which the parser takes for a flag; `None` of other errors.
#[must_use]
pub fn negative(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    // it tells the first letter of what was typed alone
    let digit = flag.strip_prefix('-')?.chars().next()?;
    (digit.is_ascii_digit() || digit == '.').then(|| {
        format!("`{flag}...`: no flag takes a negative number; times, sizes, counts and ports are counted from 0 on")
    })
}

/// The same without the parser's tip to type an unknown flag behind `--`, where the command takes nothing there.
#[must_use]
pub fn without_idle_tip(mut error: clap::Error) -> clap::Error {
    let takes_more = error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains("-- "));
    if error.kind() == ErrorKind::UnknownArgument && !takes_more {
        error.remove(ContextKind::Suggested);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::{REFUSED, command, negative, without_idle_tip};

    #[test]
    fn help_lists_no_flag_that_is_refused() {
        let mut all = command();
        all.build();
        for (name, flags) in REFUSED {
            let command = all.find_subcommand_mut(name).unwrap();
            let help = command.render_help().to_string();
            for flag in *flags {
                let long =
                    command.get_arguments().find(|arg| arg.get_id() == flag).and_then(clap::Arg::get_long);
                assert!(!help.contains(&format!("--{} ", long.unwrap())), "{name} {flag}");
            }
        }
        assert!(all.find_subcommand_mut("top").unwrap().render_help().to_string().contains("--root"));
    }

    #[test]
    fn nothing_is_advised_that_does_not_help() {
        let told = |line: &str| {
            let error = command().try_get_matches_from(line.split(' ')).unwrap_err();
            without_idle_tip(error).render().to_string()
        };
        assert!(told("railscope report --bogus").starts_with("error: unexpected argument '--bogus' found"));
        assert!(!told("railscope report --bogus").contains("tip:"));
        assert!(told("railscope check --fro 5s").contains("a similar argument exists"));
        assert!(told("railscope pins --bogus").contains("'-- --bogus'"), "a command may stand there");
    }

    #[test]
    fn a_negative_number_is_told_in_words_of_its_own() {
        let told = |line: &str| negative(&command().try_get_matches_from(line.split(' ')).unwrap_err());
        assert!(
            told("railscope check --for -5s")
                .unwrap()
                .starts_with("`-5...`: no flag takes a negative number")
        );
        assert!(told("railscope load peer --qps -1").is_some());
        assert_eq!(told("railscope check --fro 5s"), None);
    }
}
