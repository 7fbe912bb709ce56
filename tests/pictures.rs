//! The pictures of the README are what the program draws: each is made anew by the line that is told beside them.

use std::path::Path;

/// The lines that make them, as `recordings/README.md` tells them.
fn lines() -> Vec<String> {
    let told = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let lines = told.lines().filter_map(|line| line.trim().strip_prefix("railscope shot "));
    lines.map(str::to_owned).collect()
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings"))
}

#[test]
fn every_picture_is_what_the_program_draws_today() {
    let made = tempfile::tempdir().unwrap();
    for line in lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap().strip_prefix("pictures/").unwrap();
        let args: Vec<&str> = words.collect();
        if args[0] == "." {
            // a folder is listed by the times of its files, which no copy of the source keeps
            continue;
        }
        let file = made.path().join(name);
        let drawn = assert_cmd::Command::new(env!("CARGO_BIN_EXE_railscope"))
            .current_dir(folder())
            .arg("shot")
            .arg(&file)
            .args(args)
            .output()
            .unwrap();
        assert!(drawn.status.success(), "{line}: {}", String::from_utf8_lossy(&drawn.stderr));
        let (here, new) = (folder().join("pictures").join(name), std::fs::read(&file).unwrap());
        let is_new = std::fs::read(&here).unwrap() != new;
        assert!(!is_new, "{name} is of another day: `cd recordings; railscope shot {line}`");
    }
}

#[test]
fn every_picture_is_shown_in_the_readme_and_is_told_how_it_is_made() {
    let readme = std::fs::read_to_string(folder().parent().unwrap().join("README.md")).unwrap();
    for entry in std::fs::read_dir(folder().join("pictures")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(readme.contains(&format!("recordings/pictures/{name}")), "{name}");
        assert!(lines().iter().any(|line| line.starts_with(&format!("pictures/{name} "))), "{name}");
    }
}
