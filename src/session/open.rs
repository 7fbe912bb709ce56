//! Which source to build: this node, or a copied tree with or without steps.

use super::{Drawn, Every, FrameSource, Live, Stepped, Stop, import};
use crate::settings::Common;
use anyhow::{Context, bail, ensure};
use probes::load::RunningLoad;
use probes::model::{Session, Topology};
use probes::root::Root;
use probes::steps::Steps;
use probes::times::nanoseconds;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Time between samples unless told otherwise.
pub const DEFAULT_EVERY: Duration = Duration::from_millis(100);

/// Opens the node, or the copied tree, that the flags name.
///
/// `load` is a load in flight on this node: its workers go into the frames, and its end ends the session.
///
/// # Errors
///
/// There is neither an RDMA device nor a card that should have one, a rail of `--rails` is not there, or the
/// tree or steps file cannot be used.
pub fn open(common: &Common, load: Option<Box<dyn RunningLoad>>) -> anyhow::Result<Box<dyn FrameSource>> {
    open_stoppable(common, load, Stop::new())
}

/// The same; `stop` ends the session at once, also while it waits for its next sample.
///
/// # Errors
///
/// As for [`open`].
pub fn open_stoppable(
    common: &Common,
    load: Option<Box<dyn RunningLoad>>,
    stop: Stop,
) -> anyhow::Result<Box<dyn FrameSource>> {
    open_changeable(common, load, stop, None)
}

/// The same; of this machine, samples come as `changing` says from then on.
///
/// # Errors
///
/// As for [`open`].
pub fn open_changeable(
    common: &Common,
    load: Option<Box<dyn RunningLoad>>,
    stop: Stop,
    changing: Option<Every>,
) -> anyhow::Result<Box<dyn FrameSource>> {
    let every = common.overlay.every.map_or(DEFAULT_EVERY, |period| period.0);
    let until = common.duration.map(|period| period.0);
    let rails = common.overlay.rails.as_deref();
    if let Some(file) = &common.topology {
        let topology = drawn(file, rails)?;
        ensure!(
            !topology.rails.is_empty(),
            "{}: names no RDMA device, so there is nothing to judge; `probe --topology` shows what it tells",
            file.display()
        );
        return Ok(Box::new(Drawn::new(topology, every)));
    }
    let Some(folder) = &common.root else {
        let root = Root::live();
        let topology = survey(&root, rails)?;
        return Ok(Box::new(Live::new(root, topology, every, until, load, stop).changing(changing)));
    };
    ensure!(load.is_none(), "--root: no load can run on a copied tree");
    let mut root = tree(folder)?;
    let steps = common.steps.as_deref().map(Steps::read).transpose()?;
    if let Some(steps) = &steps {
        // in force before the first look, as the survey is one
        steps.apply(0, &mut root);
    }
    let topology = survey(&root, rails)?;
    Ok(Box::new(Stepped::new(root, topology, steps, every, until, stop)))
}

/// The node, or the copied tree, that the flags name, with the rails of `--rails` only.
///
/// # Errors
///
/// As for [`open`].
pub fn node(common: &Common) -> anyhow::Result<(Root, Topology)> {
    let root = common.root.as_deref().map_or_else(|| Ok(Root::live()), tree)?;
    let topology = survey(&root, common.overlay.rails.as_deref())?;
    Ok((root, topology))
}

/// A session of no frames: what the node, or the copied tree, that the flags name is, be there RDMA or not.
///
/// # Errors
///
/// A rail of `--rails` is not there, or the tree cannot be read.
pub fn look(common: &Common) -> anyhow::Result<Arc<Session>> {
    if let Some(file) = &common.topology {
        let topology = drawn(file, common.overlay.rails.as_deref())?;
        return Ok(header(topology, Duration::ZERO, None));
    }
    let root = common.root.as_deref().map_or_else(|| Ok(Root::live()), tree)?;
    let mut topology = probes::survey::survey(&root);
    if let Some(names) = &common.overlay.rails {
        keep(&mut topology, names)?;
    }
    Ok(header(topology, Duration::ZERO, None))
}

/// The topology that another tool wrote, with the named rails only.
fn drawn(file: &Path, rails: Option<&[String]>) -> anyhow::Result<Topology> {
    let mut topology = import::topology(file).context("--topology")?;
    if let Some(names) = rails {
        keep(&mut topology, names)?;
    }
    Ok(topology)
}

/// The copied tree in a folder.
///
/// # Errors
///
/// It cannot be read, or holds neither `sys/` nor `proc/`.
pub fn tree(folder: &Path) -> anyhow::Result<Root> {
    let name = folder.display();
    let kind = std::fs::metadata(folder).with_context(|| format!("--root {name}"))?;
    ensure!(
        kind.is_dir(),
        "--root {name}: is a file; unpack it into a folder first: mkdir node && tar -xzf {name} -C node"
    );
    ensure!(
        folder.join("sys").is_dir() || folder.join("proc").is_dir(),
        "--root {name}: holds neither sys/ nor proc/, so it is no copied tree"
    );
    Ok(Root::at(folder))
}

/// What the node is, with the named rails only.
fn survey(root: &Root, rails: Option<&[String]>) -> anyhow::Result<Topology> {
    let mut topology = probes::survey::survey(root);
    if topology.rails.is_empty() && topology.lost_cards.is_empty() {
        let instead = "try `railscope demo` or `railscope replay FILE`";
        let class = "sys/class/infiniband";
        let at = root.base().join(class);
        let at = at.display();
        if root.exists(class) {
            bail!("nothing in {at}: no RDMA device is visible here; {instead}");
        }
        bail!("no {at}: no RDMA driver is loaded; {instead}");
    }
    if let Some(names) = rails {
        keep(&mut topology, names)?;
    }
    Ok(topology)
}

/// Leaves out rails that are not named, and their gaps.
pub(super) fn keep(topology: &mut Topology, names: &[String]) -> anyhow::Result<()> {
    for name in names {
        if topology.rail(name).is_none() {
            let known: Vec<&str> = topology.rails.iter().map(|rail| rail.device.as_str()).collect();
            bail!("--rails: no rail `{name}`; rails here: {}", known.join(", "));
        }
    }
    let (kept, dropped): (Vec<_>, Vec<_>) =
        std::mem::take(&mut topology.rails).into_iter().partition(|rail| names.contains(&rail.device));
    topology.rails = kept;
    topology.gaps.retain(|gap| dropped.iter().all(|rail| rail.device != gap.subject));
    Ok(())
}

/// The header of a session on one host that is no simulation.
pub(super) fn header(topology: Topology, every: Duration, started_unix_ms: Option<u64>) -> Arc<Session> {
    Arc::new(Session {
        generated_by: crate::GENERATED_BY.into(),
        started_unix_ms,
        interval_ns: nanoseconds(every),
        hosts: vec![Arc::new(topology)],
        clock_offset_ns: None,
        simulated: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{keep, open};
    use crate::settings::Common;
    use probes::model::{Gap, Rail, Topology};

    fn error(common: &Common) -> String {
        format!("{:#}", open(common, None).err().expect("no session"))
    }

    #[test]
    fn a_tree_without_rdma_says_what_is_missing_and_what_to_try() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sys/class/net")).unwrap();
        let common = Common { root: Some(dir.path().into()), ..Common::default() };
        let says = error(&common);
        assert!(
            says.starts_with("no /") && says.contains("infiniband: no RDMA driver is loaded; try"),
            "{says}"
        );
        std::fs::create_dir_all(dir.path().join("sys/class/infiniband")).unwrap();
        assert!(error(&common).contains("no RDMA device is visible here"));
    }

    #[test]
    fn a_root_that_is_no_tree_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("node.tar.gz");
        std::fs::write(&file, "x").unwrap();
        let at = |root| Common { root: Some(root), ..Common::default() };
        assert!(error(&at(file)).contains("node.tar.gz: is a file; unpack it"));
        assert!(error(&at(dir.path().into())).contains("neither sys/ nor proc/"));
        assert!(error(&at(dir.path().join("none"))).contains("none: No such file"));
    }

    #[test]
    fn an_unknown_rail_is_named_beside_the_known_ones() {
        let rail = |device: &str| Rail { device: device.into(), port: 1, ..Rail::default() };
        let mut topology = Topology { rails: vec![rail("mlx5_0"), rail("mlx5_1")], ..Topology::default() };
        let error = keep(&mut topology, &["mlx5".into()]).unwrap_err();
        assert_eq!(error.to_string(), "--rails: no rail `mlx5`; rails here: mlx5_0, mlx5_1");
    }

    #[test]
    fn rails_that_are_not_named_go_with_their_gaps() {
        let rail = |device: &str| Rail { device: device.into(), port: 1, ..Rail::default() };
        let gap = |subject: &str| Gap { probe: "pcie".into(), subject: subject.into(), reason: "x".into() };
        let mut topology = Topology {
            rails: vec![rail("mlx5_0"), rail("mlx5_1")],
            gaps: vec![gap("host"), gap("mlx5_0"), gap("mlx5_1")],
            ..Topology::default()
        };
        keep(&mut topology, &["mlx5_1".into()]).unwrap();
        assert_eq!(topology.rails, [rail("mlx5_1")]);
        assert_eq!(topology.gaps, [gap("host"), gap("mlx5_1")]);
    }
}
