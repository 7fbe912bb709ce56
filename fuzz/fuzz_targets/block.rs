//! Any text as a block behind a header that is well: its first line and its rows, which a checksum would else guard.
#![no_main]

mod read;

use std::sync::LazyLock;

/// The first frame of a kept recording, packed.
static HEADER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let file = &include_bytes!("../../tests/sessions/corpus/whole.rsz")[..];
    let text = zstd::decode_all(file).expect("the kept file is whole");
    let end = text.iter().position(|byte| *byte == b'\n').expect("it has a first line");
    zstd::bulk::compress(&text[..=end], 1).expect("it is in memory")
});

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let mut file = HEADER.clone();
    file.extend(zstd::bulk::compress(text, 1).expect("it is in memory"));
    read::read(&file);
});
