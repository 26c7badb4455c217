//! The command `srlg-lab`. The code is in the library, so that the tests are compiled only once.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    srlg_lab::command::run()
}
