//! Rails that cannot be opened say why.

use super::{params, topology};
use crate::standin::over_the_stand_ins;
use probes::load::{Opening, Params, Place, Role, open};
use probes::model::RailId;

/// Why the first rail cannot be opened.
fn refusal(params: &Params) -> String {
    let mut opening: Opening = open(&topology(), &[RailId(0)], params, Role::Reader);
    opening.endpoints().remove(0).unwrap_err().to_string()
}

#[test]
fn what_the_device_cannot_do_is_refused_in_words() {
    over_the_stand_ins(&[], || {
        let cases = [
            (
                Params { depth: 2000, ..params() },
                "a depth of 2000 was asked for; the device can do 1 to 1024",
            ),
            (
                Params { size_bytes: 1 << 24, ..params() },
                "messages of 16777216 bytes were asked for; the port can do 1 to 8388608",
            ),
            (Params { qps: 0, ..params() }, "0 queue pairs asked for"),
            (Params { qps: 100, depth: 1000, ..params() }, "QPs times depth is 100000"),
            (Params { gid_index: Some(2), ..params() }, "stand0 port 1: GID index 2 is empty"),
            (
                Params { place: Place::Nodes { cpu: 9, mem: 9 }, ..params() },
                "NUMA node 9 cannot be used: which nodes this host has is not known",
            ),
        ];
        for (params, expected) in cases {
            let error = refusal(&params);
            assert!(error.contains(expected), "{error}");
        }
    });
}

#[test]
fn a_port_that_is_down_is_refused() {
    over_the_stand_ins(&[("STANDIN_STATE", "stand0:1")], || {
        assert!(refusal(&params()).contains("the port is DOWN"), "{}", refusal(&params()));
    });
}

#[test]
fn too_little_locked_memory_is_explained() {
    // 12 = ENOMEM
    over_the_stand_ins(&[("STANDIN_REG_MR", "12")], || {
        let error = refusal(&params());
        assert!(error.starts_with("stand0: ibv_reg_mr: Cannot allocate memory"), "{error}");
        assert!(error.contains("locked"), "{error}");
    });
}
