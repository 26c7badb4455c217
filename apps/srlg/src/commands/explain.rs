//! `srlg check` and `srlg explain`: what a configuration comes to.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use srlg_input::contact::{Side, View};

use crate::alerts::rules::AllowTarget;
use crate::config::{Config, ViewConfig};
use crate::notify::notice::Direction;

/// Options of `srlg check`.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// File of the configuration
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Options of `srlg explain`.
#[derive(Clone, Debug, clap::Args)]
pub struct ExplainArgs {
    /// Host
    #[arg(value_name = "IP")]
    pub host: IpAddr,

    /// File of the configuration
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Returns what the configuration that `args` name comes to.
pub fn check(args: &CheckArgs) -> Result<String> {
    let config = Config::read(&args.config)?;
    let mut text = String::new();
    let mut all = 0;
    for ViewConfig { name, sizes, rules, .. } in &config.views {
        let memory = sizes.validate()?.recorder_bytes();
        all += memory;
        let windows: Vec<String> =
            rules.windows().into_iter().map(|slices| time(config.general.slice * slices)).collect();
        let names: Vec<&str> = rules.rules().iter().map(|rule| rule.name.as_str()).collect();
        writeln!(
            text,
            "view {name}: rules {}; windows of {}; counts from {} on; {:.1} MB",
            names.join(", "),
            windows.join(", "),
            sizes.threshold,
            memory as f64 / 1e6
        )?;
    }
    writeln!(text, "{} is right: {:.1} MB", args.config.display(), all as f64 / 1e6)?;
    Ok(text)
}

/// Returns which rules the host that `args` name has, and why.
pub fn explain(args: &ExplainArgs) -> Result<String> {
    let config = Config::read(&args.config)?;
    let host = args.host.to_canonical();
    let mut text = String::new();
    match config.labels.get(host) {
        Some(label) => writeln!(text, "{host} is in {label}")?,
        None => writeln!(text, "{host} is in no network with a label")?,
    }
    for view in &config.views {
        explain_in(view, host, config.general.slice, &mut text)?;
    }
    Ok(text)
}

fn explain_in(config: &ViewConfig, host: IpAddr, slice: Duration, text: &mut String) -> Result<()> {
    let ViewConfig { name, view, rules, .. } = config;
    let is_inside = View::new(view)?.is_inside(host);
    let direction = Direction::from(view.role);
    let of = match view.measure {
        Side::Inside => "inside",
        Side::Outside => "outside",
    };
    write!(text, "\nview {name}, hosts {of} ")?;
    writeln!(
        text,
        "{}",
        match direction {
            Direction::FanIn => "by whom they receive from",
            Direction::FanOut => "by whom they send to",
            Direction::Any => "by whom they are in contact with",
        }
    )?;
    if is_inside != (view.measure == Side::Inside) {
        let is = if is_inside { "inside" } else { "outside" };
        writeln!(text, "  {host} is {is}: not watched")?;
        return Ok(());
    }
    let told = rules.explain(host);
    match told.rule {
        Some((rule, network)) => {
            writeln!(
                text,
                "  rule {}: {network} is the longest of its networks with {host}",
                rule.name
            )?;
            for (slices, terms) in &rule.windows {
                let window = time(slice * *slices);
                writeln!(
                    text,
                    "    {} opposite hosts in {window}, in {} of {} slices, start an alert; {:.0} or less for {} end it",
                    terms.threshold,
                    terms.for_slices,
                    terms.of_slices,
                    terms.threshold * terms.down,
                    time(Duration::from_millis(terms.hold_ms))
                )?;
            }
        }
        None => writeln!(text, "  no rule holds {host}: no alert")?,
    }
    for (rule, network) in told.others {
        writeln!(text, "  not rule {}: its network {network} is shorter", rule.name)?;
    }
    for allow in told.allows {
        let what = match &allow.what {
            AllowTarget::Hosts(_) => "no alert is about the host".to_owned(),
            AllowTarget::Peers(_) => "contacts of others with the host do not count".to_owned(),
            AllowTarget::Ports(_, ports) => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                let whose = if direction == Direction::FanOut { "of others " } else { "" };
                format!("contacts {whose}to ports {} of the host do not count", ports.join(", "))
            }
        };
        writeln!(text, "  allowed ({}): {what}", allow.why)?;
    }
    Ok(())
}

fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}
