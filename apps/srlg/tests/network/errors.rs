//! Errors of probes. Each error is printed on one line, which is compared with a snapshot, and the exit code is 2.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::net::{keep, make_folder};
use crate::network_traffic::{PROBES, network, version};
use crate::probe::ProbeConfig;
use crate::process::Process;

/// Creates the folder of a network without a broker. The probes of the network have already stored its description.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    make_folder(folder.path());
    for name in PROBES {
        keep(&folder.path().join("spool"), name, &version(network()));
    }
    folder
}

/// Starts a probe whose broker is not reachable.
fn start(folder: &Path, name: &str, input: &str) -> Process {
    let (state, broker) = (&folder.join("spool"), "localhost:1");
    let tables = &format!("[input]\ninput = ['{input}']\n");
    let mut command = ProbeConfig { name, folder, broker, state, general: "", tables }.command();
    Process::start(&mut command)
}

/// Returns the error of a rejected probe, with `FOLDER` instead of the path of its folder.
fn refusal(mut program: Process, folder: &tempfile::TempDir) -> String {
    let (code, said) = program.end();
    // The link may log one more attempt while the probe stops.
    let last = said.lines().rfind(|line| line.starts_with("srlg: ")).unwrap_or_default();
    assert_eq!(code, Some(2), "{said}");
    assert!(!last.is_empty(), "{said}");
    last.replace(folder.path().to_str().unwrap(), "FOLDER")
}

#[test]
fn a_folder_without_credentials_or_a_key_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let no_authority = refusal(start(empty.path(), "a", "-"), &empty);
    let folder = folder();
    fs::remove_file(folder.path().join("a.nk")).unwrap();
    let no_key = refusal(start(folder.path(), "a", "-"), &folder);
    insta::assert_snapshot!(format!("{no_authority}\n{no_key}"));
}

#[test]
fn an_unknown_probe_is_refused() {
    let folder = folder();
    insta::assert_snapshot!(refusal(start(folder.path(), "d", "-"), &folder));
}

#[test]
fn a_key_that_everybody_may_read_is_refused() {
    let folder = folder();
    fs::set_permissions(folder.path().join("a.nk"), Permissions::from_mode(0o644)).unwrap();
    insta::assert_snapshot!(refusal(start(folder.path(), "a", "-"), &folder));
}

#[test]
fn invalid_input_is_named_in_the_error() {
    let folder = folder();
    let nowhere = refusal(start(folder.path(), "a", "/nowhere.pcap"), &folder);
    let conf = folder.path().join("nats.conf");
    let unknown = refusal(start(folder.path(), "a", conf.to_str().unwrap()), &folder);
    insta::assert_snapshot!(format!("{nowhere}\n{unknown}"));
}

#[test]
fn a_second_probe_on_a_spool_is_refused_as_long_as_the_first_one_runs() {
    let folder = folder();
    let mut first = start(folder.path(), "a", "-");
    first.wait_for("localhost:1");
    let second = refusal(start(folder.path(), "a", "-"), &folder);
    let other = refusal(start(folder.path(), "b", "/nowhere.pcap"), &folder);
    insta::assert_snapshot!(format!("{second}\n{other}"));
}
