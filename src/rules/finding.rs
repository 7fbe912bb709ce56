//! A finding: what is wrong, or worth knowing, with its evidence and what to do.

use super::wording::each_once;
use probes::model::Rail;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// True and worth knowing; nothing is wrong.
    Info,
    /// Costs bandwidth, or soon will.
    Warning,
    /// This rail, or a load on it, does not work.
    Error,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Stable word, such as `cross-numa`.
    pub code: Cow<'static, str>,
    /// How bad it is.
    pub severity: Severity,
    /// RDMA devices; or a netdev, GPU, PCI address or `host` where no device is meant.
    pub devices: Vec<String>,
    /// Device and number of the ports it speaks of; a device of `devices` that has none here is meant as a whole.
    ///
    /// A device with two ports is two rails, and what is said of one port holds for that one alone.
    #[serde(skip)]
    pub ports: Vec<(String, u32)>,
    /// One sentence with the numbers and the limit that fired it.
    pub message: String,
    /// Every number and limit the message quotes, with units in the keys.
    pub evidence: BTreeMap<String, Value>,
    /// What to do; a command to paste where there is one.
    pub advice: String,
}

impl Finding {
    /// A finding without evidence yet; a device that is named for each of its ports is in it once.
    #[must_use]
    pub fn new(
        code: &'static str,
        severity: Severity,
        devices: impl IntoIterator<Item = impl Into<String>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code: Cow::Borrowed(code),
            severity,
            devices: each_once(devices.into_iter().map(Into::into)),
            ports: Vec::new(),
            message: message.into(),
            evidence: BTreeMap::new(),
            advice: String::new(),
        }
    }

    /// A finding about ports (rates, counters, addresses, links, legs), and not about the other ports of their devices.
    #[must_use]
    pub fn on_ports<'a>(
        code: &'static str,
        severity: Severity,
        rails: impl IntoIterator<Item = &'a Rail>,
        message: impl Into<String>,
    ) -> Self {
        let ports = each_once(rails.into_iter().map(|rail| (rail.device.clone(), rail.port)));
        let devices = ports.iter().map(|(device, _)| device.clone()).collect::<Vec<_>>();
        Self { ports, ..Self::new(code, severity, devices, message) }
    }

    /// Names one thing more that it is about, as a whole.
    #[must_use]
    pub fn and_on(mut self, device: impl Into<String>) -> Self {
        self.devices.push(device.into());
        self
    }

    /// Whether it speaks of this rail: of its port, or of its device as a whole.
    #[must_use]
    pub fn is_about(&self, rail: &Rail) -> bool {
        self.is_about_port(&rail.device, rail.port)
    }

    /// The same by device and port.
    #[must_use]
    pub fn is_about_port(&self, device: &str, port: u32) -> bool {
        let is_whole = || self.ports_of(device).next().is_none();
        self.devices.iter().any(|named| named == device)
            && (is_whole() || self.ports_of(device).any(|named| named == port))
    }

    /// Whether both speak of one rail.
    pub(crate) fn shares_a_rail_with(&self, other: &Self) -> bool {
        self.devices.iter().filter(|device| other.devices.contains(device)).any(|device| {
            let mut ports = self.ports_of(device).peekable();
            ports.peek().is_none() || ports.any(|port| other.is_about_port(device, port))
        })
    }

    /// The ports of a device that it speaks of; none where it means the device as a whole.
    pub(crate) fn ports_of<'a>(&'a self, device: &'a str) -> impl Iterator<Item = u32> + 'a {
        self.ports.iter().filter(move |(of, _)| of == device).map(|(_, port)| *port)
    }

    /// Adds one number or word of evidence.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(key.to_owned(), value.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}
