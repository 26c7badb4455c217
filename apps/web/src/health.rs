//! The health of the program, as the web page, the API and `/healthz` report it.
//!
//! The program is healthy if all sources send data, all input is counted, the state is stored, and all notifications
//! are sent.

use std::fmt;

use serde::Serialize;

use srlg_alerts::status::overview::{
    ExporterOverview, Overview, SinkOverview, SiteOverview, SpoolOverview,
};
use srlg_alerts::witnesses::named;
use srlg_system::now_ms;

/// A level of health, shown as the colour of the dot on the web page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Green: no problem is known.
    Good,
    /// Amber: the first flows are awaited, a source is silent or unreadable, input is unused or late, the state cannot
    /// be stored, a sink fails, or notifications are suppressed.
    Warn,
    /// Red: no data arrives, or no slice closes, so alerts are paused: they neither start nor end.
    Bad,
}

/// The health of the program, derived from its overview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Overall level.
    pub level: Level,
    /// State of the program or, if there are problems, the first problem and the number of other problems.
    pub text: String,
    /// Whether slices of a live input have stopped closing, so that a restart may help.
    #[serde(skip)]
    pub is_stalled: bool,
}

/// Maximum time between two closes of a live input, in milliseconds, unless slices are long.
const LONGEST_MS: u64 = 10_000;

impl Health {
    /// Returns the health according to `overview` at `now_ms`, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn of(overview: &Overview, now_ms: u64) -> Self {
        let problems = overview.problems.iter().map(|problem| problem.text.clone());
        let mut problems: Vec<String> = problems.collect();
        let waiting = overview.waiting_notifications;
        if waiting > 0 || overview.is_checkpoint_failing {
            problems.push(match waiting {
                0 => "cannot write a checkpoint".to_owned(),
                _ => format!("cannot write the state: {waiting} notifications not stored yet"),
            });
        }
        if let Some(error) = overview.broker.as_ref().and_then(|broker| broker.error.as_ref()) {
            problems.push(format!("cannot read from the broker: {error}"));
        }
        let exporters = overview.exporters.iter().filter(|exporter| exporter.is_silent);
        if let Some(names) = named(exporters.map(ExporterOverview::named)) {
            problems.push(format!("no flow records from exporters {names}"));
        }
        if let Some(network) = &overview.network {
            if !network.is_reading {
                problems.push("cannot read from the broker of the network".to_owned());
            }
            let are = |is: fn(&&SiteOverview) -> bool| {
                named(network.sites.iter().filter(is).map(|site| &site.name))
            };
            if let Some(names) = are(|site| site.is_silent) {
                problems.push(format!("no data from sites {names}"));
            }
            if let Some(names) = are(|site| site.is_input_lost && !site.is_silent) {
                problems.push(format!("no traffic at sites {names}"));
            }
            if let Some(names) = are(|site| site.is_losing) {
                problems.push(format!("spool full, slices lost at sites {names}"));
            }
        }
        if let Some(probe) = &overview.probe {
            let SpoolOverview { unsent, lost, .. } = probe.spool;
            let broker = &probe.broker;
            if !probe.is_connected {
                problems.push(format!(
                    "not connected to the broker at {broker}: {unsent} slices not sent yet"
                ));
            } else if probe.version.is_none() {
                problems.push("waiting for the description of the network".to_owned());
            }
            if let Some(error) = &probe.spool_error {
                problems.push(format!("cannot write the spool: {error}"));
            }
            if probe.is_losing {
                problems.push(format!("spool full: {lost} slices lost since the start"));
            }
        }
        let failing = overview.sinks.iter().filter(|sink| sink.error.is_some());
        problems.extend(failing.map(|sink| format!("sink {} is failing", sink.name)));
        let limited = overview.sinks.iter().filter(|sink| sink.held > 0 || sink.suppressed > 0);
        problems.extend(limited.map(|sink| {
            let SinkOverview { name, held, suppressed, .. } = sink;
            format!(
                "sink {name}: rate limit: alerts waiting: {held}, notifications suppressed: {suppressed}"
            )
        }));
        let problem = problems.first().map(|first| match problems.len() - 1 {
            0 => first.clone(),
            more => format!("{first} (other problems: {more})"),
        });
        let lost = match overview.probe {
            Some(_) => "no data: the slices are empty",
            None => "alerts paused: no data",
        };
        let waiting = "waiting for the first flows: exporters send them after their active timeout";
        let (level, text) = match (overview.is_input_lost, problem) {
            (true, problem) if overview.is_waiting => {
                let problem = problem.map(|it| format!("; {it}")).unwrap_or_default();
                (Level::Warn, format!("{waiting}{problem}"))
            }
            (true, problem) => {
                let problem = problem.map(|it| format!("; {it}")).unwrap_or_default();
                (Level::Bad, format!("{lost}{problem}"))
            }
            (false, Some(problem)) => (Level::Warn, problem),
            (false, None) if overview.is_live => (Level::Good, "counting".to_owned()),
            (false, None) => (Level::Good, "replaying".to_owned()),
        };
        let age_ms = now_ms.saturating_sub(overview.closed_ms.max(overview.started_ms));
        let longest_ms = LONGEST_MS.max(10 * overview.slice_ms) + overview.deadline_ms;
        // A probe without a description has no slices yet.
        if overview.is_live && overview.slice_ms > 0 && age_ms > longest_ms {
            let why = if level == Level::Good { String::new() } else { format!("; {text}") };
            let text = format!("no slice has closed for {} s{why}", age_ms / 1_000);
            return Self { level: Level::Bad, text, is_stalled: true };
        }
        Self { level, text, is_stalled: false }
    }
}

/// Formats the response to `/healthz`.
impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            _ if self.is_stalled => f.write_str(&self.text),
            Level::Good => f.write_str("ok"),
            Level::Warn | Level::Bad => write!(f, "degraded: {}", self.text),
        }
    }
}

/// An overview with its health, as the API and the web page receive it.
#[derive(Debug, Serialize)]
pub(crate) struct Status<'a> {
    health: Health,
    #[serde(flatten)]
    overview: &'a Overview,
}

impl<'a> Status<'a> {
    /// Creates the status of `overview`, of which only `shown` is sent.
    pub(crate) fn of(overview: &Overview, shown: &'a Overview) -> Self {
        Self { health: Health::of(overview, now_ms()), overview: shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_alerts::status::overview::NetworkOverview;
    use srlg_alerts::status::problems::{ProblemKind, ProblemOverview};

    fn problem(text: &str) -> ProblemOverview {
        ProblemOverview {
            kind: ProblemKind::Kernel,
            since_ms: 0,
            count: 1,
            exporters: Vec::new(),
            exporter_count: 0,
            text: text.to_owned(),
            remedy: "",
        }
    }

    #[test]
    fn only_what_is_counted_stored_and_sent_is_good() {
        let overview = Overview { is_live: true, ..Overview::default() };
        let sink = |error: Option<&str>| SinkOverview {
            name: "hook".to_owned(),
            failed: 3,
            error: error.map(str::to_owned),
            ..SinkOverview::default()
        };
        let site = |name: &str| SiteOverview {
            name: name.to_owned(),
            is_silent: name < "e",
            is_input_lost: true,
            ..SiteOverview::default()
        };
        let sites = ["a", "b", "c", "d", "e"].map(site).into();
        let network = NetworkOverview { is_reading: true, sites, ..NetworkOverview::default() };
        let lost = SiteOverview { is_losing: true, is_input_lost: false, ..site("z") };
        let losing =
            NetworkOverview { is_reading: true, sites: vec![lost], ..NetworkOverview::default() };
        let blind = NetworkOverview { sites: vec![site("e")], ..network.clone() };
        let kernel = vec![problem("3 datagrams were dropped"), problem("2 are late")];
        for (overview, level, text) in [
            (overview.clone(), Level::Good, "counting".to_owned()),
            (Overview::default(), Level::Good, "replaying".to_owned()),
            (
                Overview { sinks: vec![sink(None)], ..overview.clone() },
                Level::Good,
                "counting".into(),
            ),
            (
                Overview { sinks: vec![sink(Some("refused"))], ..overview.clone() },
                Level::Warn,
                "sink hook is failing".to_owned(),
            ),
            (
                Overview {
                    sinks: vec![SinkOverview { suppressed: 141, held: 7, ..sink(None) }],
                    ..overview.clone()
                },
                Level::Warn,
                "sink hook: rate limit: alerts waiting: 7, notifications suppressed: 141"
                    .to_owned(),
            ),
            (
                Overview { waiting_notifications: 2, ..overview.clone() },
                Level::Warn,
                "cannot write the state: 2 notifications not stored yet".to_owned(),
            ),
            (
                Overview { is_checkpoint_failing: true, ..overview.clone() },
                Level::Warn,
                "cannot write a checkpoint".to_owned(),
            ),
            (
                Overview { network: Some(network), ..overview.clone() },
                Level::Warn,
                "no data from sites a, b, c and 1 more (other problems: 1)".to_owned(),
            ),
            (
                Overview { network: Some(blind), ..overview.clone() },
                Level::Warn,
                "no traffic at sites e".to_owned(),
            ),
            (
                Overview { network: Some(losing), ..overview.clone() },
                Level::Warn,
                "spool full, slices lost at sites z".to_owned(),
            ),
            (
                Overview { network: Some(NetworkOverview::default()), ..overview.clone() },
                Level::Warn,
                "cannot read from the broker of the network".to_owned(),
            ),
            (
                Overview { problems: kernel, waiting_notifications: 1, ..overview.clone() },
                Level::Warn,
                "3 datagrams were dropped (other problems: 2)".to_owned(),
            ),
            (
                Overview { is_input_lost: true, ..overview.clone() },
                Level::Bad,
                "alerts paused: no data".to_owned(),
            ),
            (
                Overview { is_input_lost: true, is_waiting: true, ..overview.clone() },
                Level::Warn,
                "waiting for the first flows: exporters send them after their active timeout"
                    .to_owned(),
            ),
            (
                Overview { is_input_lost: true, sinks: vec![sink(Some("refused"))], ..overview },
                Level::Bad,
                "alerts paused: no data; sink hook is failing".to_owned(),
            ),
        ] {
            assert_eq!(Health::of(&overview, 0), Health { level, text, is_stalled: false });
        }
    }
}
