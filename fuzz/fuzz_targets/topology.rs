//! Any bytes as a topology file of NCCL, or one that is taken for it.
#![no_main]

use std::io::Write;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("it takes some bytes");
    let _ = probes::topology_file::read(file.path());
});
