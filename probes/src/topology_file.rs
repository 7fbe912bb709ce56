//! Topologies that other tools wrote: hwloc's XML (`lstopo node.xml`) and NCCL's (`NCCL_TOPO_DUMP_FILE`).
//!
//! Such a file tells where things sit and what links can do, and nothing of GIDs, counters or the host's
//! settings; a [`Gap`](crate::model::Gap) says what it leaves open.

#[cfg(feature = "hwloc")]
mod hwloc;
#[cfg(feature = "hwloc")]
mod hwloc_out;
#[cfg(feature = "hwloc")]
mod hwloc_text;
mod nccl;
mod nccl_text;
mod parts;

#[cfg(feature = "hwloc")]
pub use hwloc_out::{hwloc_xml, hwloc_xml_of_this_machine};
pub use nccl_text::NcclXml;

use crate::bounded;
use crate::model::Topology;
use std::path::Path;

/// The largest machines' files are a few megabytes.
const MOST_BYTES: u64 = 64 << 20;

/// Objects in a file above which it describes no machine.
const MOST_NODES: u32 = 2_000_000;

/// Elements inside elements; machines have some twenty.
const MOST_DEPTH: usize = 200;

/// A topology file that is of no use.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct TopologyFileError {
    /// The file.
    pub path: String,
    /// What is wrong with it, and what to do.
    pub reason: String,
}

/// Reads a topology file, whichever of both kinds it is.
///
/// # Errors
///
/// It cannot be read, is no XML, describes no topology, or is of a version that this build cannot read.
pub fn read(path: &Path) -> Result<Topology, TopologyFileError> {
    let failed = |reason: String| TopologyFileError { path: path.display().to_string(), reason };
    let kind = std::fs::metadata(path).map_err(|error| failed(said(&error)))?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        // opening a pipe waits for its writer, for ever if need be
        return Err(failed(
            "is no file but a pipe or a device; copy the topology into a file first".to_owned(),
        ));
    }
    let bytes = bounded::read(path, MOST_BYTES).map_err(|error| failed(said(&error)))?;
    let text =
        String::from_utf8(bytes).map_err(|_| failed("is no text (UTF-8), so it is no XML".to_owned()))?;
    of_text(&text).map_err(failed)
}

/// What the system said, without the number that only the C library needs.
fn said(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "is a folder, not an XML file".to_owned(),
        _ => error.to_string(),
    }
}

fn of_text(text: &str) -> Result<Topology, String> {
    // hwloc's files name a document type, which is never fetched; entities are expanded within limits
    let options =
        roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(text, options)
        .map_err(|error| format!("is no XML that can be read: {error}"))?;
    let root = document.root_element();
    if root.descendants().any(|node| node.ancestors().take(MOST_DEPTH + 1).count() > MOST_DEPTH) {
        return Err(format!("has more than {MOST_DEPTH} elements inside each other; no machine has"));
    }
    match root.tag_name().name() {
        "topology" => of_hwloc(root.attribute("version"), text),
        "system" => nccl::topology(root),
        other => Err(format!(
            "is neither hwloc's XML (<topology>) nor NCCL's (<system>): its first element is <{}>",
            parts::short(other)
        )),
    }
}

#[cfg(feature = "hwloc")]
fn of_hwloc(version: Option<&str>, text: &str) -> Result<Topology, String> {
    // files of hwloc 1 carry no version
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let newest = hwloc::newest_version();
    if major.is_some_and(|major| major > newest) {
        return Err(format!(
            "is hwloc XML of version {}, and this build has hwloc {newest}, which cannot read it; write it again \
             in version {newest} where it was made: lstopo --export-xml-flags v{newest} FILE.xml",
            parts::short(version.unwrap_or_default()),
        ));
    }
    hwloc::topology(text)
}

#[cfg(not(feature = "hwloc"))]
fn of_hwloc(_: Option<&str>, _: &str) -> Result<Topology, String> {
    Err("is hwloc XML, and this build has no hwloc".to_owned())
}

/// As with the feature `hwloc`.
///
/// # Errors
///
/// Always: this build has no hwloc.
#[cfg(not(feature = "hwloc"))]
pub fn hwloc_xml_of_this_machine() -> Result<(String, Option<&'static str>), String> {
    Err("this build has no hwloc".to_owned())
}

/// As with the feature `hwloc`.
///
/// # Errors
///
/// Always: this build has no hwloc.
#[cfg(not(feature = "hwloc"))]
pub fn hwloc_xml(_: &Topology) -> Result<String, String> {
    Err("this build has no hwloc".to_owned())
}

#[cfg(test)]
mod tests;
