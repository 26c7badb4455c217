//! Reader of the stream: delivers all messages that the stream still has, in order, until the engine stops.
//!
//! The reader puts the messages of an ordered pull consumer into a queue as [`Event`]s, and adds ticks while no message
//! is ready. After an error, it creates a new consumer. Invariant: before a consumer is created, [`Place`] checks
//! whether the stream is still the same. If the stream is the same, reading continues after the last message that was
//! read. Otherwise, reading starts at the beginning of the stream. The NATS client may replace a consumer without this
//! check. In this case, the reader ignores the messages of the replacement and creates a new consumer itself.

mod place;

use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::{self};
use bytes::Bytes;
use futures_util::StreamExt;
use srlg_input::backoff::Backoff;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{info, warn};

pub(super) use place::Loss;
use place::{Place, Resumption};

use super::stream::{self, PATIENCE, Position, Retention, nanoseconds};
use crate::network::connect::{BACKOFF, Link};
use crate::network::subjects::STREAM;
use srlg_system::pacing::LastError;

const TICK: Duration = Duration::from_millis(50);

/// Time without a message after which the reader checks whether the stream exists.
const QUIET: Duration = Duration::from_secs(2);

/// Time between two events while the broker is unreachable. The engine needs events for its periodic work.
const AWAY: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) enum Event {
    /// A consumer was created, and `unread` messages are available. If `anew` is set, the stream is read from its
    /// beginning again, and the sequence numbers of previous messages are no longer valid.
    Opened {
        created: i64,
        unread: u64,
        anew: bool,
    },
    Message(Message),
    /// A clock tick, sent every 50 ms while no message is ready.
    Tick,
    /// The broker is unreachable, or a consumer is about to be created.
    Away,
    Stop,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) subject: String,
    pub(super) headers: HeaderMap,
    pub(super) payload: Bytes,
    pub(super) sequence: u64,
    /// Time at which the broker received the message, in nanoseconds since the Unix epoch.
    pub(super) time: i64,
    /// Number of messages in the stream after this message.
    pub(super) unread: u64,
}

pub(super) struct Reader {
    link: Link,
    context: jetstream::Context,
    retention: Retention,
    place: Place,
    events: Sender<Event>,
    last_error: LastError,
    backoff: Backoff,
}

/// Error if the engine no longer receives events.
struct NoListener;

impl Reader {
    /// Creates a reader that starts after `position`.
    pub(super) fn new(
        link: Link,
        retention: Retention,
        position: Position,
        events: Sender<Event>,
    ) -> Self {
        let context = jetstream::ContextBuilder::new().timeout(PATIENCE).build(link.client.clone());
        Self {
            link,
            context,
            retention,
            place: Place::new(position),
            events,
            last_error: LastError::default(),
            backoff: BACKOFF,
        }
    }

    pub(super) fn losses(&self) -> watch::Receiver<Option<Loss>> {
        self.place.losses()
    }

    /// Reads until the engine stops.
    pub(super) async fn run(mut self) {
        while self.connection().await.is_ok() {}
    }

    /// Creates a consumer and reads until an error occurs or the connection is lost.
    async fn connection(&mut self) -> Result<(), NoListener> {
        // The clock stays paused until the number of unread messages is known.
        self.send(Event::Away).await?;
        let state = *self.link.state.borrow();
        if !state.up {
            let up = timeout(AWAY, self.link.state.wait_for(|state| state.up)).await;
            // If the connection was closed permanently, the wait fails at once.
            if up.is_ok_and(|up| up.is_err()) {
                tokio::time::sleep(AWAY).await;
            }
            return Ok(());
        }
        match self.open().await {
            Ok((mut messages, opened)) => {
                self.backoff.reset();
                if self.last_error.end() {
                    info!("reading the stream");
                }
                self.send(opened).await?;
                self.read(&mut messages, state.connects).await
            }
            Err(error) => {
                if let Some(error) = self.last_error.change_to(&error) {
                    warn!("cannot read the stream yet: {error}");
                }
                tokio::time::sleep(self.backoff.delay()).await;
                Ok(())
            }
        }
    }

    async fn open(&mut self) -> Result<(Ordered, Event)> {
        let mut stream = stream::open(&self.context, self.retention).await?;
        let Resumption { created, anew } = self.place.resume(&mut stream).await?;
        let start_sequence = self.place.position() + 1;
        let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence };
        let config = OrderedConfig { deliver_policy, ..OrderedConfig::default() };
        let consumer = stream
            .create_consumer(config)
            .await
            .context("cannot create a consumer of the stream")?;
        let unread = consumer.cached_info().num_pending;
        let messages = consumer.messages().await.context("cannot read messages from the stream")?;
        Ok((messages, Event::Opened { created, unread, anew }))
    }

    async fn read(&mut self, messages: &mut Ordered, connects: u64) -> Result<(), NoListener> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut quiet_since = Instant::now();
        loop {
            tokio::select! {
                biased;
                message = messages.next() => {
                    let Some(message) = message else { return Ok(()) };
                    match message.map_err(Error::from).and_then(|message| self.content_if_new(message)) {
                        Ok(Some(message)) => self.send(Event::Message(message)).await?,
                        Ok(None) => {}
                        Err(error) => {
                            warn!("reopening the stream after message {}: {error}", self.place.position());
                            tokio::time::sleep(self.backoff.delay()).await;
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

    /// Sends a tick, or [`Event::Away`] if the broker is unreachable. Returns whether the consumer is still usable.
    async fn tick(&self, connects: u64, quiet_since: &mut Instant) -> Result<bool, NoListener> {
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
        self.send(if state.up { Event::Tick } else { Event::Away }).await?;
        Ok(true)
    }

    /// Returns whether the opened stream still exists. The check is needed because NATS does not report the removal of
    /// a stream.
    async fn is_there(&self) -> bool {
        let stream = self.context.get_stream(STREAM).await;
        let created = stream.map(|stream| nanoseconds(stream.cached_info().created));
        created.is_ok_and(|created| self.place.is_in(created))
    }

    /// Returns the content of a message, or `None` if the message was read or skipped before.
    fn content_if_new(&mut self, message: jetstream::Message) -> Result<Option<Message>> {
        let info = message.info().map_err(|error| anyhow!(error))?;
        let (sequence, time, unread) =
            (info.stream_sequence, nanoseconds(info.published), info.pending);
        if !self.place.advance(&info)? {
            return Ok(None);
        }
        let jetstream::Message { message, .. } = message;
        let headers = message.headers.unwrap_or_default();
        let (subject, payload) = (message.subject.to_string(), message.payload);
        Ok(Some(Message { subject, headers, payload, sequence, time, unread }))
    }

    async fn send(&self, event: Event) -> Result<(), NoListener> {
        self.events.send(event).await.map_err(|_| NoListener)
    }
}
