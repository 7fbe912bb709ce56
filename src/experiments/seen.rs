//! What one load showed.

use super::counted::Counted;
use super::far::FarRail;
use super::plan::Step;
use crate::ceilings::read_window_gb_per_s;
use crate::sweep::bound::Bound;
use crate::sweep::{Point, Spot};
use crate::timeline::leg_rates;
use probes::model::{FarSample, Frame, LoadOp, Topology};
use serde::Serialize;

/// What one load showed of one rail; unknown is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RailSeen {
    /// RDMA device.
    pub device: String,
    /// Payload of our load.
    pub gb_per_s: Option<f64>,
    /// RDMA bytes a second of each leg of its bond in the direction of the data, GB/s; null without a bond and where the
    /// legs do not tell.
    pub legs_gb_per_s: Option<Vec<f64>>,
    /// Share of polls that found nothing.
    pub empty_poll_share: Option<f64>,
    /// Fastest single READ before the load.
    pub round_trip_us: Option<f64>,
    /// What the READs that may be under way bring over that time.
    pub read_window_gb_per_s: Option<f64>,
    /// What the NIC counted of congestion, loss and pauses.
    pub nic: Counted,
    /// What bounds it, by the ceilings.
    pub bound: Bound,
    /// What the rail at the other end told; null where [`Seen::far_gap`] says why.
    pub far: Option<FarRail>,
}

/// One load and what it showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// Which it was.
    #[serde(flatten)]
    pub step: Step,
    /// Length of the window.
    pub window_s: f64,
    /// Rail by rail.
    pub rails: Vec<RailSeen>,
    /// Why it shows nothing; null where it went well.
    pub failed: Option<String>,
    /// Why the other end is not seen in it; null where it is.
    pub far_gap: Option<String>,
}

impl Seen {
    /// What happened between two samples of the load.
    #[must_use]
    pub fn between(step: Step, topology: &Topology, from: &Frame, to: &Frame, failures: Vec<String>) -> Self {
        let spot =
            Spot { size_bytes: step.params.size_bytes, qps: step.params.qps, workers: step.params.workers };
        let point = Point::between(spot, topology, from, to).ended(&to.workers, failures);
        let failed = point.left_out.map(|why| {
            let causes = point.failures.join("; ");
            if causes.is_empty() { why } else { format!("{why}: {causes}") }
        });
        let op = step.params.op;
        let window_s = point.window_s;
        let load = to.load.as_deref().filter(|load| load.op == LoadOp::Read);
        let window = |device: &str| {
            let load = load?;
            let (id, _) = topology.rail(device)?;
            let of_rail = to.workers.iter().filter(|worker| worker.rail == Some(id));
            let round_trip_ns = of_rail.filter_map(|worker| worker.round_trip_ns).min()?;
            // another rail of the same load may have agreed to fewer READs
            read_window_gb_per_s(load.qps?, load.reads_under_way_on(device)?, load.size_bytes?, round_trip_ns)
        };
        let rails = point.rails.into_iter().map(|rail| RailSeen {
            legs_gb_per_s: legs(topology, &rail.device, from, to, op),
            read_window_gb_per_s: window(&rail.device),
            gb_per_s: rail.row.gb_per_s,
            empty_poll_share: rail.row.empty_poll_share,
            round_trip_us: rail.round_trip_us,
            nic: counted(topology, &rail.device, from, to),
            device: rail.device,
            bound: rail.bound,
            far: None,
        });
        let far_gap = Some("no sample of it belongs to this load".to_owned());
        Self { rails: rails.collect(), step, window_s, failed, far_gap }
    }

    /// The same with what the rails at the other end counted meanwhile, and why one is not seen.
    #[must_use]
    pub fn with_far(mut self, far: &[FarSample], gap: Option<String>) -> Self {
        for rail in &mut self.rails {
            rail.far = far.iter().find(|sample| sample.device == rail.device).map(FarRail::from);
        }
        self.far_gap = gap;
        self
    }

    /// A load that could not be had.
    #[must_use]
    pub fn failed(step: Step, why: String) -> Self {
        Self { step, window_s: 0.0, rails: Vec::new(), failed: Some(why), far_gap: None }
    }

    /// What it showed of a rail; `None` where it failed, or did not load that rail.
    #[must_use]
    pub fn of(&self, device: &str) -> Option<&RailSeen> {
        self.rails.iter().find(|rail| rail.device == device).filter(|_| self.failed.is_none())
    }
}

/// What the NIC of a rail counted.
fn counted(topology: &Topology, device: &str, from: &Frame, to: &Frame) -> Counted {
    let frames = topology
        .rail(device)
        .and_then(|(id, rail)| Some(Counted::between(rail, from.rails.get(id.0)?, to.rails.get(id.0)?)));
    frames.unwrap_or_default()
}

/// GB/s of each leg in the direction of the data.
fn legs(topology: &Topology, device: &str, from: &Frame, to: &Frame, op: LoadOp) -> Option<Vec<f64>> {
    let (id, _) = topology.rail(device)?;
    let (then, now) = (from.rails.get(id.0)?, to.rails.get(id.0)?);
    let ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)?;
    let legs = leg_rates(then, ns, now).into_iter();
    let rates: Option<Vec<f64>> = match op {
        LoadOp::Read => legs.map(|leg| leg.rx_gb_per_s).collect(),
        LoadOp::Write => legs.map(|leg| leg.tx_gb_per_s).collect(),
    };
    rates.filter(|rates| !rates.is_empty())
}
