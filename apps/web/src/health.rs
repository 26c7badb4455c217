//! The health of the program, as the web page, the API and `/healthz` report it.
//!
//! The program is healthy if all sources send data, all input is counted, the state is stored, and all notifications
//! are sent.

use std::fmt;

use serde::Serialize;

use srlg_alerts::status::board::{Board, ExporterBoard, SinkBoard};
use srlg_alerts::witnesses::named;

/// A level of health, shown as the colour of the dot on the web page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Green: no problem is known.
    Good,
    /// Amber: a source is silent or unreadable, input is unused or late, the state cannot be stored, a sink fails, or
    /// notifications are suppressed.
    Warn,
    /// Red: alerts are paused, so they neither start nor end.
    Bad,
}

/// The health of the program, derived from its board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Overall level.
    pub level: Level,
    /// State of the program or, if there are problems, the first problem and the number of other problems.
    pub text: String,
}

impl Health {
    /// Returns the health according to `board`.
    #[must_use]
    pub fn of(board: &Board) -> Self {
        let problems = board.problems.iter().map(|problem| problem.text.clone());
        let mut problems: Vec<String> = problems.collect();
        let waiting = board.waiting_notifications;
        if waiting > 0 || board.is_checkpoint_failing {
            problems.push(match waiting {
                0 => "cannot write a checkpoint".to_owned(),
                _ => format!("cannot write the state: {waiting} notifications not stored yet"),
            });
        }
        if let Some(error) = board.broker.as_ref().and_then(|broker| broker.error.as_ref()) {
            problems.push(format!("cannot read from the broker: {error}"));
        }
        let exporters = board.exporters.iter().filter(|exporter| exporter.is_silent);
        if let Some(names) = named(exporters.map(ExporterBoard::named)) {
            problems.push(format!("no flow records from exporters {names}"));
        }
        let sites = board.network.iter().flat_map(|network| &network.sites);
        if let Some(names) = named(sites.filter(|site| site.is_silent).map(|site| &site.name)) {
            problems.push(format!("no data from sites {names}"));
        }
        let failing = board.sinks.iter().filter(|sink| sink.error.is_some());
        problems.extend(failing.map(|sink| format!("sink {} is failing", sink.name)));
        let suppressing = board.sinks.iter().filter(|sink| sink.suppressed > 0);
        problems.extend(suppressing.map(|sink| {
            let SinkBoard { name, suppressed, .. } = sink;
            format!("sink {name}: {suppressed} notifications suppressed by the rate limit")
        }));
        let problem = problems.first().map(|first| match problems.len() - 1 {
            0 => first.clone(),
            more => format!("{first} (other problems: {more})"),
        });
        let (level, text) = match (board.is_input_lost, problem) {
            (true, problem) => {
                let problem = problem.map(|it| format!("; {it}")).unwrap_or_default();
                (Level::Bad, format!("alerts paused: no data{problem}"))
            }
            (false, Some(problem)) => (Level::Warn, problem),
            (false, None) if board.is_live => (Level::Good, "counting".to_owned()),
            (false, None) => (Level::Good, "replaying".to_owned()),
        };
        Self { level, text }
    }
}

/// Formats the response to `/healthz`, unless slices of a live input have stopped closing.
impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Level::Good => f.write_str("ok"),
            Level::Warn | Level::Bad => write!(f, "degraded: {}", self.text),
        }
    }
}

/// A board with its health, as the API and the web page receive it.
#[derive(Debug, Serialize)]
pub(crate) struct Status<'a> {
    health: Health,
    #[serde(flatten)]
    board: &'a Board,
}

impl<'a> Status<'a> {
    pub(crate) fn of(board: &'a Board) -> Self {
        Self { health: Health::of(board), board }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_alerts::status::board::{NetworkBoard, SiteBoard};
    use srlg_alerts::status::problems::{ProblemBoard, ProblemKind};

    fn problem(text: &str) -> ProblemBoard {
        ProblemBoard {
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
        let board = Board { is_live: true, ..Board::default() };
        let sink = |error: Option<&str>| SinkBoard {
            name: "hook".to_owned(),
            failed: 3,
            error: error.map(str::to_owned),
            ..SinkBoard::default()
        };
        let site = |name: &str| SiteBoard {
            name: name.to_owned(),
            is_silent: name < "e",
            ..SiteBoard::default()
        };
        let sites = ["a", "b", "c", "d", "e"].map(site).into();
        let network = NetworkBoard { sites, ..NetworkBoard::default() };
        let kernel = vec![problem("3 datagrams were dropped"), problem("2 are late")];
        for (board, level, text) in [
            (board.clone(), Level::Good, "counting".to_owned()),
            (Board::default(), Level::Good, "replaying".to_owned()),
            (Board { sinks: vec![sink(None)], ..board.clone() }, Level::Good, "counting".into()),
            (
                Board { sinks: vec![sink(Some("refused"))], ..board.clone() },
                Level::Warn,
                "sink hook is failing".to_owned(),
            ),
            (
                Board { sinks: vec![SinkBoard { suppressed: 141, ..sink(None) }], ..board.clone() },
                Level::Warn,
                "sink hook: 141 notifications suppressed by the rate limit".to_owned(),
            ),
            (
                Board { waiting_notifications: 2, ..board.clone() },
                Level::Warn,
                "cannot write the state: 2 notifications not stored yet".to_owned(),
            ),
            (
                Board { is_checkpoint_failing: true, ..board.clone() },
                Level::Warn,
                "cannot write a checkpoint".to_owned(),
            ),
            (
                Board { network: Some(network), ..board.clone() },
                Level::Warn,
                "no data from sites a, b, c and 1 more".to_owned(),
            ),
            (
                Board { problems: kernel, waiting_notifications: 1, ..board.clone() },
                Level::Warn,
                "3 datagrams were dropped (other problems: 2)".to_owned(),
            ),
            (
                Board { is_input_lost: true, ..board.clone() },
                Level::Bad,
                "alerts paused: no data".to_owned(),
            ),
            (
                Board { is_input_lost: true, sinks: vec![sink(Some("refused"))], ..board },
                Level::Bad,
                "alerts paused: no data; sink hook is failing".to_owned(),
            ),
        ] {
            assert_eq!(Health::of(&board), Health { level, text });
        }
    }
}
