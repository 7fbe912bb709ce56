//! The two commands as a script sees them.

use crate::standin::library;
use assert_cmd::cargo::cargo_bin;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A tree with one RoCE rail.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let device = "sys/class/infiniband/mlx5_0";
    for (file, text) in [
        ("ports/1/state", "4: ACTIVE"),
        ("ports/1/phys_state", "5: LinkUp"),
        ("ports/1/link_layer", "Ethernet"),
        ("ports/1/rate", "400 Gb/sec (4X NDR)"),
        ("ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:0a00:0001"),
        ("ports/1/gid_attrs/types/0", "RoCE v2"),
    ] {
        let file = tree.path().join(device).join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    tree
}

fn railscope(command: &str, tree: &Path, flags: &[&str]) -> Command {
    let mut railscope = Command::new(cargo_bin("railscope"));
    railscope.arg(command).arg("--root").arg(tree).args(flags).stdin(Stdio::null());
    railscope
}

/// The one line on stderr of what exits with 2 and prints nothing else.
fn refused(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    stderr
}

/// What `load` says to a peer that answers with these bytes.
fn load_from(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(answer).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let tree = tree();
    let said = refused(&railscope("load", tree.path(), &[&peer]).output().unwrap());
    answering.join().unwrap();
    said
}

#[test]
fn a_peer_of_another_version_is_one_line_with_both_versions() {
    let said = load_from(b"railscope 9 3.0.0\n");
    assert!(said.contains("runs railscope 3.0.0 (control protocol 9), this is railscope"), "{said}");
    assert!(said.contains("install the same version on both hosts"), "{said}");
}

#[test]
fn something_else_on_the_port_is_one_line_that_says_what() {
    let said = load_from(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(said.contains("is not railscope (a web server): check the port"), "{said}");
}

#[test]
fn a_peer_that_is_not_there_is_one_line_that_says_what_to_check() {
    // bound and dropped: nobody listens there now
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tree = tree();
    let said = refused(&railscope("load", tree.path(), &[&port.to_string()]).output().unwrap());
    assert!(said.contains(&format!("cannot reach {port}")), "{said}");
    assert!(said.contains("is `railscope serve` running there"), "{said}");
}

#[test]
fn gpu_memory_without_a_driver_or_without_the_gpu_is_one_line_before_anybody_is_asked() {
    let (tree, cuda) = (tree(), library("cuda"));
    let said = |command: &str, cuda: &Path, flags: &[&str]| {
        let mut command = railscope(command, tree.path(), flags);
        command.env_remove("CUDA_VISIBLE_DEVICES").env("RAILSCOPE_CUDA", cuda);
        refused(&command.output().unwrap())
    };
    let nowhere = said("load", Path::new("/nowhere/libcuda.so.1"), &["n2", "--memory", "gpu:0"]);
    assert!(nowhere.contains("memory of GPU 0: /nowhere/libcuda.so.1: "), "{nowhere}");
    assert!(nowhere.contains("needs the NVIDIA driver: install it"), "{nowhere}");
    let few = said("serve", &cuda, &["--listen", "127.0.0.1:0", "--memory", "gpu:4"]);
    assert!(
        few.contains("memory of GPU 4: there is no GPU 4: CUDA counts GPU 0 (Stand-in H100, 0000:1b:00.0), "),
        "{few}"
    );
}

#[test]
fn a_port_that_is_taken_is_one_line() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let tree = tree();
    let said = refused(&railscope("serve", tree.path(), &["--listen", &address]).output().unwrap());
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
}

/// Ends the process when a test fails before it does.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serve_prints_the_line_to_type_and_ends_cleanly_on_a_signal() {
    let tree = tree();
    let mut command = railscope("serve", tree.path(), &["--listen", "127.0.0.1:0"]);
    let mut serve = Ending(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(serve.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let greeting: Vec<String> = lines.by_ref().take_while(|line| line != "Ctrl-C ends it").collect();
    assert_eq!(greeting[1], "  mlx5_0 10.0.0.1, node unknown");
    // the tree is none that a verbs library knows
    assert!(greeting[2].starts_with("NO RDMA ") && greeting[2].contains("--transport tcp"), "{greeting:?}");
    assert!(greeting[4].starts_with("  railscope load 127.0.0.1:"), "{greeting:?}");
    let pid = rustix::process::Pid::from_child(&serve.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(lines.collect::<Vec<_>>(), ["railscope serve: stopped"]);
    assert_eq!(serve.0.wait().unwrap().code(), Some(0));
}
