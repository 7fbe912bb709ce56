//! The forms of a report as people and scripts ask for them.

use assert_cmd::Command;
use std::path::Path;

fn railscope(arguments: &[&str]) -> std::process::Output {
    Command::cargo_bin("railscope").unwrap().args(arguments).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = railscope(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A kept recording of two slow bonds.
fn mixed() -> String {
    kept("mixed.rsz")
}

fn kept(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(name);
    path.to_str().unwrap().to_owned()
}

fn report(flags: &[&str]) -> String {
    stdout(&[&["report", &mixed(), "--fail-on", "never"], flags].concat())
}

/// Fields of the rows of a rail: second, and GB/s received.
fn received(csv: &str, rail: &str) -> Vec<(String, f64)> {
    let headings: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    // the load in words is the only field with commas inside
    let row = |line: &str| {
        let (before, after) = line.split_once("\",").unwrap();
        let fields: Vec<String> = before.split(",\"").map(str::to_owned).collect();
        let [first, load] = fields.as_slice() else { panic!("{line}") };
        let mut row: Vec<String> = first.split(',').map(str::to_owned).collect();
        row.push(load.clone());
        row.extend(after.split(',').map(str::to_owned));
        assert_eq!(row.len(), headings.len(), "{line}");
        row
    };
    let at = |name: &str| headings.iter().position(|heading| *heading == name).unwrap();
    let rows = csv.lines().skip(1).map(row).filter(|row| row[at("rail")] == rail);
    rows.map(|row| (row[at("until_s")].clone(), row[at("rx_gb_per_s")].parse().unwrap())).collect()
}

#[test]
fn a_table_has_a_row_for_each_rail_and_second() {
    let rows = received(&report(&["--format", "csv"]), "mlx5_bond_3");
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|(_, rate)| (24.0..25.0).contains(rate)), "{rows:?}");
    let part = received(&report(&["--format", "csv", "--from", "0:03", "--to", "6s"]), "mlx5_bond_3");
    let times: Vec<&str> = part.iter().map(|(time, _)| time.as_str()).collect();
    assert_eq!(times, ["4", "5", "6"]);
    let fine = received(&report(&["--format", "csv", "--every", "1ms"]), "mlx5_bond_3");
    assert_eq!(fine.len(), 100, "a row a sample");
}

#[test]
fn a_part_of_a_session_is_judged_alone_and_says_so() {
    let text = report(&["--from", "3", "--to", "8"]);
    assert!(text.contains("3.0 s to 8.0 s, 51 samples"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&report(&["--format", "json", "--from", "3", "--for", "5s"])).unwrap();
    assert_eq!((&json["session"]["from_s"], &json["session"]["duration_s"]), (&3.0.into(), &5.0.into()));
    let mean = json["rails"][2]["load_gb_per_s"].as_f64().unwrap();
    assert!((24.0..24.5).contains(&mean), "{mean}");
    for (flags, reason) in [
        (&["--from", "30"][..], "the recording ends at 10.0 s"),
        (&["--from", "5", "--to", "3"], "nothing lies between"),
        (&["--from", "1:75"], "write 90s, 2m, 1:30"),
    ] {
        let refused = railscope(&[&["report", &mixed()], flags].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(reason), "{flags:?}: {said}");
    }
}

#[test]
fn a_ticket_goes_into_a_file_and_takes_the_place_of_an_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ticket.md");
    let name = file.to_str().unwrap();
    std::fs::write(&file, "older").unwrap();
    assert_eq!(report(&["--format", "md", "-o", name]), "");
    let ticket = std::fs::read_to_string(&file).unwrap();
    assert!(ticket.starts_with("### simulated: 3 warnings, 2 things worth knowing\n"), "{ticket}");
    for part in ["**Simulated** (scenario mixed, seed 1)", "| mlx5_bond_3 | 24.4", "- load: READ"] {
        assert!(ticket.contains(part), "{part}\n{ticket}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_picture_and_metrics_come_from_the_same_session() {
    let svg = report(&["--format", "svg"]);
    assert!(svg.starts_with("<svg") && svg.contains("Nothing here is a measurement"), "{svg}");
    let metrics = report(&["--format", "openmetrics", "--rails", "mlx5_bond_4"]);
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let bytes = metrics.lines().find_map(|line| {
        line.strip_prefix(
            "railscope_rail_load_bytes_per_second{host=\"simulated\",simulated=\"true\",device=\"mlx5_bond_4\",port=\"1\"} ",
        )
    });
    let bytes: f64 = bytes.unwrap().parse().unwrap();
    assert!((28.0e9..28.8e9).contains(&bytes), "{bytes}");
    assert!(!metrics.contains("mlx5_bond_3"));
}

#[test]
fn two_forms_at_once_are_refused_by_every_command() {
    let file = kept("mixed.rsz");
    for command in [
        &["report", &file][..],
        &["diff", &file, &file],
        &["probe"],
        &["check"],
        &["diagnose", "--transport", "sim"],
    ] {
        let output = Command::cargo_bin("railscope")
            .unwrap()
            .args([command, &["--json", "--format", "md"]].concat())
            .output()
            .unwrap();
        let reason = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && reason.contains("cannot be used with"),
            "{command:?}: {reason}"
        );
    }
}

#[test]
fn a_closed_stdout_is_said_and_one_that_goes_nowhere_is_not() {
    let program = assert_cmd::cargo::cargo_bin("railscope");
    let (program, file) = (program.display(), kept("healthy.rsz"));
    let run = |command: &str, to: &str| {
        let line = format!("'{program}' {command} {to}");
        let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for command in [
        format!("report '{file}'"),
        format!("report '{file}' --format csv"),
        format!("diff '{file}' '{file}'"),
        "probe".to_owned(),
        "explain".to_owned(),
    ] {
        let (code, reason) = run(&command, ">&-");
        assert!(code == Some(2) && reason.contains("stdout is closed"), "{command}: {code:?} {reason}");
        assert_eq!(run(&command, ">/dev/null").0, Some(0), "{command}");
        assert_eq!(run(&command, "1<>/dev/null").0, Some(0), "{command}");
    }
    let folder = tempfile::tempdir().unwrap();
    let to_file = format!("report '{file}' -o '{}'", folder.path().join("a.txt").display());
    assert_eq!(run(&to_file, ">&-").0, Some(0), "nothing is printed there");
}
