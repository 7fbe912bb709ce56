use crate::peer::message::{Message, Plan, Progress, Slot};
use crate::peer::plan::tests::plan;
use crate::peer::{End, fake};
use probes::ffi::cuda::Facts;
use probes::load::{Role, Shape, Transport, WorkingSet};

/// What the server says to a plan that was changed so.
fn said(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = plan();
    change(&mut plan);
    plan.check(&fake::end("n2", 2).offers).unwrap_err().to_string()
}

#[test]
fn a_plan_that_was_offered_is_accepted() {
    plan().check(&fake::end("n2", 2).offers).unwrap();
}

#[test]
fn a_hostile_plan_is_refused_in_words() {
    assert_eq!(said(|p| p.lines.clear()), "the plan has no rails");
    assert_eq!(said(|p| p.lines[0].server.device = "x".to_owned()), "x port 1 is not offered");
    assert_eq!(
        said(|p| p.lines[0].server.gid_index = 9),
        "mlx5_0 port 1 has nothing at GID index 9; it has 3"
    );
    assert_eq!(said(|p| p.lines[1] = p.lines[0].clone()), "mlx5_0 port 1 is in the plan twice");
    assert_eq!(said(|p| p.params.qps = 0), "qps 0: 1 to 4096 are possible");
    assert_eq!(said(|p| p.params.qps = 1 << 20), "qps 1048576: 1 to 4096 are possible");
    assert_eq!(said(|p| p.params.workers = 65), "workers 65: 1 to 64 are possible");
    assert_eq!(
        said(|p| p.params.workers = 8),
        "8 workers share 4 queue pairs: each needs one of its own; ask for --qps 8 or fewer --workers"
    );
    assert_eq!(said(|p| p.params.size_bytes = 1 << 40), "size 1099511627776: 1 to 2147483648 are possible");
    assert_eq!(
        said(|p| p.params.working_set = WorkingSet::Bytes(u64::MAX)),
        "working set 18446744073709551615: 1 to 17592186044416 are possible"
    );
    assert_eq!(
        said(|p| p.params.rate_gb_per_s = Some(-1.0)),
        "rate -1 GB/s: above 0 and up to 10000 are possible"
    );
    assert_eq!(said(|p| p.params.leg = Some(0)), "leg 0: 1 to 4 are possible");
    assert_eq!(said(|p| p.params.leg = Some(300)), "leg 300: 1 to 4 are possible");
    assert_eq!(
        said(|p| (p.params.shape, p.params.batch) = (Shape::Striped, 0)),
        "batch 0: 1 to 16777216 are possible"
    );
    assert_eq!(
        said(|p| (p.params.shape, p.params.batch) = (Shape::Striped, 4096)),
        "--batch 4096 over 2 rails is 512 pages for each of a thread's 4 queue pairs a rail, which hold 128: ask \
             for --depth 512, a smaller batch or more --qps"
    );
    assert_eq!(
        said(|p| (p.params.shape, p.params.bidirectional) = (Shape::Striped, true)),
        "--bidirectional and --shape striped: only one end posts batches; leave it out"
    );
    assert_eq!(said(|p| p.params.chain = Some(0)), "chain 0: 1 to 128 are possible");
    assert_eq!(said(|p| p.params.chain = Some(129)), "chain 129: 1 to 128 are possible");
    assert_eq!(
        said(|p| p.params.cq_mod = Some(1 << 20)),
        "completion moderation 1048576: 1 to 128 are possible"
    );
    assert_eq!(
        said(|p| p.params.path_mtu = Some(9000)),
        "path MTU 9000: 256, 512, 1024, 2048, 4096 are possible"
    );
}

#[test]
fn a_hostile_plan_has_neither_an_absurd_time_nor_thousands_of_threads() {
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert!(said(|p| p.params.warmup_s = bad).starts_with("warm-up "), "{bad}");
        assert!(said(|p| p.params.duration_s = Some(bad)).starts_with("time "), "{bad}");
        assert!(said(|p| p.params.rate_gb_per_s = Some(bad)).starts_with("rate "), "{bad}");
    }
    assert!(said(|p| p.params.duration_s = Some(0.0)).starts_with("time 0 s"));
    let said = said(|p| (p.params.transport, p.params.qps) = (Transport::Tcp, 4096));
    assert_eq!(said, "connections on all rails 8192: 1 to 512 are possible");
}

#[test]
fn news_of_more_than_the_plan_has_is_refused() {
    let mut plan = plan();
    plan.params.workers = 2;
    let check = |change: fn(&mut Progress)| {
        let mut progress = Progress::default();
        change(&mut progress);
        plan.check_news(&Message::Progress(progress), Role::Reader)
    };
    check(|_| ()).unwrap();
    check(|p| p.failed.push("worker 2 of mlx5_1".to_owned())).unwrap();
    assert_eq!(
        check(|p| p.failed.push("worker 3 of mlx5_1".to_owned())).unwrap_err(),
        "`worker 3 of mlx5_1` is no thread of the plan"
    );
    assert_eq!(
        check(|p| p.failed = vec!["worker 1 of mlx5_0".to_owned(); 110_000]).unwrap_err(),
        "110000 failed threads: at most 4 are possible"
    );
    assert!(check(|p| p.troubles = vec![String::new(); 110_000]).is_err());
    assert!(check(|p| p.seconds = f64::INFINITY).is_err());
    assert!(check(|p| p.rails = 3).is_err());
    assert!(check(|p| p.back = Some(vec![Slot { line: 0, worker: 0 }; 5])).is_err());
    let at_rest = Message::AtRest { slot: Slot { line: 0, worker: 0 }, operations: vec![0; 5] };
    assert!(plan.check_news(&at_rest, Role::Reader).is_err());
}

#[test]
fn a_hostile_plan_cannot_ask_tcp_for_what_only_rdma_can() {
    let said = said(|p| (p.params.transport, p.params.leg) = (Transport::Tcp, Some(1)));
    assert_eq!(said, "--leg and --transport tcp: only --transport verbs can do that");
}

#[test]
fn a_working_set_holds_a_message_of_each_queue_pair() {
    let said = said(|p| p.params.working_set = WorkingSet::Bytes(1024));
    assert_eq!(
        said,
        "--working-set 1024 B a rail is too small for 4 queue pairs x 65536 B: 262144 B is the least"
    );
}

#[test]
fn buffers_leave_the_host_half_its_memory() {
    let mut plan = plan();
    plan.params.qps = 1024;
    plan.params.size_bytes = 1 << 24;
    plan.check_memory_of("this host", None).unwrap();
    plan.check_memory_of("this host", Some(1 << 37)).unwrap();
    let said = plan.check_memory_of("this host", Some(1 << 34)).unwrap_err().to_string();
    assert!(
        said.starts_with("2 rails x 1024 queue pairs x 16777216 B need 34.4 GB of the 17.2 GB"),
        "{said}"
    );
    plan.params.working_set = WorkingSet::Bytes(1 << 34);
    let said = plan.check_memory_of("this host", Some(1 << 35)).unwrap_err().to_string();
    assert!(
        said.starts_with("2 rails x a working set of 17179869184 B need 34.4 GB of the 34.4 GB"),
        "{said}"
    );
}

#[test]
fn buffers_in_a_gpu_are_held_against_its_memory() {
    let mut plan = plan();
    plan.params.qps = 1024;
    plan.params.size_bytes = 1 << 24;
    let gpu = |memory_bytes| Facts {
        number: 1,
        model: "H100".to_owned(),
        pci_address: "0000:1b:00.0".to_owned(),
        memory_bytes,
        gpudirect: None,
        dmabuf: None,
        driver_cuda: (12, 4),
    };
    plan.check_memory(&End { gpu: Some(gpu(1 << 37)), ..fake::end("n2", 2) }).unwrap();
    let said = plan.check_memory(&End { gpu: Some(gpu(1 << 34)), ..fake::end("n2", 2) });
    let said = said.unwrap_err().to_string();
    assert!(said.contains("need 34.4 GB of the 17.2 GB GPU 1 (H100, 0000:1b:00.0) has"), "{said}");
}
