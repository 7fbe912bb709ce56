//! Runs tests over stand-ins for libibverbs, libcuda and libmlx5.
//!
//! Each test runs in a process of its own (the test binary, started again for that one test), because the libraries are
//! chosen, and what they lack is set, by the environment.

use std::any::type_name;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in the process that runs a test's body.
const INSIDE: &str = "STANDIN_INSIDE";

/// Name, source and compiler flags of each stand-in; `old-verbs` is libibverbs from before dmabuf.
const LIBRARIES: [(&str, &str, &[&str]); 4] = [
    ("verbs", include_str!("verbs.c"), &[]),
    ("old-verbs", include_str!("verbs.c"), &["-DNO_DMABUF_MR"]),
    ("cuda", include_str!("cuda.c"), &[]),
    ("mlx5", include_str!("mlx5.c"), &[]),
];

/// Runs `body`, a closure of the calling test, in a process that has the stand-ins for its libraries.
/// `STANDIN_OLD_VERBS` in `environment` asks for the old libibverbs; all else in it is for the process.
pub fn over_the_stand_ins<F: Fn()>(environment: &[(&str, &str)], body: F) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    // the crate's name in front, and behind it the test's path and the word for its closure
    let closure = type_name::<F>();
    let test = closure.split_once("::").and_then(|(_, path)| path.strip_suffix("::{{closure}}"));
    let test = test.unwrap_or_else(|| panic!("`{closure}` is no closure of a test"));
    let is_old = environment.iter().any(|(name, _)| *name == "STANDIN_OLD_VERBS");
    let scratch = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(INSIDE, "1");
    child.env_remove("CUDA_VISIBLE_DEVICES");
    child.env("RAILSCOPE_IBVERBS", library(if is_old { "old-verbs" } else { "verbs" }));
    child.env("RAILSCOPE_CUDA", library("cuda")).env("RAILSCOPE_MLX5", library("mlx5"));
    child.env("STANDIN_MLX5_SET", scratch.path().join("set"));
    let output = child.envs(environment.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    // a name that fits no test would run none, and well
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// The stand-in of this name, compiled unless an earlier run has left it.
pub fn library(name: &str) -> PathBuf {
    let (_, source, flags) =
        LIBRARIES.iter().find(|known| known.0 == name).expect("there is such a stand-in");
    let mut hasher = DefaultHasher::new();
    (source, flags).hash(&mut hasher);
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = kept.join(format!("{name}-{:016x}.so", hasher.finish()));
    if !library.exists() {
        let scratch = tempfile::tempdir_in(kept).unwrap();
        let (code, compiled) = (scratch.path().join("standin.c"), scratch.path().join("standin.so"));
        std::fs::write(&code, source).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-pthread"]).args(*flags);
        let done = gcc.arg("-o").args([&compiled, &code]).status();
        let done = done.expect("these tests need gcc and the headers of libibverbs-dev");
        assert!(
            done.success(),
            "gcc could not compile the stand-in `{name}`; are the headers of libibverbs-dev there?"
        );
        // at once, as another test may look
        std::fs::rename(&compiled, &library).unwrap();
    }
    library
}
