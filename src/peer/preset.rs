//! Loads that were published, as flags.
//!
//! Source: the READ baseline that `PeerCache` publishes, made with its `peercache-bench drive --batch-size 128
//! --concurrencies 2 --duration 10 --warmup 2 --op get`. Its reader posts pages of a batch over all rails, rail i modulo
//! their number, with 16 READs outstanding a queue pair, and waits for all of them before the next batch. Pages of
//! 128 KiB were fastest with 4 threads, those of 1 MiB with 2.

use crate::cli::{Carrier, LoadArgs, LoadPreset, Spread};
use crate::settings::{Period, Size};
use std::time::Duration;

/// Pages of a batch.
const BATCH: u32 = 128;
/// READs outstanding of a queue pair.
const READ_DEPTH: u32 = 16;
/// Time that is measured.
const WINDOW: Duration = Duration::from_secs(10);

impl LoadPreset {
    /// Page size in bytes and threads in all.
    fn pages(self) -> (u64, u32) {
        match self {
            Self::Peercache1M => (1 << 20, 2),
            Self::Peercache128K => (128 << 10, 4),
        }
    }

    /// What was published of it.
    fn published(self) -> &'static str {
        match self {
            Self::Peercache1M => {
                "peercache-1m: published were 147.6 GB/s for one process over eight rails of 400G, and 46.0 over one"
            }
            Self::Peercache128K => {
                "peercache-128k: published were 40.4 GB/s for one process over eight rails of 400G"
            }
        }
    }
}

impl LoadArgs {
    /// The same with what its preset has and no flag says. Only verbs carry batches: over anything else each thread drives
    /// one rail.
    #[must_use]
    pub fn with_preset(mut self) -> Self {
        let Some(preset) = self.preset else { return self };
        let (page_bytes, threads) = preset.pages();
        let shape = match self.transport {
            Carrier::Verbs => Spread::Striped,
            Carrier::Tcp | Carrier::Sim => Spread::PerRail,
        };
        let shape = *self.shape.get_or_insert(shape);
        if shape == Spread::Striped {
            self.batch.get_or_insert(BATCH);
        }
        self.size.get_or_insert(Size(page_bytes));
        self.workers.get_or_insert(threads);
        self.knobs.read_depth.get_or_insert(READ_DEPTH);
        if self.operations.is_none() {
            self.common.duration.get_or_insert(Period(WINDOW));
        }
        self
    }

    /// What to know of its preset beforehand, a line each: what was published, and what is otherwise here.
    #[must_use]
    pub fn words_of_preset(&self) -> Vec<String> {
        let Some(preset) = self.preset else { return Vec::new() };
        let mut lines = vec![preset.published().to_owned()];
        if self.transport != Carrier::Verbs && self.shape != Some(Spread::Striped) {
            lines.push(
                "batches over all rails need --transport verbs: here each thread drives one rail with the same pages, which \
                 is no figure to hold against the published one"
                    .to_owned(),
            );
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::{Cli, Command, LoadArgs};
    use crate::peer::request::params;
    use clap::Parser;
    use probes::load::{Params, Shape, Transport};

    fn typed(flags: &str) -> Result<LoadArgs, String> {
        let cli = Cli::try_parse_from(format!("railscope load {flags}").split_whitespace());
        match cli.map_err(|error| error.to_string())?.command {
            Some(Command::Load(args)) => Ok(args.with_preset()),
            other => Err(format!("{other:?}")),
        }
    }

    fn asked(flags: &str) -> Params {
        params(&typed(flags).unwrap()).unwrap()
    }

    #[test]
    fn a_preset_is_a_published_load() {
        let published = Params {
            shape: Shape::Striped,
            size_bytes: 1 << 20,
            batch: 128,
            workers: 2,
            read_depth: Some(16),
            warmup_s: 2.0,
            duration_s: Some(10.0),
            ..Params::default()
        };
        assert_eq!(asked("n2 --preset peercache-1m"), published);
        let small = Params { size_bytes: 128 << 10, workers: 4, ..published };
        assert_eq!(asked("n2 --preset peercache-128k"), small);
        assert!(
            small.check_shape(Some(1)).is_ok() && small.check_shape(Some(8)).is_ok(),
            "it fits its queues"
        );
    }

    #[test]
    fn flags_beside_a_preset_win() {
        let flags = "--size 256K --batch 64 --workers 1 -o 4 --warmup 1s --for 3s --qps 8";
        let asked = asked(&format!("n2 --preset peercache-1m {flags}"));
        assert_eq!((asked.size_bytes, asked.batch, asked.workers), (256 << 10, 64, 1));
        assert_eq!((asked.read_depth, asked.qps), (Some(4), 8));
        assert_eq!((asked.warmup_s, asked.duration_s), (1.0, Some(3.0)));
    }

    #[test]
    fn a_count_beside_a_preset_ends_it_instead_of_its_time() {
        let counted = asked("n2 --preset peercache-1m --shape per-rail -n 1000");
        assert_eq!(
            (counted.shape, counted.operations, counted.duration_s),
            (Shape::PerRail, Some(1000), None)
        );
    }

    #[test]
    fn over_anything_but_verbs_a_preset_has_no_batches_and_says_so() {
        let over_tcp = asked("n2 --preset peercache-1m --transport tcp");
        assert_eq!((over_tcp.transport, over_tcp.shape), (Transport::Tcp, Shape::PerRail));
        assert_eq!((over_tcp.size_bytes, over_tcp.workers), (1 << 20, 2));
        for (flags, lines) in [("n2", 1), ("n2 --transport tcp", 2), ("--transport sim", 2)] {
            let words = typed(&format!("{flags} --preset peercache-1m")).unwrap().words_of_preset();
            assert_eq!(words.len(), lines, "{flags}: {words:?}");
        }
        assert!(typed("n2").unwrap().words_of_preset().is_empty());
        let refused = params(&typed("n2 --preset peercache-1m --transport tcp --shape striped").unwrap());
        assert_eq!(
            refused.unwrap_err(),
            "--shape striped and --transport tcp: only --transport verbs can do that"
        );
    }

    #[test]
    fn an_unknown_preset_lists_those_there_are() {
        let said = typed("n2 --preset kv").unwrap_err();
        assert!(said.contains("peercache-1m") && said.contains("peercache-128k"), "{said}");
    }
}
