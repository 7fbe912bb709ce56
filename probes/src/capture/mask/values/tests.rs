use super::Masker;
use crate::model::{
    BoundThreads, Gap, Gid, Host, Load, Process, ProcessSource, Rail, Rank, Subnet, Topology,
};

fn topology() -> Topology {
    let mut topology = Topology {
        host: Host {
            hostname: Some("gpu17.acme.com".into()),
            kernel: Some("6.1.0-gpu17".into()),
            ..Host::default()
        },
        rails: vec![Rail {
            device: "mlx5_0".into(),
            netdev: Some("enxb8599fa71234".into()),
            firmware: Some("28.39.1002".into()),
            system_image_guid: Some("b859:9f03:00a7:1234".into()),
            gids: vec![Gid {
                index: 3,
                address: "::ffff:10.77.2.1".parse().unwrap(),
                kind: None,
                netdev: Some("eth1".into()),
            }],
            subnets: vec![Subnet { netdev: "eth1".into(), network: "10.77.2.0/24".into() }],
            ..Rail::default()
        }],
        ..Topology::default()
    };
    let reason = "b8:59:9f:a7:12:34 of trainer at 10.77.2.1: no such file".into();
    topology.gaps.push(Gap { probe: "x".into(), subject: "gpu17".into(), reason });
    topology
}

fn process() -> Process {
    Process {
        pid: 7,
        name: "trainer".into(),
        device: "mlx5_0".into(),
        queue_pairs: None,
        source: ProcessSource::OpenFile,
        cpus_allowed: None,
        bound_threads: vec![BoundThreads {
            cpus: "0-3".parse().unwrap(),
            count: 1,
            busiest: 8,
            name: "secret-llm-poll".into(),
            works: None,
        }],
        mems_allowed: None,
        last_cpus: Vec::new(),
        large_mapping_bytes_by_node: None,

        registered_large_bytes: None,

        gpu: None,
        rank: Some(Rank { job: "secret-llm".into(), rank: 3 }),
    }
}

#[test]
fn nothing_that_tells_whose_it_is_stays_in_any_part() {
    let (topology, process) = (topology(), process());
    let load = Load { ended: Some("by the peer gpu17: 10.77.2.1 left".into()), ..Load::default() };
    let mut masker = Masker::of([&topology]);
    let _ =
        (masker.topology(&topology), masker.load(&load), masker.processes(std::slice::from_ref(&process)));
    let _ = masker.mark("after Bob moved the cable");
    let mut masker = masker.with_key();
    let shown = masker.topology(&topology);
    let parts = serde_json::to_string(&(
        &shown,
        masker.load(&load),
        masker.processes(&[process]),
        masker.mark("after Bob moved the cable"),
    ))
    .unwrap();
    for secret in [
        "gpu17",
        "acme",
        "a71234",
        "a7:12:34",
        "00a7:1234",
        "10.77.2",
        "trainer",
        "secret-llm",
        "Bob",
        "cable",
    ] {
        assert!(!parts.contains(secret), "{secret}: {parts}");
    }
    for kept in ["28.39.1002", "mlx5_0", "masked-host.example", "\"rank\":3", "no such file"] {
        assert!(parts.contains(kept), "{kept}: {parts}");
    }
    let rail = &shown.rails[0];
    let v4 = rail.gids[0].address.to_ipv4_mapped().unwrap().octets();
    let network = format!("{}.{}.{}.0/24", v4[0], v4[1], v4[2]);
    assert_eq!((v4[0], &rail.subnets[0].network), (10, &network), "an address stays in its subnet");
    assert_eq!(masker.masked().values["host names"], 1);
}

#[test]
fn a_host_called_like_a_driver_or_its_system_leaves_those_their_names() {
    for name in ["core", "debian", "generic", "rxe", "ACTIVE"] {
        let mut topology = topology();
        topology.host = Host {
            hostname: Some(name.into()),
            os: Some("Debian GNU/Linux 12 (bookworm)".into()),
            kernel: Some("6.8.0-45-generic".into()),
            ..Host::default()
        };
        topology.rails[0].driver = Some(if name == "rxe" { "rdma_rxe" } else { "mlx5_core" }.into());
        topology.rails[0].state = Some("ACTIVE".into());
        topology.gaps[0].subject = name.into();
        let shown = Masker::of([&topology]).with_key().topology(&topology);
        assert_eq!(shown.host.hostname.as_deref(), Some("masked-host"));
        assert_eq!((&shown.host.os, &shown.host.kernel), (&topology.host.os, &topology.host.kernel));
        assert_eq!(
            (&shown.rails[0].driver, &shown.rails[0].state),
            (&topology.rails[0].driver, &topology.rails[0].state)
        );
        assert_eq!(shown.gaps[0].subject, "masked-host");
    }
}

#[test]
fn two_hosts_have_two_names() {
    let host = |name: &str| Topology {
        host: Host { hostname: Some(name.into()), ..Host::default() },
        ..Topology::default()
    };
    let (a, b) = (host("n1"), host("n2"));
    let mut masker = Masker::of([&a, &b]).with_key();
    let names = [&a, &b].map(|topology| masker.topology(topology).host.hostname.unwrap());
    assert_eq!(names, ["masked-host", "masked-peer"]);
}
