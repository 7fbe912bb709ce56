//! One end of a load: its host, the rails it offers, its engine.

use super::engine::Engine;
use super::link::Timing;
use super::message::Hello;
use super::offer::Offer;
use probes::model::Topology;
use probes::root::Root;
use std::sync::Arc;

/// One end of a load.
#[derive(Clone)]
pub struct End {
    /// Who we are.
    pub me: Hello,
    /// What the host is.
    pub topology: Arc<Topology>,
    /// The rails that may be used.
    pub offers: Vec<Offer>,
    /// What opens them.
    pub engine: Arc<dyn Engine>,
    /// How long things may take.
    pub timing: Timing,
}

impl Hello {
    /// This host and this program.
    ///
    /// Source: proc(5), `/proc/sys/kernel/hostname` and `/proc/sys/kernel/random/boot_id`.
    #[must_use]
    pub fn here() -> Self {
        let read = |file: &str| Root::live().text(format!("proc/sys/kernel/{file}")).ok();
        Self {
            host: read("hostname")
                .filter(|h| !h.is_empty())
                .unwrap_or_else(|| "a host without a name".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            boot_id: read("random/boot_id"),
        }
    }

    /// Whether both ends run on one machine, so that nothing crosses a fabric; containers of one machine
    /// count as one.
    #[must_use]
    pub fn is_same_machine(&self, other: &Self) -> bool {
        self.boot_id.is_some() && self.boot_id == other.boot_id
    }
}

#[cfg(test)]
mod tests {
    use super::Hello;

    #[test]
    fn only_equal_boot_ids_are_one_machine() {
        let host = |id: Option<&str>| Hello {
            host: "n1".to_owned(),
            version: String::new(),
            boot_id: id.map(str::to_owned),
        };
        assert!(host(Some("a")).is_same_machine(&host(Some("a"))));
        assert!(!host(Some("a")).is_same_machine(&host(Some("b"))));
        assert!(!host(None).is_same_machine(&host(None)));
    }
}
