//! The event loop: the one owner of the terminal and of [`App`].
//!
//! The sampler has a thread of its own and an unbounded channel to here, so that a slow terminal never delays a
//! sample. The order of the arms matters: keys first, so that the screen always obeys; drawing before frames, so
//! that a source in a hurry cannot starve it.

mod sampler;
mod terminal;

pub use crate::app::{How, Mode};

use crate::app::{App, Command, Msg};
use crate::hangup::Hangup;
use crate::printable::tell;
use crate::session::FrameSource;
use crate::timeline::Timeline;
use crate::view::{self, Theme};
use anyhow::Context;
use crossterm::event::{Event, EventStream, KeyEventKind};
use futures_util::StreamExt;
use sampler::Sampler;
use std::time::Duration;
use terminal::{Panics, Screen};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Ten pictures a second: more cannot be read.
const REDRAW: Duration = Duration::from_millis(100);
/// How long the source may take to end before anything is said about it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows the session until a key, a signal or its end, and hands back what was seen.
///
/// Builds a runtime of its own, so it must not be called from within one.
///
/// # Errors
///
/// The terminal is none, or gone; the session could not go on; a thread of it panicked. The terminal is restored
/// and the source is dropped, which closes a recording, in every case.
pub fn run(source: Box<dyn FrameSource>, how: How) -> anyhow::Result<Timeline> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the event loop could not start")?;
    let theme = Theme::of_environment(|name| std::env::var(name).ok());
    let (mode, stop) = (how.mode, how.stop.clone());
    let mut app = App::new(source.session(), how, theme);
    let (send, mut msgs) = unbounded_channel();
    let (panics, mut panicked) = Panics::watch();
    let mut screen = Screen::open().context("the terminal cannot be used; --headless needs none")?;
    let mut signals = {
        let _inside = runtime.enter();
        Signals::listen().context("signals cannot be listened to")?
    };
    let mut sampler =
        Sampler::start(source, mode, stop, send).context("the sampler thread could not start")?;
    let watching = watch(&mut screen, &mut app, &mut msgs, &mut panicked, &mut signals, &sampler);
    let left = runtime.block_on(watching);
    drop(screen);
    sampler.stop();
    if let Err(hurry) = runtime.block_on(wait(&mut sampler, &mut signals)) {
        sampler.leave_behind();
        return Err(hurry);
    }
    let joined = sampler.join();
    // what the source still had to say: a load's last frame holds the check of its data
    while let Ok(msg) = msgs.try_recv() {
        app.update(msg);
    }
    drop(panics);
    left?;
    joined?;
    match app.ending().and_then(|ending| ending.reason.clone()) {
        Some(reason) => Err(anyhow::anyhow!(reason)),
        None => Ok(app.into_timeline()),
    }
}

async fn watch(
    screen: &mut Screen,
    app: &mut App,
    msgs: &mut UnboundedReceiver<Msg>,
    panicked: &mut UnboundedReceiver<String>,
    signals: &mut Signals,
    sampler: &Sampler,
) -> anyhow::Result<()> {
    let mut keys = EventStream::new();
    let mut redraw = interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut dirty = true;
    loop {
        let msg = tokio::select! { biased;
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => Msg::Key(key),
                Some(Ok(Event::Resize(..))) => Msg::Resized,
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(error).context("the terminal cannot be read"),
                None => anyhow::bail!("the terminal is gone"),
            },
            () = signals.any() => return Ok(()),
            Some(panic) = panicked.recv() => anyhow::bail!("a fault in railscope itself: {panic}"),
            _ = redraw.tick(), if dirty => {
                draw(screen, app)?;
                dirty = false;
                continue;
            }
            Some(msg) = msgs.recv() => msg,
        };
        match app.update(msg) {
            Command::None => {}
            Command::Draw => dirty = true,
            Command::DrawNow => {
                draw(screen, app)?;
                dirty = false;
            }
            Command::Pace(pace) => {
                sampler.pace(pace);
                dirty = true;
            }
            Command::Quit => return Ok(()),
        }
    }
}

fn draw(screen: &mut Screen, app: &mut App) -> anyhow::Result<()> {
    app.prepare();
    screen.draw(|frame| view::draw(app, frame)).context("the terminal cannot be drawn on")
}

/// Waits for the source to end, which takes no time unless it hangs, in a device that does not answer or in a disk.
async fn wait(sampler: &mut Sampler, signals: &mut Signals) -> anyhow::Result<()> {
    let soon = sleep(PATIENCE);
    tokio::pin!(soon);
    loop {
        tokio::select! { biased;
            () = sampler.ended() => return Ok(()),
            () = &mut soon => break,
            // an echo of what made us leave: a terminal and a wrapper both pass Ctrl-C on
            () = signals.any() => {}
        }
    }
    tell("waiting for the last sample; Ctrl-C ends at once");
    tokio::select! { biased;
        () = sampler.ended() => Ok(()),
        () = signals.any() => {
            anyhow::bail!("ended while the last sample still hung; a recording of it has no end mark")
        }
    }
}

/// What asks a program to leave.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Ctrl-\\ of another terminal, or `kill -QUIT`: it would leave the terminal as it is.
    quit: Signal,
    hangup: Hangup,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hangup: Hangup::listen()?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.quit.recv() => {}
            () = self.hangup.recv() => {}
        }
    }
}
