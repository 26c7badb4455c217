//! `srlg-monitor`: a monitor, and a demonstration of it.
//!
//! Alerts go to a file or to standard output, everything else to standard error, a line each. Exit codes: 0 done, 1 the
//! demonstration's alerts are not those of its attacks, 2 an error.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use srlg_monitor::{demo, monitor, options};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Alerts of hosts in contact with many distinct others, out of flow exports, packets or logs.
#[derive(Debug, Parser)]
#[command(name = "srlg-monitor", version)]
struct Command {
    /// What to log: levels by module
    #[arg(long, global = true, value_name = "LEVELS", default_value = "srlg_monitor=info")]
    log: Targets,

    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Watches an input until it ends, or until a signal
    Run(Box<options::Options>),
    /// Exports traffic with attacks over loopback, and watches that
    Demo(demo::Args),
}

fn main() -> ExitCode {
    let command = Command::parse();
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false);
    tracing_subscriber::registry().with(lines).with(command.log).init();
    match run(command.task) {
        Ok(code) => code,
        Err(error) => {
            // Where standard error is closed or full nobody is left to tell.
            let _nobody_listens = writeln!(io::stderr(), "srlg-monitor: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    match task {
        Task::Run(options) => monitor::run(&options).map(|()| ExitCode::SUCCESS),
        Task::Demo(args) => demo::run(&args),
    }
}
