//! Helpers for tests that run the program as a process.

use std::process::Command;

pub(crate) fn srlg(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_srlg"));
    program.arg(command);
    program
}

/// Replaces the parts of `text` that differ between runs and machines: decimal fractions, the folder of test files, and
/// the device.
pub(crate) fn steady(text: &str) -> String {
    let text = text.replace(env!("CARGO_TARGET_TMPDIR"), "TMP").replace(" cuda:0,", " cpu,");
    let is_fraction = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let steady = |word: &str| match is_fraction(word.trim_end()) {
        true => word.replace(word.trim_end(), "#"),
        false => word.to_owned(),
    };
    text.split_inclusive(' ').map(steady).collect()
}
