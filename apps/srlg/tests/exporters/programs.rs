//! The programs of others, and tests in namespaces of their own: there the test's program runs once more, under `unshare`,
//! for this test alone.
//!
//! In a network of its own, ports and interfaces are those of the test. In a process namespace of its own, all that the
//! test started ends with the test, whatever becomes of it: exporters have children.
//! Invariant: a test passes only if its body ran, or if it said what is missing and nobody requires it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{becomes, say};

/// Where Debian has programs: the `PATH` of most users has no servers.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Where the program is, if it is there.
pub(crate) fn path(program: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}

/// The program with these arguments, silent.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(path(program).unwrap());
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Sends `child` a signal by its name; whether that was possible.
pub(crate) fn signal(child: &Child, name: &str) -> bool {
    // Every shell has `kill`, not every system has a program of that name.
    let line = format!("kill -s {name} {}", child.id());
    command("sh", &["-c", &line]).status().unwrap().success()
}

/// Lets `child` run until `is_done`, then terminates it, and waits for its end: it exports what it still has.
pub(crate) fn until(mut child: Child, is_done: impl FnMut() -> bool) {
    // Where it is not done in time, what is missing is found by whoever compares.
    let _ = becomes(is_done);
    // It may have ended by itself.
    let _ = signal(&child, "TERM");
    assert!(becomes(|| child.try_wait().unwrap().is_some()), "the exporter does not end");
}

/// Set in the second run, to the name of the test.
const INSIDE: &str = "SRLG_EXPORTERS_TEST";
/// Set by who wants a failure where something is missing.
const REQUIRED: &str = "SRLG_REQUIRE_EXPORTERS";
/// Starts a program in namespaces of its own. It ends with the process that started it, even with one that is killed.
const APART: [&str; 8] =
    ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--pid", "--fork", "--kill-child"];

/// Runs `body`, a closure of a test function, as root of namespaces of its own, with `programs`.
pub(crate) fn alone<F: FnOnce()>(programs: &[&str], body: F) {
    let closure = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    // Without the name of this crate: the path of the test function.
    let (_, test) = closure.split_once("::").unwrap();
    if std::env::var(INSIDE).is_ok_and(|name| name == test) {
        assert!(command("ip", &["link", "set", "dev", "lo", "up"]).status().unwrap().success());
        return body();
    }
    if let Some(missing) = missing(programs) {
        assert!(std::env::var(REQUIRED).is_err(), "{test} needs {missing}, and {REQUIRED} is set");
        say(&format!("{test}: skipped, it needs {missing} (scripts/exporters.sh)"));
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(APART[0]);
    command.args(&APART[1..]).arg(program);
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, test);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} fails in its namespaces");
    // A name that is not that of a test would run none, and well.
    assert!(said.contains("test result: ok. 1 passed"), "{test} is no test");
}

/// The first thing that the test needs and that is not there.
fn missing(programs: &[&str]) -> Option<String> {
    let mut needs = ["ip"].iter().chain(programs);
    if let Some(program) = needs.find(|program| path(program).is_none()) {
        return Some((*program).to_owned());
    }
    let output = Command::new(APART[0]).args(&APART[1..]).arg("true").output();
    let may = output.is_ok_and(|output| output.status.success());
    (!may).then(|| "root, and setpriv and unshare of util-linux".to_owned())
}
