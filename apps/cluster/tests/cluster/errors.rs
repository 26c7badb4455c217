//! What is wrong is said in one line, and the exit code is 2.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use srlg_cluster::setup;

use crate::net::Net;
use crate::node::Node;

/// A network without a broker.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    setup::make(folder.path(), &Net::network(), &["localhost".to_owned()], 4222).unwrap();
    folder
}

/// A probe that waits for its standard input; nobody answers at its broker's address.
fn start(folder: &Path, name: &str, input: &str) -> Node {
    let spool = folder.join("spool");
    let paths = [folder, &spool].map(|path| path.to_str().unwrap());
    let [folder, spool] = paths;
    let broker = "localhost:1";
    let options = ["--folder", folder, "--spool", spool, "--broker", broker, "--input", input];
    Node::start(["probe", name].into_iter().chain(options))
}

fn assert_refused(mut node: Node, why: &str) {
    let (code, said) = node.end();
    let last = said.lines().last().unwrap_or_default();
    assert_eq!(code, Some(2), "{said}");
    assert!(last.starts_with("srlg-cluster: ") && last.contains(why), "{said}");
}

#[test]
fn a_folder_without_a_network_or_a_key_is_named() {
    let empty = tempfile::tempdir().unwrap();
    assert_refused(start(empty.path(), "a", "-"), "network.json: No such file");
    let folder = folder();
    fs::remove_file(folder.path().join("a.nk")).unwrap();
    assert_refused(start(folder.path(), "a", "-"), "a.nk: No such file");
}

#[test]
fn a_probe_that_is_none_of_the_network_is_refused() {
    let folder = folder();
    assert_refused(
        start(folder.path(), "d", "-"),
        "\"d\" is no probe of the network: give one of a, b, c",
    );
}

#[test]
fn a_key_that_everybody_may_read_is_refused() {
    let folder = folder();
    fs::set_permissions(folder.path().join("a.nk"), Permissions::from_mode(0o644)).unwrap();
    assert_refused(start(folder.path(), "a", "-"), "everybody on this machine may read it");
}

#[test]
fn an_input_that_is_none_is_named() {
    let folder = folder();
    assert_refused(start(folder.path(), "a", "/nowhere.pcap"), "cannot open /nowhere.pcap");
    let conf = folder.path().join("nats.conf");
    assert_refused(start(folder.path(), "a", conf.to_str().unwrap()), "nats.conf");
}

#[test]
fn a_second_probe_on_a_spool_is_refused_as_long_as_the_first_one_runs() {
    let folder = folder();
    let mut first = start(folder.path(), "a", "-");
    first.wait_for("no broker at localhost:1 yet");
    assert_refused(start(folder.path(), "a", "-"), "another probe spools to");
    let other = start(folder.path(), "b", "/nowhere.pcap");
    assert_refused(other, "cannot open /nowhere.pcap");
}
