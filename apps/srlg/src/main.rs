//! `srlg`: alerts on super points, for one site or a whole network.
//!
//! Results go to standard output. Everything else goes to standard error, one line per message.
//!
//! | Exit code | Meaning |
//! |---|---|
//! | 0 | The command succeeded |
//! | 1 | The alerts of a demonstration differ from its planted attacks |
//! | 2 | An error occurred, or `detect` or `contacts` found no contact in its files |
//! | 3 | Another collector has changed the network |

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use rustix::fs::Mode;
use rustix::process::umask;
use srlg_cli::commands::setup;
use srlg_cli::commands::{
    check, contacts, demo, detect, explain, history, notify, print_line, suggest, until_pipe_breaks,
};
use srlg_cli::progress;
use srlg_cli::{collect, config, measure, probe};
use srlg_input::live::mask_user;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Alert on hosts in contact with many distinct peers, from flow exports, packets or logs
#[derive(Debug, Parser)]
#[command(name = "srlg", version)]
struct Command {
    /// Log levels by module, such as srlg=debug,async_nats=info
    #[arg(long, global = true, value_name = "LEVELS", default_value = "srlg=info")]
    log: Targets,

    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Watch an input and raise alerts
    Run(Box<config::options::Options>),
    /// Count the traffic of one site and send it to the collector slice by slice
    Probe(Box<probe::Args>),
    /// Merge the slices of all probes, and raise alerts for the whole network
    Collect(collect::Args),
    /// List the super points of an input
    Detect(detect::Args),
    /// List the contacts of an input, as `time_ms,src,dst`
    Contacts(contacts::Args),
    /// Create the keys, certificates and broker configuration of a network
    Setup(setup::Args),
    /// Check a configuration, and the files, addresses, programs and memory that it needs, without starting anything;
    /// the device is not tested
    Check(Box<check::Args>),
    /// Show which rules of a configuration apply to a host, and why
    Explain(explain::Args),
    /// Suggest thresholds from the peer counts in a state folder
    Suggest(suggest::Args),
    /// List the alerts in a state folder, even while it is in use
    Alerts(history::Args),
    /// Send a test notification of each kind and status to a sink, and print the answers
    Notify(notify::Args),
    /// Print the manual page
    Man,
    /// Print the command completions of a shell
    Completions {
        /// Shell that reads the completions
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Simulate attacks over loopback and alert on them; --network adds a broker, three probes and a collector
    Demo(demo::Args),
}

fn main() -> ExitCode {
    let command = match Command::try_parse() {
        Ok(command) => command,
        Err(error) => return usage(error),
    };
    // Files and the journal get no colour codes.
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(|| progress::Stderr)
        .with_target(false);
    tracing_subscriber::registry().with(lines).with(command.log).init();
    match execute(command.task) {
        Ok(code) => code,
        Err(error) => {
            print_line(format_args!("{error:#}"));
            ExitCode::from(if error.is::<collect::Superseded>() { 3 } else { 2 })
        }
    }
}

fn execute(task: Task) -> Result<ExitCode> {
    if matches!(task, Task::Run(_) | Task::Probe(_) | Task::Collect(_)) {
        keep_files_private();
    }
    match task {
        Task::Run(options) => measure::run::run(&options)?,
        Task::Probe(args) => probe::run(&args)?,
        Task::Collect(args) => collect::run(&args)?,
        Task::Detect(args) => return until_pipe_breaks(detect::run(&args)),
        Task::Contacts(args) => return until_pipe_breaks(contacts::run(&args)),
        Task::Setup(args) => setup::run(&args)?,
        Task::Check(args) => print(&check::check(&args)?)?,
        Task::Explain(args) => print(&explain::explain(&args)?)?,
        Task::Suggest(args) => print(&suggest::suggest(&args)?)?,
        Task::Alerts(args) => print(&history::alerts(&args)?)?,
        Task::Notify(args) => until_pipe_breaks(notify::notify(&args))?,
        Task::Man => print(&manual()?)?,
        Task::Completions { shell } => print(&completions(shell)?)?,
        Task::Demo(args) => return demo::run(&args),
    }
    Ok(ExitCode::SUCCESS)
}

/// Denies other users access to the files that this process creates, because the state folder contains the seed of the
/// detectors and all alerts.
fn keep_files_private() {
    let others = Mode::RWXG | Mode::RWXO;
    let stricter = umask(others);
    umask(stricter | others);
}

/// Prints the requested help, or the error as one line.
fn usage(mut error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return error.print().map_or(ExitCode::from(2), |()| ExitCode::SUCCESS);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _nobody_reads = error.print();
        return ExitCode::from(2);
    }
    // The value of an option may be a URL with a password.
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        let masked = mask_user(value);
        error.insert(ContextKind::InvalidValue, ContextValue::String(masked));
    }
    let text = error.to_string();
    // The error and the options that it names end at the first empty line.
    let reason = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let reason = reason.collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tip.map(|tip| format!("; {tip}")).unwrap_or_default();
    let is_command = error.kind() == ErrorKind::InvalidSubcommand;
    let listed = if is_command { "commands" } else { "options" };
    let reason = reason.trim_start_matches("error: ");
    print_line(format_args!("{reason}{tip} (--help lists the {listed})"));
    ExitCode::from(2)
}

/// Returns the manual page, with one section per subcommand.
fn manual() -> Result<String> {
    let mut command = Command::command();
    command.build();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    for task in command.get_subcommands().filter(|task| task.get_name() != "help") {
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
    // The subcommands have sections instead of pages.
    Ok(String::from_utf8(text)?.replace("\nsrlg\\-", "\nsrlg ").replace("(1)\n", "\n"))
}

fn completions(shell: Shell) -> Result<String> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Command::command(), "srlg", &mut text);
    Ok(String::from_utf8(text)?)
}

fn print(text: &str) -> Result<()> {
    let printed = io::stdout().write_all(text.as_bytes());
    until_pipe_breaks(printed.context("cannot write to standard output"))
}
