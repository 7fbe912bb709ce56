//! `railscope probe`: what the node is.

use super::verdict::{self, Form};
use crate::cli::{ProbeArgs, ProbeFormat};
use crate::printable::Printable;
use crate::report::{ProbeMarkdown, WideProbeText};
use crate::session;
use crate::settings::Common;
use crate::timeline::Timeline;
use anyhow::Context;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// Runs the command. A node without any RDMA device is described too.
///
/// # Errors
///
/// What could not be done, for exit code 2.
pub fn run(args: ProbeArgs) -> anyhow::Result<ExitCode> {
    args.common.refuse_watching("probe")?;
    let common = Common { topology: args.topology, ..args.common.with_config()? };
    let session = session::look(&common)?;
    if common.json || args.format == Some(ProbeFormat::Json) {
        // a probe tells and does not judge: whatever is found, it worked
        verdict::print(&Timeline::new(session).into(), &common, Form::Json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = WideProbeText { topology: session.topology(), columns: columns() };
    let mut out = BufWriter::new(super::output::stdout()?);
    let written = match args.format {
        Some(ProbeFormat::Md) => write!(out, "{}", Printable(ProbeMarkdown(session.topology()))),
        _ => write!(out, "{}", Printable(text)),
    };
    match written.and_then(|()| out.flush()) {
        // whoever reads has seen enough (`| head`)
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.context("what was found cannot be written to stdout")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Width of the terminal; 80 where the text goes into a file or a pipe, so that tickets look alike.
fn columns() -> usize {
    const USUAL: usize = 80;
    if !std::io::stdout().is_terminal() {
        return USUAL;
    }
    crossterm::terminal::size().map_or(USUAL, |(columns, _)| usize::from(columns))
}
