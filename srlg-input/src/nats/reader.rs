//! The thread that reads a stream or a subject, and reconnects after errors.

use async_nats::{Client, Event};
use futures_util::StreamExt;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::unconstrained;
use tokio::time::sleep;

use crate::clock::now_ns;
use crate::error::InputError;
use crate::messages::{BACKOFF, FlowReader, Source, StatusReporter, read_schema};
use crate::nats::connection::{Access, Connection};
use crate::nats::session::{Interruption, NatsError, Session};
use crate::nats::stream::Cursor;
use crate::options::{ExportOptions, InputOptions, NatsSource, NatsUrl};
use crate::position::Position;
use crate::threads::ContactSender;

/// Maximum number of messages that are decoded before the thread checks for a request to stop.
const CHUNK: usize = 1_024;

pub(crate) struct Reader {
    url: NatsUrl,
    source: Source,
    access: Access,
    decoding: ExportOptions,
    is_earliest: bool,
    start: Option<Position>,
}

/// The stream or subject to read, which is kept when the connection is replaced.
enum Target {
    Stream(Cursor),
    Subject(String),
}

impl Reader {
    /// Reads the files that `options` name, but does not connect yet.
    pub(crate) fn new(
        url: &NatsUrl,
        options: &InputOptions,
        start: Option<&Position>,
    ) -> Result<Self, InputError> {
        Ok(Self {
            url: url.clone(),
            source: Source::open(&options.messages)?,
            access: Access::new(url, &options.broker)?,
            decoding: options.decoding.clone(),
            is_earliest: options.messages.earliest,
            start: start.cloned(),
        })
    }

    /// Reads until the input is asked to stop, or until an error stops it.
    pub(crate) fn run(self, sender: &mut ContactSender) -> Result<(), InputError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(InputError::Thread)?;
        let read = runtime.block_on(self.read(sender));
        // A request for a schema may be in progress, but its response is no longer needed.
        runtime.shutdown_background();
        read
    }

    async fn read(self, sender: &mut ContactSender) -> Result<(), InputError> {
        let shared = sender.shared.clone();
        let Self { url, source, access, decoding, is_earliest, start } = self;
        let mut reporter = StatusReporter::new(url.to_string(), &shared);
        let Some(format) = read_schema(&source, &mut reporter).await else { return Ok(()) };
        reporter.info(format!("reading flows from {url} ({format})"));
        let mut target = match &url.source {
            NatsSource::Stream(name) => {
                let (cursor, warning) = Cursor::new(name, start, is_earliest);
                warning.into_iter().for_each(|warning| reporter.warn(warning));
                Target::Stream(cursor)
            }
            NatsSource::Subject(name) => Target::Subject(name.clone()),
        };
        let flows = FlowReader::new(format.clone(), &decoding);
        let mut session = Session::new(reporter, flows, sender, source, format);
        let mut backoff = BACKOFF;
        let ended = loop {
            let messages = session.reporter.status.messages;
            let end = connection(&access, &mut target, &mut session).await;
            session.reporter.status.partitions = 0;
            let error = match end {
                Err(Interruption::Error(error)) => error,
                Err(Interruption::Failure(failure)) => break Err(failure),
                Ok(()) | Err(Interruption::Stop) => break Ok(()),
            };
            session.fail(error.to_string());
            if session.reporter.status.messages > messages {
                backoff.reset();
            }
            if session.wait(sleep(backoff.delay()), None).await.is_err() {
                break Ok(());
            }
        };
        session.log_losses();
        session.reporter.publish(Some(&session.flows));
        ended
    }
}

/// Connects to a server and reads until an [`Interruption`] occurs.
async fn connection(
    access: &Access,
    target: &mut Target,
    session: &mut Session<'_>,
) -> Result<(), Interruption> {
    let connected = session.wait(access.connect(), None).await?;
    let Connection { client, mut events, relay } = connected.map_err(Interruption::Error)?;
    let end = match target {
        Target::Stream(cursor) => cursor.read(client, &mut events, session).await,
        Target::Subject(name) => subject(name, &client, &mut events, session).await,
    };
    // If the relay closed the connection, only the relay knows the reason.
    match (end, relay.take_failure()) {
        (Err(Interruption::Error(_)), Some(failure)) => Err(Interruption::Error(failure.into())),
        (end, _) => end,
    }
}

/// Reads the messages of the subject `name` as they arrive.
async fn subject(
    name: &str,
    client: &Client,
    events: &mut UnboundedReceiver<Event>,
    session: &mut Session<'_>,
) -> Result<(), Interruption> {
    let messages = session.wait(client.subscribe(name.to_owned()), Some(events)).await?;
    let messages = messages.map_err(|error| Interruption::Error(error.into()))?;
    let mut messages = messages.ready_chunks(CHUNK);
    session.request();
    loop {
        // Everything that the connection has read is consumed before it reads more. Therefore the client does not drop
        // messages, and the server notices a slow reader.
        let chunk = session.wait(unconstrained(messages.next()), Some(events)).await?;
        let chunk = chunk.ok_or(Interruption::Error(NatsError::Ended))?;
        let now_ns = now_ns();
        chunk.iter().for_each(|message| session.read(&message.payload, now_ns, now_ns));
        session.confirm();
        session.deliver(Position::default())?;
    }
}
