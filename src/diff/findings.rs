//! Findings that came and went.

use crate::report::Report;
use crate::rules::{Finding, Severity};
use serde::Serialize;
use std::collections::BTreeSet;

/// A finding that one session has and the other has not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed {
    /// Stable word, such as `cross-numa`.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// The devices that the other session has not found it on.
    pub devices: Vec<String>,
    /// What was found, with the numbers.
    pub message: String,
    /// What to do.
    pub advice: String,
}

/// Those that the second has alone, then those that the first has alone.
///
/// Device by device: a finding on one rail more has appeared on that rail.
pub(super) fn compare(a: &Report, b: &Report) -> (Vec<Changed>, Vec<Changed>) {
    (only_in(b, a), only_in(a, b))
}

fn only_in(one: &Report, other: &Report) -> Vec<Changed> {
    let known: BTreeSet<(&str, Severity, &str)> = other.findings.iter().flat_map(each).collect();
    let changed = |finding: &Finding| {
        let devices: Vec<String> = each(finding)
            .filter(|key| !known.contains(key))
            .map(|(_, _, device)| device.to_owned())
            .collect();
        (!devices.is_empty()).then(|| Changed {
            code: finding.code.to_string(),
            severity: finding.severity,
            devices,
            message: finding.message.clone(),
            advice: finding.advice.clone(),
        })
    };
    one.findings.iter().filter_map(changed).collect()
}

fn each(finding: &Finding) -> impl Iterator<Item = (&str, Severity, &str)> {
    finding.devices.iter().map(|device| (&*finding.code, finding.severity, device.as_str()))
}
