//! A session that waits for messages, and handles timers and connection events while it waits.

use std::pin::pin;
use std::time::{Duration, Instant};

use async_nats::Event;
use async_nats::jetstream::consumer::StreamError;
use async_nats::jetstream::consumer::pull::MessagesError;
use async_nats::jetstream::context::GetStreamError;
use async_nats::jetstream::stream::ConsumerError;
use async_nats::{ConnectError, SubscribeError};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::backoff::Backoff;
use crate::contact::Contact;
use crate::error::InputError;
use crate::messages::{
    BACKOFF, FlowReader, Format, REFRESH, SchemaError, Source, StatusReporter, Subject, TICK,
    fetch_schema, joined,
};
use crate::nats::relay::RelayError;
use crate::position::Position;
use crate::threads::ContactSender;

#[derive(Debug, thiserror::Error)]
pub(super) enum NatsError {
    #[error("cannot connect: no loopback connection: {0}")]
    Relay(std::io::Error),
    #[error(transparent)]
    Server(#[from] RelayError),
    #[error("cannot connect: {0}")]
    Connect(#[from] ConnectError),
    #[error("cannot use the credentials: {0}")]
    Credentials(#[from] std::io::Error),
    #[error("connection lost")]
    Lost,
    #[error("stream {0} not found")]
    NoStream(String),
    #[error(
        "the stream {0} deletes messages after they are read; set its retention policy to limits, or read a copy of it"
    )]
    Retention(String),
    #[error("cannot query the stream: {0}")]
    Stream(#[from] GetStreamError),
    #[error("cannot create a consumer of the stream: {0}")]
    Consumer(#[from] ConsumerError),
    #[error("cannot request messages of the stream: {0}")]
    Request(#[from] StreamError),
    #[error("cannot receive messages of the stream: {0}")]
    Messages(#[from] MessagesError),
    #[error("messages of the stream are missing after sequence number {0}")]
    Missing(u64),
    #[error("a message of the stream has no sequence number")]
    NoSequence,
    #[error("cannot subscribe: {0}")]
    Subscribe(#[from] SubscribeError),
    #[error("the subscription ended")]
    Ended,
}

/// Time after which a request for messages counts as answered if the server has reported no error. A server does not
/// confirm a subscription, and it may have no messages. Within this time, the client notices that a stream sends no
/// heartbeats.
const CONFIRMED: Duration = Duration::from_secs(30);

/// The reason why a wait ends early.
#[derive(Debug)]
pub(super) enum Interruption {
    Stop,
    /// An error that stops the input.
    Failure(InputError),
    Error(NatsError),
}

/// The state that is kept when the connection is replaced.
pub(super) struct Session<'a> {
    pub(super) reporter: StatusReporter<'a>,
    pub(super) flows: FlowReader,
    sender: &'a mut ContactSender,
    source: Source,
    format: Format,
    contacts: Vec<Contact>,
    /// Number of deleted messages that have not been logged yet.
    expired: u64,
    /// Number of dropped messages that have not been logged yet.
    dropped: u64,
    tick: Interval,
    schemas: JoinSet<Result<Format, SchemaError>>,
    schema_backoff: Backoff,
    /// Delay of the next fetch of the schema.
    schema_delay: Duration,
    fetched: Instant,
    /// Time of the request for messages, until the server has answered it.
    requested: Option<Instant>,
}

enum Wake<T> {
    Tick,
    Event(Option<Event>),
    Done(T),
}

impl<'a> Session<'a> {
    pub(super) fn new(
        reporter: StatusReporter<'a>,
        flows: FlowReader,
        sender: &'a mut ContactSender,
        source: Source,
        format: Format,
    ) -> Self {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            reporter,
            flows,
            sender,
            source,
            format,
            contacts: Vec::new(),
            expired: 0,
            dropped: 0,
            tick,
            schemas: JoinSet::new(),
            schema_backoff: BACKOFF,
            schema_delay: Duration::ZERO,
            fetched: Instant::now(),
            requested: None,
        }
    }

    /// Notes that messages were requested, which the server has not answered yet.
    pub(super) fn request(&mut self) {
        self.requested = Some(Instant::now());
        self.reporter.status.partitions = 1;
    }

    /// Records that the server has answered the request for messages.
    pub(super) fn confirm(&mut self) {
        self.requested = None;
        self.reporter.recover(Subject::Source);
    }

    /// Records that messages cannot be read.
    pub(super) fn fail(&mut self, error: String) {
        self.requested = None;
        self.reporter.fail(Subject::Source, error);
    }

    /// Waits for `work`. Returns early if the input is asked to stop or if `events` reports that the connection is
    /// lost.
    pub(super) async fn wait<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut events: Option<&mut UnboundedReceiver<Event>>,
    ) -> Result<T, Interruption> {
        let mut work = pin!(work);
        loop {
            let event = async {
                match &mut events {
                    Some(events) => events.recv().await,
                    None => std::future::pending().await,
                }
            };
            let wake = tokio::select! {
                // The branches are polled in this order, so that a busy stream does not delay the first ones.
                biased;
                _ = self.tick.tick() => Wake::Tick,
                event = event => Wake::Event(event),
                done = &mut work => Wake::Done(done),
            };
            match wake {
                Wake::Tick => self.handle_tick()?,
                Wake::Event(event) => self.handle_event(event)?,
                Wake::Done(done) => return Ok(done),
            }
        }
    }

    fn handle_event(&mut self, event: Option<Event>) -> Result<(), Interruption> {
        match event {
            None | Some(Event::Disconnected | Event::Closed) => {
                return Err(Interruption::Error(NatsError::Lost));
            }
            Some(Event::SlowConsumer(_)) => {
                self.dropped += 1;
                self.reporter.status.dropped += 1;
            }
            Some(Event::ServerError(error)) => {
                self.fail(error.to_string());
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Returns an error if the input is asked to stop. Publishes the status and refetches the schema when they are due.
    fn handle_tick(&mut self) -> Result<(), Interruption> {
        if self.reporter.shared.stop.is_asked() {
            return Err(Interruption::Stop);
        }
        if self.requested.is_some_and(|requested| requested.elapsed() >= CONFIRMED) {
            self.confirm();
        }
        if self.reporter.is_status_due() {
            self.log_losses();
            self.reporter.publish(Some(&self.flows));
        }
        if self.source.is_url() && self.schemas.is_empty() && self.fetched.elapsed() >= REFRESH {
            self.fetched = Instant::now();
            self.schemas.spawn(fetch_schema(self.source.clone(), self.schema_delay));
        }
        match self.schemas.try_join_next().map(joined) {
            Some(Ok(format)) => {
                self.schema_backoff.reset();
                self.schema_delay = Duration::ZERO;
                self.reporter.recover(Subject::Schema);
                if format != self.format {
                    let (former, source) = (&self.format, &self.reporter.status.source);
                    self.reporter
                        .info(format!("the schema of {source} changed from {former} to {format}"));
                    self.flows.set_format(format.clone());
                    self.format = format;
                }
            }
            Some(Err(error)) => {
                self.schema_delay = self.schema_backoff.delay();
                self.reporter.fail(Subject::Schema, error.to_string());
            }
            None => {}
        }
        Ok(())
    }

    /// Logs how many messages were lost since the last call.
    pub(super) fn log_losses(&mut self) {
        let source = &self.reporter.status.source;
        if self.expired > 0 {
            self.reporter.warn(format!(
                "{} messages of {source} lost: the server deleted them before they were read",
                self.expired
            ));
            self.expired = 0;
        }
        if self.dropped > 0 {
            self.reporter.warn(format!(
                "at least {} messages of {source} lost: they were not read in time",
                self.dropped
            ));
            self.dropped = 0;
        }
    }

    /// Counts messages that were deleted before they were read.
    pub(super) fn count_expired(&mut self, messages: u64) {
        self.expired += messages;
        self.reporter.status.expired += messages;
    }

    /// Decodes a message that the server stored at `stored_ns`.
    pub(super) fn read(&mut self, message: &[u8], stored_ns: u64, now_ns: u64) {
        self.reporter.status.messages += 1;
        self.flows.read(message, stored_ns, now_ns, |contact| self.contacts.push(contact));
    }

    /// Delivers the contacts of the messages read since the last call, and then the position after these messages.
    pub(super) fn deliver(&mut self, position: Position) -> Result<(), Interruption> {
        let delivered = self.sender.deliver_until(&self.contacts, position);
        self.contacts.clear();
        match delivered {
            Ok(true) => Ok(()),
            Ok(false) => Err(Interruption::Stop),
            Err(failure) => Err(Interruption::Failure(failure)),
        }
    }
}
