//! What holds of a tree: links stay inside, texts laid over hide, what has no end is refused.

use super::Root;
use std::os::unix::fs::symlink;

fn tree() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sys/devices/nic")).unwrap();
    std::fs::create_dir_all(dir.path().join("sys/class/net")).unwrap();
    std::fs::write(dir.path().join("sys/devices/nic/mtu"), "4200\n").unwrap();
    symlink("../../devices/nic", dir.path().join("sys/class/net/eth0")).unwrap();
    let root = Root::at(dir.path());
    (dir, root)
}

#[test]
fn a_file_is_read_through_links_of_the_tree() {
    let (_dir, root) = tree();
    assert_eq!(root.text("/sys/class/net/eth0/mtu").unwrap(), "4200");
    assert_eq!(root.canonical("sys/class/net/eth0").unwrap().to_str(), Some("sys/devices/nic"));
    assert_eq!(root.link_name("sys/class/net/eth0").unwrap(), "nic");
}

#[test]
fn the_texts_of_a_folder_come_with_their_names_and_without_what_cannot_be_read() {
    let (dir, mut root) = tree();
    let folder = dir.path().join("sys/devices/nic");
    std::fs::write(folder.join("speed"), "100\n").unwrap();
    std::fs::create_dir(folder.join("queues")).unwrap();
    symlink("mtu", folder.join("same")).unwrap();
    symlink("/etc/passwd", folder.join("out")).unwrap();
    let texts = |root: &Root| root.texts("sys/class/net/eth0").unwrap();
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(texts(&root), [pair("mtu", "4200"), pair("same", "4200"), pair("speed", "100")]);
    root.lay_over("sys/class/net/eth0/mtu", Some("9000"));
    assert_eq!(texts(&root)[0], pair("mtu", "9000"));
}

#[test]
fn a_link_never_leads_out_of_the_tree() {
    let (dir, root) = tree();
    symlink("/etc/passwd", dir.path().join("sys/out")).unwrap();
    symlink("../../../../../../../../etc/passwd", dir.path().join("sys/up")).unwrap();
    assert!(root.text("sys/out").unwrap_err().is_missing());
    assert!(root.text("sys/up").unwrap_err().is_missing());
}

#[test]
fn a_text_longer_than_any_attribute_is_refused() {
    let (dir, root) = tree();
    std::fs::write(dir.path().join("sys/devices/nic/board_id"), vec![b'x'; 70_000]).unwrap();
    std::fs::create_dir(dir.path().join("proc")).unwrap();
    std::fs::write(dir.path().join("proc/cpuinfo"), vec![b'x'; 70_000]).unwrap();
    let error = root.text("sys/devices/nic/board_id").unwrap_err();
    assert!(error.to_string().contains("70000 bytes"), "{error}");
    assert_eq!(root.text("proc/cpuinfo").unwrap().len(), 70_000);
}

#[test]
fn a_link_to_itself_is_an_error_and_no_hang() {
    let (dir, root) = tree();
    symlink("loop", dir.path().join("sys/loop")).unwrap();
    assert_eq!(root.text("sys/loop").unwrap_err().to_string(), "sys/loop: too many levels of symbolic links");
}

#[test]
fn a_text_laid_over_a_linked_path_is_seen_under_both_names() {
    let (_dir, mut root) = tree();
    root.lay_over("sys/class/net/eth0/mtu", Some("9000\n"));
    assert_eq!(root.text("sys/devices/nic/mtu").unwrap(), "9000");
    root.lay_over("sys/class/net/eth0/mtu", None);
    assert!(root.text("sys/devices/nic/mtu").unwrap_err().is_missing());
    root.lay_over("sys/class/net/eth0/speed", Some("100"));
    assert_eq!(root.text("sys/class/net/eth0/speed").unwrap(), "100");
    assert_eq!(root.names("sys/devices/nic").unwrap(), ["speed"]);
}

#[test]
fn beside_a_text_that_is_laid_over_the_files_are_as_they_were() {
    let (dir, mut root) = tree();
    let folder = dir.path().join("sys/devices/nic");
    std::fs::write(folder.join("speed"), "100\n").unwrap();
    symlink("mtu", folder.join("same")).unwrap();
    let texts = |root: &Root| {
        ["mtu", "same", "speed", "missing"].map(|name| {
            root.text(format!("sys/class/net/eth0/{name}")).unwrap_or_else(|error| error.to_string())
        })
    };
    let missing = "sys/class/net/eth0/missing: no such file";
    root.lay_over("sys/class/net/eth0/mtu", Some("9000"));
    assert_eq!(texts(&root), ["9000", "9000", "100", missing]);
    root.lay_over("sys/class/net/eth0/mtu", Some("1500"));
    assert_eq!(texts(&root), ["1500", "1500", "100", missing]);
    root.lay_over("sys/devices/nic", None);
    assert_eq!(texts(&root)[2], "sys/class/net/eth0/speed: no such file", "nothing is below what is hidden");
}

#[test]
fn a_text_may_be_laid_where_there_is_no_folder() {
    let (_dir, mut root) = tree();
    root.lay_over("sys/class/net/eth0/statistics/rx_bytes", Some("7"));
    assert_eq!(root.text("sys/devices/nic/statistics/rx_bytes").unwrap(), "7");
    assert!(root.exists("sys/class/net/eth0/statistics"));
    assert_eq!(root.names("sys/class/net/eth0/statistics").unwrap(), ["rx_bytes"]);
    assert_eq!(root.names("sys/devices/nic").unwrap(), ["mtu", "statistics"]);
}

#[test]
fn nothing_is_below_a_hidden_folder() {
    let (_dir, mut root) = tree();
    root.lay_over("sys/class/net/eth0", None);
    assert!(!root.exists("sys/class/net/eth0"));
    assert!(root.text("sys/class/net/eth0/mtu").unwrap_err().is_missing());
    root.lay_over("sys/class/net/eth0", Some("back"));
    assert!(root.exists("sys/class/net/eth0"));
}
