//! Commands of the program, except `run`, `probe`, `collect` and `setup`, which have their own modules.

pub mod check;
pub mod contacts;
pub mod demo;
pub mod detect;
pub mod explain;
pub mod history;
pub mod notify;
#[cfg(feature = "network")]
pub mod setup;
pub mod suggest;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Result;
use srlg_input::{InputOptions, Status};

#[cfg(not(feature = "network"))]
pub use crate::absent as setup;
use crate::progress;

/// Writes a line to standard error. Write errors are ignored, because they cannot be reported elsewhere.
pub fn print_line(line: std::fmt::Arguments<'_>) {
    // One write keeps the line intact above a progress bar.
    let _nobody_reads = progress::Stderr.write_all(format!("srlg: {line}\n").as_bytes());
}

/// Treats a broken pipe as success, because a reader such as `head` may stop early.
pub fn until_pipe_breaks<T: Default>(listed: Result<T>) -> Result<T> {
    listed.or_else(|error| {
        let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
        match causes.any(|error| error.kind() == ErrorKind::BrokenPipe) {
            true => Ok(T::default()),
            false => Err(error),
        }
    })
}

/// Returns exit code 2 if files were read but yield no contact, and 0 otherwise. A live input may be quiet.
fn exit_code(source: &InputOptions, status: &Status) -> ExitCode {
    let is_unread = !source.is_live() && status.is_without_contacts();
    ExitCode::from(if is_unread { 2 } else { 0 })
}
