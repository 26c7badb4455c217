//! Measures detectors and repeats the paper's experiments; writes synthetic traffic as pcap or
//! CSV, and record files as CSV.
//!
//! Shape: one command, one output. Invariant: whatever goes wrong is one line on
//! the standard error and exit status 2, and leaves no incomplete file behind.

use anyhow::{Context, Result, ensure};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use srlg_core::IpPair;
use srlg_traffic::synthetic::Backbone;
use srlg_traffic::trace::Trace;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::accuracy::{self, Accuracy};
use crate::alike::{self, Alike};
use crate::characterise::{self, Characterise};
use crate::comparison::{self, Peers};
use crate::giants::{self, Giants};
use crate::growth::{self, Growth};
use crate::output::Output;
use crate::paper::{self, Paper};
use crate::picture::{self, Picture};
use crate::plans::{self, Plans};
use crate::report::{self, Report};
use crate::scale::{self, Scale};
use crate::speed::{self, Speed};
use crate::traces::{self, Traces};
use crate::{MOST_PAIRS, MOST_SLICES, number, pcap_writer, progress};

/// Slices of one second in a period of the model.
const PERIOD: u32 = 300;
/// Options that change no figure.
const NO_SETTINGS: [&str; 3] = ["json", "output", "write"];

/// Synthetic and recorded traffic for measuring srlg. Numbers take the suffixes k, M and G.
#[derive(Parser)]
#[command(name = "srlg-evaluation", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare a detector with the exact truth on synthetic backbone traffic
    Accuracy(Accuracy),
    /// Show what the finder misses, and how long a close takes, where all hosts are alike
    Alike(Alike),
    /// Show how large the errors are of hosts from θ to ten million opposite hosts
    Giants(Giants),
    /// Check what the planner of sizes promises, or print a table of its plans
    Plans(Plans),
    /// Compare srlg with what users have today: accuracy, memory and time on the same traffic
    Peers(Peers),
    /// Compare a detector with the exact truth on recorded traffic
    Traces(Traces),
    /// Repeat the experiments of the paper: tables and plots
    Paper(Paper),
    /// Show how errors depend on cardinality, load, memory, window, threshold and tags: tables and plots
    Characterise(Characterise),
    /// Measure how fast a detector takes pairs and closes slices, on a CPU or a GPU
    Speed(Speed),
    /// Show how time and memory grow with distinct pairs, slices and threads: tables and plots
    Growth(Growth),
    /// Show what many nodes cost: bytes, a collector's time, trees of collectors: tables and plots
    Scale(Scale),
    /// Draw the picture of the README: a planted flood, as it was and as a detector saw it
    Picture(Picture),
    /// Take the figures of docs/ again, and write them where they stand
    Report(Report),
    /// Write synthetic backbone traffic: packets from inside hosts to opposite hosts
    Generate(Generate),
    /// Write a record file (NAME.spt.zst) as CSV: time_ms,src,dst
    Convert {
        /// The record file
        trace: PathBuf,
        /// File to write, - for the standard output
        #[arg(long)]
        output: PathBuf,
    },
}

#[derive(Args)]
struct Generate {
    /// Seed of all random numbers
    #[arg(long, default_value = "1", value_parser = number::integer)]
    seed: u64,
    /// Slices of one second
    #[arg(long, default_value = "60", value_parser = number::count)]
    slices: u32,
    /// Distinct pairs in all slices, or in any 300 when there are more, about
    #[arg(long, default_value = "500k", value_parser = number::count)]
    pairs: u32,
    /// Mean number of packets of a pair
    #[arg(long, default_value = "10", value_parser = number::count)]
    packets_per_pair: u32,
    /// File to write, - for the standard output
    #[arg(long)]
    output: PathBuf,
    /// Format of the file
    #[arg(long, value_enum)]
    format: Format,
    /// Go on, or stop early, when the file has this many bytes
    #[arg(long, value_parser = number::integer)]
    bytes: Option<u64>,
    /// Time of the first slice, in milliseconds since 1970
    #[arg(long, default_value = "0", value_parser = number::integer)]
    start_ms: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Pcap,
    Csv,
}

/// Runs the command that the arguments of the process name; its exit status.
#[must_use]
pub fn run() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Accuracy(options) => accuracy::run(&options),
        Command::Alike(options) => alike::run(&options),
        Command::Giants(options) => giants::run(&options),
        Command::Plans(options) => plans::run(&options, repeating),
        Command::Peers(options) => comparison::run(&options, repeating),
        Command::Traces(options) => traces::run(&options, repeating),
        Command::Paper(options) => paper::run(&options, repeating),
        Command::Characterise(options) => characterise::run(&options, repeating),
        Command::Speed(options) => speed::run(&options),
        Command::Growth(options) => growth::run(&options, repeating),
        Command::Scale(options) => scale::run(&options, repeating),
        Command::Picture(options) => picture::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Generate(options) => generate(&options),
        Command::Convert { trace, output } => convert(&trace, &output),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // Nobody is left to tell when the standard error is closed.
    let _ = writeln!(io::stderr(), "srlg-evaluation: {error:#}");
    ExitCode::from(2)
}

/// The [`CommandLine`](crate::study::CommandLine) of the command that runs.
fn repeating(instead: &[(&str, &str)]) -> String {
    let mut program = Cli::command();
    let matches = program.get_matches_mut();
    let (name, matches) = matches.subcommand().expect("the program has run a command");
    let command =
        program.find_subcommand(name).expect("the subcommand that ran is one of the program's");
    let settings = command
        .get_arguments()
        .filter(|argument| !NO_SETTINGS.contains(&argument.get_id().as_str()));
    let options = settings.filter_map(|argument| option(argument, matches, instead));
    format!("cargo run --release -p srlg-evaluation -- {name}{}", options.collect::<String>())
}

/// An option with its value, which may be the default; none where there is none.
fn option(argument: &Arg, matches: &ArgMatches, instead: &[(&str, &str)]) -> Option<String> {
    let (id, long) = (argument.get_id().as_str(), argument.get_long()?);
    if let Some((_, value)) = instead.iter().find(|(option, _)| *option == long) {
        return Some(format!(" --{long} {value}"));
    }
    let is_given = matches.value_source(id)? == ValueSource::CommandLine;
    if !argument.get_action().takes_values() {
        return is_given.then(|| format!(" --{long}"));
    }
    let values: Vec<_> = matches.get_raw(id)?.map(|value| value.to_string_lossy()).collect();
    Some(format!(" --{long} {}", values.join(",")))
}

fn generate(options: &Generate) -> Result<()> {
    ensure!(options.slices <= MOST_SLICES, "--slices must be at most {MOST_SLICES}");
    ensure!(options.pairs <= MOST_PAIRS, "--pairs must be at most {MOST_PAIRS}");
    let mut output = Output::create(&options.output)?;
    write_traffic(&mut output, options)?;
    let wanted = options.bytes.unwrap_or(0);
    ensure!(output.written() >= wanted, "the longest stream is too small: raise --pairs");
    output.finish()
}

fn traffic(options: &Generate) -> Backbone {
    Backbone {
        seed: options.seed,
        slices: options.bytes.map_or(options.slices, |_| MOST_SLICES),
        period: options.slices.min(PERIOD),
        pairs: options.pairs,
        packets_per_pair: options.packets_per_pair,
        planted: Vec::new(),
    }
}

fn write_traffic(output: &mut Output, options: &Generate) -> Result<()> {
    if let Format::Pcap = options.format {
        pcap_writer::write_header(output)
    } else {
        write_csv_header(output)
    }
    .context("cannot write the output")?;
    let wanted = options.bytes.unwrap_or(options.slices.into());
    let bar = progress::bar(wanted, if options.bytes.is_some() { "bytes" } else { "slices" });
    for (slice, packets) in (0..).zip(traffic(options).slices()) {
        bar.set_position(options.bytes.map_or(slice, |_| output.written()));
        let start_us = (slice * 1000_u64).saturating_add(options.start_ms).saturating_mul(1000);
        let times = (0..).map(|packet: u64| packet * 1_000_000 / packets.len() as u64);
        for (offset_us, &pair) in times.zip(&packets) {
            if options.bytes.is_some_and(|bytes| output.written() >= bytes) {
                return Ok(());
            }
            write_packet(output, options.format, start_us.saturating_add(offset_us), pair)
                .context("cannot write the output")?;
        }
    }
    Ok(())
}

fn write_packet(out: &mut Output, format: Format, time_us: u64, pair: IpPair) -> io::Result<()> {
    match format {
        Format::Pcap => pcap_writer::write_packet(out, time_us, pair),
        Format::Csv => write_csv_line(out, time_us / 1000, pair.inside, pair.opposite),
    }
}

fn convert(trace: &Path, output: &Path) -> Result<()> {
    let records = Trace::open(trace)?;
    let mut output = Output::create(output)?;
    write_csv_header(&mut output).context("cannot write the output")?;
    for record in records {
        let record = record?;
        write_csv_line(&mut output, record.time_ms.into(), record.source, record.destination)
            .context("cannot write the output")?;
    }
    output.finish()
}

fn write_csv_header(out: &mut Output) -> io::Result<()> {
    out.write_all(b"time_ms,src,dst\n")
}

fn write_csv_line(out: &mut Output, time_ms: u64, source: u32, destination: u32) -> io::Result<()> {
    let (source, destination) = (Ipv4Addr::from_bits(source), Ipv4Addr::from_bits(destination));
    writeln!(out, "{time_ms},{source},{destination}")
}
