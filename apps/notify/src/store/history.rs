//! Incidents: alerts from start to end, which can be searched by their properties.
//!
//! Invariant: the row of an incident matches its last notification in the database. If that notification contains no
//! ports, as is usual for an end, the row keeps the ports of an earlier notification.

use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow};
use ipnet::IpNet;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use serde::de::value::{Error as NameError, StrDeserializer};
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use srlg_input::contact::{Port, parse_network};

use super::{NumberedNotification, Store};
use srlg_alerts::notification::{Kind, Notification, Unit};
use srlg_alerts::{AlertId, Severity, Status};

/// Maximum number of notifications that are read for one incident.
const MOST_NOTIFICATIONS: i64 = 1_000;

/// An alert from its start to its end, or to the present while it is active.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Incident {
    /// Number of the first notification. Incidents are ordered by this number.
    pub first: i64,
    /// ID of the alert, which stays the same across restarts.
    pub id: AlertId,
    /// Whether the alert has ended.
    pub is_over: bool,
    /// Start of the alert, in milliseconds since the Unix epoch.
    pub start_ms: u64,
    /// End of the alert, in milliseconds since the Unix epoch; absent while it is active.
    pub end_ms: Option<u64>,
    /// Highest severity.
    pub severity: Severity,
    /// Probable cause.
    pub kind: Kind,
    /// Name of the view.
    pub view: String,
    /// Name of the rule.
    pub rule: String,
    /// The host, or the network if the view counts whole networks.
    pub host: String,
    /// Configured label of the network that contains the host.
    pub label: Option<String>,
    /// Type of the peers that the view counts.
    pub unit: Unit,
    /// Length of the main window, in milliseconds.
    pub window_ms: u64,
    /// Threshold of the rule for the main window.
    pub threshold: f64,
    /// Largest number of peers within the main window.
    pub peak: f64,
    /// Port of the host, if it has one, then destination ports, then source ports, each in descending order of contacts.
    pub ports: Vec<String>,
}

/// Conditions that an incident must meet. If all fields are `None`, every incident matches.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
pub struct IncidentFilter {
    /// Only alerts of this host, or of a network that contains it
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<IpAddr>,

    /// Only alerts of hosts in this network, or of a network that overlaps it
    #[arg(long, value_name = "CIDR", value_parser = parse_network)]
    #[serde(deserialize_with = "network")]
    pub network: Option<IpNet>,

    /// Only alerts whose label contains this text
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,

    /// Only alerts of this view
    #[arg(long, value_name = "NAME")]
    pub view: Option<String>,

    /// Only alerts with this destination or source port, such as tcp/443 or 443
    #[arg(long, value_name = "PORT")]
    pub port: Option<PortFilter>,

    /// Only alerts of this kind: flood, reflection, service-flood, scan, port-scan, service-scan, worm, server, resolver, p2p or unknown
    #[arg(long, value_name = "KIND", value_parser = named::<Kind>)]
    pub kind: Option<Kind>,

    /// Only alerts of at least this severity: warning, major or critical
    #[arg(long, value_name = "SEVERITY", value_parser = named::<Severity>)]
    pub severity: Option<Severity>,

    /// Only incidents that were active at this time or later, in milliseconds since the Unix epoch.
    #[arg(skip)]
    pub from: Option<u64>,

    /// Only incidents that started at this time or earlier, in milliseconds since the Unix epoch.
    #[arg(skip)]
    pub to: Option<u64>,

    /// Only incidents that started before the incident with this number.
    #[arg(skip)]
    pub before: Option<i64>,

    /// Maximum number of incidents.
    #[arg(skip)]
    pub limit: Option<usize>,
}

/// A port to filter by: a port of one protocol, or a port number in all protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum PortFilter {
    /// The port with this number in all protocols.
    Number(u16),
    /// The port of one protocol, such as tcp/443.
    Port(Port),
}

impl FromStr for PortFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let port = || text.parse().map(Self::Port).map_err(|_| text);
        let port = text.parse().map(Self::Number).or_else(|_| port());
        port.map_err(|text| format!("{text:?} is not a port; use a form such as tcp/443 or 443"))
    }
}

impl TryFrom<String> for PortFilter {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl PortFilter {
    /// Returns the SQL pattern for port lists that contain this port.
    fn pattern(self) -> String {
        match self {
            Self::Number(number) => format!("%/{number} %"),
            Self::Port(port) => format!("% {port} %"),
        }
    }
}

fn network<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<IpNet>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_network(&text).map(Some).map_err(D::Error::custom)
}

/// Parses a value from its serialised name.
fn named<T: DeserializeOwned>(name: &str) -> Result<T, NameError> {
    let name: StrDeserializer<'_, NameError> = name.into_deserializer();
    T::deserialize(name)
}

fn name(value: impl Serialize) -> Result<String> {
    let name = serde_json::to_value(value)?;
    name.as_str().map(str::to_owned).ok_or_else(|| anyhow!("{name} is not serialised as a string"))
}

/// Returns the first and the last address of `network` as bytes. A leading byte for the address family makes addresses
/// of both families comparable.
fn range(network: IpNet) -> (Value, Value) {
    let bytes = |address: IpAddr| {
        Value::Blob(match address {
            IpAddr::V4(address) => [&[4][..], &address.octets()].concat(),
            IpAddr::V6(address) => [&[6][..], &address.octets()].concat(),
        })
    };
    (bytes(network.network()), bytes(network.broadcast()))
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Inserts or updates the row of the incident to which `notification` belongs.
pub(super) fn follow(
    connection: &Connection,
    number: i64,
    notification: &Notification,
) -> Result<()> {
    let sql = "INSERT INTO alerts (id, first, last, is_end, start_ms, end_ms, severity, kind, view, rule, host, low, high,
            label, unit, window_ms, threshold, peak, ports)
        VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
        ON CONFLICT (id) DO UPDATE SET last = ?2, is_end = ?3, end_ms = ?5, severity = ?6, kind = ?7, host = ?10,
            low = ?11, high = ?12, label = ?13, window_ms = ?15, threshold = ?16, peak = ?17,
            ports = CASE ?18 WHEN ' ' THEN ports ELSE ?18 END";
    let is_end = notification.status == Status::End;
    let end_ms = is_end.then(|| whole(notification.until_ms.unwrap_or(notification.now_ms)));
    let (low, high) = notification.host.network().map(range).unzip();
    let own = notification.port.iter().map(Port::to_string);
    let top = notification.top_ports.iter().chain(&notification.top_source_ports);
    let ports = own.chain(top.map(|(port, _)| port.clone()));
    let ports = ports.fold(" ".to_owned(), |all, port| {
        if all.contains(&format!(" {port} ")) { all } else { format!("{all}{port} ") }
    });
    connection.prepare_cached(sql)?.execute(params![
        notification.id.to_string(),
        number,
        is_end,
        whole(notification.start_ms),
        end_ms,
        notification.severity as i64,
        name(notification.kind)?,
        notification.view,
        notification.rule,
        notification.host.to_string(),
        low,
        high,
        notification.label,
        name(notification.unit)?,
        whole(notification.main.window_ms),
        notification.main.threshold,
        notification.main.peak,
        ports,
    ])?;
    Ok(())
}

/// Columns of an [`Incident`], in the order of its fields.
const COLUMNS: &str = "first, id, is_end, start_ms, end_ms, severity, kind, view, rule, host, label, unit, window_ms, \
    threshold, peak, ports";

fn read(row: &Row<'_>) -> Result<Incident> {
    let text = |at| row.get::<_, String>(at);
    let number = |at| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.max(0) as u64);
    let severity = Severity::ALL.get(number(5)? as usize);
    Ok(Incident {
        first: row.get(0)?,
        id: text(1)?.parse().map_err(|error: &str| anyhow!(error))?,
        is_over: row.get(2)?,
        start_ms: number(3)?,
        end_ms: row.get::<_, Option<i64>>(4)?.map(|end_ms| end_ms.max(0) as u64),
        severity: *severity.context("cannot read an alert: its severity is invalid")?,
        kind: named(&text(6)?)?,
        view: text(7)?,
        rule: text(8)?,
        host: text(9)?,
        label: row.get(10)?,
        unit: named(&text(11)?)?,
        window_ms: number(12)?,
        threshold: row.get(13)?,
        peak: row.get(14)?,
        ports: text(15)?.split_whitespace().map(str::to_owned).collect(),
    })
}

impl IncidentFilter {
    /// Returns the SQL condition that follows WHERE, and the values of its parameters.
    fn sql(&self) -> (String, Vec<Value>) {
        let (mut sql, mut values) = ("true".to_owned(), Vec::new());
        let mut add = |condition: &str, value: Value| {
            sql.push_str(" AND ");
            sql.push_str(condition);
            values.push(value);
        };
        let host = self.host.map(|host| IpNet::from(host.to_canonical()));
        for network in host.into_iter().chain(self.network) {
            let (low, high) = range(network);
            add("low <= ?", high);
            add("high >= ?", low);
        }
        if let Some(label) = &self.label {
            // SQLite's `lower` also changes only ASCII letters.
            add("instr(lower(label), ?) > 0", label.to_ascii_lowercase().into());
        }
        if let Some(view) = &self.view {
            add("view = ?", view.clone().into());
        }
        if let Some(port) = self.port {
            add("ports LIKE ?", port.pattern().into());
        }
        if let Some(kind) = self.kind {
            add("kind = ?", kind.to_string().into());
        }
        if let Some(severity) = self.severity {
            add("severity >= ?", (severity as i64).into());
        }
        if let Some(from) = self.from {
            add("(end_ms IS NULL OR end_ms >= ?)", whole(from).into());
        }
        if let Some(to) = self.to {
            add("start_ms <= ?", whole(to).into());
        }
        if let Some(before) = self.before {
            add("first < ?", before.into());
        }
        (sql, values)
    }

    fn limit(&self) -> i64 {
        self.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1))
    }
}

impl Store {
    /// Returns the incidents that match `filter`, the newest first.
    pub fn incidents(&self, filter: &IncidentFilter) -> Result<Vec<Incident>> {
        let (conditions, values) = filter.sql();
        let limit = filter.limit();
        let sql = format!(
            "SELECT {COLUMNS} FROM alerts WHERE {conditions} ORDER BY first DESC LIMIT {limit}"
        );
        self.with(|connection| {
            let mut query = connection.prepare_cached(&sql)?;
            let mut rows = query.query(params_from_iter(values))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(read(row)?);
            }
            Ok(found)
        })
    }

    /// Returns the last notification of each incident that matches `filter`, the newest incident first.
    pub fn last_notifications(&self, filter: &IncidentFilter) -> Result<Vec<NumberedNotification>> {
        let (conditions, values) = filter.sql();
        let limit = filter.limit();
        let sql = format!(
            "SELECT number, json FROM alerts JOIN notifications ON number = last WHERE {conditions}
            ORDER BY first DESC LIMIT {limit}"
        );
        self.notifications(&sql, params_from_iter(values))
    }

    /// Returns up to 1,000 notifications of the alert `id`, in ascending order. If the alert has more, the newest are
    /// returned.
    pub fn notifications_of(&self, id: AlertId) -> Result<Vec<NumberedNotification>> {
        let sql =
            "SELECT number, json FROM notifications WHERE id = ? ORDER BY number DESC LIMIT ?";
        let mut notifications =
            self.notifications(sql, params![id.to_string(), MOST_NOTIFICATIONS])?;
        notifications.reverse();
        Ok(notifications)
    }
}

#[cfg(test)]
mod tests;
