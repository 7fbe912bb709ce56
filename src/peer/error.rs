//! What can go wrong between two ends, each in one line that names the peer and says what to do.

use std::io;

/// Why there is no load, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The name leads to no address.
    #[error("{host}: {cause}: check the name, or give the address of the host that runs `railscope serve`")]
    Unresolved {
        /// As typed.
        host: String,
        /// What the resolver said.
        cause: io::Error,
    },
    /// Nobody answers there.
    #[error("cannot reach {address}: {cause}: {hint}")]
    Unreachable {
        /// Address and port, as tried.
        address: String,
        /// What the system said.
        cause: io::Error,
        /// What to look at.
        hint: &'static str,
    },
    /// The server's address cannot be listened on.
    #[error("cannot listen on {address}: {cause}: {hint}")]
    Listen {
        /// Address and port, as asked for.
        address: String,
        /// What the system said.
        cause: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// Something else speaks there.
    #[error("{peer} is not railscope ({what}): check the port; `railscope serve` prints the line to type")]
    Foreign {
        /// Address and port.
        peer: String,
        /// What it seems to be.
        what: String,
    },
    /// Something listens there and does not speak.
    #[error(
        "{peer} takes the connection and says nothing for {seconds} s: its railscope is stopped (Ctrl-Z, a debugger) or its \
         host is stuck: look there; or something else listens on that port: `railscope serve` prints the line to type"
    )]
    Mute {
        /// Address and port.
        peer: String,
        /// How long.
        seconds: f64,
    },
    /// The peer speaks another version of the protocol.
    #[error(
        "{peer} runs railscope {their_version} (control protocol {theirs}), this is railscope {our_version} \
         (control protocol {ours}): install the same version on both hosts"
    )]
    OtherProtocol {
        /// Address and port.
        peer: String,
        /// Protocol version there.
        theirs: u32,
        /// Program version there.
        their_version: String,
        /// Protocol version here.
        ours: u32,
        /// Program version here.
        our_version: &'static str,
    },
    /// The peer is there but says nothing.
    #[error(
        "nothing heard from {peer} for {seconds} s: its host is down or stuck, its railscope is stopped, \
         or the network between is broken"
    )]
    Silent {
        /// Address and port, or host.
        peer: String,
        /// How long.
        seconds: f64,
    },
    /// The connection was closed without a word.
    #[error("{peer} closed the control connection without a word: its railscope was killed or crashed")]
    Closed {
        /// Address and port, or host.
        peer: String,
    },
    /// The connection broke.
    #[error("control connection to {peer}: {cause}")]
    Broken {
        /// Address and port, or host.
        peer: String,
        /// What the system said.
        cause: io::Error,
    },
    /// A message is longer than any that railscope sends.
    #[error("{peer} announced a message of {bytes} bytes, at most {most} are sent: it is not railscope")]
    TooLong {
        /// Address and port, or host.
        peer: String,
        /// Announced length.
        bytes: usize,
        /// Largest message.
        most: usize,
    },
    /// What came is no message.
    #[error("{peer} sent what is no message of control protocol {protocol}: {cause}")]
    NoMessage {
        /// Address and port, or host.
        peer: String,
        /// Our version.
        protocol: u32,
        /// What the parser said.
        cause: serde_json::Error,
    },
    /// A message came out of turn.
    #[error("{peer} sent `{got}` when {wanted} was due")]
    OutOfTurn {
        /// Address and port, or host.
        peer: String,
        /// Kind of the message.
        got: &'static str,
        /// What was waited for.
        wanted: &'static str,
    },
    /// The peer froze while the load came to its end.
    #[error(
        "{peer} fell silent {seconds} s ago and did not say goodbye: it may have frozen while it was measured; look at \
         that host, and measure again"
    )]
    NoGoodbye {
        /// Address and port, or host.
        peer: String,
        /// Since its last sign of life.
        seconds: f64,
    },
    /// What came says more than the plan allows.
    #[error("{peer} sent a `{got}` that does not fit the plan: {reason}")]
    BeyondPlan {
        /// Address and port, or host.
        peer: String,
        /// Kind of the message.
        got: &'static str,
        /// In words: what there is too much of.
        reason: String,
    },
    /// The client's load goes on long after its time, or it does not tell any more how far it is.
    #[error("{peer} is shown out: {reason}")]
    ShownOut {
        /// Address and port, or host.
        peer: String,
        /// In words.
        reason: String,
    },
    /// The peer is alive, but did not do its part in time.
    #[error("{peer} answers, but {wanted} did not come within {seconds} s")]
    Late {
        /// Address and port, or host.
        peer: String,
        /// What was waited for.
        wanted: &'static str,
        /// How long.
        seconds: f64,
    },
    /// The server has another client.
    #[error(
        "{peer} is busy: it serves {with} since {for_s} s; try again when it is done, or start it with more \
         --max-clients"
    )]
    Busy {
        /// Address and port, or host.
        peer: String,
        /// The other client.
        with: String,
        /// How long that one has been there, seconds.
        for_s: u64,
    },
    /// The peer said why it cannot go on.
    #[error("{peer} says: {text}")]
    Refused {
        /// Address and port, or host.
        peer: String,
        /// Its own words.
        text: String,
    },
    /// The peer ended before the load began.
    #[error("{peer} left: {reason}")]
    Left {
        /// Address and port, or host.
        peer: String,
        /// Its own words.
        reason: String,
    },
    /// No rail of ours goes with one of the peer's.
    #[error("no rail of this host goes with one of {peer}: {reasons}")]
    NothingMatches {
        /// Address and port, or host.
        peer: String,
        /// Each rail with what stands in the way.
        reasons: String,
    },
    /// The token is missing or wrong.
    #[error("{0}")]
    Token(String),
    /// The system gives no random bytes.
    #[error("/dev/urandom: {0}: no token can be shown without random bytes")]
    NoRandom(io::Error),
    /// The parameters do not fit the rails or our bounds.
    #[error("{0}")]
    BadPlan(String),
    /// No rail could be opened or connected.
    #[error("{0}")]
    Rails(String),
    /// This end was told to stop.
    #[error("stopped by {0} before the load began")]
    StoppedHere(&'static str),
    /// The control thread or its runtime could not start.
    #[error("cannot start the control thread: {0}")]
    NoThread(io::Error),
}

impl PeerError {
    /// Whether the peer does not know of this yet and may be told.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(
            self,
            Self::BadPlan(_)
                | Self::Token(_)
                | Self::NoRandom(_)
                | Self::Rails(_)
                | Self::NothingMatches { .. }
                | Self::OutOfTurn { .. }
                | Self::Late { .. }
                | Self::BeyondPlan { .. }
                | Self::ShownOut { .. }
                | Self::NoMessage { .. }
        )
    }

    /// The same error of the connection, with the peer called by this name.
    #[must_use]
    pub fn of(mut self, name: &str) -> Self {
        if let Self::Silent { peer, .. }
        | Self::Closed { peer }
        | Self::Broken { peer, .. }
        | Self::TooLong { peer, .. }
        | Self::NoMessage { peer, .. } = &mut self
        {
            name.clone_into(peer);
        }
        self
    }
}
