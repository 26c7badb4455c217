//! `srlg alerts`: lists the alerts in a database, to which a running srlg may be writing.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use srlg_alerts::Status;

use srlg_notify::store::Store;
use srlg_notify::store::history::IncidentFilter;

/// Options of `srlg alerts`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// State folder
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,

    /// Only alerts that were active in the last TIME
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = humantime::parse_duration)]
    pub since: Duration,

    /// Filter of the alerts.
    #[command(flatten)]
    pub filter: IncidentFilter,

    /// Print the last notification of each alert as a line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Returns the alerts that match `args`, newest first.
pub fn alerts(args: &Args) -> Result<String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let since_ms = u64::try_from(now.saturating_sub(args.since).as_millis())?;
    let mut text = String::new();
    let filter = IncidentFilter { from: Some(since_ms), ..args.filter.clone() };
    for (_, notification) in Store::read(&args.state)?.last_notifications(&filter)? {
        if args.json {
            writeln!(text, "{}", serde_json::to_string(&notification)?)?;
            continue;
        }
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(notification.start_ms);
        let state = if notification.status == Status::End { "over" } else { "active" };
        writeln!(
            text,
            "{}  {:<8} {state:<8} {}  {}",
            humantime::format_rfc3339_seconds(start),
            notification.severity.to_string(),
            notification.id,
            notification.text
        )?;
    }
    if text.is_empty() && !args.json {
        writeln!(
            text,
            "no alerts in the last {}; use a longer --since to see older ones",
            humantime::format_duration(args.since)
        )?;
    }
    Ok(text)
}
