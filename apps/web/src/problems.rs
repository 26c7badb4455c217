//! Problems with the input: data that arrives but is not used, or is used late.
//!
//! The web page, the API, the metrics and the log use the same kinds, counts and texts.
//!
//! Each overview has a count per kind and exporter. If a count increases from one overview to the next, a problem of
//! this kind starts ([`ProblemOverview`]). The problem ends when its counts have not increased for five minutes. A
//! problem with missing templates also ends when no data set waits for a template, and missing inside hosts are no
//! problem once there is one.
//!
//! Invariant: at most 16,384 exporters per kind are remembered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use srlg_alerts::exporters::NamedExporter;
use srlg_alerts::status::overview::{ExporterOverview, Overview};
use srlg_alerts::status::problems::{ProblemCounts, ProblemKind, ProblemOverview};
use srlg_alerts::witnesses::table::EXPORTERS;
use srlg_system::now_ms;

/// Maximum number of exporters that the description of a problem names.
const NAMED: usize = 3;

/// Time after which a problem is over if its counts do not increase.
const QUIET: Duration = Duration::from_secs(300);

/// Delay of the first warning, so that its count includes more than the first datagram.
const SETTLE: Duration = Duration::from_secs(3);

/// Time between two warnings of the same kind.
const AGAIN: Duration = Duration::from_secs(3_600);

/// Active problems, which are derived from successive overviews.
#[derive(Debug, Default)]
pub(crate) struct InputProblems {
    /// Counts of the last overview, by exporter. The counts of `None` belong to no exporter.
    counted: HashMap<Option<IpAddr>, ProblemCounts>,
    active: BTreeMap<ProblemKind, Problem>,
}

#[derive(Debug)]
struct Problem {
    since: Instant,
    since_ms: u64,
    /// Time of the last increase.
    last: Instant,
    warned: Option<Instant>,
    count: u64,
    /// First [`NAMED`] exporters, in order of appearance.
    named: Vec<NamedExporter>,
    exporters: BTreeSet<IpAddr>,
}

impl InputProblems {
    /// Updates the problems with the counts of `overview` at `now`, and returns the problems that are over.
    pub(crate) fn update(&mut self, overview: &Overview, now: Instant) -> Vec<ProblemOverview> {
        let exporters = overview.exporters.iter().map(|exporter| {
            (Some(exporter), exporter.problems, exporter.waiting_since_ms.is_some())
        });
        let all: Vec<_> = exporters.chain([(None, overview.input.problems, false)]).collect();
        for (exporter, counts, is_waiting) in &all {
            let address = exporter.map(|exporter| exporter.address);
            let before = self.counted.get(&address).copied().unwrap_or_default();
            for kind in ProblemKind::ALL {
                let added = counts.added(kind, &before);
                if added > 0 && (*is_waiting || kind != ProblemKind::Held) {
                    let problem = self.active.entry(kind).or_insert_with(|| Problem::new(now));
                    problem.add(*exporter, added, now);
                }
            }
        }
        let is_waiting = all.iter().any(|(_, _, is_waiting)| *is_waiting);
        let counted = all.into_iter();
        let counted = counted.map(|(of, counts, _)| (of.map(|it| it.address), counts));
        self.counted = counted.collect();
        let is_solved = |kind| match kind {
            ProblemKind::Held => !is_waiting,
            ProblemKind::NoInside => overview.input.problems.of(kind) == 0,
            _ => false,
        };
        let is_over = |kind: &ProblemKind, problem: &mut Problem| {
            is_solved(*kind) || now - problem.last >= QUIET
        };
        let over = self.active.extract_if(.., is_over);
        over.map(|(kind, problem)| problem.describe(kind)).collect()
    }

    /// Returns the active problems, ordered by kind.
    pub(crate) fn active(&self) -> Vec<ProblemOverview> {
        self.active.iter().map(|(kind, problem)| problem.describe(*kind)).collect()
    }

    /// Returns the problems for which a warning is due at `now`.
    pub(crate) fn warnings(&mut self, now: Instant) -> Vec<ProblemOverview> {
        let due = self.active.iter_mut().filter(|(_, problem)| match problem.warned {
            None => now - problem.since >= SETTLE,
            Some(warned) => now - warned >= AGAIN,
        });
        let warned = due.map(|(kind, problem)| {
            problem.warned = Some(now);
            problem.describe(*kind)
        });
        warned.collect()
    }

    /// Updates the problems with the counts of `overview` at `now`, adds them to `overview`, and logs changes.
    pub(crate) fn update_overview(&mut self, overview: &mut Overview, now: Instant) {
        for over in self.update(overview, now) {
            info!("problem is over: {}", over.text);
        }
        for ProblemOverview { text, remedy, .. } in self.warnings(now) {
            warn!("{text}; {remedy}");
        }
        overview.problems = self.active();
    }
}

impl Problem {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            since_ms: now_ms(),
            last: now,
            warned: None,
            count: 0,
            named: Vec::new(),
            exporters: BTreeSet::new(),
        }
    }

    fn add(&mut self, exporter: Option<&ExporterOverview>, added: u64, now: Instant) {
        self.count += added;
        self.last = now;
        let Some(exporter) = exporter else { return };
        if self.exporters.len() < EXPORTERS
            && self.exporters.insert(exporter.address)
            && self.named.len() < NAMED
        {
            self.named.push(exporter.named());
        }
    }

    fn describe(&self, kind: ProblemKind) -> ProblemOverview {
        let Self { since_ms, count, named, exporters, .. } = self;
        let (what, wrong) = kind.words();
        let names: Vec<String> = named.iter().map(ToString::to_string).collect();
        let who = match exporters.len() {
            0 => String::new(),
            all if all <= NAMED => format!(" from {}", names.join(", ")),
            all => format!(" from {} and {} more", names.join(", "), all - NAMED),
        };
        ProblemOverview {
            kind,
            since_ms: *since_ms,
            count: *count,
            exporters: named.iter().map(|exporter| exporter.address).collect(),
            exporter_count: exporters.len(),
            text: format!("{count} {what}{who} {wrong}"),
            remedy: kind.remedy(!exporters.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests;
