//! `--mask`: nobody can tell from the tree whose node it was, and it is judged as before.
//!
//! Replaced in contents, link targets and names alike, the same by the same and different by different:
//! MAC addresses, GIDs and IP addresses, GUIDs, UUIDs, container ids, serial numbers, the host's name, and names
//! of jobs and hosts that launchers told. Addresses keep their kind (private, link-local, with an embedded MAC) and
//! the length of every common prefix, so subnets stay subnets; MACs and GUIDs keep the vendor's three bytes. What
//! stays: PCI addresses, device and process names, board ids, versions, counters. The key is drawn anew for each capture and never written down.

mod files;
mod forms;
mod key;
mod names;
mod table;
mod values;
mod whole;
mod words;

pub use values::Masker;

use super::{Capture, Entry};
use names::Names;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use table::Table;
use words::Context;

/// How much of what was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masked {
    /// Different values by kind, such as `MAC addresses`.
    pub values: BTreeMap<&'static str, usize>,
}

/// Keys that are tried until no masked value is by chance the original of another.
const MOST_KEYS: u32 = 1000;

impl Capture {
    /// The same tree with everything replaced that tells whose it is.
    #[must_use]
    pub fn masked(&self) -> (Self, Masked) {
        let names = Names::of(self);
        let mut originals = Table::collecting();
        self.rewrite(&names, &mut originals);
        let mut table = originals.with_new_key();
        for _ in 0..MOST_KEYS {
            if table.leaves_no_original() {
                break;
            }
            table = table.with_new_key();
        }
        let mut masked = Masked { values: table.counts() };
        if names.host().is_some() {
            masked.values.insert("host names", 1);
        }
        (self.rewrite(&names, &mut table), masked)
    }

    fn rewrite(&self, names: &Names, table: &mut Table) -> Self {
        let mut masked = Self::default();
        for (path, entry) in &self.entries {
            let entry = match entry {
                Entry::Folder => Entry::Folder,
                Entry::Link(to) => Entry::Link(rewrite_path(to, names, table)),
                Entry::File(bytes) => Entry::File(files::rewrite(path, bytes, names, table)),
            };
            masked.entries.insert(rewrite_path(path, names, table), entry);
        }
        for not_taken in &self.not_taken {
            let mut not_taken = not_taken.clone();
            not_taken.path = rewrite_path(&not_taken.path, names, table);
            not_taken.reason = words::rewrite(&not_taken.reason, Context::Text, names, table);
            masked.not_taken.push(not_taken);
        }
        masked
    }
}

fn rewrite_path(path: &Path, names: &Names, table: &mut Table) -> PathBuf {
    path.components()
        .map(|part| words::rewrite(&part.as_os_str().to_string_lossy(), Context::Text, names, table))
        .collect()
}
