//! Prints the contacts of files as srlg sees them: `time_ms,src,dst`, a line for each, in the order of the files.
//!
//! `cargo run --release --example contacts -- --input capture.pcap --input conn.log`
//!
//! It reads whatever `detect` does: captures, contact lists, logs of Zeek, Suricata and AWS VPCs. What it prints is a contact list
//! itself. What is no contact is counted by reason on standard error.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use srlg_capture::Reader;
use srlg_contact::Contact;

/// Print the contacts of files as `time_ms,src,dst`.
#[derive(Debug, Parser)]
#[command(name = "contacts", version)]
struct Args {
    /// Capture, contact list or log, repeatable; - is standard input
    #[arg(long, value_name = "FILE|-", required = true)]
    input: Vec<PathBuf>,
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
    writeln!(out, "time_ms,src,dst").context("cannot write to standard output")?;
    for path in &args.input {
        let name = path.display();
        let mut reader = Reader::new(open(path)?).with_context(|| name.to_string())?;
        while let Some(contact) = reader.next_contact().with_context(|| name.to_string())? {
            print_contact(out, &contact).context("cannot write to standard output")?;
        }
        if let Some(truncation) = reader.truncation() {
            tell(format_args!("warning: {name}: {truncation}"));
        }
        tell(format_args!("{name}: {}", reader.counts()));
    }
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

fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(Box::new(file))
}

/// A line on standard error; where that is closed or full there is nobody left to tell.
fn tell(line: std::fmt::Arguments<'_>) {
    let _nobody_listens = writeln!(io::stderr(), "contacts: {line}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
