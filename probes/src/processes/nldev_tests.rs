//! Datagrams as the kernel sends them, and as it never would.

use super::{Device, GET, Owner, Parsed, RES_MR_GET, RES_QP_GET, Refusal, message_type, parse, request};

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
fn memory_regions_are_told_with_their_owners_and_their_bytes() {
    let region = |owner: Vec<u8>, bytes: u64| nested(41, &[attribute(45, &bytes.to_ne_bytes()), owner]);
    let regions = nested(
        40,
        &[region(attribute(28, &4242_u32.to_ne_bytes()), 1 << 30), region(attribute(29, b"ib_core\0"), 0)],
    );
    let parsed = parse(&message(message_type(RES_MR_GET), 7, &regions), RES_MR_GET, 7).unwrap();
    assert_eq!(parsed.regions, [(Owner::Process(4242), 1 << 30), (Owner::Kernel, 0)]);
    let short = nested(40, &[nested(41, &[attribute(45, &[1, 2, 3])])]);
    assert_eq!(parse(&message(message_type(RES_MR_GET), 7, &short), RES_MR_GET, 7), Err(Refusal::Malformed));
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

// What Linux 6.1 with two soft-RoCE rails sent, with a READ running over rail0 from process 194 to process 192:
//   link rail0/1 lqpn 17 rqpn 19 type RC state RTS pid 194 comm ib_read_bw
//   link rail0/1 lqpn 18 rqpn 20 type RC state RTS pid 194 comm ib_read_bw
//   link rail0/1 lqpn 19 rqpn 17 type RC state RTR pid 192 comm ib_read_bw
//   link rail0/1 lqpn 20 rqpn 18 type RC state RTR pid 192 comm ib_read_bw
//   link rail0/1 lqpn 1 type GSI state RTS comm [ib_core]

/// `RDMA_NLDEV_CMD_GET`: the first device.
const RECORDED_DEVICE: &str = "\
    6c0000000114020007000000c500000008000100000000000a0002007261696c3000000008000300010000000c000400\
    763c2201000000000c000600010100feff0054500c000700010100feff00545005000e00010000000500540000000000\
    09004300726f636500000000\
";

/// `RDMA_NLDEV_CMD_RES_QP_GET` of device 0.
const RECORDED_QUEUE_PAIRS: &str = "\
    b00100000a14020007000000c500000008000100000000000a0002007261696c300000008c0113005400140008000300\
    01000000080015001100000008003c000200000008001c00c20000000800160013000000080017008e2cb80008001800\
    9cece700050019000000000005001a000200000005001b00030000005400140008000300010000000800150012000000\
    08003c000200000008001c00c200000008001600140000000800170060f6210008001800efd287000500190000000000\
    05001a000200000005001b0003000000540014000800030001000000080015001300000008003c000100000008001c00\
    c00000000800160011000000080017009bece7000800180000000000050019000000000005001a000200000005001b00\
    02000000540014000800030001000000080015001400000008003c000100000008001c00c00000000800160012000000\
    08001700efd287000800180000000000050019000000000005001a000200000005001b00020000003800140008000300\
    0100000008001500010000000c001d0069625f636f726500080018000000000005001a000100000005001b0003000000\
";

/// The same of device 99, which does not exist: a dump that is done with `EINVAL`.
const RECORDED_REFUSAL: &str = "\
    140000000300020007000000c5000000eaffffff\
";

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks_exact(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

// the recording is of a little-endian machine, and netlink speaks the machine's own order
#[cfg(target_endian = "little")]
#[test]
fn what_a_kernel_sent_is_understood() {
    let devices = parse(&bytes(RECORDED_DEVICE), GET, 7).unwrap().devices;
    assert_eq!(devices, [Device { index: 0, name: "rail0".into() }]);

    let owners = parse(&bytes(RECORDED_QUEUE_PAIRS), RES_QP_GET, 7).unwrap().owners;
    let [reader, target] = [Owner::Process(194), Owner::Process(192)];
    assert_eq!(owners, [reader, reader, target, target, Owner::Kernel]);

    assert_eq!(parse(&bytes(RECORDED_REFUSAL), RES_QP_GET, 7), Err(Refusal::Errno(libc::EINVAL)));
}
