use super::{FAMILIES, TERMS, of, term, with_limits};
use crate::rules::{Limits, codes};
use std::collections::BTreeSet;

#[test]
fn every_code_is_explained_once_and_nothing_else_is() {
    let known: BTreeSet<&str> = codes().collect();
    let mut explained: Vec<&str> =
        FAMILIES.iter().flat_map(|family| family.codes).map(|known| known.code).collect();
    explained.sort_unstable();
    assert_eq!(explained, known.into_iter().collect::<Vec<_>>());
}

#[test]
fn a_limit_of_the_config_file_is_the_one_that_is_quoted() {
    let leg = of("bond-leg-imbalance").unwrap();
    assert!(with_limits(leg.fires, &Limits::default()).contains("is above 80 %"));
    let stricter = Limits { leg_share: 0.625, ..Limits::default() };
    assert!(with_limits(leg.fires, &stricter).contains("is above 62.5 %"));
}

#[test]
fn every_limit_that_a_text_names_is_filled_in() {
    for known in FAMILIES.iter().flat_map(|family| family.codes) {
        for text in [known.means, known.fires, known.silent, known.mend, known.source] {
            let filled = with_limits(text, &Limits::default());
            assert!(!filled.contains(['{', '}']) && !filled.is_empty(), "{}: {filled}", known.code);
        }
    }
}

#[test]
fn words_of_the_trade_are_found_in_any_case_and_stand_in_order() {
    assert_eq!(term("gid"), term("GID"));
    assert!(term("gid").is_some() && term("frobnicator").is_none());
    let firsts: Vec<String> = TERMS.iter().map(|term| term.words[0].to_lowercase()).collect();
    assert!(firsts.is_sorted(), "{firsts:?}");
    let all: Vec<String> = TERMS.iter().flat_map(|term| term.words).map(|word| word.to_lowercase()).collect();
    assert_eq!(all.len(), all.iter().collect::<BTreeSet<_>>().len(), "a word stands twice");
}
