//! A terminal that changes its size all the time: what stands on it at the end is what stood there before.

use crate::person::Person;

/// Sizes from 1x1 to 300x100, the same every time.
fn sizes() -> impl Iterator<Item = (u16, u16)> {
    let mut state = 0x2545_f491_u32;
    let mut draw = move |most: u32| {
        // xorshift; Marsaglia, Journal of Statistical Software 8 (14), 2003
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        u16::try_from(1 + state % most).unwrap()
    };
    std::iter::repeat_with(move || (draw(300), draw(100)))
}

/// What one sees of it: a blank that was painted looks like one that was not.
fn seen_of(contents: &str) -> String {
    contents.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_storm_of_sizes_leaves_every_view_and_what_lies_over_it_as_it_was() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/mixed.rsz");
    let mut person = Person::runs(&["replay", recording]);
    person.sees("REPLAY, SIMULATED");
    person.types(" g5\r");
    person.sees("PAUSED at 0:05.0");
    let is_looked_through = |line: &str| line.starts_with("0:05.0") && !line.contains('·');
    person.waits_until("it is looked through", |screen| screen.contents().lines().any(is_looked_through));
    let mut sizes = sizes();
    // what is waited for is painted last, and was not there before, so that all of the picture stands there
    for (keys, seen, last, back) in [
        ("1x", "[1 Home]", "x does nothing here", ""),
        ("2w", "[2 Topology]", "w does nothing here", ""),
        ("3x", "[3 Rail]", "x does nothing here", ""),
        ("4w", "[4 Placement]", "w does nothing here", ""),
        ("5x", "[5 Load]", "x does nothing here", ""),
        ("6w", "[6 Experiments]", "w does nothing here", ""),
        ("1?", "keys and signs", "──┘", "\x1b"),
        ("1v", "columns of the rails", "──┘", "\x1b"),
        ("1/bond", "filter: bond", "Esc ends it", "\x1b"),
    ] {
        person.types(keys);
        person
            .waits_until(seen, |screen| screen.contents().contains(seen) && screen.contents().contains(last));
        let before = seen_of(&person.contents());
        for (cols, rows) in sizes.by_ref().take(25) {
            person.resizes(cols, rows);
        }
        person.resizes(80, 24);
        person.waits_until(&format!("{seen} is as it was:\n{before}"), |screen| {
            seen_of(&screen.contents()) == before
        });
        if !back.is_empty() {
            person.types(back);
            // the next key would be taken for one with Alt held
            person.sees_no_more(seen);
        }
    }
    person.types("q");
    assert_eq!(person.is_left(), 0);
}
