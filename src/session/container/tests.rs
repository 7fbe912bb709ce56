use super::{index, pack, read_at, seek_table, unpack};
use std::io::Cursor;

fn file(texts: &[&[u8]], with_table: bool) -> Vec<u8> {
    let packed: Vec<_> = texts.iter().map(|text| pack(text).unwrap()).collect();
    let mut file: Vec<u8> = packed.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
    if with_table {
        file.extend(seek_table(&packed.iter().map(|(_, entry)| *entry).collect::<Vec<_>>()));
    }
    file
}

#[test]
fn the_seek_table_and_a_walk_find_the_same_frames() {
    let noise: Vec<u8> = (0..300_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let run = vec![b'x'; 70_000];
    let texts: [&[u8]; 5] = [b"", b"header", &run, &noise, b"end"];
    let by_table = index(&mut Cursor::new(file(&texts, true))).unwrap();
    let bytes = file(&texts, false);
    let by_walk = index(&mut Cursor::new(&bytes)).unwrap();
    assert!(by_table.whole && !by_walk.whole);
    assert_eq!(by_table.places, by_walk.places);
    for (place, text) in by_walk.places.iter().zip(texts) {
        assert_eq!(unpack(&read_at(&mut Cursor::new(&bytes), *place).unwrap()).unwrap(), text);
    }
}

#[test]
fn a_cut_file_keeps_its_whole_frames() {
    let texts: [&[u8]; 3] = [b"header", b"block one", b"block two"];
    let bytes = file(&texts, true);
    let ends: Vec<u64> =
        index(&mut Cursor::new(&bytes)).unwrap().places.iter().map(|p| p.at + p.bytes).collect();
    for cut in 0..bytes.len() {
        let found = index(&mut Cursor::new(&bytes[..cut])).unwrap();
        assert_eq!(found.places.len(), ends.iter().filter(|end| **end <= cut as u64).count(), "cut at {cut}");
        assert!(!found.whole);
    }
}

#[test]
fn the_reference_tool_reads_the_table_as_a_skippable_frame() {
    let bytes = file(&[b"one\n", b"two\n"], true);
    let text = zstd::decode_all(&bytes[..]).unwrap();
    assert_eq!(text, b"one\ntwo\n");
}
