//! Prints contacts as srlg sees them: `time_ms,src,dst`, a line for each, in the order in which they come.
//!
//! `cargo run --release --example contacts -- --input capture.pcap --input conn.log`
//!
//! It takes whatever `detect` does: captures, contact lists, logs, exports of flows in captures and over the network. What it prints
//! is a contact list itself. What is no contact is counted by reason on standard error.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use srlg_input::{Contact, Event, Input, InputOptions};

/// Print contacts as `time_ms,src,dst`.
#[derive(Debug, Parser)]
#[command(name = "contacts", version)]
struct Args {
    /// Where contacts come from.
    #[command(flatten)]
    source: InputOptions,
}

fn main() -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let result = print(&Args::parse(), &mut out)
        .and_then(|()| out.flush().context("cannot write to standard output"));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the contacts has seen enough: `| head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn print(args: &Args, out: &mut impl Write) -> Result<()> {
    let mut input = Input::open(&args.source)?;
    input.stop_at_signals()?;
    writeln!(out, "time_ms,src,dst").context("cannot write to standard output")?;
    while let Some(event) = input.next_event()? {
        match event {
            Event::Contact(contact) => print_contact(out, &contact),
            // Somebody may be reading along.
            Event::Time(_) => out.flush(),
            Event::Log(line) => {
                tell(format_args!("{line}"));
                Ok(())
            }
            _ => Ok(()),
        }
        .context("cannot write to standard output")?;
    }
    let status = input.status();
    status.to_string().lines().for_each(|line| tell(format_args!("{line}")));
    status.exporters.iter().for_each(|exporter| tell(format_args!("exporter {exporter}")));
    Ok(())
}

/// A line, its time in milliseconds to the nanosecond.
fn print_contact(out: &mut impl Write, contact: &Contact) -> io::Result<()> {
    let Contact { time_ns, source, destination, .. } = contact;
    let (ms, fraction) = (time_ns / 1_000_000, time_ns % 1_000_000);
    if fraction == 0 {
        writeln!(out, "{ms},{source},{destination}")
    } else {
        writeln!(out, "{ms}.{fraction:06},{source},{destination}")
    }
}

/// A line on standard error; where that is closed or full there is nobody left to tell.
fn tell(line: std::fmt::Arguments<'_>) {
    let _nobody_listens = writeln!(io::stderr(), "contacts: {line}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
