//! The thread that reads a topic: its schema, its partitions, and their messages.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinSet, LocalSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::contact::Contact;
use crate::error::InputError;
use crate::input::LogLine;
use crate::kafka::cluster::{Cluster, ClusterError};
use crate::kafka::message::FlowReader;
use crate::kafka::news::News;
use crate::kafka::origin::Origin;
use crate::kafka::partition::{Fetched, Partition, delay};
use crate::kafka::schema::{Layout, SchemaError, Source};
use crate::live::{Line, now_ns};
use crate::options::{ExportOptions, InputOptions, Topic};
use crate::position::Position;

/// Time between two looks at whether the input is to end.
const TICK: Duration = Duration::from_millis(50);

/// Time between two looks for new partitions and for another schema.
const REFRESH: Duration = Duration::from_secs(30);

/// Bytes of messages that are asked for at once, of all partitions and of one.
const ALL_BYTES: i32 = 64 << 20;
const BYTES: [i32; 2] = [64 << 10, 1 << 20];

/// What the thread is started with.
pub(super) struct Reader {
    topic: Topic,
    source: Source,
    cluster: Cluster,
    decoding: ExportOptions,
    is_earliest: bool,
    start: Option<Position>,
}

/// A topic that is read by one schema.
struct Session {
    /// The name of the topic, which has the hash of the schema.
    name: Rc<str>,
    cluster: Rc<Cluster>,
    layout: Layout,
    flows: FlowReader,
    contacts: Vec<Contact>,
    fetches: JoinSet<(Partition, Result<Fetched, ClusterError>)>,
    /// Messages that are yet to be read, by partition.
    lags: BTreeMap<i32, u64>,
    position: Position,
}

/// What ends a session.
enum End {
    Stop,
    Schema(Layout),
}

impl Reader {
    pub(super) fn new(
        topic: &Topic,
        source: Source,
        cluster: Cluster,
        options: &InputOptions,
        start: Option<Position>,
    ) -> Self {
        let (topic, decoding) = (topic.clone(), options.decoding.clone());
        let is_earliest = options.kafka.kafka_earliest;
        Self { topic, source, cluster, decoding, is_earliest, start }
    }

    /// Reads until the end is asked for.
    pub(super) fn run(self, line: &Line) -> Result<(), InputError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(InputError::Thread)?;
        LocalSet::new().block_on(&runtime, self.read(line));
        // A schema may be on its way, and nobody waits for it.
        runtime.shutdown_background();
        Ok(())
    }

    async fn read(self, line: &Line) {
        let Self { topic, source, cluster, decoding, is_earliest, mut start } = self;
        let mut news = News::new(&topic, line);
        let cluster = Rc::new(cluster);
        let Some(mut layout) = read_schema(&source, &mut news).await else { return };
        loop {
            let name = layout.topic(&topic.name);
            news.say_start(&name, &layout);
            let origin = Origin::of(start.take(), &topic.name, &name, is_earliest);
            if let Some(warning) = origin.warning(&name) {
                line.belt.log(LogLine::warning(warning));
            }
            let mut session = Session {
                name: name.into(),
                cluster: Rc::clone(&cluster),
                flows: FlowReader::new(layout.clone(), &decoding),
                layout,
                contacts: Vec::new(),
                fetches: JoinSet::new(),
                lags: BTreeMap::new(),
                position: Position::default(),
            };
            let end = session.read(&source, &origin, &mut news).await;
            news.show(Some(&session.flows));
            let End::Schema(next) = end else { return };
            line.belt.log(LogLine::info(format!(
                "the schema of {topic} has changed from {} to {}, and all messages of the former have been read",
                session.layout.message(),
                next.message()
            )));
            (start, layout) = (Some(session.position), next);
        }
    }
}

/// Reads the schema, again and again until it can be read; `None` if the end is asked for.
async fn read_schema(source: &Source, news: &mut News<'_>) -> Option<Layout> {
    for failures in 1.. {
        match fetch_schema(source).await {
            Ok(layout) => {
                news.recover(None);
                return Some(layout);
            }
            Err(error) => news.fail(None, error.to_string()),
        }
        let until = Instant::now() + delay(failures);
        while Instant::now() < until {
            if news.line.stop.is_asked() {
                return None;
            }
            if news.is_status_due() {
                news.show(None);
            }
            sleep(TICK).await;
        }
    }
    None
}

async fn fetch_schema(source: &Source) -> Result<Layout, SchemaError> {
    let source = source.clone();
    joined(spawn_blocking(move || source.read()).await)
}

impl Session {
    async fn read(&mut self, source: &Source, origin: &Origin, news: &mut News<'_>) -> End {
        let (mut known, mut bytes) = (BTreeSet::new(), BYTES[1]);
        let mut lookups = JoinSet::new();
        let mut schemas = JoinSet::new();
        let (mut refresh, mut tick) = (interval(REFRESH), interval(TICK));
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut next_schema, mut failed_lookups) = (None, 0);
        loop {
            tokio::select! {
                // A busy topic must not keep others waiting.
                biased;
                _ = tick.tick() => {
                    if news.line.stop.is_asked() {
                        return End::Stop;
                    }
                    if news.is_status_due() {
                        news.status.lag = self.lags.values().sum();
                        news.show(Some(&self.flows));
                    }
                    let is_drained = self.lags.len() == known.len() && self.lags.values().all(|lag| *lag == 0);
                    if let Some(next) = next_schema.take_if(|_| is_drained) {
                        return End::Schema(next);
                    }
                }
                _ = refresh.tick() => {
                    if lookups.is_empty() {
                        lookups.spawn_local(look_up(Rc::clone(&self.cluster), Rc::clone(&self.name), 0));
                    }
                    if source.is_url() && schemas.is_empty() && !known.is_empty() {
                        let source = source.clone();
                        schemas.spawn_local(async move { fetch_schema(&source).await });
                    }
                }
                Some(found) = lookups.join_next() => match joined(found) {
                    Ok(numbers) => {
                        failed_lookups = 0;
                        news.recover(None);
                        let is_first_look = known.is_empty();
                        bytes = bytes_of(numbers.len());
                        for number in numbers.into_iter().filter(|number| known.insert(*number)) {
                            if !is_first_look {
                                news.say_partition(number);
                            }
                            let partition = Partition::new(number, origin.start(number, is_first_look));
                            self.fetch(partition, bytes);
                        }
                    }
                    Err(error) => {
                        failed_lookups += 1;
                        news.fail(None, error.to_string());
                        let (cluster, name) = (Rc::clone(&self.cluster), Rc::clone(&self.name));
                        lookups.spawn_local(look_up(cluster, name, failed_lookups));
                    }
                },
                Some(schema) = schemas.join_next() => {
                    // Without a new one, the schema at hand stays right: a new one has a topic of its own.
                    next_schema = joined(schema).ok().filter(|next| *next != self.layout);
                }
                Some(fetched) = self.fetches.join_next() => {
                    let (mut partition, fetched) = joined(fetched);
                    match fetched {
                        Ok(fetched) => {
                            partition.failures = 0;
                            news.recover(Some(partition.number));
                            if !self.take(partition.number, fetched, news) {
                                return End::Stop;
                            }
                        }
                        Err(error) => {
                            partition.failures = partition.failures.saturating_add(1);
                            news.fail(Some(partition.number), error.to_string());
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

    /// Puts the contacts of messages on the belt; `false` where no process takes them any more.
    fn take(&mut self, number: i32, fetched: Fetched, news: &mut News<'_>) -> bool {
        let Fetched { messages, next, lag, gap } = fetched;
        if let Some(gap) = gap {
            news.say_gap(number, gap);
        }
        let now_ns = now_ns();
        for message in &messages {
            let stored_ns = message.record.timestamp.timestamp_nanos_opt().unwrap_or(0);
            let stored_ns = u64::try_from(stored_ns).unwrap_or(0);
            let value = message.record.value.as_deref().unwrap_or_default();
            self.contacts.extend(self.flows.read(value, stored_ns, now_ns));
        }
        news.status.messages += messages.len() as u64;
        self.lags.insert(number, lag);
        news.status.partitions = self.lags.len();
        self.position.set(&self.name, number, next);
        news.line.belt.put_until(self.contacts.drain(..), &self.name, number, next)
    }
}

/// Looks for the partitions of a topic, after some `failures` not at once.
async fn look_up(
    cluster: Rc<Cluster>,
    name: Rc<str>,
    failures: u32,
) -> Result<Vec<i32>, ClusterError> {
    if failures > 0 {
        sleep(delay(failures)).await;
    }
    cluster.partitions(&name).await
}

/// Returns what a task has returned, or panics as it did.
fn joined<T>(task: Result<T, JoinError>) -> T {
    // Tasks are not cancelled while they are waited for.
    task.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// Returns the bytes that are asked for at once of one of so many partitions.
fn bytes_of(partitions: usize) -> i32 {
    let share = ALL_BYTES / i32::try_from(partitions.max(1)).unwrap_or(i32::MAX);
    share.clamp(BYTES[0], BYTES[1])
}
