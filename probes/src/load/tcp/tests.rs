//! Both ends over the loopback address.

use super::open::{OpenTcp, Traffic};
use super::reader::TcpTransport;
use super::target::Answering;
use super::{Places, filled, is_pattern};
use crate::load::{Endpoint, LoadError, LoadTransport, Params, Role, Transport, WorkingSet};
use crate::model::{Gid, GidChoice, LinkLayer, LoadOp, Rail};
use std::io::{Read, Write};
use std::net::TcpStream;

fn rail(address: &str) -> Rail {
    Rail {
        device: "mlx5_0".into(),
        port: 1,
        link_layer: Some(LinkLayer::Ethernet),
        gids: vec![Gid { index: 3, address: address.parse().unwrap(), kind: None, netdev: None }],
        gid: Some(GidChoice { index: 3, reason: String::new() }),
        ..Rail::default()
    }
}

fn params(op: LoadOp) -> Params {
    Params { op, transport: Transport::Tcp, qps: 2, depth: 4, size_bytes: 1001, ..Params::default() }
}

/// Both ends of a rail, connected.
fn connected(params: &Params) -> (TcpTransport, Answering) {
    let target = OpenTcp::new(&rail("::ffff:127.0.0.2"), params, Role::Target).unwrap();
    let reader = OpenTcp::new(&rail("::ffff:127.0.0.1"), params, Role::Reader).unwrap();
    let [ours, theirs] = [&reader, &target].map(|open| open.endpoint.clone());
    let answering = std::thread::spawn(move || target.connect(&ours));
    let Ok(Traffic::Reader(reader)) = reader.connect(&theirs) else { panic!("the reader connects") };
    let Ok(Ok(Traffic::Target(target))) = answering.join() else { panic!("the target accepts") };
    (reader, target)
}

/// Lets both ends move until `operations` are done.
fn run(reader: &mut TcpTransport, target: &mut Answering, operations: u64) -> u64 {
    let (mut done, mut bytes) = (0, 0);
    while done < operations {
        let pumped = reader.pump().unwrap();
        target.turn();
        done += pumped.operations;
        bytes += pumped.bytes;
    }
    assert_eq!(bytes, done * 1001);
    done
}

#[test]
fn data_pass_in_both_directions_and_are_what_was_sent() {
    for op in [LoadOp::Read, LoadOp::Write] {
        for working_set in [WorkingSet::Hot, WorkingSet::Bytes(1 << 16)] {
            let (mut reader, mut target) = connected(&Params { working_set, ..params(op) });
            run(&mut reader, &mut target, 500);
            assert_eq!(reader.wrong_messages(), 0, "{op:?} {working_set:?}");
        }
    }
}

#[test]
fn messages_longer_than_a_socket_holds_pass_too() {
    for op in [LoadOp::Read, LoadOp::Write] {
        let params = Params { qps: 1, depth: 2, size_bytes: 3 << 20, ..params(op) };
        let (mut reader, mut target) = connected(&params);
        let mut done = 0;
        while done < 5 {
            done += reader.pump().unwrap().operations;
            target.turn();
        }
        assert_eq!(reader.wrong_messages(), 0);
    }
}

#[test]
fn data_that_are_not_the_pattern_are_noticed_wherever_they_begin() {
    let memory = filled(64).unwrap();
    for from in 0..20 {
        for to in from..64 {
            assert!(is_pattern(from as u64, &memory[from..to]), "{from}..{to}");
            if to > from {
                let mut data = memory[from..to].to_vec();
                data[(to - from) / 2] ^= 1;
                assert!(!is_pattern(from as u64, &data), "{from}..{to}");
            }
        }
    }
}

#[test]
fn wrong_data_are_counted_by_message() {
    let params = params(LoadOp::Read);
    let target = OpenTcp::new(&rail("::ffff:127.0.0.2"), &params, Role::Target).unwrap();
    let reader = OpenTcp::new(&rail("::ffff:127.0.0.1"), &params, Role::Reader).unwrap();
    let [ours, theirs] = [&reader, &target].map(|open| open.endpoint.clone());
    let wrong = std::thread::spawn(move || {
        let Ok(Traffic::Target(mut target)) = target.connect(&ours) else { panic!("the target accepts") };
        target.spoil();
        target
    });
    let Ok(Traffic::Reader(mut reader)) = reader.connect(&theirs) else { panic!("the reader connects") };
    let mut target = wrong.join().unwrap();
    let done = run(&mut reader, &mut target, 100);
    assert_eq!(reader.wrong_messages(), done);
}

#[test]
fn a_peer_that_is_gone_is_an_error_in_words() {
    let (mut reader, target) = connected(&params(LoadOp::Read));
    drop(target);
    let error = loop {
        if let Err(error) = reader.pump() {
            break error.to_string();
        }
    };
    assert!(error.starts_with("mlx5_0: "), "{error}");
    assert!(
        error.contains("closed its TCP connection") || error.contains("TCP connection to the peer"),
        "{error}"
    );
}

#[test]
fn who_does_not_know_the_token_is_not_served_and_does_not_disturb() {
    let params = params(LoadOp::Read);
    let target = OpenTcp::new(&rail("::ffff:127.0.0.1"), &params, Role::Target).unwrap();
    let reader = OpenTcp::new(&rail("::ffff:127.0.0.1"), &params, Role::Reader).unwrap();
    let [ours, theirs] = [&reader, &target].map(|open| open.endpoint.clone());
    let tcp = theirs.tcp.unwrap();
    let mut strangers = [&b"rsc-tcp1AAAAAAAA\0\0\0\0"[..], b"GET / HTTP/1.1\r\n\r\n      "].map(|said| {
        let mut stranger = TcpStream::connect((tcp.address, tcp.port)).unwrap();
        stranger.write_all(said).unwrap();
        stranger
    });
    let answering = std::thread::spawn(move || target.connect(&ours));
    let Ok(Traffic::Reader(mut reader)) = reader.connect(&theirs) else { panic!("the reader connects") };
    let Ok(Ok(Traffic::Target(mut target))) = answering.join() else { panic!("the target accepts") };
    run(&mut reader, &mut target, 10);
    for stranger in &mut strangers {
        // the end, or a reset
        assert!(!matches!(stranger.read(&mut [0; 8]), Ok(1..)));
    }
}

#[test]
fn a_request_for_what_is_not_there_closes_its_connection_alone() {
    let mut places = Places::new(&params(LoadOp::Read));
    let (mut reader, mut target) = connected(&params(LoadOp::Read));
    places.qps = 3;
    reader.claim(places);
    let outcome = (0..100_000).find_map(|_| {
        target.turn();
        reader.pump().err().map(|_: LoadError| target.open())
    });
    assert_eq!(outcome, Some(1), "the second queue pair asked beyond the memory");
}

#[test]
fn an_address_that_this_host_lacks_and_a_rail_without_one_are_said() {
    let refused = |address: &str| {
        OpenTcp::new(&rail(address), &params(LoadOp::Read), Role::Target).err().unwrap().to_string()
    };
    let said = refused("::ffff:192.0.2.77");
    assert!(said.starts_with("mlx5_0 port 1: cannot listen at 192.0.2.77: "), "{said}");
    assert!(said.ends_with("this host does not have that address; is its netdev up?"), "{said}");
    assert!(refused("::").contains("no usable GID, so no IP address for TCP"));
    let ib = Rail { link_layer: Some(LinkLayer::InfiniBand), ..rail("fe80::1") };
    let said = OpenTcp::new(&ib, &params(LoadOp::Read), Role::Target).err().unwrap().to_string();
    assert!(said.contains("it has no netdev, so no IP address for --transport tcp"), "{said}");
}

#[test]
fn a_peer_without_tcp_is_refused() {
    let reader = OpenTcp::new(&rail("::ffff:127.0.0.1"), &params(LoadOp::Read), Role::Reader).unwrap();
    let peer = Endpoint { tcp: None, ..reader.endpoint.clone() };
    let error = reader.connect(&peer).err().unwrap().to_string();
    assert!(error.contains("does not speak --transport tcp"), "{error}");
}
