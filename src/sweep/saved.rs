//! A sweep as it is printed and kept in a file, from which it can go on.

use super::grid::{Grid, Spot};
use super::row::Point;
use super::statements::statements;
use crate::GENERATED_BY;
use probes::bounded;
use probes::load::Params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Name and version of the JSON form; it changes only with a new number.
pub const SCHEMA: &str = "railscope.sweep/1";

/// A point with eight rails has some 20 kB.
const MOST_FILE_BYTES: u64 = 512 << 20;

/// A sweep: what was asked for, where, and what was measured so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// [`SCHEMA`].
    pub schema: String,
    /// Program and version that made it.
    pub generated_by: String,
    /// Wall clock at the start, milliseconds since 1970.
    pub started_unix_ms: Option<u64>,
    /// This host and the peer.
    pub host: Where,
    /// What is the same at every point.
    pub params: Params,
    /// Length of the window of each point, seconds.
    pub window_s: f64,
    /// Which points it has.
    pub grid: Grid,
    /// The points measured so far, in the order of the grid.
    pub points: Vec<Point>,
    /// Why a counter is not there, by its name.
    pub unavailable: BTreeMap<String, String>,
    /// What the points amount to, in words; made anew whenever it is printed or saved.
    #[serde(default)]
    pub statements: Vec<String>,
}

/// The two hosts of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Where {
    /// Name of this host.
    pub hostname: Option<String>,
    /// Its CPU.
    pub cpu_model: Option<String>,
    /// Its kernel.
    pub kernel: Option<String>,
    /// Name of the peer; null in a simulation.
    pub peer: Option<String>,
    /// Whether the peer is this host: no figure of the fabric.
    pub loopback: bool,
    /// `verbs` or `sim`.
    pub transport: String,
    /// Rails that were driven, with their firmware.
    pub rails: Vec<String>,
    /// Whether nothing of it is a measurement.
    pub simulated: bool,
}

/// Why a file of a sweep cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// It holds something else.
    #[error("{}: is no sweep of railscope ({cause})", path.display())]
    NoSweep {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// It is there, and going on with it was not asked for.
    #[error("{}: is there already; --resume goes on with it, or choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It was made with other parameters.
    #[error("{}: was made with other parameters: {}; give the same, or another --save", path.display(), differences.join(", "))]
    Differs {
        /// The file.
        path: PathBuf,
        /// What differs, with both values.
        differences: Vec<String>,
    },
}

impl Sweep {
    /// A sweep without a point.
    #[must_use]
    pub fn new(params: Params, window_s: f64, grid: Grid) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            generated_by: GENERATED_BY.to_owned(),
            params,
            window_s,
            grid,
            ..Self::default()
        }
    }

    /// The point at this spot, if it was measured.
    #[must_use]
    pub fn point(&self, spot: Spot) -> Option<&Point> {
        self.points.iter().find(|point| point.spot == spot)
    }

    /// Spots that are not measured yet, in order.
    #[must_use]
    pub fn missing(&self) -> Vec<Spot> {
        self.grid.spots().into_iter().filter(|spot| self.point(*spot).is_none()).collect()
    }

    /// Adds a point in the order of the grid.
    pub fn add(&mut self, point: Point) {
        self.points.push(point);
        let order = self.grid.spots();
        self.points.sort_by_key(|point| order.iter().position(|spot| *spot == point.spot));
    }

    /// The points of one curve: sizes rising.
    #[must_use]
    pub fn curve(&self, qps: u32, workers: u32) -> Vec<&Point> {
        self.points.iter().filter(|point| point.spot.qps == qps && point.spot.workers == workers).collect()
    }

    /// The same with what it amounts to in words, for printing.
    #[must_use]
    pub fn with_statements(mut self) -> Self {
        self.statements = statements(&self);
        self
    }

    /// What stands in the file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no sweep.
    pub fn open(path: &Path) -> Result<Self, SavedError> {
        let bytes = bounded::read(path, MOST_FILE_BYTES)
            .map_err(|cause| SavedError::File { path: path.to_owned(), cause })?;
        let no_sweep = |cause: String| SavedError::NoSweep { path: path.to_owned(), cause };
        let saved: Self = serde_json::from_slice(&bytes).map_err(|error| no_sweep(error.to_string()))?;
        if saved.schema != SCHEMA {
            return Err(no_sweep(format!("its schema is `{}`, not {SCHEMA}", saved.schema)));
        }
        Ok(saved)
    }

    /// Whether the file begins as that of a sweep does; `false` too where it cannot be read.
    #[must_use]
    pub fn is_in(path: &Path) -> bool {
        let mut first = [0; 256];
        // a pipe is not waited for
        let is_file = fs::metadata(path).is_ok_and(|about| about.is_file());
        let opened = if is_file { File::open(path).ok() } else { None };
        let count = opened.and_then(|mut file| file.read(&mut first).ok()).unwrap_or(0);
        String::from_utf8_lossy(&first[..count]).contains("\"railscope.sweep/")
    }

    /// What stands in the file, or this sweep if there is none yet.
    ///
    /// # Errors
    ///
    /// The file is there and `resume` is not asked for, it is no sweep, or one with other parameters.
    pub fn resumed(self, path: &Path, resume: Resume) -> Result<Self, SavedError> {
        if !path.exists() {
            return Ok(self);
        }
        if resume == Resume::No {
            return Err(SavedError::Exists { path: path.to_owned() });
        }
        let mut saved = Self::open(path)?;
        let differences = self.differences(&saved);
        if !differences.is_empty() {
            return Err(SavedError::Differs { path: path.to_owned(), differences });
        }
        // what failed is measured again
        saved.points.retain(|point| point.left_out.is_none());
        Ok(saved)
    }

    /// What was asked for differently there, with both values.
    fn differences(&self, saved: &Self) -> Vec<String> {
        let value = |sweep: &Self| {
            let mut all = serde_json::to_value(&sweep.params).unwrap_or_default();
            if let Some(all) = all.as_object_mut() {
                all.insert("window_s".to_owned(), sweep.window_s.into());
                let grid = serde_json::to_value(&sweep.grid).unwrap_or_default();
                all.extend(grid.as_object().cloned().unwrap_or_default());
            }
            all
        };
        let (ours, theirs) = (value(self), value(saved));
        let empty = serde_json::Map::new();
        let ours = ours.as_object().unwrap_or(&empty);
        let differ = ours.iter().filter(|(name, value)| theirs.get(name.as_str()) != Some(value));
        differ.map(|(name, value)| format!("{name} {} there, {value} now", theirs[name])).collect()
    }

    /// Puts it into the file, whole or not at all: the object that `--json` prints.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), SavedError> {
        let failed = |cause| SavedError::File { path: path.to_owned(), cause };
        let new = beside(path);
        let write = || -> io::Result<()> {
            let mut file = File::create(&new)?;
            serde_json::to_writer_pretty(&mut file, &self.clone().with_statements())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&new, path)
        };
        write().map_err(failed)
    }
}

impl Sweep {
    /// Whether a sweep can be saved there; leaves nothing behind.
    ///
    /// # Errors
    ///
    /// There is no such directory, or nothing may be written in it.
    pub fn try_place(path: &Path) -> Result<(), SavedError> {
        let new = beside(path);
        let tried = File::create(&new).and_then(|_| fs::remove_file(&new));
        tried.map_err(|cause| SavedError::File { path: path.to_owned(), cause })
    }
}

/// Where a file is written before it takes its place.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// Whether a file that is there may be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// It may.
    Yes,
    /// It must not be there.
    No,
}

#[cfg(test)]
mod tests;
