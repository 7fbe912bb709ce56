//! Before a load that arrives on bonds: that each of their legs receives, with one set of flow labels after the other.

use crate::commands::sweep::measuring::{Bench, Measured, Peer};
use crate::experiments::legs::{Search, UNREADABLE};
use crate::experiments::{Kind, Seen, Step};
use crate::peer::{End, PeerError, Target};
use crate::session::Stop;
use crate::signals::Signals;
use anyhow::{Context, bail};
use probes::counters::Sampler;
use probes::load::{Params, Transport};
use probes::model::{LegsSought, LoadOp, Topology};
use probes::root::Root;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::oneshot;

/// Time that a try is measured, after [`WARMUP_S`]: the counters of the legs are read at both ends of it.
const WINDOW: Duration = Duration::from_millis(300);

/// Time before that, seconds.
const WARMUP_S: f64 = 0.1;

/// Loads rails whose bonds let every leg carry, for a moment each time, until each leg was seen to receive or all sets of
/// flow labels were tried. Nothing is loaded where the data do not arrive here, or no leg can be told from the others.
///
/// # Errors
///
/// The peer cannot be reached, turns this end away, or this end was told to stop.
pub(super) fn seek(
    root: &Root,
    end: &End,
    target: &Target,
    params: &Params,
    stop: &Stop,
) -> anyhow::Result<Vec<LegsSought>> {
    let arrives = params.op == LoadOp::Read && params.transport == Transport::Verbs;
    let offered = |device: &str| end.offers.iter().any(|offer| offer.device == device && offer.is_active());
    let rails = end.topology.rails.iter().filter(|rail| arrives && offered(&rail.device));
    let mut searches: Vec<Search> = rails.filter_map(|rail| Search::on(rail, params.qps)).collect();
    if searches.is_empty() {
        return Ok(Vec::new());
    }
    let readable = readable(root, &end.topology);
    for search in
        searches.iter_mut().filter(|search| !readable.iter().any(|device| device == search.device()))
    {
        search.give_up(UNREADABLE);
    }
    let peer = Peer::of_end(root.clone(), end.clone(), target.clone(), stop.clone());
    loop {
        let sets = searches.iter().filter_map(|search| Some((search.device().to_owned(), search.next()?)));
        let labels: BTreeMap<String, u32> = sets.collect();
        if labels.is_empty() {
            return Ok(searches.into_iter().map(Search::result).collect());
        }
        let rails: Vec<String> = labels.keys().cloned().collect();
        let asked = Params {
            labels: labels.clone(),
            warmup_s: WARMUP_S,
            operations: None,
            bidirectional: false,
            ..params.clone()
        };
        let measured = peer.only(&rails).measure(&asked, WINDOW);
        if stop.is_stopped() {
            bail!("stopped before the load began");
        }
        let made = Step { kind: Kind::Alone, rails, round: 1, params: asked };
        match shown(measured, made)? {
            Ok(seen) => {
                for search in &mut searches {
                    let Some(set) = labels.get(search.device()) else { continue };
                    let rail = seen.rails.iter().find(|rail| rail.device == search.device());
                    search.saw(*set, rail.and_then(|rail| rail.legs_gb_per_s.as_deref()));
                }
            }
            Err(why) => searches
                .iter_mut()
                .filter(|search| labels.contains_key(search.device()))
                .for_each(|search| search.give_up(&why)),
        }
    }
}

/// What a try showed of its rails, or in words why it showed nothing.
///
/// # Errors
///
/// The load itself could not be made either.
fn shown(measured: anyhow::Result<Option<Measured>>, made: Step) -> anyhow::Result<Result<Seen, String>> {
    let measured = match measured {
        Ok(Some(measured)) => measured,
        Ok(None) => return Ok(Err("the try was stopped".to_owned())),
        // the load itself says what is wrong with the peer, or with a rail
        Err(error) => match error.downcast_ref::<PeerError>() {
            Some(PeerError::NothingMatches { .. } | PeerError::Rails(_) | PeerError::BadPlan(_)) | None => {
                return Ok(Err(format!("a try came to nothing: {error:#}")));
            }
            Some(_) => return Err(error),
        },
    };
    let Measured { topology, from, to, failures, .. } = measured;
    if to.load.as_deref().is_some_and(|load| load.loopback) {
        return Ok(Err("the peer is this host, and loopback crosses no leg".to_owned()));
    }
    Ok(Ok(Seen::between(made, &topology, &from, &to, failures)))
}

/// Rails whose legs all tell what they received.
fn readable(root: &Root, topology: &Topology) -> Vec<String> {
    let mut topology = topology.clone();
    let mut sampler = Sampler::open(root, &mut topology);
    let mut rails = sampler.bytes(root, |_| false);
    sampler.further(root, &mut rails);
    let tells = rails.iter().map(|rail| rail.legs.iter().all(|leg| leg.rx_rdma_bytes.is_some()));
    let rails = topology.rails.iter().zip(tells).filter(|(_, tells)| *tells);
    rails.map(|(rail, _)| rail.device.clone()).collect()
}

/// The set of flow labels of each rail where one was found with which its legs receive.
pub(super) fn labels(sought: &[LegsSought]) -> BTreeMap<String, u32> {
    sought.iter().filter_map(|sought| Some((sought.device.clone(), sought.labels?))).collect()
}

/// What is worth saying of it before the load: what was not seen at once.
pub(super) fn words(sought: &[LegsSought]) -> impl Iterator<Item = String> {
    sought.iter().filter(|sought| sought.is_notable()).map(ToString::to_string)
}

/// Signals that end what is being opened, for as long as that takes.
pub(super) struct Watch(Option<oneshot::Sender<()>>);

impl Watch {
    /// They stop this from now on.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub(super) fn over(stop: Stop) -> anyhow::Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().context("signals")?;
        let mut signals = {
            let _inside = runtime.enter();
            Signals::catch()
        };
        let (end, ended) = oneshot::channel::<()>();
        let wait = async move {
            tokio::select! {
                _ = signals.received() => stop.stop(),
                _ = ended => {}
            }
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(move || runtime.block_on(wait)).context("no thread for signals")?;
        Ok(Self(Some(end)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            // the thread may have ended at a signal
            let _ = end.send(());
        }
    }
}
