//! A diagnosis that was begun, and what comes of it once its frames were taken.

use super::rails::Rails;
use super::source::{Experimenting, Outcome, Plan};
use super::{WINDOW, base, print};
use crate::cli::{DiagnoseArgs, DiagnoseFormat};
use crate::commands::progress::Progress;
use crate::commands::sweep::measuring::Peer;
use crate::commands::way::Way;
use crate::experiments::diagnosis::judge;
use crate::experiments::shared::shared_limits;
use crate::experiments::{self, Base, Diagnosis};
use crate::rules::Limits;
use crate::session::{FrameSource, Stop};
use probes::load::Params;
use probes::model::Topology;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A diagnosis whose frames are somebody else's.
pub(in crate::commands) struct Begun {
    outcome: Arc<Mutex<Outcome>>,
    topology: Topology,
    base: Base,
    limits: Limits,
}

impl Begun {
    /// Of the rails of this host.
    pub(super) fn of(source: &Experimenting, topology: Topology, base: Base, limits: Limits) -> Self {
        Self { outcome: source.outcome(), topology, base, limits }
    }

    /// What came of it so far.
    pub(super) fn diagnosis(self) -> Diagnosis {
        let Self { outcome, topology, base, limits } = self;
        let Outcome { seen, peer, caveat, took, .. } =
            std::mem::take(&mut *outcome.lock().unwrap_or_else(PoisonError::into_inner));
        let rails = judge(&topology, &limits, &seen);
        let shared = shared_limits(&topology, &limits, &seen, &rails);
        Diagnosis {
            peer,
            caveat,
            cut_short: experiments::next(&topology, &base, &limits, &seen).is_some(),
            ..Diagnosis::of(&topology, (base.params.size_bytes, base.params.qps), took, (rails, shared), seen)
        }
    }
}

/// The planned loads as a later part of a session that began then: against the peer of a load with these parameters, and over
/// what that one went over.
pub(in crate::commands) fn within(
    way: Way,
    args: &DiagnoseArgs,
    params: &Params,
    began: Instant,
    stop: &Stop,
) -> (Box<dyn FrameSource>, Begun) {
    let usual = base(args, WINDOW);
    let params = Params {
        transport: params.transport,
        traffic_class: params.traffic_class,
        path_mtu: params.path_mtu,
        ..usual.params
    };
    let base = Base { params, ..usual };
    let limits = args.common.limits.clone();
    let laboratory = Rails::over(Peer::over(way, stop.clone()), stop.clone());
    let topology = laboratory.loaded().clone();
    let plan = Plan { base: base.clone(), limits: limits.clone(), window: WINDOW, is_watched: false };
    let source = Experimenting::new(Box::new(laboratory), plan, stop.clone(), Progress::unseen());
    let source = source.going_on(began);
    let outcome = Begun::of(&source, topology, base, limits);
    (Box::new(source), outcome)
}

/// Prints what came of these diagnoses, and says whether a rail is slow by one of them.
///
/// # Errors
///
/// They cannot be written.
pub(in crate::commands) fn print_all(begun: Vec<Begun>) -> anyhow::Result<bool> {
    let mut is_slow = false;
    for diagnosis in begun.into_iter().map(Begun::diagnosis) {
        if diagnosis.experiments.is_empty() {
            continue;
        }
        is_slow |= diagnosis.has_slow_rail();
        print(&diagnosis, DiagnoseFormat::Text)?;
    }
    Ok(is_slow)
}
