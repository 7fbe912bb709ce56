//! A load that somebody ran while a tree was captured, as `captured/load.json` tells it.

use crate::model::{CpuSet, Load, LoadOp, LoadOrigin, LoadTarget};
use crate::root::Root;
use serde::Deserialize;

const PATH: &str = "captured/load.json";

/// Fields of `captured/load.json`; all but `op` may be missing, further ones are ignored.
#[derive(Deserialize)]
struct Text {
    op: LoadOp,
    target: Option<String>,
    /// Missing: all rails. An empty list: none is loaded.
    devices: Option<Vec<String>>,
    qps: Option<u32>,
    msg_bytes: Option<u64>,
    max_rd_atomic: Option<u32>,
    device_max_rd_atomic: Option<u32>,
    relaxed_ordering: Option<bool>,
    pid: Option<u32>,
    cpus: Option<CpuSet>,
    buffer_node: Option<u32>,
}

/// The load described in the tree now; `None` when none is.
///
/// # Errors
///
/// The description is there and cannot be read: the file and what is wrong with it.
pub fn described(root: &Root) -> Result<Option<Load>, String> {
    if !root.exists(PATH) {
        return Ok(None);
    }
    let bytes = root.bytes(PATH).map_err(|error| error.to_string())?;
    let text: Text = serde_json::from_slice(&bytes).map_err(|error| format!("{PATH}: {error}"))?;
    if text.devices.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    Ok(Some(Load {
        origin: LoadOrigin::Described,
        op: text.op,
        loopback: false,
        target: match text.target {
            Some(name) if name != "host" => LoadTarget::Gpu(name),
            _ => LoadTarget::Host,
        },
        devices: text.devices.unwrap_or_default(),
        size_bytes: text.msg_bytes,
        qps: text.qps,
        read_depth: text.max_rd_atomic,
        device_read_depth: text.device_max_rd_atomic,
        relaxed_ordering: text.relaxed_ordering,
        pid: text.pid,
        cpus: text.cpus,
        buffer_node: text.buffer_node,
        ..Load::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::described;
    use crate::model::{LoadOp, LoadTarget};
    use crate::root::Root;

    fn tree(text: &str) -> Root {
        let mut root = Root::at("/nowhere");
        root.lay_over("captured/load.json", Some(text));
        root
    }

    #[test]
    fn a_tree_without_a_description_has_no_load() {
        assert_eq!(described(&Root::at("/nowhere")), Ok(None));
        assert_eq!(described(&tree(r#"{"op": "read", "devices": []}"#)), Ok(None), "no rail is loaded");
    }

    #[test]
    fn what_is_described_becomes_a_load() {
        let text = r#"{"op": "write", "target": "gpu0", "devices": ["mlx5_0"], "qps": 2, "msg_bytes": 4096,
                       "max_rd_atomic": 1, "device_max_rd_atomic": 16, "pid": 42, "cpus": "0-3", "buffer_node": 1}"#;
        let load = described(&tree(text)).unwrap().unwrap();
        assert_eq!((load.op, load.target), (LoadOp::Write, LoadTarget::Gpu("gpu0".into())));
        assert_eq!((load.qps, load.size_bytes, load.read_depth), (Some(2), Some(4096), Some(1)));
        assert_eq!(load.cpus.unwrap().to_string(), "0-3");
    }

    #[test]
    fn a_broken_description_is_an_error_and_no_load() {
        let error = described(&tree(r#"{"op": "erase"}"#)).unwrap_err();
        assert!(error.starts_with("captured/load.json: unknown variant `erase`"), "{error}");
    }
}
