use super::{Used, commands, differences};
use crate::peer::agreement::Agreed;
use crate::peer::fake;
use crate::peer::gpus::{GpuMemory, Gpus};
use crate::peer::matching::matching;
use crate::peer::message::Plan;
use probes::load::{Params, Place, WorkingSet};
use probes::model::{LoadOp, Registered};

fn agreed(params: Params) -> Agreed {
    let (mut ours, theirs) = (fake::end("n1", 1), fake::end("n2", 2));
    ours.offers[1].numa_node = Some(1);
    let matching = matching(&ours.offers, &theirs.offers);
    Agreed {
        peer: theirs.me,
        address: "192.168.0.2".parse().unwrap(),
        port: 18523,
        loopback: false,
        plan: Plan::new(&matching, &ours.offers, &theirs.offers, params).unwrap(),
        matching,
        ours: ours.offers,
        theirs: theirs.offers,
        left_out: Vec::new(),
        sight: None,
        tells: false,
        gpus: Gpus::default(),
    }
}

fn used(device: &str) -> Used {
    Used { device: device.to_owned(), read_depth: Some(16), node: Some(1) }
}

#[test]
fn each_pair_has_a_command_for_both_hosts() {
    let params = Params { duration_s: Some(5.0), timeout: 19, ..Params::default() };
    let found = commands(&agreed(params), &[used("mlx5_0")]);
    assert_eq!(
        found,
        [
            "mlx5_0: on n2: ib_read_bw -d mlx5_0 -i 1 -x 3 -F -p 18521 -q 4 -s 65536 -t 128 -u 19 -Q 16 -l 16 -o 16 \
                 -m 4096 -f 2 -D 9 --report_gbits\n\
                 mlx5_0: here: ib_read_bw -d mlx5_0 -i 1 -x 3 -F -p 18521 -q 4 -s 65536 -t 128 -u 19 -Q 16 -l 16 -o 16 \
                 -m 4096 -f 2 -D 9 --report_gbits 192.168.0.2",
            "mlx5_1: on n2: ib_read_bw -d mlx5_1 -i 1 -x 3 -F -p 18522 -q 4 -s 65536 -t 128 -u 19 -Q 16 -l 16 -m 4096 \
                 -f 2 -D 9 --report_gbits\n\
                 mlx5_1: here: numactl --cpunodebind=1 --membind=1 ib_read_bw -d mlx5_1 -i 1 -x 3 -F -p 18522 \
                 -q 4 -s 65536 -t 128 -u 19 -Q 16 -l 16 -m 4096 -f 2 -D 9 --report_gbits 192.168.0.2"
        ]
    );
}

#[test]
fn each_end_names_its_own_gpu() {
    let memory = |number, ways: &[Registered]| GpuMemory { number, facts: None, ways: ways.to_vec() };
    let mut agreed = agreed(Params::default());
    agreed.gpus.ours = Some(memory(1, &[Registered::Dmabuf]));
    agreed.gpus.theirs = Some(memory(0, &[Registered::Peermem]));
    let found = commands(&agreed, &[]);
    let (there, here) = found[0].split_once('\n').unwrap();
    assert!(there.ends_with(" --report_gbits --use_cuda=0"), "{there}");
    assert!(here.ends_with(" --report_gbits --use_cuda=1 --use_cuda_dmabuf 192.168.0.2"), "{here}");
}

#[test]
fn a_write_load_of_both_directions_is_said_in_its_words() {
    let params = Params { op: LoadOp::Write, bidirectional: true, ..Params::default() };
    let found = commands(&agreed(params), &[used("mlx5_0")]);
    assert!(found[0].starts_with("mlx5_0: on n2: ib_write_bw -d mlx5_0"), "{}", found[0]);
    assert!(found[0].contains(" -b ") && !found[0].contains(" -o "), "{}", found[0]);
}

#[test]
fn each_thread_has_a_command_with_its_share_of_the_queue_pairs() {
    let found = commands(&agreed(Params { workers: 2, qps: 5, ..Params::default() }), &[]);
    let words = |at: usize| found[at].split(" -F ").nth(1).unwrap().split(" -s ").next().unwrap();
    assert_eq!(
        [0, 1, 2, 3].map(words),
        ["-p 18521 -q 3", "-p 18522 -q 2", "-p 18524 -q 3", "-p 18525 -q 2"],
        "18523 is the port of the load itself"
    );
}

#[test]
fn a_load_without_an_end_and_another_place_are_said_in_its_words() {
    let params = Params { place: Place::Nodes { cpu: 1, mem: 0 }, ..Params::default() };
    let found = commands(&agreed(params), &[]);
    assert!(found[0].contains("here: numactl --cpunodebind=1 --membind=0 ib_read_bw"), "{}", found[0]);
    let params = Params { operations: Some(1001), ..Params::default() };
    let counted = commands(&agreed(params), &[]);
    assert!(counted[0].contains(" -n 256 --report_gbits 192.168.0.2"), "{}", counted[0]);
    let params = Params {
        chain: Some(8),
        cq_mod: Some(4),
        traffic_class: 106,
        rate_gb_per_s: Some(0.5),
        ..Params::default()
    };
    let chained = commands(&agreed(params), &[]);
    assert!(
        chained[0].contains(
            " -u 14 -Q 4 -l 8 --rate_limit 4 --rate_units g --rate_limit_type SW --tclass 106 -m 4096 "
        ),
        "{}",
        chained[0]
    );
    assert!(found[0].contains(" --run_infinitely --report_gbits 192.168.0.2"), "{}", found[0]);
}

#[test]
fn the_far_node_that_was_taken_is_named() {
    let params = Params { place: Place::Remote, ..Params::default() };
    let found = commands(&agreed(params), &[used("mlx5_0")]);
    assert!(found[0].contains("here: numactl --cpunodebind=1 --membind=1 ib_read_bw"), "{}", found[0]);
    assert!(found[1].contains("mlx5_1: here: ib_read_bw"), "{}", found[1]);
}

#[test]
fn a_list_that_perftest_refuses_is_left_out_and_said() {
    let params = Params { chain: Some(4), cq_mod: Some(16), ..Params::default() };
    let agreed = agreed(params);
    let found = commands(&agreed, &[]);
    assert!(found[0].contains(" -Q 16 -m "), "{}", found[0]);
    assert_eq!(
        differences(&agreed),
        ["perftest rings a doorbell for each request, ours for 4: it takes no -l 4 with -Q 16"]
    );
}

#[test]
fn what_perftest_does_otherwise_is_said() {
    assert_eq!(differences(&agreed(Params::default())), [""; 0]);
    let params = Params {
        working_set: WorkingSet::Bytes(1 << 30),
        bidirectional: true,
        operations: Some(8),
        ..Params::default()
    };
    let said = differences(&agreed(params));
    assert_eq!(
        said,
        [
            "perftest stays in one hot buffer, whatever --working-set says",
            "perftest prints the sum of both directions",
            "perftest takes no fewer than 5 operations a queue pair, 20 in all; ours ends after 8"
        ]
    );
    let params = Params { duration_s: Some(1.5), ..Params::default() };
    let said = differences(&agreed(params));
    assert_eq!(said, ["perftest takes whole seconds: its window or its margins are longer than ours"]);
}
