//! Steps: new contents for files of a copied tree, one set per sample, so that a recorded or invented course
//! of counters runs without real time.
//!
//! ```json
//! { "interval_s": 1.0, "steps": [ { "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "1000\n" },
//!                                 { "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "2000\n" } ] }
//! ```
//!
//! Step 0 is in force before the first sample; `null` hides a file or a whole device. The tree itself is
//! never written to: texts are laid over it in memory ([`Root::lay_over`]).

use crate::bounded;
use crate::root::Root;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// A day of steps of a large node is smaller.
const MOST_BYTES: u64 = 256 << 20;

/// A day in seconds: a longer time between two samples is a slip of the pen.
const LONGEST_INTERVAL_S: f64 = 86_400.0;

/// A steps file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StepsError {
    /// It cannot be read.
    #[error("steps file {path}: {cause}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It is no JSON object with `interval_s` and `steps`.
    #[error(
        "steps file {path}: {cause}; it needs {{\"interval_s\": 1.0, \"steps\": [{{\"path\": \"text\"}}, ...]}}"
    )]
    Format {
        /// The file.
        path: String,
        /// Line and column, and what was expected there.
        cause: serde_json::Error,
    },
    /// The time between steps is no time.
    #[error("steps file {path}: interval_s is {interval_s}; it must be above 0 and at most a day")]
    Interval {
        /// The file.
        path: String,
        /// What it says.
        interval_s: f64,
    },
    /// There are no steps in it.
    #[error("steps file {path}: no steps in it")]
    Empty {
        /// The file.
        path: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    interval_s: f64,
    steps: Vec<BTreeMap<String, Option<String>>>,
}

/// The steps of one file.
#[derive(Clone, Debug)]
pub struct Steps {
    interval: Duration,
    steps: Vec<BTreeMap<String, Option<String>>>,
}

impl Steps {
    /// Reads a steps file.
    pub fn read(path: &Path) -> Result<Self, StepsError> {
        let name = || path.display().to_string();
        let text =
            bounded::read(path, MOST_BYTES).map_err(|cause| StepsError::File { path: name(), cause })?;
        let file: File =
            serde_json::from_slice(&text).map_err(|cause| StepsError::Format { path: name(), cause })?;
        let interval_s = file.interval_s;
        if !(interval_s > 0.0 && interval_s <= LONGEST_INTERVAL_S) {
            return Err(StepsError::Interval { path: name(), interval_s });
        }
        if file.steps.is_empty() {
            return Err(StepsError::Empty { path: name() });
        }
        Ok(Self { interval: Duration::from_secs_f64(interval_s), steps: file.steps })
    }

    /// Time between two samples.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// How many samples there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// Whether a step tells anything else than what is counted, so that a look at the tree may find other facts.
    #[must_use]
    pub fn tells_facts(&self, step: usize) -> bool {
        const COUNTED: [&str; 5] =
            ["/counters/", "/hw_counters/", "/statistics/", "captured/ethtool-S/", "proc/"];
        let is_fact = |path: &String| {
            let path = path.as_str();
            path != "captured/load.json" && COUNTED.iter().all(|part| !path.contains(part))
        };
        self.steps.get(step).is_some_and(|texts| texts.keys().any(is_fact))
    }

    /// Lays the texts of one step over the tree; returns whether there is such a step.
    pub fn apply(&self, step: usize, root: &mut Root) -> bool {
        let Some(texts) = self.steps.get(step) else {
            return false;
        };
        for (path, text) in texts {
            root.lay_over(path, text.as_deref());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Steps;
    use crate::root::Root;

    fn steps(text: &str) -> Result<Steps, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("steps.json");
        std::fs::write(&path, text).unwrap();
        Steps::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn counters_and_loads_are_no_facts() {
        let steps = steps(
            r#"{"interval_s": 1, "steps": [
                {"sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "1\n", "captured/load.json": "{}"},
                {"sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN\n"}]}"#,
        )
        .unwrap();
        assert_eq!([0, 1, 2].map(|step| steps.tells_facts(step)), [false, true, false]);
    }

    #[test]
    fn a_step_changes_the_view_and_not_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sys")).unwrap();
        std::fs::write(dir.path().join("sys/count"), "1\n").unwrap();
        let mut root = Root::at(dir.path());
        let steps = steps(
            r#"{"interval_s": 0.5, "steps": [{"sys/count": "2\n", "sys/new": "7\n"}, {"sys/count": null}]}"#,
        )
        .unwrap();
        assert_eq!((steps.interval().as_millis(), steps.count()), (500, 2));

        assert!(steps.apply(0, &mut root));
        assert_eq!(root.text("sys/count").unwrap(), "2");
        assert!(steps.apply(1, &mut root));
        assert!(root.text("sys/count").unwrap_err().is_missing());
        assert_eq!(root.text("sys/new").unwrap(), "7", "what a step does not name stays as it was");
        assert!(!steps.apply(2, &mut root));
        assert_eq!(std::fs::read_to_string(dir.path().join("sys/count")).unwrap(), "1\n");
        assert!(!dir.path().join("sys/new").exists());
    }

    #[test]
    fn a_file_that_is_no_steps_file_is_named_with_what_is_wrong() {
        for (text, says) in [
            ("", "EOF while parsing"),
            ("[1]", "interval_s"),
            (r#"{"interval_s": 0, "steps": [{}]}"#, "interval_s is 0;"),
            (r#"{"interval_s": 1e9, "steps": [{}]}"#, "at most a day"),
            (r#"{"interval_s": 1, "steps": []}"#, "no steps in it"),
            (r#"{"interval_s": 1, "steps": [{"a": 1}]}"#, "invalid type: integer"),
        ] {
            let error = steps(text).unwrap_err();
            assert!(error.contains("steps.json") && error.contains(says), "{text}: {error}");
        }
    }
}
