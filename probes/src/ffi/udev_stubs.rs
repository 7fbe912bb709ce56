//! The five functions of libudev that a statically linked libhwloc calls, answered with "there is no udev".
//!
//! hwloc's Linux backend asks udev for the vendor, model and serial number of block devices and takes null for
//! an answer (`hwloc/topology-linux.c`, under `HWLOC_HAVE_LIBUDEV`); nothing it says about NICs, bridges, nodes
//! or CPUs comes from there. With these the shipped binary starts on a node that has no `libudev.so.1`.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

// SAFETY: no other definition of the name is linked in: this module is built only with the feature under which
//         hwloc is linked as an archive and libudev is not (the same holds for all five)
#[unsafe(no_mangle)]
extern "C" fn udev_new() -> *mut c_void {
    null_mut()
}

// SAFETY: as for `udev_new`
#[unsafe(no_mangle)]
extern "C" fn udev_unref(_udev: *mut c_void) -> *mut c_void {
    null_mut()
}

// SAFETY: as for `udev_new`
#[unsafe(no_mangle)]
extern "C" fn udev_device_new_from_subsystem_sysname(
    _udev: *mut c_void,
    _subsystem: *const c_char,
    _sysname: *const c_char,
) -> *mut c_void {
    null_mut()
}

// SAFETY: as for `udev_new`
#[unsafe(no_mangle)]
extern "C" fn udev_device_get_property_value(_device: *mut c_void, _key: *const c_char) -> *const c_char {
    null_mut()
}

// SAFETY: as for `udev_new`
#[unsafe(no_mangle)]
extern "C" fn udev_device_unref(_device: *mut c_void) -> *mut c_void {
    null_mut()
}
