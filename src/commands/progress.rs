//! How far long work is: one line on stderr that is written over, where stderr is a terminal; elsewhere nothing.
//!
//! A thread rewrites it, so that the time left runs while the work waits. What is told meanwhile takes its place for
//! a moment, and with the work it goes: stdout and what comes after have the terminal as it was.

mod followed;

pub use followed::Followed;

use crate::printable::{Printable, wipe_line, write_line};
use crate::session::Stop;
use crate::view::time_left;
use std::fmt::Display;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use widgets::{Symbols, clip};

/// How often the line is written: the seconds that are left are never told late by more.
const REWRITE: Duration = Duration::from_millis(500);
/// Work that is over sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(300);
/// Cells of a terminal that does not tell its width.
const USUAL_CELLS: u16 = 80;

/// The line while it is there; dropping this takes it away.
#[derive(Debug)]
pub struct Progress {
    /// `None` where nobody watches.
    writer: Option<Writer>,
    began: Instant,
}

#[derive(Debug)]
struct Writer {
    line: Arc<Mutex<Line>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// What the line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Line {
    text: String,
    /// When the work is expected to be done; `None` where that is not known.
    done_at: Option<Instant>,
}

impl Progress {
    /// A line that says nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if is_dumb || !std::io::stderr().is_terminal() {
            return Self::unseen();
        }
        let line = Arc::new(Mutex::new(Line::default()));
        let stop = Stop::new();
        let (written, told) = (line.clone(), stop.clone());
        let write = move || {
            let mut next = Instant::now() + PATIENCE;
            while told.wait_until(next) {
                let line = written.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let cells = crossterm::terminal::size().map_or(USUAL_CELLS, |(columns, _)| columns);
                if !line.text.is_empty() {
                    write_line(&line.at(Instant::now(), cells));
                }
                next += REWRITE;
            }
            wipe_line();
        };
        // without a thread the work goes on unseen
        let thread = std::thread::Builder::new().name("progress".into()).spawn(write).ok();
        Self {
            began: Instant::now(),
            writer: thread.map(|thread| Writer { line, stop, thread: Some(thread) }),
        }
    }

    /// A line that nobody sees.
    #[must_use]
    pub fn unseen() -> Self {
        Self { began: Instant::now(), writer: None }
    }

    /// Says what is being done and how long all that is left will take; `None` where nobody knows.
    pub fn show(&self, what: impl Display, left: Option<Duration>) {
        if let Some(writer) = &self.writer {
            let done_at = left.and_then(|left| Instant::now().checked_add(left));
            let line = Line { text: Printable(what).to_string().replace(['\n', '\t'], " "), done_at };
            *writer.line.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }

    /// Says how much of the work is done, 0 to 1, since the line was made; the time left is learnt from that.
    pub fn share(&self, what: impl Display, done: f64) {
        self.show(format_args!("{what}: {:.0} %", 100.0 * done), left_after(self.began.elapsed(), done));
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // a panic there has been printed
            let _ = thread.join();
        }
    }
}

impl Line {
    /// As it stands on a terminal of so many columns; the last stays free, as some go to the next line there.
    fn at(&self, now: Instant, columns: u16) -> String {
        let left = self.done_at.map(|at| time_left(at.saturating_duration_since(now)));
        let line = [Some(self.text.clone()), left].into_iter().flatten().collect::<Vec<_>>().join(", ");
        clip(&line, usize::from(columns.saturating_sub(1)), Symbols::Ascii)
    }
}

/// Time left of work of which this share is done after so long; `None` before anything is.
fn left_after(elapsed: Duration, share: f64) -> Option<Duration> {
    let share = share.clamp(0.0, 1.0);
    (share > 0.0).then(|| elapsed.mul_f64((1.0 - share) / share))
}

#[cfg(test)]
mod tests {
    use super::{Line, left_after};
    use std::time::{Duration, Instant};

    fn second(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn the_time_left_runs_while_the_work_waits() {
        let now = Instant::now();
        let line = Line { text: "point 1 of 4".into(), done_at: Some(now + second(68)) };
        let said = [0, 8, 68, 99].map(|passed| line.at(now + second(passed), 80));
        assert_eq!(
            said,
            [
                "point 1 of 4, 1 min 8 s left",
                "point 1 of 4, 1 min 0 s left",
                "point 1 of 4, nearly done",
                "point 1 of 4, nearly done"
            ]
        );
        assert_eq!(Line { done_at: None, ..line }.at(now, 80), "point 1 of 4");
    }

    #[test]
    fn a_line_never_fills_the_terminal() {
        let line = Line { text: "x".repeat(200), done_at: None };
        assert_eq!(line.at(Instant::now(), 40).chars().count(), 39);
    }

    #[test]
    fn time_left_is_learnt_from_what_is_done() {
        assert_eq!(left_after(second(30), 0.75), Some(second(10)));
        assert_eq!(left_after(second(30), 1.0), Some(second(0)));
        assert_eq!(left_after(second(30), 0.0), None);
    }
}
