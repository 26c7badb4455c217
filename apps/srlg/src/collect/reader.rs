//! [`Reader`]: messages of the stream, in order and without a gap, for ever.
//!
//! Shape: an ordered pull consumer, whose messages go into a queue as [`Event`]s, with ticks between them. Where
//! anything is wrong with it, another one takes its place. Invariant: before each of them its [`Place`] looks whether the
//! stream still is what was read from. If so it reads on after the last message; if not, from the beginning. The client
//! itself would replace a consumer without looking: then what comes next is not taken, and this makes one of its own.

mod place;

use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow};
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::{self};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

pub(super) use place::Loss;
use place::{Place, Resumption};

use super::stream::{self, PATIENCE, Position, Retention, nanoseconds};
use crate::alerts::Trouble;
use crate::network::connect::Link;
use crate::network::subjects::STREAM;

/// Time passes in steps of this.
const TICK: Duration = Duration::from_millis(50);

/// After so long without a message it looks whether the stream is there.
const QUIET: Duration = Duration::from_secs(2);

/// Between two attempts.
const RETRY: Duration = Duration::from_millis(250);

/// An event for the engine.
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
    /// Nothing has come recently.
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

/// A reader of the stream.
pub(super) struct Reader {
    link: Link,
    context: jetstream::Context,
    retention: Retention,
    place: Place,
    events: Sender<Event>,
    trouble: Trouble,
}

/// Nobody listens any more.
struct NoListener;

impl Reader {
    /// A reader that begins after a message of the stream that a witness is of.
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
            trouble: Trouble::default(),
        }
    }

    /// Messages that are lost, whenever that is noticed.
    pub(super) fn losses(&self) -> watch::Receiver<Option<Loss>> {
        self.place.losses()
    }

    /// Reads until nobody listens any more.
    pub(super) async fn run(mut self) {
        while self.connection().await.is_ok() {}
    }

    /// Reads as long as the connection lasts.
    async fn connection(&mut self) -> Result<(), NoListener> {
        // No time passes until it is known how much there is to read.
        self.tell(Event::Away).await?;
        let state = *self.link.state.borrow();
        if !state.up {
            tokio::time::sleep(RETRY).await;
            return Ok(());
        }
        match self.open().await {
            Ok((mut messages, opened)) => {
                if self.trouble.end() {
                    info!("the stream can be read");
                }
                self.tell(opened).await?;
                self.read(&mut messages, state.connects).await
            }
            Err(error) => {
                if let Some(error) = self.trouble.change_to(&error) {
                    warn!("the stream cannot be read yet: {error}");
                }
                tokio::time::sleep(RETRY).await;
                Ok(())
            }
        }
    }

    /// A consumer that goes on where the last one was.
    async fn open(&mut self) -> Result<(Ordered, Event)> {
        let mut stream = stream::open(&self.context, self.retention).await?;
        let Resumption { created, anew } = self.place.resume(&mut stream).await?;
        let start_sequence = self.place.position() + 1;
        let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence };
        let config = OrderedConfig { deliver_policy, ..OrderedConfig::default() };
        let consumer = stream
            .create_consumer(config)
            .await
            .context("cannot read the stream: no consumer was made")?;
        let unread = consumer.cached_info().num_pending;
        let messages = consumer.messages().await.context("cannot read messages of the stream")?;
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
                    match message.map_err(Error::from).and_then(|message| self.take(message)) {
                        Ok(Some(message)) => self.tell(Event::Message(message)).await?,
                        Ok(None) => {}
                        Err(error) => {
                            warn!("the stream is opened again after message {}: {error}", self.place.position());
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
        self.tell(if state.up { Event::Tick } else { Event::Away }).await?;
        Ok(true)
    }

    /// Whether the stream is the one that was opened: nobody says when it is removed.
    async fn is_there(&self) -> bool {
        let stream = self.context.get_stream(STREAM).await;
        let created = stream.map(|stream| nanoseconds(stream.cached_info().created));
        created.is_ok_and(|created| self.place.is_in(created))
    }

    /// A message that was not read before.
    fn take(&mut self, message: jetstream::Message) -> Result<Option<Message>> {
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

    async fn tell(&self, event: Event) -> Result<(), NoListener> {
        self.events.send(event).await.map_err(|_| NoListener)
    }
}
