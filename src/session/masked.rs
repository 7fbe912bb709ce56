//! A copy of a recording from which nobody can tell whose it was.

use super::writer::Writer;
use super::{FrameSource, Replay, SourceError};
use probes::capture::{Masked, Masker};
use probes::model::{Frame, Load, Process, Session, Topology};
use std::path::Path;
use std::sync::Arc;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedCopy {
    /// Frames.
    pub frames: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// How much of what was replaced.
    pub masked: Masked,
    /// What is not as it should be with the recording; `None` when nothing is known to be wrong.
    pub warning: Option<String>,
}

impl MaskedCopy {
    /// How much of what was replaced: `8 GUIDs, 1 host names`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let masked: Vec<String> =
            self.masked.values.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        if masked.is_empty() { "nothing that names anybody".to_owned() } else { masked.join(", ") }
    }
}

/// Writes a masked copy of the recording at `from` into a new file.
///
/// It is read twice: what is an address anywhere in it is one everywhere. `share_done` is told how much of that is done,
/// 0 to 1.
///
/// # Errors
///
/// The recording cannot be read, or the copy exists already or cannot be written; then none is left behind.
pub fn masked_copy(
    from: &Path,
    to: &Path,
    share_done: &mut dyn FnMut(f64),
) -> Result<MaskedCopy, SourceError> {
    masked_copy_below(from, to, u64::MAX, share_done)
}

/// The same into a file that is never larger than `most_bytes`; frames that would make it so are left out.
///
/// # Errors
///
/// As for [`masked_copy`].
pub fn masked_copy_below(
    from: &Path,
    to: &Path,
    most_bytes: u64,
    share_done: &mut dyn FnMut(f64),
) -> Result<MaskedCopy, SourceError> {
    let mut pass = Pass::open(from, 0.0, share_done)?;
    let session = pass.replay.session();
    let mut parts = Parts::new(Masker::of(session.hosts.iter().map(|host| &**host)));
    let _ = parts.session(&session);
    while let Some(frame) = pass.next_frame()? {
        let _ = parts.frame(frame);
    }
    let warning = pass.replay.warning();
    let mut parts = Parts::new(parts.masker.with_key());
    let mut pass = Pass::open(from, 0.5, share_done)?;
    let mut writer = Writer::create(to, Arc::new(parts.session(&session)))?;
    writer.limit(most_bytes);
    let written = write(&mut pass, &mut parts, &mut writer, to, most_bytes);
    if written.is_err() {
        // half a copy would pass for a whole one
        let _ = std::fs::remove_file(to);
    }
    Ok(MaskedCopy { frames: written?, bytes: writer.bytes(), masked: parts.masker.masked(), warning })
}

/// One of the two times that the recording is read.
struct Pass<'a> {
    replay: Replay,
    span_ns: (u64, u64),
    /// Share of the whole that was done before it.
    done: f64,
    share_done: &'a mut dyn FnMut(f64),
}

impl<'a> Pass<'a> {
    fn open(from: &Path, done: f64, share_done: &'a mut dyn FnMut(f64)) -> Result<Self, SourceError> {
        let mut replay = Replay::open(from)?;
        let span_ns = replay.span_ns().unwrap_or_default();
        Ok(Self { replay, span_ns, done, share_done })
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, SourceError> {
        let frame = self.replay.next_frame()?;
        if let Some(frame) = &frame {
            let (first_ns, last_ns) = self.span_ns;
            let length_ns = last_ns.saturating_sub(first_ns).max(1) as f64;
            let share = (frame.at_ns.saturating_sub(first_ns) as f64 / length_ns).min(1.0);
            (self.share_done)(self.done + share / 2.0);
        }
        Ok(frame)
    }
}

/// How many frames were written.
fn write(
    pass: &mut Pass<'_>,
    parts: &mut Parts,
    writer: &mut Writer,
    to: &Path,
    most_bytes: u64,
) -> Result<u64, SourceError> {
    let mut frames = 0;
    let mut left_out = 0;
    let mut judge = |written: Result<(), super::writer::Lost>| match written {
        Ok(()) => Ok(true),
        Err(lost) if lost.cause.kind() == std::io::ErrorKind::FileTooLarge && most_bytes < u64::MAX => {
            left_out += lost.frames;
            Ok(false)
        }
        Err(lost) => Err(SourceError::File {
            path: to.display().to_string(),
            reason: super::cannot_write(&lost.cause),
        }),
    };
    while let Some(frame) = pass.next_frame()? {
        frames += 1;
        if !judge(writer.push(&Arc::new(parts.frame(frame))))? {
            break;
        }
    }
    judge(writer.finish())?;
    Ok(frames - left_out)
}

/// The parts of a session that name something. Most frames share them with the frame before.
struct Parts {
    masker: Masker,
    load: Shared<Load>,
    processes: Shared<Vec<Process>>,
    topology: Shared<Topology>,
}

/// The newest part of each host, whole and masked.
type Shared<T> = Vec<Option<(Arc<T>, Arc<T>)>>;

impl Parts {
    fn new(masker: Masker) -> Self {
        Self { masker, load: Vec::new(), processes: Vec::new(), topology: Vec::new() }
    }

    fn session(&mut self, session: &Session) -> Session {
        // a new field has to be looked at here before this compiles
        let Session { generated_by, started_unix_ms, interval_ns, hosts, clock_offset_ns, simulated } =
            session;
        Session {
            generated_by: generated_by.clone(),
            started_unix_ms: *started_unix_ms,
            interval_ns: *interval_ns,
            hosts: hosts.iter().map(|host| Arc::new(self.masker.topology(host))).collect(),
            clock_offset_ns: *clock_offset_ns,
            simulated: simulated.clone(),
        }
    }

    fn frame(&mut self, frame: Frame) -> Frame {
        // a new field has to be looked at here before this compiles
        let Frame {
            host,
            seq,
            at_ns,
            rails,
            processes,
            load,
            workers,
            peer,
            sampled_in_ns,
            topology,
            marks,
            failures,
            experiment,
        } = frame;
        let masker = &mut self.masker;
        Frame {
            processes: processes.map(|whole| {
                shared(&mut self.processes, host, whole, |processes| masker.processes(processes))
            }),
            load: load.map(|whole| shared(&mut self.load, host, whole, |load| masker.load(load))),
            topology: topology
                .map(|whole| shared(&mut self.topology, host, whole, |topology| masker.topology(topology))),
            failures: failures.iter().map(|failure| masker.failure(failure)).collect(),
            marks: marks.iter().map(|text| masker.mark(text)).collect(),
            experiment: experiment.map(|of| Arc::new(masker.experiment(&of))),
            host,
            seq,
            at_ns,
            rails,
            workers,
            peer,
            sampled_in_ns,
        }
    }
}

/// The masked part; the same one again for the part that the host had before.
fn shared<T>(known: &mut Shared<T>, host: usize, whole: Arc<T>, mask: impl FnOnce(&T) -> T) -> Arc<T> {
    let slot = super::base::slot(known, host);
    match slot {
        Some((of, masked)) if Arc::ptr_eq(of, &whole) => masked.clone(),
        _ => {
            let masked = Arc::new(mask(&whole));
            *slot = Some((whole, masked.clone()));
            masked
        }
    }
}

#[cfg(test)]
mod tests {
    use super::masked_copy;
    use crate::report;
    use crate::rules::Limits;
    use crate::rules::testing::{bonded, described, process, session, two_sockets};
    use crate::session::writer::Writer;
    use crate::session::{FrameSource, Replay};
    use crate::timeline::Timeline;
    use probes::model::{
        Failure, Frame, Gid, GidChoice, GidType, Load, LoadOp, Process, RailFrame, Rank, Session, Subnet,
    };
    use std::io::Read;
    use std::path::Path;
    use std::sync::Arc;

    const SECRETS: [&str; 12] = [
        "gpu17",
        "acme",
        "10.77.2",
        "a712",
        "a7:12",
        "trainer",
        "secret-llm",
        "Bob",
        "peerbox",
        "fea7",
        "job-4711",
        "cable",
    ];

    fn secret_session() -> Session {
        let mut rail = bonded("mlx5_0");
        rail.system_image_guid = Some("b859:9f03:00a7:1234".into());
        let gid = |index, address: &str| Gid {
            index,
            address: address.parse().unwrap(),
            kind: Some(GidType::RoceV2),
            netdev: Some("enxb8599fa71234".into()),
        };
        rail.gids = vec![gid(1, "fe80::ba59:9fff:fea7:1234"), gid(3, "::ffff:10.77.2.1")];
        rail.gid = Some(GidChoice { index: 3, reason: "routable IPv4 10.77.2.1".into() });
        rail.subnets = vec![Subnet { netdev: "eth1".into(), network: "10.77.2.0/24".into() }];
        let mut here = two_sockets(vec![rail]);
        here.host.hostname = Some("gpu17.acme.com".into());
        here.gap("processes", "trainer", "gpu17: /proc/7/numa_maps of trainer: permission denied");
        let mut there = here.clone();
        there.host.hostname = Some("peerbox".into());
        Session {
            hosts: vec![Arc::new(here), Arc::new(there)],
            clock_offset_ns: Some(5),
            ..session(two_sockets(vec![]))
        }
    }

    fn frame(host: usize, second: u64, session: &Session) -> Frame {
        let user = Process {
            name: "trainer".into(),
            rank: Some(Rank {
                job: if second == 0 { "secret-llm".into() } else { "job-4711".into() },
                rank: 0,
            }),
            ..process(7, "mlx5_0", "4-7")
        };
        let load = Load { ended: Some("by the peer peerbox at 10.77.2.9".into()), ..described(LoadOp::Read) };
        let mut later = (*session.hosts[host]).clone();
        later.rails[0].gid = Some(GidChoice { index: 3, reason: "now on gpu17".into() });
        Frame {
            host,
            seq: second,
            at_ns: second * 1_000_000_000,
            rails: vec![RailFrame {
                rx_bytes: Some(second * 24_000_000_000),
                tx_bytes: Some(0),
                ..RailFrame::default()
            }],
            processes: second.is_multiple_of(3).then(|| Arc::new(vec![user])),
            load: Some(Arc::new(load)),
            topology: (second == 4).then(|| Arc::new(later)),
            failures: vec![Failure::new(Some("mlx5_0"), "mlx5_0: peerbox (10.77.2.9) left")],
            marks: if second == 2 { vec!["Bob moved the cable".into()] } else { Vec::new() },
            ..Frame::default()
        }
    }

    fn text(path: &Path) -> String {
        let packed = std::fs::read(path).unwrap();
        let mut text = String::new();
        zstd::stream::read::Decoder::new(&packed[..]).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Codes and devices of what is found.
    fn found(path: &Path) -> Vec<(String, Vec<String>)> {
        let mut replay = Replay::open(path).unwrap();
        let mut timeline = Timeline::new(replay.session());
        while let Some(frame) = replay.next_frame().unwrap() {
            timeline.push(frame);
        }
        let report = report::build(&timeline, &Limits::default(), &[]);
        report.findings.iter().map(|one| (one.code.to_string(), one.devices.clone())).collect()
    }

    #[test]
    fn no_secret_of_a_session_is_in_its_masked_copy_and_it_is_judged_alike() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.rsz"), folder.path().join("b.rsz"));
        let session = secret_session();
        let mut writer = Writer::create(&from, Arc::new(session.clone())).unwrap();
        for second in 0..8 {
            for host in 0..2 {
                writer.push(&Arc::new(frame(host, second, &session))).unwrap();
            }
        }
        writer.finish().unwrap();
        let original = text(&from);
        for secret in SECRETS {
            assert!(original.contains(secret), "{secret} is to be looked for");
        }
        let copy = masked_copy(&from, &to, &mut |_| {}).unwrap();
        let masked = text(&to);
        for secret in SECRETS {
            let at = masked.to_lowercase().find(&secret.to_lowercase());
            assert!(at.is_none(), "{secret}: {:?}", at.map(|at| &masked[at.saturating_sub(80)..at + 40]));
        }
        assert_eq!((copy.frames, copy.warning), (16, None));
        assert_eq!(copy.bytes, std::fs::metadata(&to).unwrap().len());
        assert_eq!(found(&from), found(&to));
        assert!(!found(&to).is_empty());
        let again = masked_copy(&from, &to, &mut |_| {}).unwrap_err().to_string();
        assert!(again.contains("b.rsz: exists already"), "{again}");
    }
}
