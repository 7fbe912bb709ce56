//! Starting the threads that open rails.

use super::{Opening, OpeningUnit};
use crate::bind;
use crate::load::control::{Control, Worker};
use crate::load::crew::Crew;
use crate::load::gpu::Destination;
use crate::load::placement::{Here, Placement, places};
use crate::load::thread::{Opened, Thread};
use crate::load::{LoadError, Memory, Params, Role, Shape, Unit};
use crate::model::{LoadTarget, Rail, RailId, Topology};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Starts opening rails: each worker of each rail on a thread of its own that binds itself before it allocates.
///
/// Everything after is in the order of the units: all workers of the first rail, then those of the next.
#[must_use]
pub fn open(topology: &Topology, rails: &[RailId], params: &Params, role: Role) -> Opening {
    let irq_cpus = topology
        .rails_with_id()
        .filter(|(id, _)| rails.contains(id))
        .map(|(id, rail)| (id, bind::irq_cpus(rail)));
    let here = Here { allowed: bind::allowed_cpus(), irq_cpus: irq_cpus.collect() };
    let units: Vec<Unit> = Unit::all(rails, params).collect();
    // a rail once for each of its threads, so that each has a CPU where there are enough
    let threads: Vec<RailId> = units.iter().map(|unit| unit.rail).collect();
    let places = places(topology, &threads, &params.place, role, &here);
    // CUDA takes its time to start, so it is asked once for all threads
    let gpu = match params.memory {
        Memory::Host => Ok(None),
        Memory::Gpu(number) => Destination::find(topology, number).map(Some),
    };
    let control = Arc::new(Control::default());
    let start = |(at, unit): (usize, &Unit)| {
        let rail = topology.rails.get(unit.rail.0).cloned().unwrap_or_default();
        let place = match (&places, &gpu) {
            (Ok(places), Ok(gpu)) => {
                Ok(Placement { gpu: gpu.clone(), ..places.get(at).cloned().unwrap_or_default() })
            }
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        };
        prepare(*unit, rail, place, params, role, &control)
    };
    let prepared = units.iter().enumerate().map(start);
    let mut threads = Vec::new();
    let units = if params.shape == Shape::Striped && role.posts(params) {
        let (units, mut starts): (Vec<_>, Vec<_>) = prepared.unzip();
        for worker in 0..params.workers {
            let own =
                starts.extract_if(.., |thread: &mut Thread| thread.worker.unit.worker == worker).collect();
            threads.extend(spawn_crew(worker, Crew { control: Arc::clone(&control), units: own }));
        }
        units
    } else {
        prepared.map(|(unit, thread)| spawn(unit, thread)).collect()
    };
    let own_gids = topology.rails.iter().flat_map(|rail| &rail.gids).map(|gid| gid.address).collect();
    let target = match gpu {
        Ok(Some(gpu)) => LoadTarget::Gpu(gpu.name),
        _ => LoadTarget::Host,
    };
    Opening { params: params.clone(), role, control, units, own_gids, target, threads }
}

/// A unit, and what its thread starts with.
fn prepare(
    unit: Unit,
    rail: Rail,
    place: Result<Placement, String>,
    params: &Params,
    role: Role,
    control: &Arc<Control>,
) -> (OpeningUnit, Thread) {
    let worker = Arc::new(Worker::new(unit, rail.device.clone()));
    let (opened_sender, opened) = channel();
    let (connected_sender, connected) = channel();
    let (orders, orders_receiver) = channel();
    let thread = Thread {
        rail,
        place,
        params: unit.params(params),
        role,
        control: Arc::clone(control),
        worker: Arc::clone(&worker),
        opened: opened_sender,
        connected: connected_sender,
        orders: orders_receiver,
    };
    (
        OpeningUnit {
            worker,
            orders,
            opened,
            connected,
            facts: None,
            path_mtu: None,
            is_lost: false,
            thread: None,
        },
        thread,
    )
}

/// Starts the thread of one unit.
fn spawn(unit: OpeningUnit, thread: Thread) -> OpeningUnit {
    let number = unit.worker.unit.number().map(|number| format!("-{number}")).unwrap_or_default();
    let name = format!("rail-{}{number}", unit.worker.device);
    let refused = vec![Refused::of(&thread)];
    let thread = std::thread::Builder::new().name(name).spawn(move || thread.run());
    OpeningUnit { thread: started(thread, refused), ..unit }
}

/// Starts the thread of several units.
fn spawn_crew(worker: u32, crew: Crew) -> Option<JoinHandle<()>> {
    let refused = crew.units.iter().map(Refused::of).collect();
    let name = format!("striped-{}", worker.saturating_add(1));
    started(std::thread::Builder::new().name(name).spawn(move || crew.run()), refused)
}

/// Who hears that a thread could not be started.
struct Refused {
    device: String,
    opened: Sender<Result<Opened, LoadError>>,
}

impl Refused {
    fn of(thread: &Thread) -> Self {
        Self { device: thread.rail.device.clone(), opened: thread.opened.clone() }
    }
}

/// The thread that was started; where it could not be, all who wait for it hear why.
fn started(thread: io::Result<JoinHandle<()>>, refused: Vec<Refused>) -> Option<JoinHandle<()>> {
    let cause = match thread {
        Ok(thread) => return Some(thread),
        Err(cause) => cause,
    };
    for Refused { device, opened } in refused {
        let reason =
            format!("{device}: no thread for it: {cause}; see ulimit -u, or ask for fewer --workers");
        let _ = opened.send(Err(LoadError::Other(reason)));
    }
    None
}
