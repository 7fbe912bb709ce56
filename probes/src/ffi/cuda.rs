//! CUDA's driver library, for memory of an NVIDIA GPU that a NIC reads and writes.
//!
//! libcuda is part of the NVIDIA driver. It is opened when GPU memory is asked for, never linked and never looked for
//! otherwise. Prototypes and numbers are those of `cuda.h` (CUDA driver API reference).
//!
//! A context is current for a thread, not for the process: every call here that needs one sets it first.

mod error;
mod gpu;
mod library;
mod memory;

pub use error::Error;
pub use gpu::{Facts, Gpu, facts};
pub use memory::{DeviceMemory, NoExport};
