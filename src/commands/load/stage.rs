//! What a session of loads is of, part by part: a load, another one with other knobs, a diagnosis, or nothing.

use super::ending::{Ledger, Ran, Told};
use super::opening;
use crate::cli::{DiagnoseArgs, LoadArgs, LoadWords};
use crate::commands::diagnose;
use crate::commands::way::Way;
use crate::peer::client::Connected;
use crate::session::{
    Anew, Asked, Both, Every, FrameSource, Gentle, Link, Live, Next, Now, Stop, Throttle, Wish,
};
use crate::settings::Common;
use anyhow::{Context, ensure};
use probes::model::{Session, Topology};
use probes::root::Root;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The flags of the load that began last; copies mean the same.
#[derive(Clone)]
pub(super) struct Flags(Arc<Mutex<LoadWords>>);

impl Flags {
    pub(super) fn new(words: LoadWords) -> Self {
        Self(Arc::new(Mutex::new(words)))
    }

    /// The same with these changes.
    fn changed(&self, changes: &str) -> Result<(LoadWords, LoadArgs), String> {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner).changed(changes)?;
        let args = words.args()?.with_preset();
        opening::params(&args)?;
        Ok((words, args))
    }

    /// Asks for loads, and for diagnoses, in a session of these flags.
    pub(super) fn anew(&self) -> Anew {
        let flags = self.clone();
        let anew = Anew::new(move |changes| flags.changed(changes).map(|_| in_words(changes)));
        if let Ok((words, args)) = self.changed("") {
            anew.ask(asked(&words, &args));
        }
        anew
    }
}

/// What a load was asked for with.
fn asked(words: &LoadWords, args: &LoadArgs) -> Asked {
    Asked {
        line: words.line(),
        timeout: args.knobs.timeout,
        gid_index: args.knobs.gid_index,
        traffic_class: args.knobs.tclass,
    }
}

/// Changes as they are told.
pub(in crate::commands) fn in_words(changes: &str) -> String {
    let words: Vec<&str> = changes.split_whitespace().collect();
    if words.is_empty() { "with the same knobs".to_owned() } else { format!("with {}", words.join(" ")) }
}

/// Why nothing more can begin in a session.
const OTHER_RAILS: &str =
    "this host has other rails or counters than when the session began; leave, and start again";

/// How loads are sampled and steered.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) root: Root,
    pub(super) topology: Topology,
    /// The rails that the session is of; `None` is all.
    pub(super) rails: Option<Vec<String>>,
    /// Time between samples, as it was at the start and as keys change it.
    pub(super) every: (Duration, Option<Every>),
    pub(super) throttle: Throttle,
    pub(super) is_gentle: bool,
    /// Ends the session.
    pub(super) stop: Stop,
    pub(super) told: Arc<Told>,
    pub(super) ledger: Ledger,
}

/// What goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Load,
    Diagnosis,
    Nothing,
}

impl Stage {
    /// A session that begins with this load, and what makes its later parts.
    pub(super) fn begin(
        self,
        connected: Connected,
        flags: Flags,
        anew: Anew,
    ) -> anyhow::Result<(Box<dyn FrameSource>, Next)> {
        let stop = self.stop.part();
        let (source, began) = self.watched(connected, None, &stop)?;
        anew.begun(Now::Load, stop);
        let session = source.session();
        let mut later = Later { stage: self, flags, anew, session, began, part: Part::Load, loads: 1 };
        Ok((source, Box::new(move |wish| later.next(wish))))
    }

    /// The frames of a load, which begins to move; of a later one in a session that began then. When the session began.
    fn watched(
        &self,
        mut connected: Connected,
        whole: Option<(&Arc<Session>, Instant)>,
        stop: &Stop,
    ) -> anyhow::Result<(Box<dyn FrameSource>, Instant)> {
        let load = connected.take_load().context("a load can be watched once")?;
        let live = Live::new(
            self.root.clone(),
            self.topology.clone(),
            self.now_every(),
            None,
            Some(load),
            stop.clone(),
        );
        let live = live.changing(self.every.1.clone()).held_by(self.throttle.clone());
        let live = match whole {
            Some((session, began)) => fitting(live, session, began)?,
            None => live,
        };
        let began = live.began();
        let (source, strained) = gentle(Box::new(live), stop, self.is_gentle);
        let sight = connected.agreed.sight.clone();
        let source: Box<dyn FrameSource> = match (&sight, whole) {
            (None, _) => source,
            (Some(sight), None) => {
                let offset_ns = sight.clock_offset_ns(began);
                Box::new(Both::new(source, sight.inbox.clone(), sight.topology.clone(), offset_ns))
            }
            // a peer that has other rails by now is not seen any more
            (Some(sight), Some((session, _))) => match session.hosts.get(1) {
                Some(known) if known.has_the_columns_of(&sight.topology) => {
                    let offset_ns = sight.clock_offset_ns(began);
                    Box::new(Both::going_on(source, sight.inbox.clone(), session.clone(), offset_ns))
                }
                _ => source,
            },
        };
        connected.go();
        self.ledger.book().now = Some(Ran { connected, sight, strained });
        Ok((source, began))
    }

    fn now_every(&self) -> Duration {
        self.every.1.as_ref().map_or(self.every.0, Every::get)
    }
}

/// A later part of a session, whose frames have the columns of its others.
fn fitting(live: Live, session: &Session, began: Instant) -> anyhow::Result<Live> {
    let live = live.going_on(began);
    let is_alike = live.session().topology().has_the_columns_of(session.topology());
    ensure!(is_alike, OTHER_RAILS);
    Ok(live)
}

/// What makes the later parts of a session.
struct Later {
    stage: Stage,
    flags: Flags,
    anew: Anew,
    session: Arc<Session>,
    began: Instant,
    part: Part,
    /// Loads that began.
    loads: u32,
}

impl Later {
    fn next(&mut self, wish: Option<Wish>) -> Option<Link> {
        let was = std::mem::replace(&mut self.part, Part::Nothing);
        match wish {
            Some(Wish::Load(changes)) => {
                self.stage.ledger.book().end(&self.stage.told);
                self.load(&changes)
            }
            Some(Wish::Diagnosis) => {
                self.stage.ledger.book().end(&self.stage.told);
                self.diagnosis()
            }
            None if was == Part::Diagnosis => self.nothing(Now::Diagnosed, "diagnosis over".to_owned()),
            // a load that is over is ended with its session
            None => None,
        }
    }

    fn load(&mut self, changes: &str) -> Option<Link> {
        let words = in_words(changes);
        self.anew.opening(words.clone());
        let stop = self.stage.stop.part();
        match self.open(changes, &stop) {
            Ok(source) => {
                self.part = Part::Load;
                self.anew.begun(Now::Load, stop);
                let mark = format!("load started anew {words}");
                self.stage.told.say(&mark);
                Some(Link { source, mark: Some(mark) })
            }
            Err(_) if self.stage.stop.is_stopped() => None,
            Err(error) => self.refused(&format!("{error:#}"), &format!("no load {words}")),
        }
    }

    /// The way to the peer, on the host with the rails of the session: frames go by their places.
    fn way(&self, args: &LoadArgs, common: &Common) -> anyhow::Result<Way> {
        let way = Way::among(self.stage.rails.as_deref(), &args.knobs, common)?;
        let is_alike = {
            let places = |topology: &Topology| -> Vec<_> {
                topology.rails.iter().map(|rail| (rail.device.clone(), rail.port)).collect()
            };
            places(&way.end.topology) == places(&self.stage.topology)
        };
        ensure!(is_alike, OTHER_RAILS);
        Ok(way)
    }

    /// Opens a load with these changes to the one before.
    fn open(&mut self, changes: &str, stop: &Stop) -> anyhow::Result<Box<dyn FrameSource>> {
        let (words, args) = self.flags.changed(changes).map_err(anyhow::Error::msg)?;
        let common = args.common.clone().with_config()?;
        let way = self.way(&args, &common)?;
        let (mut connected, _) = opening::open(&args, &common, way, &self.stage.told, stop)?;
        connected.keep_earlier(self.loads);
        // what keys told the load before it is not meant for this one
        self.stage.throttle.take();
        let whole = Some((&self.session, self.began));
        let (source, _) = self.stage.watched(connected, whole, stop)?;
        self.loads += 1;
        self.anew.ask(asked(&words, &args));
        *self.flags.0.lock().unwrap_or_else(PoisonError::into_inner) = words;
        self.stage.ledger.book().refused = None;
        Ok(source)
    }

    fn diagnosis(&mut self) -> Option<Link> {
        let stop = self.stage.stop.part();
        match self.experiments(&stop) {
            Ok(source) => {
                self.part = Part::Diagnosis;
                self.anew.begun(Now::Diagnosis, stop);
                Some(Link { source, mark: Some("diagnosis begins".to_owned()) })
            }
            Err(error) => self.refused(&format!("{error:#}"), "no diagnosis"),
        }
    }

    /// The planned loads, over new connections to the same peer.
    fn experiments(&self, stop: &Stop) -> anyhow::Result<Box<dyn FrameSource>> {
        let (_, args) = self.flags.changed("").map_err(anyhow::Error::msg)?;
        let common = args.common.clone().with_config()?;
        let way = self.way(&args, &common)?;
        let params = opening::params(&args).map_err(anyhow::Error::msg)?;
        let wanted = DiagnoseArgs::beside(&args, &common);
        let (source, begun) = diagnose::within(way, &wanted, &params, self.began, stop);
        let is_alike = source.session().topology().has_the_columns_of(self.session.topology());
        ensure!(is_alike, OTHER_RAILS);
        self.stage.ledger.book().diagnoses.push(begun);
        Ok(source)
    }

    /// Nothing goes on, for a reason that is told.
    fn refused(&mut self, why: &str, what: &str) -> Option<Link> {
        self.stage.told.say(&format!("{what}: {why}"));
        self.stage.ledger.book().refused = Some(why.to_owned());
        self.nothing(Now::Refused(why.to_owned()), format!("{what}: {why}"))
    }

    /// The host without a load of ours, until something is asked for.
    fn nothing(&mut self, now: Now, mark: String) -> Option<Link> {
        let stage = &self.stage;
        let stop = stage.stop.part();
        let live = Live::new(
            stage.root.clone(),
            stage.topology.clone(),
            stage.now_every(),
            None,
            None,
            stop.clone(),
        );
        let live = fitting(live.changing(stage.every.1.clone()), &self.session, self.began);
        self.anew.begun(now, stop);
        match live {
            Ok(live) => Some(Link { source: Box::new(live), mark: Some(mark) }),
            Err(error) => {
                stage.told.say(&format!("{error:#}"));
                None
            }
        }
    }
}

/// The source, which `--gentle` may end before its time, and why it did.
fn gentle(
    source: Box<dyn FrameSource>,
    stop: &Stop,
    asked: bool,
) -> (Box<dyn FrameSource>, Arc<OnceLock<String>>) {
    if !asked {
        return (source, Arc::default());
    }
    let source = Gentle::new(source, stop.clone());
    let ended = source.ended();
    (Box::new(source), ended)
}
