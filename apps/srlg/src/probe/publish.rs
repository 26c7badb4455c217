//! Publisher of a probe, which sends the slices of the spool until the broker has acknowledged all of them.
//!
//! [`Publisher::run`] sends the slices in order, with several slices in flight, and receives the collector's durability
//! messages. Invariant: each time the probe connects, and whenever the collector requests it, sending starts again with
//! the oldest slice of the spool. The repetition is necessary because a broker may lose acknowledged messages. It is
//! harmless because merging a slice again changes nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use async_nats::jetstream::context::Context as JetStream;
use async_nats::jetstream::{self, message::PublishMessage};
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

pub(super) struct Publisher {
    state: watch::Receiver<LinkState>,
    stream: JetStream,
    probe: String,
    subject: String,
    outbox: Arc<Outbox>,
    notifications: JoinHandle<()>,
}

impl Publisher {
    /// Creates the publisher of `probe` and subscribes to durability messages.
    pub(super) async fn new(link: Link, probe: &str, outbox: Arc<Outbox>) -> Result<Self> {
        let notifications = link.client.subscribe(subjects::durable(probe)).await;
        let mut notifications =
            notifications.context("cannot subscribe to the collector's durability messages")?;
        let durable = Arc::clone(&outbox);
        let notifications = tokio::spawn(async move {
            while let Some(notification) = notifications.next().await {
                hear(&durable, &notification.payload);
            }
        });
        let stream = jetstream::ContextBuilder::new().timeout(PATIENCE).build(link.client);
        let (probe, subject) = (probe.to_owned(), subjects::delta(probe));
        Ok(Self { state: link.state, stream, probe, subject, outbox, notifications })
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
                self.outbox.news().await;
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
        let SpoolEntry { parts, sampling } = self.outbox.read(slice)?;
        let count = parts.len() as u32;
        let mut acks = Vec::with_capacity(parts.len());
        for (number, payload) in (1..).zip(parts) {
            let part = Part { number, count };
            let mut message = PublishMessage::build()
                .message_id(subjects::message_id(&self.probe, slice, part, &payload))
                .payload(payload)
                .expected_stream(STREAM)
                .header(PART_HEADER, part.to_string().as_str());
            if !sampling.is_empty() {
                let text = serde_json::to_string(&sampling)?;
                message = message.header(SAMPLING_HEADER, text.as_str());
            }
            acks.push(self.stream.send_publish(self.subject.clone(), message).await?);
        }
        for ack in acks {
            ack.await?;
        }
        Ok(slice)
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.notifications.abort();
    }
}

/// Handles a durability message.
fn hear(outbox: &Outbox, notification: &[u8]) {
    if notification == AGAIN.as_bytes() {
        info!("the broker has lost messages: sending all slices of the spool again");
        return outbox.send_again();
    }
    let durable = || {
        let (version, slice) = std::str::from_utf8(notification).ok()?.split_once(' ')?;
        Some((version.parse().ok()?, slice.parse().ok()?))
    };
    match durable() {
        Some((version, slice)) => outbox.durable(version, slice),
        None => warn!(
            "ignoring a durability message that is neither a version with a slice nor {AGAIN:?}: {:?}",
            String::from_utf8_lossy(notification)
        ),
    }
}
