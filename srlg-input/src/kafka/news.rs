//! The status of a topic, and the lines of the log about it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::input::{KafkaStatus, LogLine, Status};
use crate::kafka::message::FlowReader;
use crate::kafka::partition::Gap;
use crate::kafka::schema::Layout;
use crate::live::Line;
use crate::options::Topic;

/// Time between two updates of the status.
const STATUS: Duration = Duration::from_secs(1);

/// The status of a topic, and its failures.
pub(super) struct News<'a> {
    pub(super) line: &'a Line,
    pub(super) status: KafkaStatus,
    /// By partition; those of the topic or its schema have none.
    failures: BTreeMap<Option<i32>, String>,
    failing_since: Option<Instant>,
    shown: Option<Instant>,
}

impl<'a> News<'a> {
    pub(super) fn new(topic: &Topic, line: &'a Line) -> Self {
        let status = KafkaStatus { topic: topic.to_string(), ..KafkaStatus::default() };
        Self { line, status, failures: BTreeMap::new(), failing_since: None, shown: None }
    }

    pub(super) fn say_start(&self, name: &str, layout: &Layout) {
        self.info(format!(
            "reads flows of the topic {name} at {}, messages {}",
            self.status.topic,
            layout.message()
        ));
    }

    pub(super) fn say_partition(&self, number: i32) {
        self.info(format!("{} has a new partition, {number}", self.status.topic));
    }

    /// Counts and logs a gap in the messages of a partition.
    pub(super) fn say_gap(&mut self, number: i32, gap: Gap) {
        let topic = &self.status.topic;
        self.warn(match gap {
            Gap::Expired(messages) => format!(
                "{messages} messages of the partition {number} of {topic} are lost: Kafka had deleted them before they were read; reading continues with the earliest one"
            ),
            Gap::Renewed => format!(
                "the partition {number} of {topic} ends before the position that was read: the topic was made anew, and is read from its earliest message on"
            ),
        });
        if let Gap::Expired(messages) = gap {
            self.status.expired += messages;
        }
    }

    /// Notes that a partition, or the whole topic, cannot be read. The first of several failures is logged.
    pub(super) fn fail(&mut self, partition: Option<i32>, error: String) {
        self.status.retries += 1;
        let error = match partition {
            Some(number) => format!("partition {number}: {error}"),
            None => error,
        };
        if self.failures.is_empty() {
            self.failing_since = Some(Instant::now());
            let topic = &self.status.topic;
            self.warn(format!("cannot read {topic}: {error}; srlg tries again until it succeeds"));
        }
        self.failures.insert(partition, error);
        self.set_error();
    }

    /// Notes that a partition, or the whole topic, can be read. The end of all failures is logged.
    pub(super) fn recover(&mut self, partition: Option<i32>) {
        if self.failures.remove(&partition).is_none() {
            return;
        }
        self.set_error();
        if self.failures.is_empty()
            && let Some(since) = self.failing_since.take()
        {
            let seconds = since.elapsed().as_secs();
            self.info(format!("{} can be read again, after {seconds} s", self.status.topic));
        }
    }

    fn set_error(&mut self) {
        let first = self.failures.values().next();
        self.status.error = first.map(|first| match self.failures.len() - 1 {
            0 => first.clone(),
            more => format!("{first}, and {more} more failures"),
        });
    }

    pub(super) fn is_status_due(&self) -> bool {
        self.shown.is_none_or(|shown| shown.elapsed() >= STATUS)
    }

    /// Publishes the status, with the counters of `flows`.
    pub(super) fn show(&mut self, flows: Option<&FlowReader>) {
        self.shown = Some(Instant::now());
        let status = Status {
            flows: flows.map(|flows| flows.counts().clone()),
            exporters: flows.map(FlowReader::exporters).unwrap_or_default(),
            kafka: Some(self.status.clone()),
            ..Status::default()
        };
        self.line.set_status(0, status);
    }

    fn info(&self, text: String) {
        self.line.belt.log(LogLine::info(text));
    }

    fn warn(&self, text: String) {
        self.line.belt.log(LogLine::warning(text));
    }
}
