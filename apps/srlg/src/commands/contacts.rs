//! `srlg contacts`: lists contacts as lines of `time_ms,src,dst`, in the order of the input.
//!
//! Packets and records that yield no contact are counted by reason. The counts are printed to standard error.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use srlg_input::{Contact, Input, InputOptions, LogLine};

use super::{exit_code, print_line};
use crate::measure::drive::{EventConsumer, drive};

/// Options of `srlg contacts`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Source of contacts.
    #[command(flatten)]
    source: InputOptions,

    /// Add the columns protocol, src_port, dst_port and initiated; unknown values are empty
    #[arg(long, requires = "contacts")]
    ports: bool,
}

/// Additional columns with [`Args::ports`].
const PORTS: &str = ",protocol,src_port,dst_port,initiated";

/// Lists the contacts of an input.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut out = BufWriter::new(io::stdout().lock());
    let code = print(args, &mut out)?;
    out.flush().context("cannot write to standard output")?;
    Ok(code)
}

fn print(args: &Args, out: &mut impl Write) -> Result<ExitCode> {
    let mut input = Input::open(&args.source)?;
    input.stop_at_signals()?;
    let ports = if args.ports { PORTS } else { "" };
    writeln!(out, "time_ms,src,dst{ports}").context("cannot write to standard output")?;
    drive(&mut input, &mut Printer { out, has_ports: args.ports })?;
    let status = input.status();
    status.to_string().lines().for_each(|line| print_line(format_args!("{line}")));
    status.exporters.iter().for_each(|exporter| print_line(format_args!("exporter {exporter}")));
    Ok(exit_code(&args.source, &status))
}

struct Printer<W> {
    out: W,
    has_ports: bool,
}

impl<W: Write> EventConsumer for Printer<W> {
    fn ingest(&mut self, contacts: &[Contact]) -> Result<()> {
        let Self { out, has_ports } = self;
        let printed = contacts.iter().try_for_each(|it| print_contact(out, it, *has_ports));
        printed.context("cannot write to standard output")
    }

    fn advance(&mut self, _: u64, _: &Input) -> Result<()> {
        // A reader may be waiting for the next lines.
        self.out.flush().context("cannot write to standard output")
    }

    fn log(&self, line: LogLine) {
        print_line(format_args!("{line}"));
    }
}

/// Prints a contact as a line. The time is in milliseconds, with six decimal places if needed.
fn print_contact(out: &mut impl Write, contact: &Contact, has_ports: bool) -> io::Result<()> {
    let Contact { time_ns, source, destination, .. } = contact;
    let (ms, fraction) = (time_ns / 1_000_000, time_ns % 1_000_000);
    if fraction == 0 {
        write!(out, "{ms},{source},{destination}")?;
    } else {
        write!(out, "{ms}.{fraction:06},{source},{destination}")?;
    }
    if has_ports {
        let protocol = contact.protocol.map_or_else(String::new, |it| it.to_string());
        let [from, to] = [contact.sender_port(), contact.port()]
            .map(|port| port.map_or_else(String::new, |port| port.number.to_string()));
        let initiated = contact.is_initiated().map_or_else(String::new, |it| it.to_string());
        write!(out, ",{protocol},{from},{to},{initiated}")?;
    }
    writeln!(out)
}
