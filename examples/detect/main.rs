//! Finds sliding super points in a capture, or, without one, in generated traffic.
//!
//! `cargo run --release --example detect` generates a minute of backbone-like traffic and
//! compares estimates with the truth; `-- --input FILE` reads a capture; `-- --help` lists
//! all options. Reports go to standard output, everything else to standard error.
#![allow(unreachable_pub, reason = "a program has no public interface")]

mod args;
mod demo;
mod output;
mod progress;
mod session;
mod summary;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use args::Args;
use clap::Parser;
use progress::Progress;
use session::Session;
use srlg_input::{Event, Input};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let source = &args.source;
    let result = if source.input.is_empty() && !source.is_live() {
        demo::run(&args)
    } else {
        measure(&args)
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
    // What is wrong, and below it the options that it is about.
    let reason: Vec<&str> =
        text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let reason = reason.join(" ");
    tell(format_args!("{} (--help lists the options)", reason.trim_start_matches("error: ")));
    ExitCode::from(2)
}

/// A line on standard error; where that is closed or full there is nobody left to tell.
pub fn tell(line: std::fmt::Arguments<'_>) {
    let _nobody_listens = writeln!(io::stderr(), "detect: {line}");
}

fn measure(args: &Args) -> Result<()> {
    let mut input = Input::open(&args.source)?;
    input.stop_at_signals()?;
    let mut session = Session::new(args, Progress::new(&input)?)?;
    let mut contacts = 0;
    while let Some(event) = input.next_event()? {
        match event {
            Event::Contact(contact) => {
                session.take(contact)?;
                contacts += 1;
                session.progress().show(contacts, &input);
            }
            Event::Time(now_ns) => session.pass(now_ns)?,
            Event::Log(line) => session.progress().tell(format_args!("{line}")),
            _ => {}
        }
    }
    let totals = session.finish()?;
    summary::print(&totals, &input.status());
    Ok(())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().map(io::Error::kind)
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}
