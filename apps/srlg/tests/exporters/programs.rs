//! The programs of others, and where they are.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::becomes;

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
