//! GPUs as CUDA counts them.

use super::error::Error;
use super::library::{Context, Device, Library, library};
use libc::{c_char, c_int};

/// `CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED`, since CUDA 11.3.
const GPU_DIRECT_RDMA_SUPPORTED: c_int = 116;
/// `CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED`, since CUDA 11.7.
const DMA_BUF_SUPPORTED: c_int = 124;

/// What CUDA says of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// CUDA's number for it.
    pub number: u32,
    /// What it is called (`NVIDIA H100 80GB HBM3`); empty when the driver does not tell.
    pub model: String,
    /// PCI address as sysfs writes it: `0000:1b:00.0`.
    pub pci_address: String,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// Whether other PCI devices can reach its memory at all; `None` of a driver that cannot be asked.
    pub gpudirect: Option<bool>,
    /// Whether the driver exports its memory as a dmabuf; `None` of a driver that cannot be asked.
    pub dmabuf: Option<bool>,
    /// CUDA version of the driver, major and minor.
    pub driver_cuda: (u32, u32),
}

impl Facts {
    /// For people: `GPU 0 (NVIDIA H100 80GB HBM3, 0000:1b:00.0)`.
    #[must_use]
    pub fn label(&self) -> String {
        let Self { number, model, pci_address, .. } = self;
        if model.is_empty() {
            format!("GPU {number} ({pci_address})")
        } else {
            format!("GPU {number} ({model}, {pci_address})")
        }
    }
}

/// What CUDA says of the GPU with this number. Makes no context on it.
///
/// # Errors
///
/// No driver, no such GPU, or the driver does not answer.
pub fn facts(number: u32) -> Result<Facts, Error> {
    facts_of(library()?, number).map(|(_, facts)| facts)
}

fn facts_of(library: &'static Library, number: u32) -> Result<(Device, Facts), Error> {
    let mut count = 0;
    // SAFETY: - `count` is a valid out pointer
    Error::check(library, "cuDeviceGetCount", unsafe { (library.device_get_count)(&raw mut count) })?;
    let count = u32::try_from(count).unwrap_or(0);
    if number >= count {
        let known = (0..count).filter_map(|other| Some(look(library, other).ok()?.1.label()));
        return Err(Error::NoGpu { number, listed: listed(&known.collect::<Vec<_>>()) });
    }
    look(library, number)
}

/// The GPUs there are, and what hides others.
fn listed(known: &[String]) -> String {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(visible) => format!("{known} (CUDA_VISIBLE_DEVICES={visible} hides the others)"),
        Err(_) => known,
    }
}

fn look(library: &'static Library, number: u32) -> Result<(Device, Facts), Error> {
    let (mut device, mut version, mut memory_bytes) = (0, 0, 0);
    let ordinal = c_int::try_from(number).unwrap_or(c_int::MAX);
    // SAFETY: - `device`, `version` and `memory_bytes` are valid out pointers; `device` is set before it is used
    unsafe {
        Error::check(library, "cuDeviceGet", (library.device_get)(&raw mut device, ordinal))?;
        Error::check(library, "cuDriverGetVersion", (library.driver_get_version)(&raw mut version))?;
        Error::check(library, "cuDeviceTotalMem", (library.device_total_mem)(&raw mut memory_bytes, device))?;
    }
    let version = u32::try_from(version).unwrap_or(0);
    let attribute = |which| {
        let mut value = 0;
        // SAFETY: - `value` is a valid out pointer; an attribute that the driver does not know is an error
        let answer = unsafe { (library.device_get_attribute)(&raw mut value, which, device) };
        (answer == 0).then_some(value != 0)
    };
    let facts = Facts {
        number,
        model: text(library, "cuDeviceGetName", library.device_get_name, device).unwrap_or_default(),
        pci_address: text(library, "cuDeviceGetPCIBusId", library.device_get_pci_bus_id, device)?
            .to_lowercase(),
        memory_bytes: memory_bytes as u64,
        gpudirect: attribute(GPU_DIRECT_RDMA_SUPPORTED),
        dmabuf: attribute(DMA_BUF_SUPPORTED),
        driver_cuda: (version / 1000, version % 1000 / 10),
    };
    Ok((device, facts))
}

/// What a call writes into a buffer for text.
fn text(
    library: &Library,
    name: &'static str,
    call: unsafe extern "C" fn(*mut c_char, c_int, Device) -> c_int,
    device: Device,
) -> Result<String, Error> {
    const BYTES: c_int = 256;
    let mut buffer = [0_u8; BYTES as usize];
    // SAFETY: - the buffer has as many bytes as the call is told
    let answer = unsafe { call(buffer.as_mut_ptr().cast(), BYTES, device) };
    Error::check(library, name, answer)?;
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    Ok(String::from_utf8_lossy(&buffer[..end]).trim().to_owned())
}

/// A GPU in use: its primary context is kept while this lives.
#[derive(Debug)]
pub struct Gpu {
    pub(super) calls: &'static Library,
    device: Device,
    context: Context,
    facts: Facts,
}

// SAFETY: - the driver API may be called from any thread; which context is current is set by each call here
unsafe impl Send for Gpu {}
// SAFETY: - as above
unsafe impl Sync for Gpu {}

impl Gpu {
    /// Takes the GPU with this number into use.
    ///
    /// # Errors
    ///
    /// No driver, no such GPU, or another process has it for itself.
    pub fn open(number: u32) -> Result<Self, Error> {
        let calls = library()?;
        let (device, facts) = facts_of(calls, number)?;
        let mut context = std::ptr::null_mut();
        // SAFETY: - `context` is a valid out pointer; it is released in `drop`
        let answer = unsafe { (calls.device_primary_ctx_retain)(&raw mut context, device) };
        Error::check(calls, "cuDevicePrimaryCtxRetain", answer)?;
        Ok(Self { calls, device, context, facts })
    }

    /// What CUDA says of it.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Makes its context the one that the calling thread's calls go to.
    pub(super) fn enter(&self) -> Result<(), Error> {
        // SAFETY: - the context is retained
        let answer = unsafe { (self.calls.ctx_set_current)(self.context) };
        Error::check(self.calls, "cuCtxSetCurrent", answer)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: - retained once, in `open`; memory of it is freed: it holds an Arc of this
        unsafe { (self.calls.device_primary_ctx_release)(self.device) };
    }
}
