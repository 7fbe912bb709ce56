//! What one has to find on the screen of an unknown node stands on it: which rail, how slow, why, who, and what to type.

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::path::Path;

/// The text of the first view of one of the sessions.
fn home_of(session: &str, size: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("home.txt");
    let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blind").join(session);
    let paths = [&text, &session].map(|path| path.to_str().unwrap().to_owned());
    Command::cargo_bin("railscope")
        .unwrap()
        .args(["shot", &paths[0], &paths[1], "--size", size])
        .assert()
        .success();
    std::fs::read_to_string(text).unwrap()
}

/// Words in a row with one blank between them, as one reads over the ends of lines.
fn read(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn every_answer_stands_at(size: &str) {
    let answers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/blind/answers.json");
    let answers: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        serde_json::from_str(&std::fs::read_to_string(answers).unwrap()).unwrap();
    assert_eq!(answers.len(), 3);
    let mut missing = Vec::new();
    for (session, questions) in &answers {
        assert_eq!(questions.len(), 5, "{session}");
        let home = home_of(session, size);
        for (question, texts) in questions {
            for text in texts.iter().filter(|text| !read(&home).contains(text.as_str())) {
                missing.push(format!("{session}: {question}: {text}\n{home}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_answer_stands_on_the_first_screen() {
    every_answer_stands_at("120x40");
}

#[test]
fn every_answer_stands_on_a_small_screen() {
    every_answer_stands_at("80x24");
}
