//! Topology files, read in a process of its own.
//!
//! hwloc ends the program that gives it a file which contradicts itself (`assert` in its `topology.c`). So a child
//! reads the file, and its end is an error like any other.

use anyhow::{Context, bail};
use probes::model::Topology;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads a topology file of hwloc or NCCL.
///
/// # Errors
///
/// It is of no use; the error names it and says why.
pub(super) fn topology(file: &Path) -> anyhow::Result<Topology> {
    let program = std::env::current_exe().context("this program's own file is not known")?;
    let output = Command::new(program)
        .arg("import-topology")
        .arg("--")
        .arg(file)
        // what contradicts itself is not to be believed in a release build either
        .env("HWLOC_DEBUG_CHECK", "1")
        // its banners about faulty files would stand beside our line
        .env("HWLOC_HIDE_ERRORS", "2")
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .context("a second railscope, to read the file, cannot be started")?;
    match serde_json::from_slice::<Result<Topology, String>>(&output.stdout) {
        Ok(Ok(topology)) => Ok(topology),
        Ok(Err(reason)) => bail!(reason),
        Err(_) => bail!("{}: contradicts itself, hwloc says: {}", file.display(), last_words(&output.stderr)),
    }
}

/// The assertion that failed, else the last line of what the child said.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let assertion = text.lines().find_map(|line| line.split_once("Assertion ").map(|(_, rest)| rest));
    let words = assertion.or_else(|| text.lines().last()).unwrap_or("nothing");
    words.trim().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn the_assertion_is_what_counts() {
        let said = b"* banner\nrailscope: topology.c:4874: hwloc__check_object: Assertion `a(b)' failed.\n";
        assert_eq!(last_words(said), "`a(b)' failed.");
        assert_eq!(last_words(b""), "nothing");
    }
}
