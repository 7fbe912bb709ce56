//! `railscope shot`: a view of a session or of the demo, a sweep, or the list of a folder, as a picture or as text.

use super::diagnose;
use super::output::Output;
use crate::app::{App, How, JUDGE_EVERY_NS, Keymap, Mode, Msg, Sweeping, View};
use crate::cli::ShotArgs;
use crate::outline::Outline;
use crate::printable::{Printable, tell};
use crate::session::{FrameSource, Replay, on_first_clock};
use crate::sim::{Pace, Simulated};
use crate::sweep::Sweep;
use crate::timeline::Timeline;
use crate::tui;
use crate::view::{self, Theme};
use anyhow::{Context, bail, ensure};
use probes::times::nanoseconds;
use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use widgets::{PlainText, Rgb, Svg, Symbols};

/// Simulated time of the demo unless told otherwise: its load is under way then.
const USUAL_TIME: Duration = Duration::from_secs(10);
/// Text and ground of a picture whose theme leaves them to the terminal.
const USUAL_GROUND: (Rgb, Rgb) = ((216, 216, 216), (16, 16, 16));

/// Runs the command.
///
/// # Errors
///
/// The session cannot be read, has no such rail or no frame at that moment, or the picture cannot be written.
pub fn run(args: &ShotArgs) -> anyhow::Result<ExitCode> {
    let name = args.file.display();
    ensure!(
        form_of(args).is_some(),
        "{name}: the picture comes first, as NAME.svg or NAME.txt, and the session after it"
    );
    if let Some(file) = args.session.as_deref().filter(|file| file.is_dir() || Sweep::is_in(file)) {
        return write(args, &beside_sessions(args, file)?);
    }
    let at = args.at.map(|moment| moment.0);
    let mut how = How::default();
    how.screen.unit = Some(args.unit);
    let theme = Theme { colours: args.colours, symbols: Symbols::Unicode };
    let app = if let Some(file) = &args.session {
        let mut replay = Replay::open(file)?;
        if let Some(warning) = replay.warning() {
            tell(format_args!("{}: {warning}", file.display()));
        }
        let span_ns = replay.span_ns();
        how.title = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        how.mode = Mode::Replay;
        played(Box::new(replay), how, theme, (at, span_ns))?
    } else if args.view == View::Experiments {
        how.mode = Mode::Diagnosis;
        let source = diagnose::simulated_session(args.scenario.as_deref().unwrap_or("mixed"), 1)?;
        played(source, how, theme, (at, None))?
    } else {
        how.mode = Mode::Demo;
        let time = at.unwrap_or(USUAL_TIME);
        let every = crate::session::DEFAULT_EVERY;
        let scenario = args.scenario.as_deref().unwrap_or("mixed");
        let source = Simulated::new(scenario, 1, every, Pace::AsFastAsPossible, Some(time))?;
        played(Box::new(source), how, theme, (None, None))?
    };
    let mut app = select(app, args)?;
    // the table of a diagnosis is computed for its view
    app.prepare();
    let host = app.shown().topology().host.hostname.as_deref().unwrap_or("host unknown");
    let title = format!("railscope: {} of {host}", app.view());
    write(args, &picture(args, app.theme(), &title, |frame| _ = view::draw(&app, frame))?)
}

/// The list of a folder's sessions, or a sweep.
fn beside_sessions(args: &ShotArgs, file: &Path) -> anyhow::Result<String> {
    let theme = Theme { colours: args.colours, symbols: Symbols::Unicode };
    let keys = Keymap::default();
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    if file.is_dir() {
        let sessions = tui::known_of(file.to_owned(), &How::default());
        let title = format!("railscope: sessions of {name}");
        return picture(args, theme, &title, |frame| {
            view::draw_sessions(&sessions, &keys, theme, frame);
        });
    }
    let sweeping = Sweeping::saved(Sweep::open(file)?, None);
    let title = format!("railscope: sweep {name}");
    // a saved sweep does not change with the clock
    let now = Instant::now();
    picture(args, theme, &title, |frame| view::draw_sweep(&sweeping, &keys, theme, now, frame))
}

fn write(args: &ShotArgs, picture: &str) -> anyhow::Result<ExitCode> {
    let inputs: Vec<_> = args.session.as_deref().filter(|file| file.is_file()).into_iter().collect();
    let mut out = Output::to(Some(&args.file), &inputs)?;
    let written = out.write_all(picture.as_bytes());
    out.end(written)?;
    Ok(ExitCode::SUCCESS)
}

/// The screen at a moment of the session, which is looked through to its end.
fn played(
    mut source: Box<dyn FrameSource>,
    how: How,
    theme: Theme,
    (at, span_ns): (Option<Duration>, Option<(u64, u64)>),
) -> anyhow::Result<App> {
    let session = source.session();
    let until_ns = at.map_or(u64::MAX, nanoseconds);
    if let (Some(_), Some((_, last_ns))) = (at, span_ns)
        && until_ns > last_ns
    {
        bail!("--at {}: the session ends at {}", view::position(until_ns), view::position(last_ns));
    }
    let mut timeline = Timeline::new(session.clone());
    let mut outline = span_ns.map(|(first, last)| Outline::of_span(first, last)).unwrap_or_default();
    let mut app = App::new(session.clone(), how, theme);
    let mut due_ns = 0;
    while let Some(frame) = source.next_frame()? {
        let frame = Arc::new(frame);
        let at_ns = on_first_clock(&session, &frame);
        if at_ns <= until_ns {
            app.update(Msg::Frame(frame.clone()));
        }
        outline.frame(&frame);
        timeline.push(frame);
        if at_ns >= due_ns {
            outline.look(&timeline, &app.how().judge(&timeline));
            due_ns = at_ns.saturating_add(JUDGE_EVERY_NS);
        }
    }
    ensure!(app.newest().local().latest().is_some(), "there is no frame up to that moment");
    outline.look(&timeline, &app.how().judge(&timeline));
    outline.end();
    app.update(Msg::Outlined(Arc::new(outline)));
    app.prepare();
    Ok(app)
}

fn select(app: App, args: &ShotArgs) -> anyhow::Result<App> {
    let mut app = app.at_view(args.view);
    if let Some(device) = &args.select {
        let topology = app.shown().topology();
        let known = || topology.rails.iter().map(|rail| rail.device.as_str()).collect::<Vec<_>>().join(", ");
        let position = view::position_of(topology, device)
            .with_context(|| format!("--select: no rail `{device}`; rails here: {}", known()))?;
        app = app.with_rail(position);
    }
    Ok(if args.help_open { app.with_help() } else { app })
}

/// Whether a picture or text is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Picture,
    Text,
}

/// By the ending of the file's name; `None` of any other.
fn form_of(args: &ShotArgs) -> Option<Form> {
    match args.file.extension()?.to_str()? {
        "svg" => Some(Form::Picture),
        "txt" => Some(Form::Text),
        _ => None,
    }
}

fn picture(
    args: &ShotArgs,
    theme: Theme,
    title: &str,
    paint: impl FnOnce(&mut Frame),
) -> anyhow::Result<String> {
    let (width, height) = args.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).context("no screen of that size")?;
    terminal.draw(paint).context("the picture cannot be drawn")?;
    if form_of(args) == Some(Form::Text) {
        return Ok(Printable(PlainText(terminal.backend().buffer())).to_string());
    }
    let as_rgb = |colour| match colour {
        ratatui::style::Color::Rgb(red, green, blue) => (red, green, blue),
        _ => USUAL_GROUND.0,
    };
    let (text, ground) = theme.ground().map_or(USUAL_GROUND, |(text, ground)| (as_rgb(text), as_rgb(ground)));
    let svg = Svg { screen: terminal.backend().buffer(), text, ground, title };
    Ok(Printable(svg).to_string())
}
