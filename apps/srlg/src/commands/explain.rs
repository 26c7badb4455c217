//! `srlg explain`: which rules and allow lists apply to a host.
//!
//! Shape: what decides comes first, and what would apply without it after.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use srlg_input::contact::{HostKey, PeerKey, Role, Side, View, ViewOptions};

use crate::alerts::rules::{Allow, AllowTarget};
use crate::config::{Config, ViewConfig};
use crate::notify::notice::{Direction, Unit};

/// Options of `srlg explain`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Host
    #[arg(value_name = "IP")]
    pub host: IpAddr,

    /// File of the configuration
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Returns which rules the host that `args` name has, and why.
pub fn explain(args: &Args) -> Result<String> {
    let config = Config::read(&args.config)?;
    let host = args.host.to_canonical();
    let mut text = String::new();
    match config.labels.get(host.into()) {
        Some(label) => writeln!(text, "{host}, in {label}")?,
        None => writeln!(text, "{host}, in no network with a label")?,
    }
    for view in &config.views {
        explain_in(view, host, config.general.slice, &mut text)?;
    }
    Ok(text)
}

fn explain_in(config: &ViewConfig, host: IpAddr, slice: Duration, text: &mut String) -> Result<()> {
    let ViewConfig { name, view, rules, .. } = config;
    let is_inside = View::new(view)?.is_inside(host.into());
    let direction = Direction::from(view.role);
    let of = match view.measure {
        Side::Inside => "inside",
        Side::Outside => "outside",
    };
    writeln!(text, "\nview {name}, {}", what(view, of))?;
    if is_inside != (view.measure == Side::Inside) {
        let is = if is_inside { "inside" } else { "outside" };
        writeln!(text, "  {host} is {is}: not watched")?;
        return Ok(());
    }
    let told = rules.explain(host);
    let (contacts, hosts): (Vec<&Allow>, Vec<&Allow>) =
        told.allows.into_iter().partition(|allow| allow.is_of_contacts());
    for allow in &hosts {
        writeln!(text, "  no alert: an allow list ignores {host} ({})", allow.why)?;
    }
    let would = if hosts.is_empty() { "" } else { "without that, " };
    match told.rule {
        Some((rule, network)) => {
            writeln!(
                text,
                "  {would}rule {}: {network} is the longest of its networks with {host}",
                rule.name
            )?;
            let peers = match Unit::of(view.peers(), direction) {
                Unit::Hosts => "peers".to_owned(),
                unit => unit.to_string(),
            };
            for (slices, terms) in &rule.windows {
                let window = time(slice * *slices);
                writeln!(
                    text,
                    "    {} {peers} in {window}, in {} of {} slices, start an alert; {:.0} or less for {} end it",
                    terms.threshold,
                    terms.for_slices,
                    terms.of_slices,
                    terms.threshold * terms.down,
                    time(Duration::from_millis(terms.hold_ms))
                )?;
            }
        }
        None => writeln!(text, "  no alert: no rule applies to {host}")?,
    }
    for (rule, network) in told.others {
        writeln!(text, "  not rule {}: its network {network} is shorter", rule.name)?;
    }
    for allow in contacts {
        let what = if let AllowTarget::Ports(_, ports) = &allow.what {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            let whose = if direction == Direction::FanOut { "of others " } else { "" };
            format!("contacts {whose}to ports {} of the host do not count", ports.join(", "))
        } else {
            "contacts of others with the host do not count".to_owned()
        };
        writeln!(text, "  allowed ({}): {what}", allow.why)?;
    }
    Ok(())
}

/// Describes the hosts of `view`, which are inside or outside by `of`, and what is counted of them.
fn what(view: &ViewOptions, of: &str) -> String {
    let hosts = match (view.host, view.role) {
        (HostKey::Address, _) => format!("hosts {of}"),
        (HostKey::AddressPort, Role::Source) => {
            format!("hosts {of} with each port that they contact,")
        }
        (HostKey::AddressPort, _) => format!("hosts {of} with each of their ports"),
    };
    let counted = match (view.peer, view.role) {
        (PeerKey::Address, Role::Destination) => "by whom they receive from",
        (PeerKey::Address, Role::Source) => "by whom they send to",
        (PeerKey::Address, Role::Any) => "by whom they are in contact with",
        (PeerKey::Port, Role::Destination) => "by the ports that they are contacted on",
        (PeerKey::Port, Role::Source) => "by the ports that they contact",
        (PeerKey::Port, Role::Any) => "by the ports of their contacts",
        (PeerKey::AddressPort, Role::Destination) => {
            "by the addresses that contact them, each with the port"
        }
        (PeerKey::AddressPort, Role::Source) => "by the addresses and ports that they contact",
        (PeerKey::AddressPort, Role::Any) => "by the addresses and ports of their contacts",
    };
    format!("{hosts} {counted}")
}

fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}
