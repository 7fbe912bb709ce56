//! `railscope export`: what the survey learnt, in the words of other tools.

use crate::cli::{ExportArgs, ExportFormat};
use crate::export::Env;
use crate::printable::tell;
use crate::session;
use crate::settings::{Common, Overlay};
use anyhow::{Context, anyhow};
use probes::model::Topology;
use probes::topology_file::{self, NcclXml};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
///
/// The node or tree cannot be read, or a form cannot be made of it.
pub fn run(args: ExportArgs) -> anyhow::Result<ExitCode> {
    let overlay = Overlay { rails: args.rails, ..Overlay::default() };
    let Common { overlay, .. } =
        Common { overlay, config: args.config, ..Common::default() }.with_config()?;
    let common = Common { overlay, root: args.root, topology: args.topology, ..Common::default() };
    let session = session::look(&common)?;
    let text = match args.format {
        ExportFormat::Env => Env(session.topology()).to_string(),
        ExportFormat::NcclXml => NcclXml(session.topology()).to_string(),
        ExportFormat::HwlocXml => hwloc_xml(session.topology(), &common)?,
    };
    let mut out = super::output::stdout()?;
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.context("the export cannot be written to stdout")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What hwloc sees of this machine, or what the survey learnt of another.
fn hwloc_xml(topology: &Topology, common: &Common) -> anyhow::Result<String> {
    let failed = |error| anyhow!("hwloc-xml: {error}");
    if common.root.is_some() || common.topology.is_some() {
        return topology_file::hwloc_xml(topology).map_err(failed);
    }
    let (text, remark) = topology_file::hwloc_xml_of_this_machine().map_err(failed)?;
    if let Some(remark) = remark {
        tell(format_args!("hwloc-xml: {remark}"));
    }
    Ok(text)
}
