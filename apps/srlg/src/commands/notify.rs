//! `srlg notify`: sends test notifications to a sink.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, ensure};
use srlg_alerts::notification::Notification;
use srlg_notify::sinks::{SinkOptions, try_sink};
use srlg_system::now_ms;

use crate::config::Config;

/// Options of `srlg notify`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,

    /// Name of the sink
    #[arg(long, value_name = "NAME")]
    pub sink: String,
}

/// Sends a test notification of each kind and status, and prints the answers of the receiver.
///
/// # Errors
///
/// Returns an error if the sink does not exist or cannot be opened, or if a notification was not accepted.
pub fn notify(args: &Args) -> Result<()> {
    let config = Config::read(&args.config)?;
    let sinks = &config.sinks;
    let sink = sinks.iter().find(|sink| sink.name() == args.sink).ok_or_else(|| {
        let names: Vec<String> = sinks.iter().map(SinkOptions::name).collect();
        anyhow!("sink {} not found; the sinks are {}", args.sink, names.join(", "))
    })?;
    let mut failed = 0;
    try_sink(sink, now_ms(), |notifications, answer| {
        let mut line = String::new();
        if let Some(Notification { status, .. }) = notifications.first() {
            let kinds: Vec<_> = notifications.iter().map(|it| it.kind.to_string()).collect();
            write!(line, "{status} {}: ", kinds.join(", "))?;
        }
        match answer {
            None => write!(line, "not sent, because of `only`")?,
            Some(Ok(answer)) => write!(line, "{answer}")?,
            Some(Err(error)) => {
                failed += 1;
                write!(line, "{error:#}")?;
            }
        }
        writeln!(io::stdout(), "{line}").context("cannot write to standard output")
    })?;
    ensure!(failed == 0, "sink {}: {failed} messages were not accepted", args.sink);
    Ok(())
}
