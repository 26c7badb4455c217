//! Programs of other projects, and tests that run in separate namespaces. For each of these tests, the test program
//! runs itself again under `unshare`.
//!
//! In its own network namespace, a test can use any ports and interfaces. In its own process namespace, all processes
//! that a test started are killed with it, including the children of exporters.
//!
//! Invariant: a test passes only if its body ran, or if it printed which program is missing and that program is not
//! required.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use srlg_traffic::skip::skip_or_fail;

use crate::becomes;

/// Folders of programs on Debian. The `PATH` of most users does not include the folders with server programs.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

pub(crate) fn path(program: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}

pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(path(program).unwrap());
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

pub(crate) fn signal(child: &Child, name: &str) -> bool {
    // `kill` is a built-in command of every shell, but not a program on every system.
    let line = format!("kill -s {name} {}", child.id());
    command("sh", &["-c", &line]).status().unwrap().success()
}

/// Lets `child` run until `is_done` returns true, then terminates it and waits for its exit. The child exports its
/// remaining flows before it exits.
pub(crate) fn until(mut child: Child, is_done: impl FnMut() -> bool) {
    // If this times out, the comparison after it fails.
    let _ = becomes(is_done);
    // The process may already have exited.
    let _ = signal(&child, "TERM");
    assert!(becomes(|| child.try_wait().unwrap().is_some()), "the exporter does not exit");
}

/// Environment variable that contains the path of the test. It is set only when the test runs again, inside the
/// namespaces.
const INSIDE: &str = "SRLG_EXPORTERS_TEST";
/// Environment variable that makes a missing program a failure.
const REQUIRED: &str = "SRLG_REQUIRE_EXPORTERS";
/// Command that starts a program in its own namespaces. The program is killed when its parent exits or is killed.
const APART: [&str; 8] =
    ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--pid", "--fork", "--kill-child"];

/// Runs `body`, a closure of a test function, as root in its own namespaces. If one of `programs` is missing, the test
/// is skipped, or fails if `SRLG_REQUIRE_EXPORTERS` is set.
pub(crate) fn alone<F: FnOnce()>(programs: &[&str], body: F) {
    let closure = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    // This is the path of the test function, without the name of this crate.
    let (_, test) = closure.split_once("::").unwrap();
    if std::env::var(INSIDE).is_ok_and(|name| name == test) {
        assert!(command("ip", &["link", "set", "dev", "lo", "up"]).status().unwrap().success());
        return body();
    }
    if let Some(missing) = missing(programs) {
        return skip_or_fail(REQUIRED, &format!("{missing} is missing; run scripts/exporters.sh"));
    }
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(APART[0]);
    command.args(&APART[1..]).arg(program);
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, test);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} fails in its namespaces");
    // With an incorrect name, no test would run, and the process would still succeed.
    assert!(said.contains("test result: ok. 1 passed"), "{test} is not the name of a test");
}

fn missing(programs: &[&str]) -> Option<String> {
    let mut needs = ["ip"].iter().chain(programs);
    if let Some(program) = needs.find(|program| path(program).is_none()) {
        return Some((*program).to_owned());
    }
    let output = Command::new(APART[0]).args(&APART[1..]).arg("true").output();
    let may = output.is_ok_and(|output| output.status.success());
    (!may).then(|| "root, and setpriv and unshare of util-linux".to_owned())
}
