//! `srlg-monitor`: a monitor, and a demonstration of it.
//!
//! Alerts go to a file or to standard output, everything else to standard error, a line each. Exit codes: 0 done, 1 the
//! demonstration's alerts are not those of its attacks, 2 an error.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{CommandFactory, Parser, Subcommand};
use srlg_monitor::{demo, explain, history, options, run, suggest};
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
    /// Reads a configuration, and says what it comes to, or all that is wrong with it
    Check(explain::CheckArgs),
    /// Says which rules of a configuration a host has, and why
    Explain(explain::ExplainArgs),
    /// Suggests thresholds, out of what a monitor has counted
    Suggest(suggest::Args),
    /// Lists alerts, out of the state of a monitor that may run
    Alerts(history::Args),
    /// Prints the manual page
    #[command(hide = true)]
    Man,
    /// Exports traffic with attacks over loopback, and watches that
    Demo(demo::Args),
}

fn main() -> ExitCode {
    let command = Command::parse();
    // Colours are for eyes alone: a file or a journal gets none.
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(io::stderr)
        .with_target(false);
    tracing_subscriber::registry().with(lines).with(command.log).init();
    match execute(command.task) {
        Ok(code) => code,
        Err(error) => {
            // Where standard error is closed or full nobody is left to tell.
            let _nobody_listens = writeln!(io::stderr(), "srlg-monitor: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn execute(task: Task) -> Result<ExitCode> {
    match task {
        Task::Run(options) => run::run(&options).map(|()| ExitCode::SUCCESS),
        Task::Check(args) => explain::check(&args).and_then(|text| print(&text)),
        Task::Explain(args) => explain::explain(&args).and_then(|text| print(&text)),
        Task::Suggest(args) => suggest::suggest(&args).and_then(|text| print(&text)),
        Task::Alerts(args) => history::alerts(&args).and_then(|text| print(&text)),
        Task::Man => print(&manual()?),
        Task::Demo(args) => demo::run(&args),
    }
}

/// The manual page of all subcommands, one after the other.
fn manual() -> Result<String> {
    let mut command = Command::command();
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for task in command.get_subcommands().filter(|task| !task.is_hide_set()) {
        let name = task.get_name().to_uppercase();
        text.extend(format!(".SH {name}\n").bytes());
        let mut of_task = Vec::new();
        let man = clap_mangen::Man::new(task.clone());
        man.render_description_section(&mut of_task)?;
        man.render_options_section(&mut of_task)?;
        let of_task = String::from_utf8(of_task)?;
        text.extend(
            of_task.replace(".SH DESCRIPTION\n", "").replace(".SH OPTIONS", ".SS Options").bytes(),
        );
    }
    Ok(String::from_utf8(text)?)
}

fn print(text: &str) -> Result<ExitCode> {
    io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
