//! `srlg explain`: shows the rules and allow lists that apply to a host.
//!
//! For each view, allow lists that ignore the host come first. They are followed by the rule that applies, by rules
//! with a shorter prefix, and by allow lists of contacts.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use srlg_input::contact::{HostKey, PeerKey, Role, Side, View, ViewOptions};

use crate::config::Config;
use srlg_alerts::Terms;
use srlg_alerts::manager::view::ViewConfig;
use srlg_alerts::notification::{Direction, Unit};
use srlg_alerts::rules::{Allow, AllowTarget, MOST_RAISED};

/// Options of `srlg explain`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Address of the host
    #[arg(value_name = "IP")]
    pub host: IpAddr,

    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Returns a description of the rules and allow lists that apply to the host in `args`.
pub fn explain(args: &Args) -> Result<String> {
    let config = Config::read(&args.config)?;
    ensure!(!config.views.is_empty(), "cannot explain alerts: {}", config.task.mismatch());
    let host = args.host.to_canonical();
    let mut text = String::new();
    match config.names.labels.get(host.into()) {
        Some(label) => writeln!(text, "{host}, label {label}")?,
        None => writeln!(text, "{host}")?,
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
    writeln!(text, "\nview {name}: {}", what(view, of))?;
    if is_inside != (view.measure == Side::Inside) {
        let is = if is_inside { "inside" } else { "outside" };
        writeln!(text, "  {host} is {is}, so this view does not count it")?;
        return Ok(());
    }
    let explanation = rules.explain(host);
    let (contacts, hosts): (Vec<&Allow>, Vec<&Allow>) =
        explanation.allows.into_iter().partition(|allow| allow.is_of_contacts());
    for allow in &hosts {
        writeln!(text, "  no alert: {host} is ignored (allow list: {})", allow.why)?;
    }
    let would = if hosts.is_empty() { "" } else { "otherwise, " };
    match explanation.rule {
        Some((rule, network)) => {
            writeln!(
                text,
                "  {would}rule {}: {network} is its longest prefix that contains {host}",
                rule.name
            )?;
            let peers = match Unit::of(view.peers(), direction) {
                Unit::Hosts => "peers".to_owned(),
                unit => unit.to_string(),
            };
            for (slices, terms) in &rule.windows {
                let window = time(slice * *slices);
                let Terms { threshold, down, for_slices, of_slices, .. } = terms;
                let (usual, end) = match terms.above_usual {
                    Some(times) => (
                        format!(
                            " or, if that is more, at {times} times what is usual, but at most at {}",
                            MOST_RAISED * threshold
                        ),
                        format!("{down} times that"),
                    ),
                    None => (String::new(), format!("{:.0}", threshold * down)),
                };
                let hold = time(Duration::from_millis(terms.hold_ms));
                writeln!(
                    text,
                    "    starts at {threshold} {peers} in {window}{usual}, reached in {for_slices} of {of_slices} slices; ends after {hold} below {end}"
                )?;
            }
        }
        None => writeln!(text, "  no alert: no rule applies to {host}")?,
    }
    for (rule, network) in explanation.others {
        writeln!(
            text,
            "  rule {} does not apply: its network {network} has a shorter prefix",
            rule.name
        )?;
    }
    for allow in contacts {
        let what = if let AllowTarget::Services(_, ports) = &allow.what {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            let ports = ports.join(", ");
            format!("requests to ports {ports} of the host, and the replies, do not count")
        } else {
            "contacts of other hosts with this host do not count".to_owned()
        };
        writeln!(text, "  allow list ({}): {what}", allow.why)?;
    }
    Ok(())
}

/// Describes the hosts of `view` and the quantity by which they are counted. `of` is `inside` or `outside`.
fn what(view: &ViewOptions, of: &str) -> String {
    let hosts = match (view.host, view.role) {
        (HostKey::Address, _) => format!("{of} hosts"),
        (HostKey::AddressPort, Role::Source) => {
            format!("{of} hosts, separately for each contacted port,")
        }
        (HostKey::AddressPort, _) => format!("{of} hosts, separately for each of their ports,"),
    };
    let counted = match (view.peer, view.role) {
        (PeerKey::Address, Role::Destination) => "by the number of hosts that contact them",
        (PeerKey::Address, Role::Source) => "by the number of hosts that they contact",
        (PeerKey::Address, Role::Any) => "by the number of hosts in contact with them",
        (PeerKey::Port, Role::Destination) => "by the number of their ports that are contacted",
        (PeerKey::Port, Role::Source) => "by the number of ports that they contact",
        (PeerKey::Port, Role::Any) => "by the number of destination ports of their contacts",
        (PeerKey::AddressPort, Role::Destination) => {
            "by the number of pairs of a contacting address and a contacted port"
        }
        (PeerKey::AddressPort, Role::Source) => {
            "by the number of pairs of an address and a port that they contact"
        }
        (PeerKey::AddressPort, Role::Any) => {
            "by the number of pairs of a peer's address and a contacted port"
        }
    };
    format!("{hosts} {counted}")
}

fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}
