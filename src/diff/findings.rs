//! Findings that came and went, and those of which the other session could not tell.

use super::KnownInOne;
use super::Side;
use super::could::Without;
use crate::report::Report;
use crate::rules::{Finding, Severity};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Why the other session could not have found it; null where it could.
    pub because: Option<String>,
}

/// What both sessions found on one host, and did not find.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Changes {
    /// In the second alone.
    pub appeared: Vec<Changed>,
    /// In the first alone, and the second would have it.
    pub went: Vec<Changed>,
    /// In the first alone, and the second could not have it.
    pub not_judged: Vec<Changed>,
}

/// Device by device: a finding on one rail more has appeared on that rail.
pub(super) fn compare(a: (&Side, &Report), b: (&Side, &Report), known_in_one: &[KnownInOne]) -> Changes {
    let without = |side, letter, with| Without { side, letter, with, known_in_one };
    let appeared = only_in(b.1, a.1, without(a.0, 'A', b.0));
    let gone = only_in(a.1, b.1, without(b.0, 'B', a.0));
    let (not_judged, went) = gone.into_iter().partition(|changed| changed.because.is_some());
    Changes { appeared, went, not_judged }
}

fn only_in(one: &Report, other: &Report, without: Without<'_>) -> Vec<Changed> {
    let known: BTreeSet<Found<'_>> = other.findings.iter().flat_map(each).collect();
    let mut changes = Vec::new();
    for finding in &one.findings {
        let mut devices: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
        for Found { device, .. } in each(finding).filter(|found| !known.contains(found)) {
            let named = devices.entry(without.could_not(finding, device)).or_default();
            // of two ports the device is named once
            if named.last().is_none_or(|last| last != device) {
                named.push(device.to_owned());
            }
        }
        changes.extend(devices.into_iter().map(|(because, devices)| Changed {
            code: finding.code.to_string(),
            severity: finding.severity,
            devices,
            message: finding.message.clone(),
            advice: finding.advice.clone(),
            because,
        }));
    }
    changes
}

/// What was found on one port of a device, or on the device as a whole.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Found<'a> {
    code: &'a str,
    severity: Severity,
    device: &'a str,
    /// `None` of the device as a whole.
    port: Option<u32>,
}

fn each(finding: &Finding) -> impl Iterator<Item = Found<'_>> {
    finding.devices.iter().flat_map(move |device| {
        let ports: Vec<u32> = finding.ports_of(device).collect();
        let whole = ports.is_empty().then_some(None);
        whole.into_iter().chain(ports.into_iter().map(Some)).map(move |port| Found {
            code: &finding.code,
            severity: finding.severity,
            device,
            port,
        })
    })
}
