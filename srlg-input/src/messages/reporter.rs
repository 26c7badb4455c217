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
    failing_since: Option<Instant>,
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
        Self { shared, status, failures: BTreeMap::new(), failing_since: None, shown: None, minute }
    }

    /// Records that `subject` cannot be read. If several subjects fail at the same time, only the first failure is
    /// logged.
    pub(crate) fn fail(&mut self, subject: Subject, error: String) {
        self.status.retries += 1;
        let error = match subject {
            #[cfg(feature = "kafka")]
            Subject::Partition(number) => format!("partition {number}: {error}"),
            Subject::Schema | Subject::Source => error,
        };
        if self.failures.is_empty() {
            self.failing_since = Some(Instant::now());
            let source = &self.status.source;
            self.warn(format!("cannot read {source}: {error}; retrying until it succeeds"));
        }
        self.failures.insert(subject, error);
        self.set_error();
    }

    /// Records that `subject` can be read, and logs the recovery if no failures remain.
    pub(crate) fn recover(&mut self, subject: Subject) {
        if self.failures.remove(&subject).is_none() {
            return;
        }
        self.set_error();
        if self.failures.is_empty()
            && let Some(since) = self.failing_since.take()
        {
            let seconds = since.elapsed().as_secs();
            self.info(format!(
                "{} can be read again after an outage of {seconds} s",
                self.status.source
            ));
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

    /// Publishes the status, including the counters of `flows`.
    pub(crate) fn publish(&mut self, flows: Option<&FlowReader>) {
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
}
