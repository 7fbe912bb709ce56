//! A sweep on the screen: measured beside it, or looked at when it was saved.

use super::measuring::Bench;
use super::progress::Watch;
use crate::app::{Progressed, Sweeping};
use crate::commands::signals;
use crate::session::Stop;
use crate::settings::Screen;
use crate::sweep::{Point, Spot, Sweep};
use crate::tui;
use anyhow::Context;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Measures what is missing while the screen shows it; after the last point it stays until it is left.
///
/// # Errors
///
/// The terminal is gone, or the measurement failed.
pub(super) fn run(
    bench: &dyn Bench,
    sweep: &mut Sweep,
    save: Option<&Path>,
    stop: &Stop,
    screen: &Screen,
) -> anyhow::Result<()> {
    let (send, news) = unbounded_channel();
    let shown = Sweeping::begun(sweep.clone(), screen.unit);
    // the measurement keeps to this thread: what it opens need not go to another
    std::thread::scope(|scope| {
        let seen = std::thread::Builder::new().name("screen".into()).spawn_scoped(scope, move || {
            let left = tui::sweep(shown, news, stop.clone(), screen);
            // what is under way comes to rest, which may hang, and no key is read any more
            signals::end_on_signals(stop.clone()).and(left)
        });
        let seen = seen.context("no thread for the screen")?;
        let mut watch = ToldToScreen(send);
        let ended = super::measure(bench, sweep, save, &mut watch);
        let missing = sweep.missing().len();
        let why = match &ended {
            Err(error) => Some(format!("{error:#}")),
            Ok(()) if missing > 0 => Some(format!("{missing} points are not measured")),
            Ok(()) => None,
        };
        // nobody waits for it once the screen is left
        let _ = watch.0.send(Progressed::Over(why));
        let left =
            seen.join().map_err(|_| anyhow::anyhow!("a fault in railscope itself: the screen panicked"));
        left??;
        ended
    })
}

/// Tells the screen how far it is.
struct ToldToScreen(UnboundedSender<Progressed>);

impl Watch for ToldToScreen {
    fn begin(&mut self, spot: Spot, left: Duration) {
        let _ = self.0.send(Progressed::Begun(spot, left, Instant::now()));
    }

    fn end(&mut self, sweep: &Sweep, _: &Point, _: Duration) {
        let _ = self.0.send(Progressed::Measured(Box::new(sweep.clone())));
    }
}
