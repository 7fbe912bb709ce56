//! The library itself: opened at first use, kept for the life of the program.

use super::Error;
use crate::ffi::loading::{NotLoaded, load};
use libc::{c_char, c_int, c_uint, c_void};
use rdma_sys::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_device, ibv_device_attr, ibv_gid, ibv_gid_entry, ibv_mr,
    ibv_pd, ibv_port_attr, ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
};
use std::sync::OnceLock;

/// Names another library file, for tests.
const OVERRIDE: &str = "RAILSCOPE_IBVERBS";

/// The soname that rdma-core has had since 2005.
const SONAME: &str = "libibverbs.so.1";

macro_rules! table {
    ($($(#[$doc:meta])* $name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The control calls, by their C names.
        #[derive(Debug)]
        pub(super) struct Library {
            $($(#[$doc])* pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Since rdma-core 28; takes access flags that an old kernel may ignore, such as relaxed ordering.
            pub(super) ibv_reg_mr_iova2: Option<
                unsafe extern "C" fn(*mut ibv_pd, *mut c_void, usize, u64, c_uint) -> *mut ibv_mr,
            >,
            /// Since rdma-core 34.
            pub(super) ibv_reg_dmabuf_mr: Option<
                unsafe extern "C" fn(*mut ibv_pd, u64, usize, u64, c_int, c_int) -> *mut ibv_mr,
            >,
            /// Since rdma-core 32; the header's `ibv_query_gid_table` is an inline function around it.
            pub(super) ibv_query_gid_table: Option<
                unsafe extern "C" fn(*mut ibv_context, *mut ibv_gid_entry, usize, u32, usize) -> isize,
            >,
        }

        impl Library {
            fn resolve(library: &libloading::os::unix::Library) -> Result<Self, libloading::Error> {
                // SAFETY: each type is the prototype of that name in infiniband/verbs.h, which has not changed since
                //         the symbol version IBVERBS_1.1 that dlsym resolves to
                unsafe {
                    Ok(Self {
                        $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)*
                        ibv_reg_mr_iova2: library.get(b"ibv_reg_mr_iova2\0").ok().map(|symbol| *symbol),
                        ibv_reg_dmabuf_mr: library.get(b"ibv_reg_dmabuf_mr\0").ok().map(|symbol| *symbol),
                        ibv_query_gid_table: library.get(b"_ibv_query_gid_table\0").ok().map(|symbol| *symbol),
                    })
                }
            }
        }
    };
}

table! {
    ibv_get_device_list(*mut c_int) -> *mut *mut ibv_device;
    ibv_free_device_list(*mut *mut ibv_device) -> ();
    ibv_get_device_name(*mut ibv_device) -> *const c_char;
    ibv_open_device(*mut ibv_device) -> *mut ibv_context;
    ibv_close_device(*mut ibv_context) -> c_int;
    ibv_query_device(*mut ibv_context, *mut ibv_device_attr) -> c_int;
    /// The exported function fills the structure up to `flags`; the inline one of the header would need the
    /// extended table.
    ibv_query_port(*mut ibv_context, u8, *mut ibv_port_attr) -> c_int;
    ibv_query_gid(*mut ibv_context, u8, c_int, *mut ibv_gid) -> c_int;
    ibv_alloc_pd(*mut ibv_context) -> *mut ibv_pd;
    ibv_dealloc_pd(*mut ibv_pd) -> c_int;
    ibv_reg_mr(*mut ibv_pd, *mut c_void, usize, c_int) -> *mut ibv_mr;
    ibv_dereg_mr(*mut ibv_mr) -> c_int;
    ibv_create_cq(*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
    ibv_destroy_cq(*mut ibv_cq) -> c_int;
    ibv_create_qp(*mut ibv_pd, *mut ibv_qp_init_attr) -> *mut ibv_qp;
    ibv_modify_qp(*mut ibv_qp, *mut ibv_qp_attr, c_int) -> c_int;
    ibv_destroy_qp(*mut ibv_qp) -> c_int;
}

/// The library, opened at the first call.
///
/// # Errors
///
/// It is not installed, or is no libibverbs. The answer is the same for the life of the program.
pub(super) fn library() -> Result<&'static Library, Error> {
    static LIBRARY: OnceLock<Result<Library, NotLoaded>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| load(OVERRIDE, SONAME, Library::resolve)).as_ref();
    library
        .map_err(|NotLoaded { path, reason }| Error::Library { path: path.clone(), reason: reason.clone() })
}
