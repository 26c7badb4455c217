//! Publisher of a probe, which sends the slices of the spool until the broker has acknowledged all of them.
//!
//! [`SlicePublisher::run`] sends the slices in order, with several slices in flight, and receives the collector's durability
//! messages. Invariant: each time the probe connects, and whenever the collector requests it, sending starts again with
//! the oldest slice of the spool. The repetition is necessary because a broker may lose acknowledged messages. It is
//! harmless because merging a slice again changes nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use async_nats::HeaderMap;
use async_nats::jetstream::context::Context as JetStream;
use async_nats::jetstream::{self, message::PublishMessage};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use super::outbox::Outbox;
use super::spool::SpoolEntry;
use crate::network::connect::{BACKOFF, Link, LinkState};
use crate::network::subjects::{self, AGAIN, PART_HEADER, Part, SAMPLING_HEADER, STREAM};
use srlg_system::pacing::LastError;

/// Maximum number of slices in flight.
const AHEAD: usize = 16;

/// Timeout of a request to the broker.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct SlicePublisher {
    state: watch::Receiver<LinkState>,
    stream: JetStream,
    probe: String,
    subject: String,
    outbox: Arc<Outbox>,
    durability: JoinHandle<()>,
}

/// A part of a slice, as it is sent to the broker.
pub(crate) struct PartMessage {
    pub(crate) id: String,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
}

impl SlicePublisher {
    /// Creates the publisher of `probe` and subscribes to durability messages.
    pub(super) async fn new(link: Link, probe: &str, outbox: Arc<Outbox>) -> Result<Self> {
        let messages = link.client.subscribe(subjects::durable(probe)).await;
        let mut messages =
            messages.context("cannot subscribe to the collector's durability messages")?;
        let durable = Arc::clone(&outbox);
        let durability = tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                handle_durability(&durable, &message.payload);
            }
        });
        let stream = jetstream::ContextBuilder::new().timeout(PATIENCE).build(link.client);
        let (probe, subject) = (probe.to_owned(), subjects::slice(probe));
        Ok(Self { state: link.state, stream, probe, subject, outbox, durability })
    }

    /// Sends slices until the input has ended and the broker has acknowledged all slices. If `durably` is set, the
    /// collector must also have stored all slices.
    pub(super) async fn run(&self, durably: bool) -> Result<()> {
        let mut link = self.state.clone();
        let mut last_error = LastError::default();
        loop {
            let up = link.wait_for(|link| link.up).await;
            let LinkState { connects, .. } =
                *up.context("the connection to the broker was closed permanently")?;
            let mut gone = link.clone();
            tokio::select! {
                // This branch comes first, because a new version makes the slices in flight obsolete.
                biased;
                () = self.outbox.is_to_be_sent_again() => {}
                () = self.send_from_oldest(durably, &mut last_error) => return Ok(()),
                _ = gone.wait_for(|link| !link.up || link.connects != connects) => {}
            }
        }
    }

    /// Sends all slices in the spool and then new slices, until no work is left.
    async fn send_from_oldest(&self, durably: bool, last_error: &mut LastError) {
        let (mut next, version) = (0, self.outbox.version());
        let mut backoff = BACKOFF;
        loop {
            let slices = self.outbox.from(next, AHEAD);
            if slices.is_empty() {
                if self.outbox.is_done(next, durably) {
                    return;
                }
                self.outbox.new_work().await;
                continue;
            }
            let mut sent = stream::iter(slices).map(|slice| self.send(slice)).buffered(AHEAD);
            loop {
                match sent.try_next().await {
                    Ok(None) => break,
                    Ok(Some(slice)) => {
                        backoff.reset();
                        if last_error.end() {
                            info!("the broker accepts slices again");
                        }
                        self.outbox.ack(version, slice);
                        next = slice + 1;
                    }
                    Err(error) => {
                        if let Some(error) = last_error.change_to(&error) {
                            warn!("cannot send slices: {error}; they stay in the spool");
                        }
                        tokio::time::sleep(backoff.delay()).await;
                        break;
                    }
                }
            }
        }
    }

    /// Sends all parts of a slice, then waits until the broker has acknowledged them.
    async fn send(&self, slice: u64) -> Result<u64> {
        let messages = messages(&self.probe, slice, self.outbox.read(slice)?)?;
        let mut acks = Vec::with_capacity(messages.len());
        for PartMessage { id, headers, payload } in messages {
            let message = PublishMessage::build().headers(headers).message_id(id).payload(payload);
            let message = message.expected_stream(STREAM);
            acks.push(self.stream.send_publish(self.subject.clone(), message).await?);
        }
        for ack in acks {
            ack.await?;
        }
        Ok(slice)
    }
}

impl Drop for SlicePublisher {
    fn drop(&mut self) {
        self.durability.abort();
    }
}

/// Returns the messages of a slice of `probe`, one for each part.
pub(super) fn messages(
    probe: &str,
    slice: u64,
    SpoolEntry { parts, sampling }: SpoolEntry,
) -> serde_json::Result<Vec<PartMessage>> {
    let sampling = match sampling.is_empty() {
        true => None,
        false => Some(serde_json::to_string(&sampling)?),
    };
    let count = parts.len() as u32;
    let message = |(number, payload): (u32, Bytes)| {
        let part = Part { number, count };
        let mut headers = HeaderMap::new();
        headers.insert(PART_HEADER, part.to_string());
        if let Some(sampling) = &sampling {
            headers.insert(SAMPLING_HEADER, sampling.as_str());
        }
        let id = subjects::message_id(probe, slice, part, &payload);
        PartMessage { id, headers, payload }
    };
    Ok((1..).zip(parts).map(message).collect())
}

/// Handles a durability message.
pub(super) fn handle_durability(outbox: &Outbox, message: &[u8]) {
    if message == AGAIN.as_bytes() {
        info!("the broker has lost messages: sending all slices of the spool again");
        return outbox.send_again();
    }
    let durable = || {
        let (version, slice) = std::str::from_utf8(message).ok()?.split_once(' ')?;
        Some((version.parse().ok()?, slice.parse().ok()?))
    };
    match durable() {
        Some((version, slice)) => outbox.durable(version, slice),
        None => warn!(
            "ignoring a durability message that is neither a version with a slice nor {AGAIN:?}: {:?}",
            String::from_utf8_lossy(message)
        ),
    }
}
