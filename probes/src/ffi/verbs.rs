//! RDMA verbs: devices, contexts, memory regions, queues, and the loop that posts and polls.
//!
//! libibverbs is opened at first use and never linked, so that the program starts without it. Control calls go
//! through the table in [`library`]; posting and polling go through the provider's own table inside the context,
//! as the inline functions of `infiniband/verbs.h` do.
//!
//! Each object holds an `Arc` of what it was made from, so that they are destroyed in the order the library
//! demands: queue pairs, then regions and completion queues, then the protection domain, then the context.

mod context;
mod error;
mod facts;
mod gid_table;
mod gpu_region;
mod library;
mod queues;
mod region;
mod ring;
mod status;

pub use context::{Context, Devices, Limits, Port};
pub use error::{Error, GpuRefused, NoDmabuf, lacks_dmabuf};
pub use facts::{Facts, facts};
pub use gid_table::GidEntry;
pub use queues::{Completion, CompletionQueue, Path, QueuePair, Window};
pub use region::{ProtectionDomain, Region, RelaxedOrdering};
pub use ring::{Request, Ring, Walk};
pub use status::Status;
