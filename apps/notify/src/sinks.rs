//! Destinations of notifications: files, webhooks, Alertmanager, syslog, email and programs.
//!
//! ```text
//! Store --notifications after the cursor--> a thread per sink --rate limit--> Channel --> file, HTTP, socket, program
//! ```
//!
//! The queue of a sink consists of the notifications after its cursor in the database. Queues therefore survive a
//! restart, and a slow sink does not delay the other sinks.
//!
//! Invariant: a notification is done only when it has been accepted, permanently rejected, filtered out or dropped.
//! Rejected and dropped notifications are counted and logged.

mod alertmanager;
mod body;
mod bucket;
mod connection;
mod exec;
mod file;
mod filter;
mod http;
mod mail;
mod mail_text;
mod only;
mod options;
mod smtp;
mod stream;
mod suppressed;
mod syslog;
mod tls;
mod trial;
mod webhook;
mod worker;

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use srlg_alerts::AlertId;
use tracing::warn;

use crate::store::{NumberedNotification, Store};
pub use http::Credentials;
pub use mail::MailOptions;
pub use only::Only;
pub use options::{SinkKind, SinkOptions};
use srlg_alerts::notification::Notification;
use srlg_alerts::status::overview::SinkOverview;
use suppressed::Suppressed;
pub use tls::TlsFiles;
pub use trial::try_sink;
use worker::{Wake, Worker};

/// Reason why a notification was not accepted.
#[derive(Debug)]
enum Failure {
    /// The notification will never be accepted.
    Refused(anyhow::Error),
    /// A later attempt may succeed.
    Failed(anyhow::Error),
}

impl Failure {
    fn into_error(self) -> anyhow::Error {
        match self {
            Self::Refused(error) | Self::Failed(error) => error,
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A destination of notifications.
trait Channel: Send {
    /// Sends one notification and returns the answer of the receiver.
    fn send(&mut self, number: i64, notification: &Notification) -> Result<String, Failure>;

    /// Returns the minimum time between two messages, or zero if each notification is a separate message.
    fn digest(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns whether a notification may be sent before others with lower numbers.
    fn takes_early(&self) -> bool {
        self.digest().is_zero()
    }

    /// Sends the notifications of one message and returns the last answer of the receiver. Without a
    /// [digest](Self::digest), a message has only one notification.
    fn send_all(&mut self, notifications: &[NumberedNotification]) -> Result<String, Failure> {
        let mut answer = String::new();
        for (number, notification) in notifications {
            answer = self.send(*number, notification)?;
        }
        Ok(answer)
    }

    /// Reports notifications that the rate limit suppressed or holds. Only sinks with a rate limit need this.
    fn report_suppressed(&mut self, _suppressed: &Suppressed) -> Result<(), Failure> {
        Ok(())
    }

    /// Performs periodic work and returns the alerts that were sent. `open` returns the last notification of each
    /// active alert.
    fn tick(
        &mut self,
        _open: &dyn Fn() -> Result<Vec<Notification>>,
    ) -> Result<Vec<AlertId>, Failure> {
        Ok(Vec::new())
    }
}

/// All sinks. Each sink has its own thread.
#[derive(Debug)]
pub struct Sinks {
    sinks: Vec<(Wake, JoinHandle<()>)>,
}

impl Sinks {
    /// Starts one thread for each sink in `options`. The threads read notifications from `store`.
    pub fn start(options: &[SinkOptions], store: &Store) -> Result<Self> {
        let names: Vec<String> = options.iter().map(SinkOptions::name).collect();
        for (at, name) in names.iter().enumerate() {
            ensure!(
                !names[..at].contains(name),
                "sink name {name} is used twice; give each sink its own name"
            );
        }
        store.keep_sinks(&names)?;
        let mut workers = Vec::new();
        for (name, options) in names.into_iter().zip(options) {
            let cursor = store.cursor(&name)?;
            let channel = options
                .open(cursor.done, store)
                .with_context(|| format!("cannot open sink {name}"))?;
            workers.push(Worker::new(name, channel, options, store.clone(), cursor)?);
        }
        let start = |worker: Worker| {
            let wake = worker.wake();
            let name = format!("sink {}", worker.name());
            let thread = thread::Builder::new().name(name).spawn(move || worker.run());
            Ok((wake, thread.context("cannot start a thread")?))
        };
        Ok(Self { sinks: workers.into_iter().map(start).collect::<Result<_>>()? })
    }

    /// Wakes all sinks, so that they process new notifications.
    pub fn wake(&self) {
        self.sinks.iter().for_each(|(wake, _)| wake.wake());
    }

    /// Returns the status of each sink.
    #[must_use]
    pub fn overviews(&self) -> Vec<SinkOverview> {
        self.sinks.iter().map(|(wake, _)| wake.overview()).collect()
    }

    /// Waits up to `most` for the sinks to process all notifications. Logs the number of remaining notifications.
    pub fn finish(self, most: Duration) {
        let until = Instant::now() + most;
        self.sinks.iter().for_each(|(wake, _)| wake.stop(until));
        for (wake, thread) in self.sinks {
            let name = wake.overview().name;
            if thread.join().is_err() {
                warn!("the thread of sink {name} panicked (this is a bug)");
            }
            let SinkOverview { queue, error, .. } = wake.overview();
            if queue > 0 {
                let why = error.map(|error| format!(": {error}")).unwrap_or_default();
                warn!("sink {name}: {queue} notifications not sent yet{why}");
            }
        }
    }
}
