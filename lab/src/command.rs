//! The command line of `srlg-lab`, which `cargo lab` runs. Its commands measure detectors, repeat the experiments of the paper, and
//! write traffic to files.
//!
//! If a command fails, it prints one line on standard error and exits with status 2. Incomplete pages and traffic files
//! are removed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, Parser, Subcommand};

use crate::accuracy::{self, Accuracy};
use crate::algorithm::{self, Algorithm};
use crate::alike::{self, Alike};
use crate::characterise::{self, Characterise};
use crate::comparison::{self, Peers};
use crate::generate::{self, Generate};
use crate::giants::{self, Giants};
use crate::growth::{self, Growth};
use crate::paper::{self, Paper};
use crate::picture::{self, Picture};
use crate::plans::{self, Plans};
use crate::regimes::{self, Regimes};
use crate::report::{self, Report};
use crate::scale::{self, Scale};
use crate::speed::{self, Speed};
use crate::traces::{self, Traces};

/// Options that do not affect the results.
const NO_SETTINGS: [&str; 3] = ["json", "output", "write"];

/// Measure srlg on synthetic and recorded traffic. Numbers can have the suffix k, M or G.
#[derive(Parser)]
#[command(name = "srlg-lab", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare a detector with the exact answer on synthetic traffic
    Accuracy(Accuracy),
    /// Measure how many hosts the finder misses, and how long a close takes, if all hosts have about the same number of
    /// peers
    Alike(Alike),
    /// Measure the errors of estimates for hosts with θ to ten million peers
    Giants(Giants),
    /// Check the guarantees of the size planner, or print a table of its plans
    Plans(Plans),
    /// Compare srlg with common alternatives: accuracy, memory and time on the same traffic
    Peers(Peers),
    /// Compare srlg with a table of sampled pairs, an exact table and counters per host on equal memory, for hosts of
    /// several sizes
    Regimes(Regimes),
    /// Compare a detector with the exact answer on recorded traffic
    Traces(Traces),
    /// Repeat the experiments of the paper, with tables and plots
    Paper(Paper),
    /// Measure how errors depend on cardinality, load, memory, window, threshold and tags, with tables and plots
    Characterise(Characterise),
    /// Measure how fast a detector ingests pairs and closes slices, on a CPU or a GPU
    Speed(Speed),
    /// Measure how time and memory grow with distinct pairs, slices and threads, with tables and plots
    Growth(Growth),
    /// Measure the cost of many nodes: traffic between nodes, merge and close times of a collector, and trees of
    /// collectors, with tables and plots
    Scale(Scale),
    /// Draw the picture of the README: a planted flood and its estimate
    Picture(Picture),
    /// Draw the pictures of docs/algorithm.md from the arrays of a small detector
    Algorithm(Algorithm),
    /// Repeat the measurements in docs/ and write the results to their pages
    Report(Report),
    /// Write synthetic backbone traffic: packets from inside hosts to their peers
    Generate(Generate),
    /// Convert a record file (NAME.spt.zst) to CSV: time_ms,src,dst
    Convert {
        /// The record file
        trace: PathBuf,
        /// Output file, or - for standard output
        #[arg(long)]
        output: PathBuf,
    },
}

/// Runs the command that the process arguments select, and returns its exit status.
#[must_use]
pub fn run() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Accuracy(options) => accuracy::run(&options),
        Command::Alike(options) => alike::run(&options),
        Command::Giants(options) => giants::run(&options),
        Command::Plans(options) => plans::run(&options, repeating),
        Command::Peers(options) => comparison::run(&options, repeating),
        Command::Regimes(options) => regimes::run(&options, repeating),
        Command::Traces(options) => traces::run(&options, repeating),
        Command::Paper(options) => paper::run(&options, repeating),
        Command::Characterise(options) => characterise::run(&options, repeating),
        Command::Speed(options) => speed::run(&options),
        Command::Growth(options) => growth::run(&options, repeating),
        Command::Scale(options) => scale::run(&options, repeating),
        Command::Picture(options) => picture::run(&options),
        Command::Algorithm(options) => algorithm::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Generate(options) => generate::run(&options),
        Command::Convert { trace, output } => generate::convert(&trace, &output),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // If standard error is closed, the error cannot be reported.
    let _ = writeln!(io::stderr(), "srlg-lab: {error:#}");
    ExitCode::from(2)
}

/// Returns the command line that repeats the running command. This function is a
/// [`CommandLine`](crate::study::CommandLine).
fn repeating(instead: &[(&str, &str)]) -> String {
    let mut program = Cli::command();
    let matches = program.get_matches_mut();
    let (name, matches) = matches.subcommand().expect("the program runs a command");
    let command = program.find_subcommand(name).expect("the running subcommand exists");
    let settings = command
        .get_arguments()
        .filter(|argument| !NO_SETTINGS.contains(&argument.get_id().as_str()));
    let options = settings.filter_map(|argument| option(argument, matches, instead));
    format!("cargo lab {name}{}", options.collect::<String>())
}

/// Returns an option with its value, which may be the default. Returns `None` if the option has no value, or if it is a
/// flag that was not given.
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
