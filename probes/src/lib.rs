//! What a node with RDMA rails is, what its rails count, and READ load over them.
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | the plain data that every other part speaks: topology, frame, gap, process |
//! | [`addresses`] | the IP addresses of this machine, with their prefixes |
//! | [`root`] | where files are read from: `/` in life, a copied tree in tests and tickets |
//! | [`topology_file`] | topologies that hwloc and NCCL wrote, and NCCL's form of ours |
//! | [`survey`] | one probe a file; each adds the facts it learns to a [`model::Topology`] |
//! | [`bind`] | binding of threads and memory, and where memory lies |
//! | [`bounded`] | reading files that people name, whatever they are |
//! | [`cards`] | names of network cards and GPUs by their PCI ids |
//! | [`capture`] | a node as a tree that [`root`] reads elsewhere, with its addresses masked on request |
//! | [`counters`] | what is read at every sample |
//! | [`processes`] | who uses the rails, and from where |
//! | [`times`] | times as the numbers that sessions carry |
//! | [`steps`] | counters of a copied tree, stepped without real time |
//! | [`load`] | READ traffic: specification, engine, transports |
//! | [`perf`] | what a load thread costs: cycles, instructions, context switches |
//! | [`ffi`] | the only room with `unsafe` |
//!
//! Nothing here knows a terminal.

pub mod addresses;
pub mod bind;
pub mod bounded;
pub mod caches;
pub mod capture;
pub mod cards;
pub mod counters;
pub mod ffi;
pub mod load;
pub mod model;
pub mod perf;
pub mod processes;
pub mod root;
pub mod steps;
pub mod survey;
pub mod times;
pub mod topology_file;
