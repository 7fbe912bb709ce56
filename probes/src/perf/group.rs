//! Counters that count over the same time.

use super::event;
use super::refusal::{NOT_SUPPORTED, USER_SPACE_ONLY, is_not_permitted, reason};
use crate::model::{PerfFrame, PerfGroup};
use perf_event::{Builder, Counter};
use std::collections::BTreeMap;

/// What is counted: kernel and user space, or user space alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    User,
}

/// Some of a thread's counters: they start together and are read together.
#[derive(Debug)]
pub(super) struct Group {
    group: perf_event::Group,
    members: Vec<(&'static str, Counter)>,
}

impl Group {
    /// Groups those of the named counters that can be counted here, in the calling thread; `None` where none can.
    /// Each that cannot, or not wholly, has a gap.
    ///
    /// A member that the kernel refuses spoils the group (perf-event 0.4.9 then expects it in every reading), so
    /// each is tried alone before. A group may be refused although each member alone is not: the CPU can then not
    /// count them at the same time.
    pub(super) fn open(names: &[&'static str], gaps: &mut BTreeMap<String, String>) -> Option<Self> {
        let usable: Vec<_> = names.iter().filter_map(|name| Some((*name, usable(name, gaps)?))).collect();
        if usable.is_empty() {
            return None;
        }
        let opened = || -> std::io::Result<Self> {
            let mut group = perf_event::Group::new()?;
            let mut members = Vec::new();
            for (name, scope) in &usable {
                members.push((*name, builder(name, *scope).group(&mut group).build()?));
            }
            Ok(Self { group, members })
        }();
        match opened {
            Ok(group) => Some(group),
            Err(refusal) => {
                let together = usable.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                for (name, _) in usable {
                    gaps.insert(
                        name.to_owned(),
                        format!(
                            "{NOT_SUPPORTED}: the kernel refuses to count {together} together ({refusal})"
                        ),
                    );
                }
                None
            }
        }
    }

    /// Starts counting.
    pub(super) fn start(&mut self) {
        // a group that does not start stays at what it has, and its time then says that it never ran
        let _ = self.group.enable();
    }

    /// Adds what was counted so far to the frame, with the time it had if `of` keeps it.
    pub(super) fn read(&mut self, frame: &mut PerfFrame, of: Option<&PerfGroup>) {
        let Ok(counts) = self.group.read() else { return };
        for (name, counter) in &self.members {
            *frame.slot(name) = counts.get(counter).copied();
        }
        if let Some(of) = of {
            of.set_times_ns(frame, counts.time_enabled(), counts.time_running());
        }
    }

    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.members.iter().map(|(name, _)| *name).collect()
    }
}

fn builder<'a>(name: &str, scope: Scope) -> Builder<'a> {
    let mut builder = Builder::new().kind(event::of(name));
    if scope == Scope::All {
        builder.include_kernel();
    }
    builder
}

/// What of a counter can be counted here; `None`, with a gap, if nothing that means anything.
fn usable(name: &str, gaps: &mut BTreeMap<String, String>) -> Option<Scope> {
    let Err(refusal) = builder(name, Scope::All).build() else { return Some(Scope::All) };
    let may_count = is_not_permitted(&refusal) && builder(name, Scope::User).build().is_ok();
    match name {
        // happen in the kernel alone: without it they would read 0
        "context_switches" | "migrations" => {}
        // a clock, which runs in user space and in the kernel alike whatever it is asked to leave out
        "on_cpu_ns" if may_count => return Some(Scope::User),
        _ if may_count => {
            gaps.insert(name.to_owned(), format!("{USER_SPACE_ONLY}: {}", reason(&refusal)));
            return Some(Scope::User);
        }
        _ => {}
    }
    gaps.insert(name.to_owned(), reason(&refusal));
    None
}

#[cfg(test)]
mod tests {
    use super::Group;
    use crate::model::{PERF_GROUPS, PerfFrame};
    use std::collections::BTreeMap;

    #[test]
    fn a_group_counts_its_members_over_the_same_time() {
        // the scheduler's clock in the place of cycles, so that it runs on machines without counters
        let mut gaps = BTreeMap::new();
        let Some(mut group) = Group::open(&["on_cpu_ns"], &mut gaps) else {
            eprintln!("not tried: this machine permits no perf events at all: {gaps:?}");
            return;
        };
        group.start();
        let (mut before, mut after) = (PerfFrame::default(), PerfFrame::default());
        group.read(&mut before, Some(&PERF_GROUPS[0]));
        std::hint::black_box(vec![1_u8; 64 << 20]);
        group.read(&mut after, Some(&PERF_GROUPS[0]));
        assert!(after.on_cpu_ns > before.on_cpu_ns, "{before:?} {after:?}");
        assert!(after.enabled_ns > Some(0));
        assert_eq!(after.enabled_ns, after.running_ns, "software events are never multiplexed");
    }

    #[test]
    fn each_counter_is_in_its_group_or_has_a_reason() {
        for wanted in &PERF_GROUPS {
            let mut gaps = BTreeMap::new();
            let there = Group::open(wanted.counters, &mut gaps).map_or_else(Vec::new, |group| group.names());
            for name in wanted.counters {
                assert!(there.contains(name) || gaps.contains_key(*name), "{name}: {gaps:?}");
            }
        }
    }
}
