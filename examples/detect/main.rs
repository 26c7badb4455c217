//! Finds sliding super points in a capture, or, without one, in generated traffic.
//!
//! `cargo run --release --example detect` generates a minute of backbone-like traffic and
//! compares estimates with the truth; `-- --input FILE` reads a capture; `-- --help` lists
//! all options. Reports go to standard output, everything else to standard error.
#![allow(unreachable_pub, reason = "a program has no public interface")]

mod args;
mod demo;
mod output;
mod session;
mod summary;

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use args::Args;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use session::Session;
use srlg_capture::Reader;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let result = match &args.input {
        Some(path) => read_capture(&args, path),
        None => demo::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the reports has seen enough: `| head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Prints the help that was asked for, or what is wrong in one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return error.print().map_or(ExitCode::from(2), |()| ExitCode::SUCCESS);
    }
    let text = error.to_string();
    let reason = text.lines().next().unwrap_or_default();
    tell(format_args!("{} (--help lists the options)", reason.trim_start_matches("error: ")));
    ExitCode::from(2)
}

/// A line on standard error; where that is closed or full there is nobody left to tell.
pub fn tell(line: std::fmt::Arguments<'_>) {
    let _nobody_listens = writeln!(io::stderr(), "detect: {line}");
}

fn read_capture(args: &Args, path: &Path) -> Result<()> {
    let (input, progress) = open(path)?;
    let mut reader = Reader::new(input).with_context(|| path.display().to_string())?;
    let mut session = Session::new(args, progress)?;
    while let Some(contact) = reader.next_contact().with_context(|| path.display().to_string())? {
        session.take(contact)?;
    }
    let totals = session.finish()?;
    if let Some(truncation) = reader.truncation() {
        tell(format_args!("warning: {}: {truncation}", path.display()));
    }
    summary::print(&totals, reader.counts());
    Ok(())
}

/// The input, and a progress bar over its bytes where it is a file and somebody watches.
fn open(path: &Path) -> Result<(Box<dyn Read + Send>, ProgressBar)> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin()), ProgressBar::hidden()));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let metadata = file.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if !metadata.is_file() || !io::stderr().is_terminal() {
        return Ok((Box::new(file), ProgressBar::hidden()));
    }
    let style = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    let bar = ProgressBar::new(metadata.len()).with_style(ProgressStyle::with_template(style)?);
    Ok((Box::new(bar.wrap_read(file)), bar))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().map(io::Error::kind)
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}
