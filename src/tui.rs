//! The event loop: the one owner of the terminal and of [`App`].
//!
//! The sampler has a thread of its own and an unbounded channel to here, so that a slow terminal never delays a
//! sample. The order of the arms matters: keys first, so that the screen always obeys; drawing before frames, so
//! that a source in a hurry cannot starve it.

mod browse;
mod player;
mod sampler;
mod scan;
mod sheet;
mod sweep;
mod terminal;

pub use crate::app::{How, Mode};
pub use browse::{Browser, Chosen, known_of};
pub use sheet::Left;
pub use sweep::sweep;

use crate::app::{App, Command, Msg, Seek, Sought, Wheel};
use crate::hangup::Hangup;
use crate::outline::Outline;
use crate::printable::tell;
use crate::session::{Anew, FrameSource, Seekable};
use crate::timeline::Timeline;
use crate::view::{self, Seen, Spot, Theme};
use anyhow::Context;
use crossterm::event::{
    Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent,
    MouseEventKind,
};
use futures_util::StreamExt;
use sampler::{Feed, Order, Sampler};
use scan::Scan;
use std::sync::Arc;
use std::time::Duration;
use terminal::{Mouse, Panics, Screen};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Five pictures a second while nobody presses a key: the figures on them are means of a second, and a busy node has better
/// use for its cores. What a key changes is drawn at once.
const REDRAW: Duration = Duration::from_millis(200);
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
    let theme = theme(&how);
    let app = App::new(source.session(), how, theme);
    show(app, Feed::Source(source), |_, _| Ok(None)).map(|(timeline, _)| timeline)
}

/// Shows a session file until a key or a signal. `whole` is the same session once more, to be looked through behind
/// the screen.
///
/// # Errors
///
/// As [`run`].
pub fn replay(mut source: Box<dyn Seekable>, whole: Box<dyn FrameSource>, how: How) -> anyhow::Result<Left> {
    let outline = source.span_ns().map(|(first, last)| Outline::of_span(first, last)).unwrap_or_default();
    let theme = theme(&how);
    let mut app = App::new(source.session(), how, theme);
    app.update(Msg::Outlined(Arc::new(outline.clone())));
    let (_, left) = show(app, Feed::File(source), |app, send| {
        let scan = Scan::start(whole, outline, app.how().clone(), send.clone());
        scan.map(Some).context("the thread that looks through the file could not start")
    })?;
    Ok(left)
}

fn theme(how: &How) -> Theme {
    theme_of(&how.screen)
}

fn theme_of(screen: &crate::settings::Screen) -> Theme {
    let theme = Theme::of_environment(|name| std::env::var(name).ok());
    Theme { colours: screen.colours.unwrap_or(theme.colours), ..theme }
}

/// What every screen needs.
struct Opened {
    runtime: Runtime,
    panics: Panics,
    /// What threads said that panicked.
    panicked: UnboundedReceiver<String>,
    screen: Screen,
    signals: Signals,
}

impl Opened {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// It cannot place text, or is none.
    fn with(mouse: Mouse) -> anyhow::Result<Self> {
        terminal::can_place_text(std::env::var("TERM").ok().as_deref())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the event loop could not start")?;
        let (panics, panicked) = Panics::watch();
        let screen = Screen::open(mouse).context("the terminal cannot be used; --headless needs none")?;
        let signals = {
            let _inside = runtime.enter();
            Signals::listen().context("signals cannot be listened to")?
        };
        Ok(Self { runtime, panics, panicked, screen, signals })
    }
}

fn show(
    mut app: App,
    feed: Feed,
    beside: impl FnOnce(&App, &UnboundedSender<Msg>) -> anyhow::Result<Option<Scan>>,
) -> anyhow::Result<(Timeline, Left)> {
    let mouse = if app.how().screen.mouse.unwrap_or(true) { Mouse::Ours } else { Mouse::Terminals };
    let Opened { runtime, panics, mut panicked, mut screen, mut signals } = Opened::with(mouse)?;
    let (mode, stop) = (app.how().mode, app.how().stop.clone());
    let (send, mut msgs) = unbounded_channel();
    let scan = beside(&app, &send)?;
    let answers = send.clone();
    let mut sampler = Sampler::start(feed, mode, stop, send).context("the sampler thread could not start")?;
    if let Some(Command::Seek(seek)) = app.begin() {
        sampler.order(Order::Seek(seek));
    }
    let watching = watch(&mut screen, &mut app, &mut msgs, &mut panicked, &mut signals, &sampler, &answers);
    let left = runtime.block_on(watching);
    drop(screen);
    drop(scan);
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
    let left = left?;
    joined?;
    match app.ending().and_then(|ending| ending.reason.clone()) {
        Some(reason) => Err(anyhow::anyhow!(reason)),
        None => Ok((app.into_timeline(), left)),
    }
}

async fn watch(
    screen: &mut Screen,
    app: &mut App,
    msgs: &mut UnboundedReceiver<Msg>,
    panicked: &mut UnboundedReceiver<String>,
    signals: &mut Signals,
    sampler: &Sampler,
    answers: &UnboundedSender<Msg>,
) -> anyhow::Result<Left> {
    let mut keys = EventStream::new();
    let mut redraw = interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut dirty = true;
    let anew = app.how().anew.clone();
    loop {
        let msg = tokio::select! { biased;
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) if key.kind != KeyEventKind::Release => Msg::Key(key),
                Some(Ok(Event::Resize(..))) => {
                    screen.resized();
                    Msg::Resized
                }
                Some(Ok(Event::Paste(text))) => Msg::Pasted(text),
                Some(Ok(Event::Mouse(mouse))) => match pointed_at(screen, app, mouse)? {
                    Some(msg) => msg,
                    None => continue,
                },
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(error).context("the terminal cannot be read"),
                None => anyhow::bail!("the terminal is gone"),
            },
            () = signals.any() => return Ok(Left::Program),
            Some(panic) = panicked.recv() => anyhow::bail!("a fault in railscope itself: {panic}"),
            _ = redraw.tick(), if dirty => {
                draw(screen, app)?;
                dirty = false;
                continue;
            }
            Some(msg) = msgs.recv() => msg,
            // no frame comes while a load is ended or opened
            () = changed(anew.as_ref()) => {
                dirty = true;
                continue;
            }
        };
        let is_asked_to_end = matches!(&msg, Msg::Key(key) if is_control_c(*key));
        match app.update(msg) {
            Command::None => {}
            Command::Draw => dirty = true,
            Command::DrawNow => {
                draw(screen, app)?;
                dirty = false;
            }
            Command::Pace(pace) => {
                sampler.order(Order::Pace(pace));
                draw(screen, app)?;
                dirty = false;
            }
            Command::Step => {
                sampler.order(Order::Step);
                dirty = true;
            }
            Command::Seek(seek) => {
                sampler.order(Order::Seek(seek));
                dirty = true;
            }
            Command::Recall(seek) => {
                read_back(app, seek, answers.clone())?;
                dirty = true;
            }
            Command::Copy(text) => {
                screen.copy(&text).context("the terminal cannot be written to")?;
                draw(screen, app)?;
                dirty = false;
            }
            Command::Quit if is_asked_to_end => return Ok(Left::Program),
            Command::Quit => return Ok(Left::Screen),
            Command::Browse => return Ok(Left::ForSessions(app.here_ns())),
        }
    }
}

/// Waits until something else goes on in the session; for ever where nothing can.
async fn changed(anew: Option<&Anew>) {
    match anew {
        Some(anew) => anew.changed().await,
        None => std::future::pending().await,
    }
}

/// Whether the key ends the program, whatever it was opened from.
fn is_control_c(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Reads a part of the recording on a thread of its own, so that neither a sample nor a key waits for a disk.
fn read_back(app: &App, seek: Seek, answers: UnboundedSender<Msg>) -> anyhow::Result<()> {
    let Some(recording) = app.how().recording.clone() else { return Ok(()) };
    let read = move || {
        let place = player::recall(recording.path(), seek.to_ns);
        // nobody waits for it once the screen is left
        let _ = answers.send(Msg::Recalled(Box::new(Sought { number: seek.number, place })));
    };
    let thread = std::thread::Builder::new().name("recall".into()).spawn(read);
    thread.map(drop).context("the thread that reads the recording back could not start")
}

/// What was clicked on, or what the wheel was turned over.
fn pointed_at(screen: &Screen, app: &App, mouse: MouseEvent) -> anyhow::Result<Option<Msg>> {
    let area = screen.area().context("the terminal's size cannot be read")?;
    let spot = || view::spot_at(app, area, (mouse.column, mouse.row));
    Ok(match mouse.kind {
        MouseEventKind::Down(MouseButton::Left) => spot().map(Msg::Clicked),
        // dragging goes along the session's length and does nothing else
        MouseEventKind::Drag(MouseButton::Left) => {
            spot().filter(|spot| matches!(spot, Spot::Share(_))).map(Msg::Clicked)
        }
        MouseEventKind::ScrollUp => Some(Msg::Turned(Wheel::Up, spot())),
        MouseEventKind::ScrollDown => Some(Msg::Turned(Wheel::Down, spot())),
        _ => None,
    })
}

fn draw(screen: &mut Screen, app: &mut App) -> anyhow::Result<()> {
    app.prepare();
    let mut seen = Seen::default();
    screen.draw(|frame| seen = view::draw(app, frame)).context("the terminal cannot be drawn on")?;
    app.drawn(seen);
    Ok(())
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
    tell("waiting for the last sample, and for a load's queue pairs to be closed; Ctrl-C ends at once");
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
