//! What `--help` prints fits a terminal of 80 columns, and is wrapped by nobody but its author.

use super::Cli;
use clap::{Command, CommandFactory};

/// Columns of the narrowest terminal that the program is made for.
const COLUMNS: usize = 80;

/// The program and each of its commands.
fn commands() -> Vec<Command> {
    let mut all = Cli::command();
    all.build();
    let each: Vec<Command> = all.get_subcommands().cloned().collect();
    std::iter::once(all).chain(each).collect()
}

#[test]
fn no_line_of_help_is_wider_than_a_small_terminal() {
    for mut command in commands() {
        for text in [command.render_help().to_string(), command.render_long_help().to_string()] {
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > COLUMNS).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", command.get_name());
        }
    }
}

#[test]
fn what_stands_below_the_flags_is_not_wrapped_once_more() {
    for command in commands() {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > COLUMNS).collect();
        assert!(wide.is_empty(), "{}: {wide:#?}", command.get_name());
    }
}
