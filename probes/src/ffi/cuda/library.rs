//! The library itself: opened at first use, kept for the life of the program.

use super::Error;
use crate::ffi::loading::{NotLoaded, load};
use libc::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// Names another library file, for tests.
const OVERRIDE: &str = "RAILSCOPE_CUDA";

/// The soname that every NVIDIA driver installs.
const SONAME: &str = "libcuda.so.1";

/// `CUdevice`: a GPU by its number.
pub(super) type Device = c_int;
/// `CUcontext`.
pub(super) type Context = *mut c_void;
/// `CUdeviceptr`: an address in the memory of a GPU.
pub(super) type Address = u64;

macro_rules! table {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The calls that are made. Each gives a `CUresult`, 0 for success.
        #[derive(Debug)]
        pub(super) struct Library {
            $($(#[$doc])* pub(super) $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
            /// Since CUDA 11.7: a file descriptor for a range of memory.
            pub(super) mem_get_handle_for_address_range:
                Option<unsafe extern "C" fn(*mut c_void, Address, usize, c_int, u64) -> c_int>,
        }

        impl Library {
            fn resolve(library: &libloading::os::unix::Library) -> Result<Self, libloading::Error> {
                // SAFETY: - each type is the prototype of that symbol in cuda.h; a call that changes gets a new symbol
                unsafe {
                    Ok(Self {
                        $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                        mem_get_handle_for_address_range:
                            library.get(b"cuMemGetHandleForAddressRange\0").ok().map(|symbol| *symbol),
                    })
                }
            }
        }
    };
}

table! {
    init = "cuInit" (c_uint);
    driver_get_version = "cuDriverGetVersion" (*mut c_int);
    device_get_count = "cuDeviceGetCount" (*mut c_int);
    device_get = "cuDeviceGet" (*mut Device, c_int);
    device_get_pci_bus_id = "cuDeviceGetPCIBusId" (*mut c_char, c_int, Device);
    device_get_name = "cuDeviceGetName" (*mut c_char, c_int, Device);
    device_get_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, Device);
    device_total_mem = "cuDeviceTotalMem_v2" (*mut usize, Device);
    device_primary_ctx_retain = "cuDevicePrimaryCtxRetain" (*mut Context, Device);
    device_primary_ctx_release = "cuDevicePrimaryCtxRelease_v2" (Device);
    ctx_set_current = "cuCtxSetCurrent" (Context);
    mem_alloc = "cuMemAlloc_v2" (*mut Address, usize);
    mem_free = "cuMemFree_v2" (Address);
    memcpy_htod = "cuMemcpyHtoD_v2" (Address, *const c_void, usize);
    memcpy_dtoh = "cuMemcpyDtoH_v2" (*mut c_void, Address, usize);
    pointer_set_attribute = "cuPointerSetAttribute" (*const c_void, c_int, Address);
    get_error_name = "cuGetErrorName" (c_int, *mut *const c_char);
    get_error_string = "cuGetErrorString" (c_int, *mut *const c_char);
}

/// The library, opened and initialised at the first call.
///
/// # Errors
///
/// No NVIDIA driver is installed, or it finds no GPU. The answer is the same for the life of the program.
pub(super) fn library() -> Result<&'static Library, Error> {
    static LIBRARY: OnceLock<Result<Library, NotLoaded>> = OnceLock::new();
    static INITIALISED: OnceLock<c_int> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| load(OVERRIDE, SONAME, Library::resolve)).as_ref();
    let library = library.map_err(|NotLoaded { path, reason }| Error::Library {
        path: path.clone(),
        reason: reason.clone(),
    })?;
    // SAFETY: - cuInit has no obligations but flags of 0
    let answer = *INITIALISED.get_or_init(|| unsafe { (library.init)(0) });
    Error::check(library, "cuInit", answer)?;
    Ok(library)
}
