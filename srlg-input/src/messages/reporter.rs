//! Reports of the status of a topic, stream or subject, and its log lines.

use std::collections::BTreeMap;
use std::mem;
use std::time::{Duration, Instant};

use crate::event::LogLine;
use crate::flow::{FlowCounts, Reason};
use crate::messages::decoder::FlowReader;
use crate::status::{BrokerStatus, Status};
use crate::threads::SharedState;

/// Minimum interval between updates of the status.
const STATUS: Duration = Duration::from_secs(1);

const MINUTE: Duration = Duration::from_secs(60);

/// Reports the status and the failures of a topic, a stream or a subject.
pub(crate) struct StatusReporter<'a> {
    pub(crate) shared: &'a SharedState,
    pub(crate) status: BrokerStatus,
    failures: BTreeMap<Subject, String>,
    outages: OutageLog,
    shown: Option<Instant>,
    minute: Minute,
}

/// A part of a broker input that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Schema,
    /// The partition list of a topic, or a whole stream or subject.
    Source,
    #[cfg(feature = "kafka")]
    Partition(i32),
}

/// The choice of the outages to log. A source that fails again and again has at most one outage per minute logged.
#[derive(Debug, Default)]
struct OutageLog {
    /// Start of the current outage.
    since: Option<Instant>,
    is_logged: bool,
    /// Time at which an outage was logged last.
    last: Option<Instant>,
    /// Number of failures since the last line.
    failures: u64,
}

/// The start of a minute, and the counts at that time.
#[derive(Debug)]
struct Minute {
    started: Instant,
    flows: u64,
    without_hosts: u64,
}

impl<'a> StatusReporter<'a> {
    pub(crate) fn new(source: String, shared: &'a SharedState) -> Self {
        let status = BrokerStatus { source, ..BrokerStatus::default() };
        let minute = Minute::new(Instant::now(), &FlowCounts::default());
        let (failures, outages) = (BTreeMap::new(), OutageLog::default());
        Self { shared, status, failures, outages, shown: None, minute }
    }

    /// Records that `subject` cannot be read. If several subjects fail at the same time, only the first failure is
    /// logged. An outage that starts within a minute after a logged one is logged when the minute is over, if it has
    /// not ended by then.
    pub(crate) fn fail(&mut self, subject: Subject, error: String) {
        self.status.retries += 1;
        let error = match subject {
            #[cfg(feature = "kafka")]
            Subject::Partition(number) => format!("partition {number}: {error}"),
            Subject::Schema | Subject::Source => error,
        };
        self.failures.insert(subject, error);
        self.set_error();
        self.outages.fail(Instant::now());
        self.log_outage();
    }

    fn log_outage(&mut self) {
        let Some(failures) = self.outages.due(Instant::now()) else { return };
        let BrokerStatus { source, error, .. } = &self.status;
        let error = error.as_deref().unwrap_or_default();
        let count = match failures {
            1 => String::new(),
            _ => format!(" ({failures} failures since the last line about it)"),
        };
        self.warn(format!("cannot read {source}: {error}{count}; retrying until it succeeds"));
    }

    /// Records that `subject` can be read. If no failures remain and the outage was logged, logs the recovery. Must be
    /// called only after the server has answered the request that failed: a server that accepts a connection may still
    /// fail.
    pub(crate) fn recover(&mut self, subject: Subject) {
        if self.failures.remove(&subject).is_none() {
            return;
        }
        self.set_error();
        if self.failures.is_empty()
            && let Some(outage) = self.outages.recover(Instant::now())
        {
            let (source, seconds) = (&self.status.source, outage.as_secs());
            self.info(format!("{source} can be read again after an outage of {seconds} s"));
        }
    }

    /// Clears the failures of a topic that is no longer read, but keeps a failure of the schema.
    #[cfg(feature = "kafka")]
    pub(crate) fn leave_topic(&mut self) {
        let subjects: Vec<_> = self.failures.keys().copied().collect();
        let of_topic = subjects.into_iter().filter(|subject| *subject != Subject::Schema);
        of_topic.for_each(|subject| self.recover(subject));
    }

    fn set_error(&mut self) {
        let first = self.failures.values().next();
        self.status.error = first.map(|first| match self.failures.len() - 1 {
            0 => first.clone(),
            more => format!("{first}, and {more} more failures"),
        });
    }

    pub(crate) fn is_status_due(&self) -> bool {
        self.shown.is_none_or(|shown| shown.elapsed() >= STATUS)
    }

    /// Publishes the status, including the counters of `flows`. Logs an outage that could not be logged earlier.
    pub(crate) fn publish(&mut self, flows: Option<&FlowReader>) {
        self.log_outage();
        self.shown = Some(Instant::now());
        if let Some(flows) = flows {
            self.status.without_hosts += self.minute.pass(Instant::now(), flows.counts());
        }
        let status = Status {
            flows: flows.map(|flows| flows.counts().clone()),
            exporters: flows.map(FlowReader::exporters).unwrap_or_default(),
            broker: Some(self.status.clone()),
            ..Status::default()
        };
        self.shared.set_status(0, status);
    }

    pub(crate) fn info(&self, text: String) {
        self.shared.queue.log(LogLine::info(text));
    }

    pub(crate) fn warn(&self, text: String) {
        self.shared.queue.log(LogLine::warning(text));
    }
}

impl OutageLog {
    fn fail(&mut self, now: Instant) {
        self.since.get_or_insert(now);
        self.failures += 1;
    }

    /// If the current outage must be logged at `now`, returns the number of failures since the last line.
    fn due(&mut self, now: Instant) -> Option<u64> {
        let is_recent = self.last.is_some_and(|last| now.duration_since(last) < MINUTE);
        if self.since.is_none() || self.is_logged || is_recent {
            return None;
        }
        (self.is_logged, self.last) = (true, Some(now));
        Some(mem::take(&mut self.failures))
    }

    /// Ends the outage. If it was logged, returns its length.
    fn recover(&mut self, now: Instant) -> Option<Duration> {
        let since = self.since.take()?;
        if !mem::take(&mut self.is_logged) {
            return None;
        }
        self.failures = 0;
        Some(now.duration_since(since))
    }
}

impl Minute {
    fn new(started: Instant, counts: &FlowCounts) -> Self {
        Self { started, flows: counts.records, without_hosts: counts.of(Reason::NoHosts) }
    }

    /// Starts the next minute if the current one is over at `now`. If the finished minute has no flow with two hosts,
    /// returns its number of flows, and otherwise 0. A number above 0 suggests that the schema does not match the
    /// messages.
    fn pass(&mut self, now: Instant, counts: &FlowCounts) -> u64 {
        if now.duration_since(self.started) < MINUTE {
            return 0;
        }
        let before = mem::replace(self, Self::new(now, counts));
        let flows = self.flows - before.flows;
        let without_hosts = self.without_hosts - before.without_hosts;
        if without_hosts == flows { flows } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_a_minute_without_any_hosts_are_counted() {
        let start = Instant::now();
        let mut counts = FlowCounts::default();
        let mut minute = Minute::new(start, &counts);
        let mut pass = |seconds, flows, without_hosts| {
            counts.records += flows;
            (0..without_hosts).for_each(|_| counts.add(Reason::NoHosts));
            minute.pass(start + Duration::from_secs(seconds), &counts)
        };
        assert_eq!([pass(59, 5, 5), pass(60, 2, 2), pass(61, 3, 3)], [0, 7, 0]);
        assert_eq!([pass(120, 9, 8), pass(180, 0, 0), pass(240, 4, 4)], [0, 0, 4]);
    }

    #[test]
    fn a_source_that_fails_again_and_again_is_logged_once_a_minute() {
        let (start, mut outages) = (Instant::now(), OutageLog::default());
        let mut lines = Vec::new();
        // The source fails every second and can be read half a second later.
        for half in 0..300 {
            let now = start + Duration::from_millis(500 * half);
            if half % 2 == 0 {
                outages.fail(now);
                lines.extend(outages.due(now).map(|failures| (half / 2, Ok(failures))));
            } else {
                lines.extend(outages.recover(now).map(|outage| (half / 2, Err(outage))));
            }
        }
        let half_second = Duration::from_millis(500);
        let expected = [(0, 1), (60, 60), (120, 60)]
            .map(|(second, failures)| [(second, Ok(failures)), (second, Err(half_second))]);
        assert_eq!(lines, expected.concat());
    }

    #[test]
    fn an_outage_soon_after_another_is_logged_when_the_minute_is_over() {
        let (start, mut outages) = (Instant::now(), OutageLog::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        outages.fail(at(0));
        assert_eq!(outages.due(at(0)), Some(1));
        assert_eq!(outages.recover(at(10)), Some(Duration::from_secs(10)));
        outages.fail(at(20));
        outages.fail(at(30));
        assert_eq!(
            [outages.due(at(59)), outages.due(at(60)), outages.due(at(61))],
            [None, Some(2), None]
        );
        // Further failures belong to the logged outage.
        outages.fail(at(90));
        assert_eq!(outages.due(at(150)), None);
        assert_eq!(outages.recover(at(200)), Some(Duration::from_secs(180)));
        outages.fail(at(500));
        assert_eq!(outages.due(at(500)), Some(1));
    }

    #[test]
    fn the_lines_of_an_outage_name_the_source_the_error_and_the_number_of_failures() {
        let shared = SharedState::default();
        let mut reporter = StatusReporter::new("nats://broker/flows".to_owned(), &shared);
        let fail = |reporter: &mut StatusReporter<'_>| {
            reporter.fail(Subject::Source, "connection lost".to_owned());
        };
        fail(&mut reporter);
        reporter.recover(Subject::Source);
        fail(&mut reporter);
        reporter.recover(Subject::Source);
        let minute_ago = Instant::now().checked_sub(MINUTE).unwrap();
        reporter.outages.last = Some(minute_ago);
        fail(&mut reporter);
        assert_eq!(
            (reporter.status.retries, reporter.status.error.as_deref()),
            (3, Some("connection lost"))
        );
        let lines = shared.queue.take(Vec::new()).log;
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
