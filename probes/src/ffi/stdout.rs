//! Whether this program was started without a stdout (`>&-`).
//!
//! The standard library opens `/dev/null` in place of a missing one before `main`, so that nothing can be told from it
//! later: whatever is printed is gone, and no write fails.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the loader, before the standard library's own beginning.
extern "C" fn look() {
    // SAFETY: - F_GETFD takes any number for a descriptor and touches no memory of ours (fcntl(2))
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: - entries of .init_array are pointers to functions that the loader calls before main (System V ABI, "Initialization
//           and Termination Functions"): this is one, and its arguments may be left aside
//         - `look` needs nothing that is made later: a system call and an atomic
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

/// Whether nobody can read what this program prints, as it had no stdout when it was started.
#[must_use]
pub fn was_closed_at_start() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
