//! The command `srlg-evaluation`, which the library has: so its tests are compiled once.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    srlg_evaluation::command::run()
}
