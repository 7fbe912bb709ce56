//! `railscope diff`: two sessions, copied trees or topology files held against each other.

use super::output::Output;
use crate::cli::{DiffArgs, DiffFormat};
use crate::diff::{Diff, DiffTicket, Side, Worse, compare};
use crate::printable::{Printable, tell};
use crate::rules::{self, Limits};
use crate::session::{self, FrameSource, Part, Replay, Stop, Until, only};
use crate::settings::{Common, Overlay};
use anyhow::{Context, ensure};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// What makes the exit code 1 unless told otherwise.
const USUAL: [Worse; 2] = [Worse::Slower, Worse::Findings];

/// Runs the command.
///
/// # Errors
///
/// One of the two cannot be read, or rates that `--fail-on slower` asks for cannot be compared.
pub fn run(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    rules::all_known(&args.ignore).context("--ignore")?;
    ensure!(
        args.tolerance.is_finite() && args.tolerance >= 0.0,
        "--tolerance {}: a share in percent, such as 1 or 2.5",
        args.tolerance
    );
    if let (Some(from), Some(to)) = (args.from, args.to) {
        ensure!(
            from < to,
            "--from {from} --to {to}: nothing lies between; --to is a moment, counted from the start"
        );
    }
    let sides = [&args.before, &args.after].map(|path| side(path, args));
    let [a, b] = sides;
    let diff = compare(&a?, &b?, &Limits::default(), &args.ignore, args.tolerance);
    let mut out = Output::to(args.output.as_deref(), &[&args.before, &args.after])?;
    let written = match (args.json, args.format) {
        (true, _) | (_, DiffFormat::Json) => {
            serde_json::to_writer_pretty(&mut out, &diff).map_err(Into::into).and_then(|()| writeln!(out))
        }
        (_, DiffFormat::Md) => write!(out, "{}", Printable(DiffTicket(&diff))),
        (_, DiffFormat::Text) => write!(out, "{}", Printable(&diff)),
    };
    out.end(written)?;
    exit_code(&diff, &args.fail_on)
}

fn exit_code(diff: &Diff, asked: &[Worse]) -> anyhow::Result<ExitCode> {
    let watched = if asked.is_empty() { &USUAL[..] } else { asked };
    if watched.iter().any(|worse| diff.is(*worse)) {
        return Ok(ExitCode::from(1));
    }
    // who asks for it wants to know, and silence would be a yes
    ensure!(
        !asked.contains(&Worse::Slower) || diff.unjudged() == 0,
        "--fail-on slower: the rates of {} of {} rails could not be compared, for the reasons above",
        diff.unjudged(),
        diff.rails.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// One side, played to its end.
fn side(path: &Path, args: &DiffArgs) -> anyhow::Result<Side> {
    let name = path.display().to_string();
    let rails = args.rails.as_deref();
    let mut condition = None;
    let mut source: Box<dyn FrameSource> = if path.is_dir() {
        session::open(&from(rails, |common| common.root = Some(path.to_owned())), None)?
    } else if begins_with(path, b"<")? {
        session::open(&from(rails, |common| common.topology = Some(path.to_owned())), None)?
    } else {
        let replay = Replay::open(path)?;
        condition = Some(replay.condition());
        part(replay, args).with_context(|| name.clone())?
    };
    ensure!(
        condition.is_some() || (args.from.is_none() && args.to.is_none()),
        "{name}: has no moments for --from and --to; only a session file has"
    );
    let mut side = Side::new(name.clone(), source.session());
    if let Some(from) = args.from {
        side.begins_at(from.0);
    }
    while let Some(frame) = source.next_frame().with_context(|| name.clone())? {
        side.push(frame);
    }
    side.end();
    if let Some(warning) = condition.and_then(|condition| condition.warning()) {
        tell(format_args!("{name}: {warning}"));
    }
    Ok(side)
}

/// The part of a recording between the moments that were asked for.
fn part(replay: Replay, args: &DiffArgs) -> anyhow::Result<Box<dyn FrameSource>> {
    let source: Box<dyn FrameSource> = match args.from {
        Some(from) => Box::new(Part::new(replay, from.0)?),
        None => Box::new(replay),
    };
    let source = only(source, args.rails.as_deref())?;
    Ok(Box::new(Until::new(source, args.to.map(|moment| moment.0), Stop::new())))
}

/// What opens a tree or a topology file.
fn from(rails: Option<&[String]>, with: impl FnOnce(&mut Common)) -> Common {
    let overlay = Overlay { rails: rails.map(<[String]>::to_vec), ..Overlay::default() };
    let mut common = Common { overlay, ..Common::default() };
    with(&mut common);
    common
}

/// Whether the file's first bytes, blanks aside, are these; a file that cannot be read is refused by who opens it.
fn begins_with(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    let Ok(file) = File::open(path) else { return Ok(false) };
    let mut head = Vec::new();
    file.take(64).read_to_end(&mut head).with_context(|| path.display().to_string())?;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    Ok(head.trim_ascii_start().starts_with(bytes))
}
