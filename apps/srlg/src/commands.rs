//! The commands of the program but `run`, `probe`, `collect` and `setup`, which have modules of their own.

pub mod check;
pub mod contacts;
pub mod demo;
pub mod detect;
pub mod explain;
pub mod history;
pub mod progress;
pub mod suggest;

use std::io::{self, ErrorKind, Write};

use anyhow::Result;

/// Writes a line to standard error. If that is closed or full, no reader is left.
pub fn tell(line: std::fmt::Arguments<'_>) {
    // In one piece, as a bar may be below.
    let _nobody_reads = progress::Stderr.write_all(format!("srlg: {line}\n").as_bytes());
}

/// Takes the end of the reader of a list, such as `head`, for the end of the list.
pub fn until_pipe_breaks(listed: Result<()>) -> Result<()> {
    listed.or_else(|error| {
        let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
        match causes.any(|error| error.kind() == ErrorKind::BrokenPipe) {
            true => Ok(()),
            false => Err(error),
        }
    })
}
