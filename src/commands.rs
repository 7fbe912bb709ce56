//! One file a command; each `run` returns the exit code, an error means exit 2.
pub mod capture;
pub mod check;
pub mod demo;
pub mod export;
pub mod headless;
pub mod import_topology;
pub mod load;
pub mod probe;
pub mod record;
pub mod replay;
pub mod report;
pub mod serve;
pub mod signals;
pub mod sweep;
pub mod top;
pub mod verdict;
pub mod watch;
