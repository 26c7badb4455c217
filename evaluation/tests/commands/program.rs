//! The program under test, its files and its failures.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_srlg-evaluation"))
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// The objects on the standard output of a run that succeeds.
pub(crate) fn objects(arguments: &[&str]) -> Vec<Value> {
    let output = run(arguments);
    // Nobody watches a progress bar in a pipe.
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A name in cargo's folder for the files of tests, with nothing under it.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    let _ = fs::remove_dir_all(&path);
    path
}

/// Asserts exit status 2 and one line that contains `reason`.
pub(crate) fn assert_fails(output: &Output, reason: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.lines().count() == 1 && error.contains(reason), "{error}");
}
