//! Functions that fetch schemas from URLs, with retries.

use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;

use crate::messages::format::{Format, Source};
use crate::messages::news::{News, Subject};
use crate::messages::retry::delay;
use crate::messages::schema::SchemaError;

/// Interval at which a waiting thread checks whether the input is asked to stop.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Interval at which the schema and the partition list of a Kafka topic are fetched again.
pub(crate) const REFRESH: Duration = Duration::from_secs(15);

/// Reads the schema, and retries until this succeeds. Returns `None` if the input is asked to stop.
pub(crate) async fn read_schema(source: &Source, news: &mut News<'_>) -> Option<Format> {
    for failures in 1.. {
        match fetch_schema(source.clone(), 0).await {
            Ok(format) => {
                news.recover(Subject::Schema);
                return Some(format);
            }
            Err(error) => news.fail(Subject::Schema, error.to_string()),
        }
        let until = Instant::now() + delay(failures);
        while Instant::now() < until {
            if news.line.stop.is_asked() {
                return None;
            }
            if news.is_status_due() {
                news.show(None);
            }
            sleep(TICK).await;
        }
    }
    None
}

/// Fetches the schema. If previous requests failed, waits before the request.
pub(crate) async fn fetch_schema(source: Source, failures: u32) -> Result<Format, SchemaError> {
    if failures > 0 {
        sleep(delay(failures)).await;
    }
    joined(spawn_blocking(move || source.read()).await)
}

/// Returns the result of a task, or resumes its panic.
pub(crate) fn joined<T>(task: Result<T, JoinError>) -> T {
    // Awaited tasks are never cancelled, so the error is a panic.
    task.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}
