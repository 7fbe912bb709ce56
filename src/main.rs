//! Reads the command line and hands over to one file of [`railscope::commands`].

use clap::FromArgMatches;
use railscope::cli::{self, Cli, Command};
use railscope::commands;
use railscope::printable::tell;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::command().try_get_matches().and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => match cli::negative(&error) {
            Some(told) => {
                tell(told);
                return ExitCode::from(2);
            }
            None => cli::without_idle_tip(error).exit(),
        },
    };
    commands::signals::outlive_file_size_limit();
    let done = match cli.command.unwrap_or(Command::Top(cli.top)) {
        Command::Top(args) => commands::top::run(args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Probe(args) => commands::probe::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Load(args) => commands::load::run(args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Record(args) => commands::record::run(args),
        Command::Replay(args) => commands::replay::run(args),
        Command::Shot(args) => commands::shot::run(&args),
        Command::Keys(args) => commands::keys::run(&args),
        Command::Report(args) => commands::report::run(args),
        Command::Diagnose(args) => commands::diagnose::run(&args),
        Command::Pins(args) => commands::pins::run(args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Diff(args) => commands::diff::run(&args),
        Command::Mask(args) => commands::mask::run(&args),
        Command::Export(args) => commands::export::run(args),
        Command::ImportTopology(args) => commands::import_topology::run(&args),
        Command::Capture(args) => commands::capture::run(&args),
    };
    done.unwrap_or_else(|error| {
        tell(format_args!("{error:#}"));
        ExitCode::from(2)
    })
}
