//! A finding: what is wrong, or worth knowing, with its evidence and what to do.

use super::wording::each_once;
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
            message: message.into(),
            evidence: BTreeMap::new(),
            advice: String::new(),
        }
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
