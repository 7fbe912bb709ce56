//! The only room with `unsafe`: verbs, and system calls without a safe wrapper.
#![allow(unsafe_code, reason = "the one room where it is allowed; every block states its obligations")]

pub mod buffer;
pub mod cuda;
pub mod ethtool;
mod loading;
pub mod mlx5dv;
#[cfg(feature = "static-hwloc")]
mod udev_stubs;

pub mod pages;
pub mod stdout;
pub mod verbs;
