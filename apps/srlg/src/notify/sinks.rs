//! Where notices go: files, webhooks, an Alertmanager, syslog, mails, programs.
//!
//! ```text
//! Store --notices after the cursor--> a thread per sink --gate--> Channel --> file, HTTP, socket, program
//! ```
//!
//! Shape: the queue of a sink is what the database has after the sink's cursor. So a queue is on disk, a sink that is down
//! holds up nobody, and a restart goes on where it was.
//! Invariant: a notice is done when a channel took it, refused it for good, or when it was dropped; the last two are
//! counted and told.

mod alertmanager;
mod body;
mod exec;
mod file;
mod hold;
mod http;
mod letter;
mod mail;
mod options;
mod smtp;
mod stream;
mod syslog;
mod tls;
mod webhook;
mod worker;

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::alerts::AlertId;
use anyhow::{Context, Result, ensure};
use tracing::warn;

use crate::notify::notice::Notice;
use crate::notify::store::{NumberedNotice, Store};
use crate::show::board::SinkBoard;
pub use http::Credentials;
pub use mail::MailOptions;
pub use options::{SinkKind, SinkOptions};
pub use tls::TlsFiles;
use worker::{Wake, Worker};

/// Tells why a notice was not taken.
#[derive(Debug)]
enum Failure {
    /// It never will be.
    Refused(anyhow::Error),
    /// It may be later.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Takes notices to where they go.
trait Channel: Send {
    /// Takes one notice, whole.
    fn send(&mut self, number: i64, notice: &Notice) -> Result<(), Failure>;

    /// Takes the notices of one message. Without a [digest](SinkOptions::digest) these are one.
    fn send_all(&mut self, notices: &[NumberedNotice]) -> Result<(), Failure> {
        notices.iter().try_for_each(|(number, notice)| self.send(*number, notice))
    }

    /// Tells that so many notices were held back in the last minute.
    fn tell_held(&mut self, count: u64) -> Result<(), Failure>;

    /// Does what is due without any notice, and returns the alerts that were told; `open` gives the last notices of those
    /// that go on.
    fn tick(&mut self, _open: &dyn Fn() -> Result<Vec<Notice>>) -> Result<Vec<AlertId>, Failure> {
        Ok(Vec::new())
    }
}

/// All sinks, each with a thread of its own.
#[derive(Debug)]
pub struct Sinks {
    sinks: Vec<(Wake, JoinHandle<()>)>,
}

impl Sinks {
    /// Starts a thread for each of `options`, which takes notices out of `store`.
    pub fn start(options: &[SinkOptions], store: &Store) -> Result<Self> {
        let names: Vec<String> = options.iter().map(SinkOptions::name).collect();
        for (at, name) in names.iter().enumerate() {
            ensure!(
                !names[..at].contains(name),
                "two sinks are called {name}: give each a name of its own"
            );
        }
        store.keep_sinks(&names)?;
        let mut workers = Vec::new();
        for (name, options) in names.into_iter().zip(options) {
            let cursor = store.cursor(&name)?;
            let channel = options
                .open(cursor.done, store)
                .with_context(|| format!("cannot make the sink {name}"))?;
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

    /// Tells all sinks that there are more notices.
    pub fn wake(&self) {
        self.sinks.iter().for_each(|(wake, _)| wake.wake());
    }

    /// Returns how the sinks fare.
    #[must_use]
    pub fn boards(&self) -> Vec<SinkBoard> {
        self.sinks.iter().map(|(wake, _)| wake.board()).collect()
    }

    /// Waits until the sinks are done with all notices, at most for `most`, and tells what is left.
    pub fn finish(self, most: Duration) {
        let until = Instant::now() + most;
        self.sinks.iter().for_each(|(wake, _)| wake.stop(until));
        for (wake, thread) in self.sinks {
            let name = wake.board().name;
            if thread.join().is_err() {
                warn!("the sink {name} has failed in a way that is an error of this program");
            }
            let SinkBoard { queue, error, .. } = wake.board();
            if queue > 0 {
                let why = error.map(|error| format!(": {error}")).unwrap_or_default();
                warn!("{queue} notices wait for the sink {name}{why}");
            }
        }
    }
}
