use super::{params, place, working_set};
use crate::cli::{Cli, Command};
use clap::Parser;
use probes::load::{Memory, Params, Place, Shape, Transport, WorkingSet};
use probes::model::LoadOp;

fn asked(flags: &str) -> Result<Params, String> {
    let cli = Cli::try_parse_from(format!("railscope load n2 {flags}").split_whitespace());
    match cli.map_err(|error| error.to_string())?.command {
        Some(Command::Load(args)) => params(&args),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn flags_become_parameters() {
    let typed = asked(
        "--op write -b -q 2 -s 1M -t 8 -o 4 -u 19 -l 4 -Q 8 --tclass 106 -x 3 -m 4096 --workers 2 --place cpu:0,mem:1 --warmup 500ms --for 5s",
    );
    assert_eq!(
        typed.unwrap(),
        Params {
            op: LoadOp::Write,
            bidirectional: true,
            qps: 2,
            workers: 2,
            size_bytes: 1 << 20,
            depth: 8,
            read_depth: Some(4),
            timeout: 19,
            chain: Some(4),
            cq_mod: Some(8),
            traffic_class: 106,
            gid_index: Some(3),
            path_mtu: Some(4096),
            place: Place::Nodes { cpu: 0, mem: 1 },
            warmup_s: 0.5,
            duration_s: Some(5.0),
            ..Params::default()
        }
    );
    assert_eq!(asked("").unwrap(), Params::default());
    let over_tcp = asked("--transport tcp").unwrap();
    assert_eq!(over_tcp, Params { transport: Transport::Tcp, ..Params::default() });
    assert_eq!(asked("-n 1000").unwrap(), Params { operations: Some(1000), ..Params::default() });
}

#[test]
fn the_memory_is_the_hosts_or_that_of_a_gpu() {
    assert_eq!(asked("--memory host").unwrap(), Params::default());
    assert_eq!(asked("--memory gpu:3").unwrap().memory, Memory::Gpu(3));
    for bad in ["gpu", "gpu:x", "gpu:-1", "cuda:0"] {
        let said = asked(&format!("--memory {bad}")).unwrap_err();
        assert!(said.contains("write host, or gpu:N with N as CUDA counts the GPUs"), "{said}");
    }
    assert_eq!(
        asked("--memory gpu:0 --transport tcp").unwrap_err(),
        "--memory gpu:N and --transport tcp: only --transport verbs can do that"
    );
}

#[test]
fn a_leg_is_a_port_of_a_card() {
    assert_eq!(asked("--leg 2").unwrap(), Params { leg: Some(2), ..Params::default() });
    let said = asked("--leg 0").unwrap_err();
    assert!(said.contains("invalid value '0' for '--leg <N>'"), "{said}");
    let said = asked("--leg 2 --transport tcp").unwrap_err();
    assert_eq!(said, "--leg and --transport tcp: only --transport verbs can do that");
}

#[test]
fn a_striped_load_has_batches_and_no_other_has() {
    let striped = Params { shape: Shape::Striped, batch: 64, workers: 2, ..Params::default() };
    assert_eq!(asked("--shape striped --batch 64 --workers 2").unwrap(), striped);
    assert_eq!(asked("--shape striped").unwrap().batch, 128);
    assert_eq!(
        asked("--batch 64").unwrap_err(),
        "--batch: only a striped load has batches; add --shape striped"
    );
    for (flags, said) in [
        ("-b", "--bidirectional and --shape striped: only one end posts batches; leave it out"),
        ("-n 9", "--operations (-n) and --shape striped: rails share each batch; end it with --for"),
        ("--rate 1", "--rate and --shape striped: rails wait for each other, not for a clock; leave it out"),
        (
            "-Q 4",
            "--cq-mod (-Q) and --shape striped: a queue pair's part of a batch has one completion; leave it out",
        ),
        ("--transport tcp", "--shape striped and --transport tcp: only --transport verbs can do that"),
    ] {
        assert_eq!(asked(&format!("--shape striped {flags}")).unwrap_err(), said);
    }
}

#[test]
fn a_thread_without_queue_pairs_is_refused() {
    let said = asked("--qps 0").unwrap_err();
    assert!(said.contains("invalid value '0' for '--qps <N>'"), "{said}");
    let said = asked("--workers 5").unwrap_err();
    assert!(said.starts_with("5 workers share 4 queue pairs: each needs one of its own"), "{said}");
}

#[test]
fn a_load_with_two_ends_is_refused() {
    let said = asked("-n 1000 -D 5s").unwrap_err();
    assert_eq!(said, "--operations (-n) and --for (-D): both say when the load ends; give one");
    assert!(asked("-n 0").unwrap_err().contains("invalid value '0' for '--operations <N>'"));
}

#[test]
fn the_peers_port_can_be_given_as_perftest_users_do() {
    let target = |line: &str| {
        let cli = Cli::try_parse_from(format!("railscope load {line}").split_whitespace()).unwrap();
        let Some(Command::Load(args)) = cli.command else { panic!("`load` was typed") };
        super::target(&args.knobs).map(|target| target.to_string())
    };
    assert_eq!(target("n2 -p 9000").unwrap(), "n2:9000");
    assert_eq!(target("n2:9000").unwrap(), "n2:9000");
    assert_eq!(target("fd00::2 -p 9000").unwrap(), "[fd00::2]:9000");
    assert_eq!(
        target("n2:9000 -p 9001").unwrap_err(),
        "n2:9000 and --port (-p) 9001: both name the port of the peer; give one"
    );
}

#[test]
fn a_chain_fits_into_the_queue() {
    assert!(asked("-t 64 -l 64 -Q 64").is_ok());
    for flags in ["-t 64 -l 65", "-t 64 -Q 65"] {
        let said = asked(flags).unwrap_err();
        assert!(
            said.ends_with("65: a queue pair holds 64 work requests; ask for less, or for --depth (-t) 65"),
            "{said}"
        );
    }
}

#[test]
fn a_rate_is_more_than_nothing() {
    assert_eq!(asked("--rate 2.5").unwrap().rate_gb_per_s, Some(2.5));
    for bad in ["0", "-1", "inf", "NaN", "1e9"] {
        assert!(asked(&format!("--rate={bad}")).unwrap_err().contains("GB/s per rail, above 0"), "{bad}");
    }
}

#[test]
fn a_working_set_is_hot_cold_or_bytes() {
    let read = |text| working_set(text, Some(384 << 20));
    assert_eq!(read("hot"), Ok(WorkingSet::Hot));
    assert_eq!(read("cold"), Ok(WorkingSet::Bytes(768 << 20)));
    assert_eq!(working_set("cold", None), Ok(WorkingSet::Bytes(1 << 30)));
    assert_eq!(
        ["512M", "4G", "1T", "64K"].map(read).map(Result::unwrap),
        [
            WorkingSet::Bytes(512 << 20),
            WorkingSet::Bytes(4 << 30),
            WorkingSet::Bytes(1 << 40),
            WorkingSet::Bytes(64 << 10)
        ]
    );
    for bad in ["", "warm", "0G", "-1", "99999999T"] {
        assert!(
            read(bad).unwrap_err().starts_with(&format!("--working-set `{bad}`: write hot, cold")),
            "{bad}"
        );
    }
    let small = asked("--working-set 1K -s 64K").unwrap_err();
    assert!(small.starts_with("--working-set 1024 B a rail is too small for 4 queue pairs"), "{small}");
    assert_eq!(asked("--working-set 8M").unwrap().working_set, WorkingSet::Bytes(8 << 20));
}

#[test]
fn placements_are_read_as_they_are_printed() {
    for text in ["local", "remote", "none", "cpu:1,mem:0", "0-3,8"] {
        assert_eq!(place(text).unwrap().to_string(), text);
    }
    for bad in ["", "here", "cpu:0", "cpu:0,mem:x", "mem:0,cpu:0", "3-1"] {
        assert!(place(bad).unwrap_err().starts_with(&format!("--place `{bad}`: write local")), "{bad}");
    }
}
