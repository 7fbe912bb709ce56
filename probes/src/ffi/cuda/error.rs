//! What goes wrong with CUDA, and what usually causes it.

use super::library::Library;
use libc::{c_char, c_int};
use std::ffi::CStr;

/// A failure of CUDA, with the call, its answer and what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The library cannot be opened.
    #[error(
        "{path}: {reason}; memory of a GPU needs the NVIDIA driver: install it, and in a container pass the GPUs through \
         (nvidia-smi must work there)"
    )]
    Library {
        /// File or soname asked for.
        path: String,
        /// What the loader said.
        reason: String,
    },
    /// No GPU has this number.
    #[error("there is no GPU {number}: CUDA counts {listed}")]
    NoGpu {
        /// Number asked for.
        number: u32,
        /// Those there are, with name and PCI address, or `none`.
        listed: String,
    },
    /// A call failed.
    #[error("{call}: {name} ({text}){hint}")]
    Call {
        /// Call, such as `cuMemAlloc`.
        call: &'static str,
        /// CUDA's name for it: `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
        /// CUDA's words for it.
        text: String,
        /// Empty, or `; ` and what usually causes it and what to do.
        hint: &'static str,
    },
}

impl Error {
    /// The answer of a call.
    pub(super) fn check(library: &Library, call: &'static str, answer: c_int) -> Result<(), Self> {
        if answer == 0 {
            return Ok(());
        }
        let name = words(library.get_error_name, answer).unwrap_or_else(|| format!("error {answer}"));
        let text =
            words(library.get_error_string, answer).unwrap_or_else(|| "CUDA has no words for it".to_owned());
        Err(Self::Call { call, name, text, hint: hint(answer) })
    }
}

/// What CUDA calls this answer; `None` of one that it does not know.
fn words(look: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int, answer: c_int) -> Option<String> {
    let mut text = std::ptr::null();
    // SAFETY: - `text` is a valid out pointer; it is given a string that is never freed, or null
    unsafe {
        look(answer, &raw mut text);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// What usually causes an answer, and what to do. Source: `CUresult` in the CUDA driver API reference.
fn hint(answer: c_int) -> &'static str {
    match answer {
        // OUT_OF_MEMORY
        2 => "; the GPU's memory is taken (see nvidia-smi): try fewer QPs or smaller messages",
        // DEVICE_UNAVAILABLE
        46 => "; another process has the GPU for itself (compute mode: nvidia-smi -q -d COMPUTE)",
        // NO_DEVICE
        100 => {
            "; no GPU is visible here: see nvidia-smi, CUDA_VISIBLE_DEVICES, and the GPUs given to the container"
        }
        // SYSTEM_NOT_READY
        802 => "; on a node with NVSwitch nvidia-fabricmanager must run",
        // SYSTEM_DRIVER_MISMATCH
        803 => "; the driver was upgraded and its kernel module was not: reload it or reboot",
        _ => "",
    }
}
