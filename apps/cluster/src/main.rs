//! `srlg-cluster`: probes, a collector and what they need; without a subcommand, a demonstration.
//!
//! Everything but results goes to standard error, a line each. Exit codes: 0 done, 1 the
//! demonstration's answer is off, 2 an error.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use srlg_cluster::{collector, demo, probe, setup};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Sliding super points of a whole network: a probe at each router, a collector, and NATS JetStream between them.
#[derive(Debug, Parser)]
#[command(name = "srlg-cluster", version)]
struct Command {
    /// What to log: levels by module, as in srlg_cluster=debug,async_nats=info
    #[arg(long, global = true, value_name = "LEVELS", default_value = "srlg_cluster=info")]
    log: Targets,

    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Makes everything that a network needs: keys, certificates, the broker's configuration
    Setup(setup::Args),
    /// Sends what one router sees, a delta per slice
    Probe(Box<probe::Args>),
    /// Merges what the probes send, and reports
    Collector(collector::Args),
    /// Broker, three probes and a collector on this machine, beside the truth: what runs without a subcommand
    Demo,
}

fn main() -> ExitCode {
    let command = Command::parse();
    // Colours are for eyes alone: a file or a journal gets none.
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(io::stderr)
        .with_target(false);
    tracing_subscriber::registry().with(lines).with(command.log).init();
    match run(command.task) {
        Ok(code) => code,
        Err(error) => {
            // Where standard error is closed or full nobody is left to tell.
            let _nobody_listens = writeln!(io::stderr(), "srlg-cluster: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(task: Option<Task>) -> Result<ExitCode> {
    match task {
        Some(Task::Setup(args)) => setup::run(&args)?,
        Some(Task::Probe(args)) => probe::run(*args)?,
        Some(Task::Collector(args)) => collector::run(&args)?,
        Some(Task::Demo) | None => return demo::run(),
    }
    Ok(ExitCode::SUCCESS)
}
