//! Functions that fetch schemas from URLs, with retries.

use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::messages::format::{Format, Source};
use crate::messages::reporter::{StatusReporter, Subject};
use crate::messages::schema::SchemaError;

/// Interval at which a waiting thread checks whether the input is asked to stop.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Interval at which the schema and the partition list of a Kafka topic are fetched again.
pub(crate) const REFRESH: Duration = Duration::from_secs(15);

/// Delays between attempts to reach a broker or to fetch a schema.
pub(crate) const BACKOFF: Backoff =
    Backoff::new(Duration::from_millis(500), Duration::from_secs(15));

/// Reads the schema, and retries until this succeeds. Returns `None` if the input is asked to stop.
pub(crate) async fn read_schema(
    source: &Source,
    reporter: &mut StatusReporter<'_>,
) -> Option<Format> {
    let mut backoff = BACKOFF;
    loop {
        match fetch_schema(source.clone(), Duration::ZERO).await {
            Ok(format) => {
                reporter.recover(Subject::Schema);
                return Some(format);
            }
            Err(error) => reporter.fail(Subject::Schema, error.to_string()),
        }
        let until = Instant::now() + backoff.delay();
        while Instant::now() < until {
            if reporter.shared.stop.is_asked() {
                return None;
            }
            if reporter.is_status_due() {
                reporter.publish(None);
            }
            sleep(TICK).await;
        }
    }
}

/// Fetches the schema after `delay`.
pub(crate) async fn fetch_schema(source: Source, delay: Duration) -> Result<Format, SchemaError> {
    sleep(delay).await;
    joined(spawn_blocking(move || source.read()).await)
}

/// Returns the result of a task, or resumes its panic.
pub(crate) fn joined<T>(task: Result<T, JoinError>) -> T {
    // Awaited tasks are never cancelled, so the error is a panic.
    task.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}
