//! What the verbs library tells of devices, and a library or a kernel that is not there.

use crate::standin::over_the_stand_ins;
use probes::ffi::verbs;
use probes::model::GidType;

#[test]
fn facts_are_what_the_device_says() {
    over_the_stand_ins(&[], || {
        let devices = verbs::Devices::list().unwrap();
        assert_eq!(devices.names(), ["stand0", "stand1"]);
        let facts = verbs::facts(&devices, "stand1", 1).unwrap();
        assert_eq!(facts.limits.firmware.as_deref(), Some("28.39.1002"));
        assert_eq!((facts.limits.max_initiator_depth, facts.limits.max_responder_depth), (128, 16));
        assert_eq!((facts.port.state, facts.port.active_mtu), ("ACTIVE", Some(4096)));
        let error = verbs::facts(&devices, "mlx5_9", 1).unwrap_err().to_string();
        assert_eq!(error, "mlx5_9: no such RDMA device; the verbs library lists stand0, stand1");
        assert!(verbs::facts(&devices, "stand1", 2).is_err());
    });
}

#[test]
fn a_kernel_without_rdma_has_no_devices() {
    over_the_stand_ins(&[("STANDIN_NO_DEVICES", "1")], || {
        assert_eq!(verbs::Devices::list().unwrap().names(), Vec::<String>::new());
    });
}

#[test]
fn a_library_that_is_not_there_says_what_to_install() {
    let nowhere = [("RAILSCOPE_IBVERBS", "/nowhere/libibverbs.so.1")];
    over_the_stand_ins(&nowhere, || {
        let error = verbs::Devices::list().map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains("/nowhere/libibverbs.so.1") && error.contains("install libibverbs1"),
            "{error}"
        );
    });
}

#[test]
fn the_gid_table_comes_in_one_call() {
    over_the_stand_ins(&[], || {
        let expected = verbs::GidEntry {
            port: 1,
            index: 1,
            address: "::ffff:10.0.0.1".parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev_index: Some(7),
        };
        assert_eq!(verbs::Context::open("stand0").unwrap().gid_table().unwrap(), [expected]);
    });
}
