//! `diagnose` on the simulated node: the cause that is named first.

use assert_cmd::Command;
use serde_json::Value;

fn diagnose(arguments: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("railscope").unwrap();
    command.args(["diagnose", "--transport", "sim"]).args(arguments).output().unwrap()
}

/// Slow rails with their causes.
fn causes(scenario: &str, seed: &str) -> Vec<String> {
    let output = diagnose(&["--scenario", scenario, "--seed", seed, "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["schema"], "railscope.diagnosis/1");
    let slow = found["rails"].as_array().unwrap().iter().filter(|rail| rail["slow"] == true);
    let slow: Vec<String> = slow
        .map(|rail| format!("{} {}", rail["device"].as_str().unwrap(), rail["cause"].as_str().unwrap()))
        .collect();
    assert_eq!(output.status.code(), Some(i32::from(!slow.is_empty())), "{slow:?}");
    slow
}

#[test]
fn each_planted_cause_is_the_one_that_is_named() {
    for seed in ["1", "2", "3"] {
        for (scenario, expected) in [
            ("healthy", &[][..]),
            ("mixed", &["mlx5_bond_3 bond-leg-imbalance", "mlx5_bond_4 pcie-downgraded"]),
            ("one-leg", &["mlx5_bond_3 bond-leg-imbalance"]),
            ("hashed", &["mlx5_bond_3 bond-leg-imbalance"]),
            ("shared-uplink", &["mlx5_bond_3 shared-pcie", "mlx5_bond_4 shared-pcie"]),
            ("gen4-slot", &["mlx5_bond_2 pcie-capped-by-slot"]),
            ("congested", &["mlx5_bond_6 ecn-cnp"]),
            (
                "memory",
                &[
                    "mlx5_bond_5 memory-bound",
                    "mlx5_bond_6 memory-bound",
                    "mlx5_bond_7 memory-bound",
                    "mlx5_bond_8 memory-bound",
                ],
            ),
            // the experiments place their own threads, so somebody else's placement makes no rail slow
            ("cross-numa", &[]),
        ] {
            assert_eq!(causes(scenario, seed), expected, "{scenario}, seed {seed}");
        }
    }
}

#[test]
fn the_text_says_the_verdict_first_and_fits_eighty_columns() {
    let output = diagnose(&["--scenario", "one-leg"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 80 || line.contains('`'), "{line}");
    }
    assert_eq!(text.lines().next(), Some("1 rail is slow"), "{text}");
    assert!(text.contains("what another node costs mlx5_bond_"), "{text}");
    assert!(text.contains("  H1 YES one leg of the bond carries everything: its legs bring"), "{text}");
    assert!(text.contains("SIMULATED"), "{text}");
    let markdown = String::from_utf8(diagnose(&["--scenario", "one-leg", "--format", "md"]).stdout).unwrap();
    assert!(markdown.starts_with("## 1 rail is slow\n"), "{markdown}");
}

/// What is said of the first cause of bond 3.
fn first_cause(scenario: &str) -> String {
    let output = diagnose(&["--scenario", scenario, "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    found["rails"][0]["hypotheses"][0]["because"].as_str().unwrap().to_owned()
}

#[test]
fn labels_are_varied_until_each_leg_received_and_a_leg_that_never_did_is_not_measurable() {
    let said = first_cause("hashed");
    assert!(said.ends_with("flow labels anew each leg received (try 3): the hash decides"), "{said}");
    let said = first_cause("one-leg");
    let never =
        "that each leg receives is not measurable here, because in 8 tries with other queue pair numbers";
    assert!(said.contains(never), "{said}");
}

#[test]
fn what_cannot_be_asked_is_one_clear_line_and_exit_code_2() {
    for (arguments, says) in [
        (&["--scenario", "nonsense"][..], "no scenario `nonsense`; there are: healthy"),
        (
            &["--scenario", "mixed", "--rails", "mlx5_9"],
            "--rails mlx5_9: the simulated node has no such rail",
        ),
        (&["--scenario", "mixed", "--every", "1s"], "--every: each load has two samples"),
    ] {
        let output = diagnose(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.lines().last().unwrap().contains(says), "{text}");
    }
}

#[test]
fn a_recorded_diagnosis_shows_its_table_when_it_is_looked_at_again() {
    let folder = tempfile::tempdir().unwrap();
    let (session, picture) = (folder.path().join("slow.rsz"), folder.path().join("slow.txt"));
    let output = diagnose(&["--scenario", "one-leg", "--record", session.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let shot = |moment: &[&str]| {
        let _ = std::fs::remove_file(&picture);
        let mut command = Command::cargo_bin("railscope").unwrap();
        let files = [picture.as_os_str(), session.as_os_str()];
        command.arg("shot").args(files).args(["--view", "experiments", "--size", "120x60"]);
        let output = command.args(moment).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        std::fs::read_to_string(&picture).unwrap()
    };
    let whole = shot(&[]);
    assert!(whole.contains("mlx5_bond_3 bond-leg-imbalance") && whole.contains("were made"), "{whole}");
    let early = shot(&["--at", "4s"]);
    assert!(early.contains("3 of at least ") && early.contains("mlx5_bond_4: alone"), "{early}");
    let report = |format: &str| {
        let mut command = Command::cargo_bin("railscope").unwrap();
        let output =
            command.args(["report", session.to_str().unwrap(), "--format", format]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for format in ["text", "md"] {
        let text = report(format);
        assert!(
            text.contains(" planned loads, one after the other") && !text.contains("other programs"),
            "{text}"
        );
    }
    assert!(report("json").contains("\"planned_loads\": 3"), "{}", report("json"));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        report("text").starts_with(&told),
        "the report of the file begins with what was told then:\n{told}"
    );
    assert!(report("md").starts_with("## 1 rail is slow"), "{}", report("md"));
    assert!(report("json").contains("\"schema\": \"railscope.diagnosis/1\""), "{}", report("json"));
}
