//! What a load thread costs: cycles, instructions, context switches, moves between CPUs.
//!
//! The thread opens its own counters and starts them; anybody may read them afterwards, so that being measured
//! costs the thread no system call. What this machine does not give is `None`, and [`Meter::gaps`] says why.

use crate::model::PerfFrame;
use perf_event::events::{Event, Hardware, Software};
use perf_event::{Builder, Counter, Group};
use std::collections::BTreeMap;
use std::{fs, io};

/// The counters of one thread.
#[derive(Debug)]
pub struct Meter {
    thread: u32,
    hardware: Option<HardwareGroup>,
    switches: Option<Counter>,
    migrations: Option<Counter>,
    /// What the kernel files said at the start; they count from the birth of the thread.
    from_files: FromFiles,
    gaps: BTreeMap<String, String>,
    /// Set once the thread has done its work.
    last: Option<PerfFrame>,
}

/// Cycles and instructions, counted over the same time.
#[derive(Debug)]
struct HardwareGroup {
    group: Group,
    cycles: Option<Counter>,
    instructions: Option<Counter>,
}

/// Fallback for what the counters do not give.
#[derive(Clone, Copy, Debug, Default)]
struct FromFiles {
    switches: Option<u64>,
    migrations: Option<u64>,
}

/// What is counted: kernel and user space, or user space alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    User,
}

impl Meter {
    /// Opens counters for the calling thread; they stand still until [`Meter::start`].
    #[must_use]
    pub fn open() -> Self {
        let mut gaps = BTreeMap::new();
        let cycles = usable("cycles", Hardware::CPU_CYCLES.into(), &mut gaps);
        let instructions = usable("instructions", Hardware::INSTRUCTIONS.into(), &mut gaps);
        let mut build = |name: &str, event: Software| {
            usable(name, event.into(), &mut gaps)
                .filter(|scope| *scope == Scope::All)
                .and_then(|scope| builder(event.into(), scope).build().ok())
        };
        let switches = build("context_switches", Software::CONTEXT_SWITCHES);
        let migrations = build("migrations", Software::CPU_MIGRATIONS);
        let hardware = HardwareGroup::open(
            (Hardware::CPU_CYCLES.into(), cycles),
            (Hardware::INSTRUCTIONS.into(), instructions),
        );
        if hardware.is_none() {
            for name in ["cycles", "instructions"] {
                let refused = || {
                    "not supported: the kernel refuses to count cycles and instructions together".to_owned()
                };
                gaps.entry(name.to_owned()).or_insert_with(refused);
            }
        }
        let thread = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        Self { thread, hardware, switches, migrations, from_files: FromFiles::default(), gaps, last: None }
    }

    /// Starts counting.
    pub fn start(&mut self) {
        if self.switches.is_none() || self.migrations.is_none() {
            self.from_files = FromFiles::read(self.thread);
        }
        // a counter that does not start stays at what it has; read() then says it never ran
        if let Some(hardware) = &mut self.hardware {
            let _ = hardware.group.enable();
        }
        for counter in [&mut self.switches, &mut self.migrations].into_iter().flatten() {
            let _ = counter.enable();
        }
    }

    /// What the thread has cost since [`Meter::start`]. Any thread may ask.
    pub fn read(&mut self) -> PerfFrame {
        if let Some(last) = &self.last {
            return last.clone();
        }
        let mut frame = self.hardware.as_mut().map_or_else(PerfFrame::default, HardwareGroup::read);
        let count = |counter: &mut Option<Counter>| counter.as_mut().and_then(|counter| counter.read().ok());
        frame.context_switches = count(&mut self.switches);
        frame.migrations = count(&mut self.migrations);
        if frame.context_switches.is_none() || frame.migrations.is_none() {
            let (now, then) = (FromFiles::read(self.thread), self.from_files);
            let since = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
            frame.context_switches = frame.context_switches.or(since(now.switches, then.switches));
            frame.migrations = frame.migrations.or(since(now.migrations, then.migrations));
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
        for (name, value) in [("context_switches", files.switches), ("migrations", files.migrations)] {
            if value.is_some() {
                gaps.remove(name);
            }
        }
        gaps
    }
}

impl HardwareGroup {
    /// Groups what can be counted. A member that the kernel refuses spoils the group (perf-event 0.4.9 then
    /// expects it in every reading), so members are tried alone before.
    fn open(cycles: (Event, Option<Scope>), instructions: (Event, Option<Scope>)) -> Option<Self> {
        if cycles.1.is_none() && instructions.1.is_none() {
            return None;
        }
        let mut group = Group::new().ok()?;
        let mut add = |(event, scope): (Event, Option<Scope>)| -> io::Result<Option<Counter>> {
            scope.map(|scope| builder(event, scope).group(&mut group).build()).transpose()
        };
        let cycles = add(cycles).ok()?;
        let instructions = add(instructions).ok()?;
        Some(Self { group, cycles, instructions })
    }

    fn read(&mut self) -> PerfFrame {
        let Ok(counts) = self.group.read() else { return PerfFrame::default() };
        let (enabled, running) = (counts.time_enabled(), counts.time_running());
        let scaled = |counter: &Option<Counter>| {
            let count = *counts.get(counter.as_ref()?)?;
            scale(count, enabled, running)
        };
        PerfFrame {
            cycles: scaled(&self.cycles),
            instructions: scaled(&self.instructions),
            enabled_ns: Some(enabled),
            running_ns: Some(running),
            ..PerfFrame::default()
        }
    }
}

/// A count for the whole time the counter was wanted, from the part it really ran; `None` if it never did.
fn scale(count: u64, enabled_ns: u64, running_ns: u64) -> Option<u64> {
    if running_ns == 0 {
        return None;
    }
    let whole = u128::from(count) * u128::from(enabled_ns) / u128::from(running_ns);
    u64::try_from(whole).ok()
}

fn builder<'a>(event: Event, scope: Scope) -> Builder<'a> {
    let mut builder = Builder::new().kind(event);
    if scope == Scope::All {
        builder.include_kernel();
    }
    builder
}

/// What of `event` can be counted here; `None`, with a gap, if nothing.
fn usable(name: &str, event: Event, gaps: &mut BTreeMap<String, String>) -> Option<Scope> {
    let Err(refusal) = builder(event.clone(), Scope::All).build() else { return Some(Scope::All) };
    let not_permitted = matches!(refusal.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    if not_permitted && builder(event, Scope::User).build().is_ok() {
        gaps.insert(name.to_owned(), format!("user space only: {}", reason(&refusal)));
        return Some(Scope::User);
    }
    gaps.insert(name.to_owned(), reason(&refusal));
    None
}

/// Why the kernel refused a counter, and what to do.
fn reason(refusal: &io::Error) -> String {
    match refusal.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "not supported: this CPU or virtual machine has no such counter".to_owned()
        }
        Some(libc::ENOSYS) => "not supported: the kernel is built without perf events".to_owned(),
        Some(libc::EACCES | libc::EPERM) => {
            let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            let level = level.as_deref().map_or("unreadable", str::trim);
            format!(
                "not permitted: perf_event_paranoid is {level}; run as root, or sysctl kernel.perf_event_paranoid=1, \
                 or give CAP_PERFMON"
            )
        }
        _ => format!("perf_event_open: {refusal}"),
    }
}

impl FromFiles {
    /// Source: `proc_pid_status`(5); `sched` is there with `CONFIG_SCHED_DEBUG`.
    fn read(thread: u32) -> Self {
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(format!("/proc/self/task/{thread}/{file}")).ok()?;
            number_after(&text, name)
        };
        let voluntary = field("status", "voluntary_ctxt_switches");
        let forced = field("status", "nonvoluntary_ctxt_switches");
        let switches = voluntary.zip(forced).map(|(voluntary, forced)| voluntary + forced);
        Self { switches, migrations: field("sched", "se.nr_migrations") }
    }
}

/// The number in the line `name : 12`.
fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        if key.trim() == name { value.trim().parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::{HardwareGroup, Meter, Scope, number_after, reason, scale};
    use perf_event::events::Software;
    use std::io;

    #[test]
    fn a_multiplexed_count_is_scaled_to_the_whole_time() {
        assert_eq!(scale(100, 4000, 1000), Some(400));
        assert_eq!(scale(100, 4000, 4000), Some(100));
    }

    #[test]
    fn a_counter_that_never_ran_is_unknown_not_zero() {
        assert_eq!(scale(0, 4000, 0), None);
    }

    #[test]
    fn a_group_counts_its_members_over_the_same_time() {
        // software events in the place of cycles and instructions, so that it runs on machines without counters
        let member = |event: Software| (event.into(), Some(Scope::User));
        let Some(mut group) =
            HardwareGroup::open(member(Software::TASK_CLOCK), member(Software::PAGE_FAULTS))
        else {
            eprintln!("not tried: this machine permits no perf events at all");
            return;
        };
        group.group.enable().unwrap();
        let before = group.read();
        std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = group.read();
        assert!(after.cycles > before.cycles, "task clock: {before:?} {after:?}");
        assert!(after.instructions > before.instructions, "page faults: {before:?} {after:?}");
        assert!(after.enabled_ns > Some(0));
        assert_eq!(after.enabled_ns, after.running_ns, "software events are never multiplexed");
    }

    #[test]
    fn unsupported_and_not_permitted_are_different_words() {
        let reason = |errno| reason(&io::Error::from_raw_os_error(errno));
        assert!(reason(libc::ENOENT).starts_with("not supported"));
        assert!(reason(libc::EACCES).starts_with("not permitted: perf_event_paranoid is"));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\nse.nr_migrations   :   2\n";
        assert_eq!(number_after(text, "voluntary_ctxt_switches"), Some(7));
        assert_eq!(number_after(text, "nonvoluntary_ctxt_switches"), Some(3));
        assert_eq!(number_after(text, "se.nr_migrations"), Some(2));
    }

    #[test]
    fn what_is_missing_has_a_reason_and_what_is_there_counts() {
        let mut meter = Meter::open();
        meter.start();
        let gaps = meter.gaps();
        let frame = meter.read();
        let there = [
            ("cycles", frame.cycles),
            ("instructions", frame.instructions),
            ("context_switches", frame.context_switches),
            ("migrations", frame.migrations),
        ];
        for (name, count) in there {
            assert!(
                count.is_some() || gaps.contains_key(name),
                "{name} is missing without a reason: {gaps:?}"
            );
        }
        meter.finish();
        assert_eq!(meter.read().context_switches, meter.read().context_switches);
    }
}
