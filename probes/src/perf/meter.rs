//! All counters of one thread.

use super::event::OF_THE_SCHEDULER;
use super::files::FromFiles;
use super::group::Group;
use crate::model::{PERF_GROUPS, PerfFrame, PerfGroup};
use std::collections::BTreeMap;

/// The counters of one thread.
#[derive(Debug)]
pub struct Meter {
    thread: u32,
    hardware: Vec<(&'static PerfGroup, Group)>,
    scheduler: Option<Group>,
    /// What the kernel files said at the start; they count from the birth of the thread.
    from_files: FromFiles,
    gaps: BTreeMap<String, String>,
    /// Set once the thread has done its work.
    last: Option<PerfFrame>,
}

impl Meter {
    /// Opens counters for the calling thread; they stand still until [`Meter::start`].
    #[must_use]
    pub fn open() -> Self {
        let mut gaps = BTreeMap::new();
        let hardware = PERF_GROUPS
            .iter()
            .filter_map(|group| Some((group, Group::open(group.counters, &mut gaps)?)))
            .collect();
        let scheduler = Group::open(&OF_THE_SCHEDULER, &mut gaps);
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        Self { thread, hardware, scheduler, from_files: FromFiles::default(), gaps, last: None }
    }

    /// Starts counting.
    pub fn start(&mut self) {
        if self.needs_files() {
            self.from_files = FromFiles::read(self.thread);
        }
        if let Some(group) = &mut self.scheduler {
            group.start();
        }
        for (_, group) in &mut self.hardware {
            group.start();
        }
    }

    /// What the thread has cost since [`Meter::start`]. Any thread may ask.
    pub fn read(&mut self) -> PerfFrame {
        if let Some(last) = &self.last {
            return last.clone();
        }
        let mut frame = PerfFrame::default();
        for (of, group) in &mut self.hardware {
            group.read(&mut frame, Some(of));
        }
        if let Some(group) = &mut self.scheduler {
            group.read(&mut frame, None);
        }
        if self.needs_files() {
            let (now, then) = (FromFiles::read(self.thread), self.from_files);
            let since = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
            frame.context_switches = frame.context_switches.or(since(now.switches, then.switches));
            frame.migrations = frame.migrations.or(since(now.migrations, then.migrations));
            frame.on_cpu_ns = frame.on_cpu_ns.or(since(now.on_cpu_ns, then.on_cpu_ns));
        }
        frame
    }

    /// Takes the last reading: the thread has done its work, and what it does now is not to be counted.
    pub fn finish(&mut self) {
        self.last = Some(self.read());
    }

    /// Why a counter is missing or counts less than all, by its name in [`PerfFrame`].
    #[must_use]
    pub fn gaps(&self) -> BTreeMap<String, String> {
        let mut gaps = self.gaps.clone();
        let files = FromFiles::read(self.thread);
        let values = [files.switches, files.migrations, files.on_cpu_ns];
        for (name, value) in OF_THE_SCHEDULER.into_iter().zip(values) {
            if value.is_some() {
                gaps.remove(name);
            }
        }
        gaps
    }

    fn needs_files(&self) -> bool {
        OF_THE_SCHEDULER.iter().any(|name| self.gaps.contains_key(*name))
    }
}

#[cfg(test)]
mod tests {
    use super::Meter;
    use crate::model::PerfFrame;

    #[test]
    fn what_is_missing_has_a_reason_and_what_is_there_counts() {
        let mut meter = Meter::open();
        meter.start();
        let gaps = meter.gaps();
        let frame = meter.read();
        for name in PerfFrame::NAMES
            .iter()
            .filter(|name| !name.ends_with("abled_ns") && !name.ends_with("running_ns"))
        {
            assert!(
                frame.get(name).is_some() || gaps.contains_key(*name),
                "{name} is missing without a reason: {gaps:?}"
            );
        }
        meter.finish();
        assert_eq!(meter.read(), meter.read());
    }
}
