//! railscope: a terminal profiler for RDMA rails.
//!
//! One idea carries it: a **session** is a header ([`probes::model::Session`]) and a row of **frames**
//! ([`probes::model::Frame`]) with cumulative counters. Live, simulated or replayed, the rest of the program
//! cannot tell. Rates and findings are computed from frames by pure functions, never stored.
//!
//! ```text
//! session::FrameSource ──▶ timeline::Timeline ──▶ rules::diagnose ──▶ view (screen) or report (text, JSON)
//! ```
//!
//! | room | holds |
//! |---|---|
//! | [`session`], [`sim`] | where frames come from and where they are kept; a node that is simulated |
//! | [`timeline`], [`ceilings`] | rates and sums of frames; what a rail could do |
//! | [`rules`] | judgement: pure functions over a topology and a timeline |
//! | [`experiments`], [`sweep`] | planned loads that tell the causes of a slow rail apart; one load at many sizes |
//! | [`pins`], [`diff`] | where each user of a rail is, and whether that is near; two sessions held against each other |
//! | [`report`], [`export`] | what a session amounts to; what the survey learnt, in the words of other tools |
//! | [`app`], [`view`], [`tui`], [`outline`] | what the screen knows, as cells, its event loop; what happened when |
//! | [`peer`] | the two ends of a load |
//! | [`cli`], [`settings`], [`commands`] | what can be typed, what holds then, one file a command |
//! | [`signals`], [`hangup`], [`printable`] | being told to stop; the terminal that goes away; text that a terminal may be shown |
//!
//! | to add | write | and |
//! |---|---|---|
//! | a probe | `probes/src/survey/x.rs`, `impl Probe` | `mod` and one entry in `survey::ALL` |
//! | a rule | `src/rules/x.rs`: `RULE` and its check | `mod` and one entry in `rules::ALL` |
//! | a widget | `widgets/src/x.rs`, `impl Widget for &X` | `pub mod` in `widgets/src/lib.rs` |
//! | a panel | `src/view/x.rs`: a `draw` function | one line in `src/view.rs` |
//! | a transport | `probes/src/load/x.rs`, `impl LoadTransport` | one arm where the engine opens it |
//! | a command | `src/commands/x.rs`: a `run` function | one arm in `src/main.rs` |

pub mod app;
pub mod ceilings;
pub mod cli;
pub mod commands;
pub mod diff;
pub mod experiments;
pub mod export;
pub mod hangup;
pub mod outline;
pub mod peer;
pub mod pins;
pub mod printable;
pub mod report;
pub mod rules;
pub mod session;
pub mod settings;
pub mod signals;
pub mod sim;
pub mod sweep;
pub mod timeline;
pub mod tui;
pub mod view;

/// Name and version, as every session and report carries them.
pub const GENERATED_BY: &str = concat!("railscope ", env!("CARGO_PKG_VERSION"));
