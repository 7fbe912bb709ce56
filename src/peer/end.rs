//! One end of a load: its host, the rails it offers, its engine.

use super::engine::{Engine, Verbs};
use super::link::Timing;
use super::message::Hello;
use super::offer::{Offer, offers};
use super::token::Token;
use crate::session;
use crate::settings::{Common, Overlay};
use probes::addresses::addresses;
use probes::ffi::cuda::Facts;
use probes::load::{Memory, gpu_facts};
use probes::model::Topology;
use probes::root::Root;
use std::path::Path;
use std::sync::Arc;

/// Who may come in.
#[derive(Clone, Debug)]
pub struct Door {
    /// The secret that both ends must know; `None`: everybody may.
    pub token: Option<Token>,
    /// Clients that a server serves at a time.
    pub max_clients: usize,
}

impl Default for Door {
    fn default() -> Self {
        Self { token: None, max_clients: 1 }
    }
}

impl Door {
    /// The door with the token of a file, where one was named.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others may read it, or it holds no secret.
    pub fn with_token(file: Option<&Path>) -> Result<Self, String> {
        Ok(Self { token: file.map(Token::read).transpose()?, ..Self::default() })
    }
}

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
    /// GPU in whose memory the data of this end lie; `None`: they lie in the host's.
    pub gpu: Option<Facts>,
    /// Who may come in.
    pub door: Door,
    /// Where this host's own samples are read, for a session of both ends; `None`: it tells none and wants none.
    pub root: Option<Root>,
}

impl End {
    /// Size of the memory in which the data of this end lie, the host's or a GPU's; `None` is unknown.
    #[must_use]
    pub fn memory_bytes(&self) -> Option<u64> {
        self.gpu.as_ref().map_or(self.topology.host.memory_bytes, |gpu| Some(gpu.memory_bytes))
    }

    /// This host, or the copied tree that the flags name, with the rails of `--rails`.
    ///
    /// # Errors
    ///
    /// There is no RDMA device, a rail of `--rails` is not there or not ACTIVE, no rail is, or a rail has
    /// nothing at `gid_index`.
    pub fn of(common: &Common, gid_index: Option<u32>) -> anyhow::Result<(Root, Self)> {
        Self::among(common.overlay.rails.as_deref(), common, gid_index)
    }

    /// The same on a host of which only these rails are looked at, all where none is named: those of a session, whose places
    /// among them frames go by.
    ///
    /// # Errors
    ///
    /// As [`End::of`]; or a rail of `--rails` is not among them.
    pub fn among(
        known: Option<&[String]>,
        common: &Common,
        gid_index: Option<u32>,
    ) -> anyhow::Result<(Root, Self)> {
        let rails = common.overlay.rails.as_deref();
        if let (Some(known), Some(rails)) = (known, rails)
            && let Some(other) = rails.iter().find(|rail| !known.contains(rail))
        {
            anyhow::bail!(
                "--rails (-d) {other}: this session has {} alone; leave, and start again with it",
                known.join(", ")
            );
        }
        let overlay = Overlay { rails: known.map(<[String]>::to_vec), ..common.overlay.clone() };
        let (root, topology) = session::node(&Common { overlay, ..common.clone() })?;
        let offers = offers(&topology, &addresses(), rails, gid_index)?;
        let end = Self {
            me: Hello::here(),
            topology: Arc::new(topology),
            offers,
            engine: Arc::new(Verbs),
            timing: Timing::default(),
            gpu: None,
            door: Door::default(),
            root: Some(root.clone()),
        };
        Ok((root, end))
    }

    /// The same with its data in this memory.
    ///
    /// # Errors
    ///
    /// No NVIDIA driver, or no such GPU.
    pub fn with_memory(self, memory: Memory) -> anyhow::Result<Self> {
        let gpu = match memory {
            Memory::Host => None,
            Memory::Gpu(number) => Some(gpu_facts(number)?),
        };
        Ok(Self { gpu, ..self })
    }

    /// The memory that the data of this end lie in.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.gpu.as_ref().map_or(Memory::Host, |gpu| Memory::Gpu(gpu.number))
    }
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
    /// count as one. `None` where one of them cannot read its boot id.
    #[must_use]
    pub fn is_same_machine(&self, other: &Self) -> Option<bool> {
        Some(self.boot_id.as_ref()? == other.boot_id.as_ref()?)
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
        assert_eq!(host(Some("a")).is_same_machine(&host(Some("a"))), Some(true));
        assert_eq!(host(Some("a")).is_same_machine(&host(Some("b"))), Some(false));
        assert_eq!(host(None).is_same_machine(&host(None)), None);
    }
}
