//! `serve` and `load` together: the whole way over stand-in libraries, and what scripts see when it fails.

mod gpus;
mod legs;
mod loads;
mod scripts;
#[path = "../../probes/tests/standin/mod.rs"]
mod standin;
mod striped;

use probes::load::{Params, Place};
use probes::model::{Gid, GidChoice, GidType, LinkLayer, Rail, Topology};
use probes::root::Root;
use railscope::commands::headless;
use railscope::peer::client::connect;
use railscope::peer::engine::Verbs;
use railscope::peer::link::Timing;
use railscope::peer::message::Hello;
use railscope::peer::offer::offers;
use railscope::peer::server::{Say, listen, serve};
use railscope::peer::{Door, End, Ended, Target};
use railscope::report;
use railscope::rules::Limits;
use railscope::session::{Live, Stop};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// One end with the stand-in's two devices.
fn end(host: &str, boot_id: &str) -> End {
    let rail = |at: u8| Rail {
        device: format!("stand{at}"),
        port: 1,
        link_layer: Some(LinkLayer::Ethernet),
        state: Some("ACTIVE".into()),
        gids: vec![Gid {
            index: 1,
            address: format!("::ffff:10.0.{at}.1").parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev: None,
        }],
        gid: Some(GidChoice { index: 1, reason: "the only one".into() }),
        ..Rail::default()
    };
    let topology = Topology { rails: vec![rail(0), rail(1)], ..Topology::default() };
    End {
        me: Hello { host: host.into(), version: "0.1.0".into(), boot_id: Some(boot_id.into()) },
        offers: offers(&topology, &[], None, None).unwrap(),
        topology: Arc::new(topology),
        engine: Arc::new(Verbs),
        timing: Timing::default(),
        gpu: None,
        door: Door::default(),
        root: None,
    }
}

/// A server on a thread of its own.
struct Server {
    address: SocketAddr,
    said: mpsc::Receiver<String>,
    stop: oneshot::Sender<&'static str>,
    thread: JoinHandle<()>,
}

impl Server {
    fn start(end: End) -> Self {
        let (hear, said) = mpsc::channel();
        let hear = Mutex::new(hear);
        // nobody listens any more once the test is over
        let say: Say = Arc::new(move |line: &str| drop(hear.lock().unwrap().send(line.to_owned())));
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
                bound.send(listener.local_addr().unwrap()).unwrap();
                serve(listener, end, say, async { stopped.await.unwrap() }).await;
            });
        });
        Self { address: address.recv().unwrap(), said, stop, thread }
    }

    fn target(&self) -> Target {
        Target { host: self.address.ip().to_string(), port: self.address.port() }
    }

    fn stop(self) {
        self.stop.send("Ctrl-C").unwrap();
        self.thread.join().unwrap();
    }

    /// Stops only when it has said its two lines about a client: that it came, and how it went.
    fn stop_after_one_client(self) -> [String; 2] {
        let line = || self.said.recv_timeout(Duration::from_mins(1)).expect("the server says how it went");
        let said = [line(), line()];
        self.stop();
        said
    }
}

/// Takes what is told about rails, and forgets it.
fn nobody() -> Say {
    Arc::new(|_: &str| {})
}

fn params() -> Params {
    Params {
        qps: 2,
        size_bytes: 4096,
        depth: 16,
        place: Place::None,
        warmup_s: 0.05,
        duration_s: Some(0.3),
        ..Params::default()
    }
}

/// A load from start to end; its report, and how it came to its end.
fn load(server: &Server, end: End) -> (serde_json::Value, Ended) {
    load_of(server, end, params(), nobody())
}

fn load_of(server: &Server, end: End, params: Params, say: Say) -> (serde_json::Value, Ended) {
    let topology = (*end.topology).clone();
    let mut connected = connect(end, server.target(), params, say).unwrap();
    let nothing = tempfile::tempdir().unwrap();
    let every = Duration::from_millis(20);
    let load = connected.take_load();
    let mut source = Live::new(Root::at(nothing.path()), topology, every, None, load, Stop::new());
    connected.go();
    let timeline = headless::play(&mut source).unwrap();
    drop(source);
    let ended = connected.finish();
    (serde_json::to_value(report::build(&timeline.timeline, &Limits::default(), &[])).unwrap(), ended)
}
