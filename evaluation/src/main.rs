//! The command `srlg-evaluation`. Its code is in the library, so that its tests are compiled only once.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    srlg_evaluation::command::run()
}
