//! Datagrams as the kernel sends them, and as it never would.

use super::{Device, GET, Owner, Parsed, RES_QP_GET, Refusal, message_type, parse, request};

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(4 + value.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn nested(kind: u16, parts: &[Vec<u8>]) -> Vec<u8> {
    attribute(kind | 0x8000, &parts.concat())
}

fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(16 + body.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&2_u16.to_ne_bytes());
    bytes.extend_from_slice(&sequence.to_ne_bytes());
    bytes.extend_from_slice(&0_u32.to_ne_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn queue_pair(owner: Vec<u8>) -> Vec<u8> {
    // port, lqpn, type, state, then whose it is
    let parts = [
        attribute(3, &1_u32.to_ne_bytes()),
        attribute(21, &17_u32.to_ne_bytes()),
        attribute(26, &[2]),
        attribute(27, &[3]),
    ];
    nested(20, &[parts.concat(), owner])
}

fn dump() -> Vec<u8> {
    let device = [attribute(1, &0_u32.to_ne_bytes()), attribute(2, b"mlx5_0\0")];
    let queue_pairs = nested(
        19,
        &[
            queue_pair(attribute(29, b"ib_core\0")),
            queue_pair(attribute(28, &4242_u32.to_ne_bytes())),
            queue_pair(attribute(28, &4242_u32.to_ne_bytes())),
            queue_pair(Vec::new()),
        ],
    );
    [
        message(message_type(RES_QP_GET), 7, &[device.concat(), queue_pairs].concat()),
        message(3, 7, &0_i32.to_ne_bytes()),
    ]
    .concat()
}

#[test]
fn owners_of_queue_pairs_are_told_apart() {
    let parsed = parse(&dump(), RES_QP_GET, 7).unwrap();
    let owners = [Owner::Kernel, Owner::Process(4242), Owner::Process(4242), Owner::Hidden];
    assert_eq!(parsed.owners, owners);
    assert_eq!(parsed.devices, [Device { index: 0, name: "mlx5_0".into() }]);
    assert!(parsed.is_done);
}

#[test]
fn answers_to_another_request_are_left_out() {
    assert_eq!(parse(&dump(), RES_QP_GET, 8), Ok(Parsed::default()));
}

#[test]
fn an_error_of_the_kernel_is_its_number() {
    for kind in [2, 3] {
        let refused = message(kind, 1, &(-libc::EPERM).to_ne_bytes());
        assert_eq!(parse(&refused, GET, 1), Err(Refusal::Errno(libc::EPERM)));
    }
}

#[test]
fn a_datagram_cut_anywhere_is_refused_or_a_prefix_and_never_a_panic() {
    let whole = dump();
    let all = parse(&whole, RES_QP_GET, 7).unwrap();
    for length in 0..whole.len() {
        match parse(&whole[..length], RES_QP_GET, 7) {
            Ok(parsed) => assert!(all.owners.starts_with(&parsed.owners), "cut at {length}"),
            Err(refusal) => assert_eq!(refusal, Refusal::Malformed, "cut at {length}"),
        }
    }
}

#[test]
fn any_byte_may_lie_without_a_panic_or_a_hang() {
    let whole = dump();
    for at in 0..whole.len() {
        for value in [0, 1, 3, 0x7f, 0x80, 0xff] {
            let mut lying = whole.clone();
            lying[at] = value;
            let _ = parse(&lying, RES_QP_GET, 7);
        }
    }
}

#[test]
fn a_length_of_nothing_ends_the_reading() {
    assert_eq!(parse(&[0; 64], GET, 0), Err(Refusal::Malformed));
    let attribute_of_nothing = message(message_type(GET), 1, &[0; 8]);
    assert_eq!(parse(&attribute_of_nothing, GET, 1), Err(Refusal::Malformed));
}

#[test]
fn a_request_names_its_device() {
    let bytes = request(RES_QP_GET, 9, Some(3));
    assert_eq!(bytes.len(), 24);
    assert_eq!(bytes[..4], 24_u32.to_ne_bytes());
    assert_eq!(bytes[4..6], 0x140a_u16.to_ne_bytes());
    assert_eq!(bytes[20..], 3_u32.to_ne_bytes());
}
