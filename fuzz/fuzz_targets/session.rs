//! Any bytes as a session file: frames, seek table, checksums.
#![no_main]

mod read;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read::read(bytes));
