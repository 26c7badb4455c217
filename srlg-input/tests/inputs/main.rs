//! Tests of inputs: generated files, files from other tools, flow exports, and command-line options.
//!
//! The files from other tools are not part of this repository. `SRLG_DATA` names the folder that contains `captures/`
//! and `flows/`. The default is `../shared/data`, relative to the workspace. If the folder is missing, the tests that
//! need it print a note and pass.

mod captures;
mod commands;
mod exports;
mod reader;
mod texts;

use std::io::Write;
use std::path::PathBuf;

fn folder(name: &str) -> Option<PathBuf> {
    let beside = || [env!("CARGO_MANIFEST_DIR"), "..", "..", "shared", "data"].iter().collect();
    let folder = std::env::var_os("SRLG_DATA").map_or_else(beside, PathBuf::from).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    // The note is not written with `eprintln`, because the output of a passing test is hidden.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let note = format!("{test}: skipped, SRLG_DATA is absent\n");
    std::io::stderr().write_all(note.as_bytes()).unwrap();
    None
}
