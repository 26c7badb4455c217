//! Inputs: files that are made here and files of other tools, flow exports, and the options of a command.
//!
//! The files of other tools are not part of this repository. `SRLG_DATA` names the folder that holds `captures/` and `flows/`;
//! without it `../shared/data` beside the workspace is tried, and if that is absent the tests that need it pass with a note.

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
    // Not by `eprintln`, which a test that passes keeps to itself.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let note = format!("{test}: skipped, SRLG_DATA is absent\n");
    std::io::stderr().write_all(note.as_bytes()).unwrap();
    None
}
