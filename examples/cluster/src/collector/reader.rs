//! [`Reader`]: messages of the stream, in order and without a gap, for ever.
//!
//! Shape: an ordered pull consumer, whose messages go into a queue as [`Event`]s, with ticks between them. Where
//! anything is wrong with it, another one takes its place. Invariant: before each of them it looks whether the stream
//! still is what was read from. If so it reads on after the last message; if not, from the beginning. The client
//! itself would replace a consumer without looking: then what comes next is not taken, and this makes one of its own.

use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, ensure};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{self};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use super::stream::{self, Fate, Retention, Witness, nanoseconds};
use crate::connect::Link;
use crate::subjects::STREAM;

/// Time passes in steps of this.
const TICK: Duration = Duration::from_millis(50);

/// The broker may take so long to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// After so long without a message it looks whether the stream is there.
const QUIET: Duration = Duration::from_secs(2);

/// Between two attempts.
const RETRY: Duration = Duration::from_millis(250);

/// What the collector hears.
#[derive(Debug)]
pub(super) enum Event {
    /// The stream is read from here on; so many messages are there already. `anew`: from its
    /// beginning, with other numbers than before.
    Opened {
        created: i64,
        unread: u64,
        anew: bool,
    },
    Message(Message),
    /// Nothing has come of late.
    Tick,
    /// The broker is away.
    Away,
    /// There is no time left: end.
    Stop,
}

/// A message of the stream.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) subject: String,
    pub(super) headers: HeaderMap,
    pub(super) payload: Bytes,
    pub(super) sequence: u64,
    /// When the broker got it, in nanoseconds since 1970.
    pub(super) time: i64,
    /// How many come after it.
    pub(super) unread: u64,
}

/// See the module.
pub(super) struct Reader {
    link: Link,
    context: jetstream::Context,
    retention: Retention,
    /// The last message that was read or need not be.
    position: u64,
    /// Messages of the running consumer.
    delivered: u64,
    witness: Option<Witness>,
    events: Sender<Event>,
    losses: watch::Sender<Option<Loss>>,
    /// How long the broker drops repetitions.
    duplicates: Duration,
    trouble: Option<String>,
}

/// Messages are gone from the stream that were not read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// Sent again before then, the broker would take them for repetitions and drop them.
    pub(super) curable: Instant,
}

/// Nobody listens any more.
struct Deaf;

impl Reader {
    /// A reader that begins after `position` of the stream that `witness` is of.
    pub(super) fn new(
        link: Link,
        retention: Retention,
        (position, witness): (u64, Option<Witness>),
        events: Sender<Event>,
    ) -> Self {
        let context = jetstream::ContextBuilder::new().timeout(PATIENCE).build(link.client.clone());
        let (losses, duplicates, trouble) = (watch::Sender::new(None), Duration::ZERO, None);
        let delivered = 0;
        Self {
            link,
            context,
            retention,
            position,
            delivered,
            witness,
            events,
            losses,
            duplicates,
            trouble,
        }
    }

    /// Messages that are lost, whenever that is noticed.
    pub(super) fn losses(&self) -> watch::Receiver<Option<Loss>> {
        self.losses.subscribe()
    }

    /// Reads until nobody listens any more.
    pub(super) async fn run(mut self) {
        while self.connection().await.is_ok() {}
    }

    /// Reads as long as the connection lasts.
    async fn connection(&mut self) -> Result<(), Deaf> {
        // No time passes until it is known how much there is to read.
        self.tell(Event::Away).await?;
        let state = *self.link.state.borrow();
        if !state.up {
            tokio::time::sleep(RETRY).await;
            return Ok(());
        }
        match self.open().await {
            Ok((mut messages, opened)) => {
                if self.trouble.take().is_some() {
                    info!("the stream can be read");
                }
                self.tell(opened).await?;
                self.read(&mut messages, state.connects).await
            }
            Err(error) => {
                let error = format!("{error:#}");
                if self.trouble.as_ref() != Some(&error) {
                    warn!("the stream cannot be read yet: {error}");
                    self.trouble = Some(error);
                }
                tokio::time::sleep(RETRY).await;
                Ok(())
            }
        }
    }

    /// A consumer that goes on where the last one was.
    async fn open(&mut self) -> Result<(Ordered, Event)> {
        let mut stream = stream::open(&self.context, self.retention).await?;
        let created = nanoseconds(stream.info().await?.created);
        self.duplicates = stream.cached_info().config.duplicate_window;
        let anew = self.must_begin_anew(&stream).await?;
        if anew {
            self.position = 0;
            self.lost();
        }
        self.pass_over(stream.cached_info().state.first_sequence.saturating_sub(1));
        let known = self.witness.filter(|_| !anew);
        self.witness = Some(known.unwrap_or(Witness { created, sequence: 0, time: 0 }));
        let start_sequence = self.position + 1;
        let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence };
        let config = OrderedConfig { deliver_policy, ..OrderedConfig::default() };
        let consumer = stream.create_consumer(config).await.context("no consumer")?;
        self.delivered = 0;
        let unread = consumer.cached_info().num_pending;
        let messages = consumer.messages().await.context("no messages")?;
        Ok((messages, Event::Opened { created, unread, anew }))
    }

    async fn must_begin_anew(&self, stream: &Stream) -> Result<bool> {
        let Some(witness) = self.witness else { return Ok(false) };
        let fate = witness.check(stream).await?;
        match fate {
            Fate::Same => return Ok(false),
            Fate::Recreated => warn!("the stream was made anew: it is read from its beginning"),
            Fate::Truncated => warn!("the stream has lost messages: it is read from its beginning"),
        }
        Ok(true)
    }

    async fn read(&mut self, messages: &mut Ordered, connects: u64) -> Result<(), Deaf> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut quiet_since = Instant::now();
        loop {
            tokio::select! {
                biased;
                message = messages.next() => {
                    let Some(message) = message else { return Ok(()) };
                    match message.map_err(Error::from).and_then(|message| self.take(message)) {
                        Ok(Some(message)) => self.tell(Event::Message(message)).await?,
                        Ok(None) => {}
                        Err(error) => {
                            warn!("the stream is opened again after message {}: {error}", self.position);
                            tokio::time::sleep(RETRY).await;
                            return Ok(());
                        }
                    }
                    quiet_since = Instant::now();
                }
                _ = ticks.tick() => if !self.tick(connects, &mut quiet_since).await? {
                    return Ok(());
                },
            }
        }
    }

    /// Whether to read on.
    async fn tick(&self, connects: u64, quiet_since: &mut Instant) -> Result<bool, Deaf> {
        let state = *self.link.state.borrow();
        if state.connects != connects {
            return Ok(false);
        }
        if state.up && quiet_since.elapsed() > QUIET {
            *quiet_since = Instant::now();
            if !self.is_there().await {
                return Ok(false);
            }
        }
        self.tell(if state.up { Event::Tick } else { Event::Away }).await?;
        Ok(true)
    }

    /// Whether the stream is the one that was opened: nobody says when it is removed.
    async fn is_there(&self) -> bool {
        let stream = self.context.get_stream(STREAM).await;
        let created = stream.map(|stream| nanoseconds(stream.cached_info().created));
        created.ok() == self.witness.map(|witness| witness.created)
    }

    /// A message that was not read before.
    fn take(&mut self, message: jetstream::Message) -> Result<Option<Message>> {
        let info = message.info().map_err(|error| anyhow!(error))?;
        let (sequence, time) = (info.stream_sequence, nanoseconds(info.published));
        let unread = info.pending;
        self.delivered += 1;
        let (delivered, expected) = (info.consumer_sequence, self.delivered);
        ensure!(delivered == expected, "message {delivered} came, and {expected} is due");
        if sequence <= self.position {
            return Ok(None);
        }
        self.pass_over(sequence - 1);
        self.position = sequence;
        if let Some(witness) = &mut self.witness {
            (witness.sequence, witness.time) = (sequence, time);
        }
        let jetstream::Message { message, .. } = message;
        let headers = message.headers.unwrap_or_default();
        let (subject, payload) = (message.subject.to_string(), message.payload);
        Ok(Some(Message { subject, headers, payload, sequence, time, unread }))
    }

    /// What the stream no longer has, up to `last`.
    fn pass_over(&mut self, last: u64) {
        if last > self.position {
            let gone = self.position + 1;
            warn!("messages {gone} to {last} are gone from the stream before they were read");
            self.lost();
            self.position = last;
        }
    }

    fn lost(&self) {
        self.losses.send_replace(Some(Loss { curable: Instant::now() + self.duplicates }));
    }

    async fn tell(&self, event: Event) -> Result<(), Deaf> {
        self.events.send(event).await.map_err(|_| Deaf)
    }
}
