//! The programs of others, and whether they are there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Set by who wants a failure where something is missing.
const REQUIRED: &str = "SRLG_REQUIRE_EXPORTERS";

/// Where Debian has servers.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/sbin"];

/// Whether all `programs` are there; says aloud what is not.
pub(crate) fn are_there(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| path(program).is_none());
    let Some(missing) = missing else { return true };
    assert!(std::env::var(REQUIRED).is_err(), "{test} needs {missing}, and {REQUIRED} is set");
    println!("{test}: skipped, it needs {missing} (scripts/exporters.sh)");
    false
}

fn path(program: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}

/// The program with these arguments, silent.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(path(program).unwrap());
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs softflowd on `file` to its end, with `more` options. It exports to `port` of this machine.
pub(crate) fn softflowd(file: &Path, port: u16, more: &[&str]) {
    let (file, to) = (file.to_str().unwrap(), format!("127.0.0.1:{port}"));
    // Without a control socket: with one it goes on after the end of the file.
    let args = ["-d", "-a", "-m", "100000", "-r", file, "-n", &to, "-c", "none"];
    let pid = format!("{file}.{port}.pid");
    let status = command("softflowd", &[&args[..], &["-p", &pid], more].concat()).status();
    assert!(status.unwrap().success(), "softflowd {more:?}");
    let _ = std::fs::remove_file(pid);
}

/// Runs pmacctd on `file` with `lines` of configuration, until `is_done`.
pub(crate) fn pmacctd(file: &Path, lines: &str, is_done: impl FnMut() -> bool) {
    let config = file.with_extension(format!("{:x}.conf", lines.len()));
    let text = format!("daemonize: false\npcap_savefile: {}\n{lines}", file.display());
    std::fs::write(&config, text).unwrap();
    let child = command("pmacctd", &["-f", config.to_str().unwrap()]).spawn().unwrap();
    until(child, is_done);
    std::fs::remove_file(config).unwrap();
}

/// Lets `child` run until `is_done`, then terminates it, and waits for its end: it exports what it still has.
pub(crate) fn until(mut child: std::process::Child, mut is_done: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !is_done() && started.elapsed() < crate::collector::PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // It may have ended by itself.
    let _ = command("kill", &["-TERM", &child.id().to_string()]).status();
    let asked = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
        if asked.elapsed() > crate::collector::PATIENCE {
            child.kill().unwrap();
        }
    }
}
