//! The thread that reads the schema and all partitions of a topic.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, LocalSet};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::clock::now_ns;
use crate::contact::Contact;
use crate::error::InputError;
use crate::kafka::cluster::{Cluster, ClusterError};
use crate::kafka::origin::{self, Origin};
use crate::kafka::partition::{Fetched, Gap, Partition};
use crate::messages::{
    BACKOFF, FlowReader, Format, REFRESH, Source, StatusReporter, Subject, TICK, fetch_schema,
    joined, read_schema,
};
use crate::options::{ExportOptions, InputOptions, Topic};
use crate::position::Position;
use crate::threads::ContactSender;

/// Time without a message after which a replaced topic is considered finished. Some writers may switch to the new topic
/// later than others.
const QUIET: Duration = Duration::from_secs(5);

/// Target for the total size of the messages that are requested from all partitions, in bytes. The limits [`BYTES`] for
/// each partition take precedence.
const ALL_BYTES: i32 = 64 << 20;
const BYTES: [i32; 2] = [64 << 10, 1 << 20];

pub(crate) struct Reader {
    topic: Topic,
    source: Source,
    cluster: Cluster,
    decoding: ExportOptions,
    is_earliest: bool,
    start: Option<Position>,
}

/// A session that reads one topic until another topic replaces it.
struct Session<'a> {
    sender: &'a mut ContactSender,
    /// Actual name of the topic, which may contain a hash of the schema.
    name: Rc<str>,
    /// Name of the topic in the options.
    configured: String,
    cluster: Rc<Cluster>,
    format: Format,
    flows: FlowReader,
    contacts: Vec<Contact>,
    fetches: JoinSet<(Partition, Result<Fetched, ClusterError>)>,
    /// Number of unread messages, by partition.
    lags: BTreeMap<i32, u64>,
    /// Time of the last message, or of the start of the session.
    last_message: Instant,
    /// Schema of the topic that replaces this one, and the time at which the schema was first seen.
    next: Option<(Format, Instant)>,
}

enum End {
    Stop,
    /// A topic with this schema replaces the current topic.
    Schema(Format),
}

impl Reader {
    /// Reads the files that `options` name, but does not connect yet.
    pub(crate) fn new(
        topic: &Topic,
        options: &InputOptions,
        start: Option<&Position>,
    ) -> Result<Self, InputError> {
        Ok(Self {
            topic: topic.clone(),
            source: Source::open(&options.messages)?,
            cluster: Cluster::new(topic, &options.broker)?,
            decoding: options.decoding.clone(),
            is_earliest: options.messages.earliest,
            start: start.cloned(),
        })
    }

    /// Reads until the input is asked to stop, or until an error stops it.
    pub(crate) fn run(self, sender: &mut ContactSender) -> Result<(), InputError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(InputError::Thread)?;
        let read = LocalSet::new().block_on(&runtime, self.read(sender));
        // A request for a schema may be in progress, but its response is no longer needed.
        runtime.shutdown_background();
        read
    }

    async fn read(self, sender: &mut ContactSender) -> Result<(), InputError> {
        let shared = sender.shared.clone();
        let Self { topic, source, cluster, decoding, is_earliest, mut start } = self;
        let mut reporter = StatusReporter::new(topic.to_string(), &shared);
        let cluster = Rc::new(cluster);
        let Some(mut format) = read_schema(&source, &mut reporter).await else { return Ok(()) };
        let mut next = None;
        if let Some(former) = origin::former(start.as_ref(), &topic.name, &format, &reporter) {
            next = Some((mem::replace(&mut format, former), Instant::now()));
        }
        let mut flows = FlowReader::new(format.clone(), &decoding);
        loop {
            let name = format.topic(&topic.name);
            reporter.info(format!("reading flows from the topic {name} at {topic} ({format})"));
            let origin = Origin::of(start.take(), &topic.name, &name, is_earliest);
            if let Some(warning) = origin.warning(&name) {
                reporter.warn(warning);
            }
            flows.set_format(format.clone());
            let mut session = Session {
                sender: &mut *sender,
                name: name.into(),
                cluster: Rc::clone(&cluster),
                configured: topic.name.clone(),
                flows,
                format,
                contacts: Vec::new(),
                fetches: JoinSet::new(),
                lags: BTreeMap::new(),
                last_message: Instant::now(),
                next: next.take(),
            };
            let end = session.read(&source, &origin, &mut reporter).await;
            reporter.publish(Some(&session.flows));
            let End::Schema(next) = end? else { return Ok(()) };
            reporter.leave_topic();
            let Session { name, format: former, flows: reader, .. } = session;
            reporter.info(format!(
                "the schema of {topic} changed from {former} to {next}; the topic {name} is no longer read"
            ));
            start = Some(Position { topic: name.to_string(), ..Position::default() });
            (format, flows) = (next, reader);
        }
    }
}

impl Session<'_> {
    async fn read(
        &mut self,
        source: &Source,
        origin: &Origin,
        reporter: &mut StatusReporter<'_>,
    ) -> Result<End, InputError> {
        let (mut known, mut bytes) = (BTreeSet::new(), BYTES[1]);
        let mut lookups = JoinSet::new();
        let mut schemas = JoinSet::new();
        let (mut refresh, mut tick) = (interval(REFRESH), interval(TICK));
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let [mut lookup_backoff, mut schema_backoff] = [BACKOFF; 2];
        loop {
            tokio::select! {
                // The branches are polled in this order, so that a busy topic does not delay the first ones.
                biased;
                _ = tick.tick() => {
                    if reporter.shared.stop.is_asked() {
                        return Ok(End::Stop);
                    }
                    if reporter.is_status_due() {
                        reporter.status.lag = self.lags.values().sum();
                        reporter.publish(Some(&self.flows));
                    }
                    if let Some(next) = self.replacement(known.len()) {
                        return Ok(End::Schema(next));
                    }
                }
                _ = refresh.tick() => {
                    if lookups.is_empty() {
                        lookups.spawn_local(look_up(Rc::clone(&self.cluster), Rc::clone(&self.name), Duration::ZERO));
                    }
                    if source.is_url() && schemas.is_empty() && !known.is_empty() {
                        schemas.spawn_local(fetch_schema(source.clone(), Duration::ZERO));
                    }
                }
                Some(found) = lookups.join_next() => match joined(found) {
                    Ok(numbers) => {
                        lookup_backoff.reset();
                        reporter.recover(Subject::Source);
                        let is_first_lookup = known.is_empty();
                        bytes = bytes_of(numbers.len());
                        for number in numbers.into_iter().filter(|number| known.insert(*number)) {
                            if !is_first_lookup {
                                reporter.info(format!("{} has the new partition {number}", reporter.status.source));
                            }
                            let partition = Partition::new(number, origin.start(number, is_first_lookup));
                            self.fetch(partition, bytes);
                        }
                    }
                    Err(ClusterError::NoTopic(name)) if self.next.is_some() => {
                        reporter.warn(format!("the topic {name} was deleted before all its messages were read"));
                        if let Some((next, _)) = self.next.take() {
                            return Ok(End::Schema(next));
                        }
                    }
                    Err(error) => {
                        reporter.fail(Subject::Source, error.to_string());
                        let (cluster, name) = (Rc::clone(&self.cluster), Rc::clone(&self.name));
                        lookups.spawn_local(look_up(cluster, name, lookup_backoff.delay()));
                    }
                },
                Some(schema) = schemas.join_next() => match joined(schema) {
                    Ok(schema) => {
                        schema_backoff.reset();
                        reporter.recover(Subject::Schema);
                        self.record_schema(schema, reporter);
                    }
                    // The current schema stays valid for its topic, but a replacement topic cannot be detected.
                    Err(error) => {
                        reporter.fail(Subject::Schema, error.to_string());
                        schemas.spawn_local(fetch_schema(source.clone(), schema_backoff.delay()));
                    }
                },
                Some(fetched) = self.fetches.join_next() => {
                    let (mut partition, fetched) = joined(fetched);
                    match fetched {
                        Ok(fetched) => {
                            partition.succeed();
                            reporter.recover(Subject::Partition(partition.number));
                            if !self.deliver(partition.number, fetched, reporter)? {
                                return Ok(End::Stop);
                            }
                        }
                        Err(error) => {
                            partition.fail();
                            reporter.fail(Subject::Partition(partition.number), error.to_string());
                        }
                    }
                    self.fetch(partition, bytes);
                }
            }
        }
    }

    fn fetch(&mut self, mut partition: Partition, bytes: i32) {
        let (cluster, name) = (Rc::clone(&self.cluster), Rc::clone(&self.name));
        self.fetches.spawn_local(async move {
            let fetched = partition.fetch(&cluster, &name, bytes).await;
            (partition, fetched)
        });
    }

    /// Delivers the contacts of the fetched messages. Returns `false` if the input was dropped.
    fn deliver(
        &mut self,
        number: i32,
        fetched: Fetched,
        reporter: &mut StatusReporter<'_>,
    ) -> Result<bool, InputError> {
        let Fetched { messages, next, lag, gap } = fetched;
        if let Some(gap) = gap {
            reporter.warn(gap.warning(number, &reporter.status.source));
            if let Gap::Expired(messages) = gap {
                reporter.status.expired += messages;
            }
        }
        self.contacts.clear();
        let now_ns = now_ns();
        for message in &messages {
            let stored_ns = message.record.timestamp.timestamp_nanos_opt().unwrap_or(0);
            let stored_ns = u64::try_from(stored_ns).unwrap_or(0);
            let value = message.record.value.as_deref().unwrap_or_default();
            self.flows.read(value, stored_ns, now_ns, |contact| self.contacts.push(contact));
        }
        reporter.status.messages += messages.len() as u64;
        if !messages.is_empty() {
            self.last_message = Instant::now();
        }
        match lag {
            Some(lag) => self.lags.insert(number, lag),
            None => self.lags.remove(&number),
        };
        reporter.status.partitions = self.lags.len();
        let is_named_after_schema = self.configured != *self.name;
        let position = Position {
            topic: self.name.to_string(),
            offsets: [(number, next)].into(),
            schema: is_named_after_schema.then(|| self.format.schema()).flatten(),
            ..Position::default()
        };
        self.sender.deliver_until(&self.contacts, position)
    }

    /// Records the schema that was fetched last. A schema of the current topic applies immediately. Any other schema
    /// applies after the current topic has been read to its end.
    fn record_schema(&mut self, schema: Format, reporter: &StatusReporter<'_>) {
        if schema.topic(&self.configured) == *self.name {
            self.next = None;
            if schema != self.format {
                reporter.info(format!("the schema of the topic {} changed", self.name));
                self.flows.set_format(schema.clone());
                self.format = schema;
            }
        } else if self.next.as_ref().is_none_or(|(next, _)| *next != schema) {
            self.next = Some((schema, Instant::now()));
        }
    }

    /// Returns the schema of the replacement topic, once all messages of the current topic have been read and no
    /// message has arrived for [`QUIET`]. `partitions` is the number of partitions of the current topic.
    fn replacement(&mut self, partitions: usize) -> Option<Format> {
        let is_read = partitions > 0
            && self.lags.len() == partitions
            && self.lags.values().all(|lag| *lag == 0);
        let is_quiet = self.last_message.elapsed() >= QUIET;
        let next = self.next.take_if(|(_, seen)| is_read && is_quiet && seen.elapsed() >= QUIET);
        next.map(|(next, _)| next)
    }
}

/// Looks up the partitions of a topic after `delay`.
async fn look_up(
    cluster: Rc<Cluster>,
    name: Rc<str>,
    delay: Duration,
) -> Result<Vec<i32>, ClusterError> {
    sleep(delay).await;
    cluster.partitions(&name).await
}

/// Returns the number of bytes to request from each of `partitions` partitions.
fn bytes_of(partitions: usize) -> i32 {
    let share = ALL_BYTES / i32::try_from(partitions.max(1)).unwrap_or(i32::MAX);
    share.clamp(BYTES[0], BYTES[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Layout;
    use crate::options::BrokerOptions;
    use crate::threads::{ContactSenders, SharedState};

    fn format(message: &str, source: i32) -> Format {
        let fields = format!("bytes SrcAddr = {source}; bytes DstAddr = 9;");
        let schema = format!("syntax = \"proto3\"; message {message} {{ {fields} }}");
        Format::Protobuf(Layout::parse(&schema).unwrap())
    }

    #[test]
    fn a_schema_of_the_same_topic_is_taken_at_once_and_one_of_another_when_all_is_read() {
        let topic = Topic { brokers: vec!["broker:9092".to_owned()], name: "flows".to_owned() };
        let (shared, first) = (SharedState::default(), format("FlowMessagevA", 1));
        let mut senders = ContactSenders { shared: shared.clone(), sinks: None };
        let mut session = Session {
            sender: &mut senders.sender().unwrap(),
            name: "flows-A".into(),
            configured: topic.name.clone(),
            cluster: Rc::new(Cluster::new(&topic, &BrokerOptions::default()).unwrap()),
            format: first.clone(),
            flows: FlowReader::new(first.clone(), &ExportOptions::default()),
            contacts: Vec::new(),
            fetches: JoinSet::new(),
            lags: [(0, 0), (1, 3)].into(),
            last_message: Instant::now(),
            next: None,
        };
        let reporter = StatusReporter::new(topic.to_string(), &shared);
        session.record_schema(format("FlowMessagevA", 2), &reporter);
        assert_eq!((&session.format, &session.next), (&format("FlowMessagevA", 2), &None));
        let next = format("FlowMessagevB", 1);
        session.record_schema(next.clone(), &reporter);
        assert_eq!(session.format, format("FlowMessagevA", 2));
        let earlier = Instant::now().checked_sub(QUIET).unwrap();
        session.next = Some((next.clone(), earlier));
        // If the same schema is fetched again, the time is kept.
        session.record_schema(next.clone(), &reporter);
        assert_eq!(session.next, Some((next.clone(), earlier)));
        session.last_message = earlier;
        assert_eq!(session.replacement(2), None, "messages are yet to be read");
        session.lags.insert(1, 0);
        assert_eq!(session.replacement(3), None, "a partition has not been fetched yet");
        session.last_message = Instant::now();
        assert_eq!(session.replacement(2), None, "messages still come");
        session.last_message = earlier;
        assert_eq!(session.replacement(2), Some(next));
        assert_eq!(session.next, None);
    }
}
