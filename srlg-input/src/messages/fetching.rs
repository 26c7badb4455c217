//! Schemas at URLs, which are fetched again until they can be.

use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, spawn_blocking};
use tokio::time::sleep;

use crate::messages::format::{Format, Source};
use crate::messages::news::{News, Subject};
use crate::messages::retry::delay;
use crate::messages::schema::SchemaError;

/// Time between two looks at whether the input is to end.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Time between two looks for another schema.
pub(crate) const REFRESH: Duration = Duration::from_secs(15);

/// Reads the schema, again and again until it can be read; `None` if the end is asked for.
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

/// Fetches the schema, after some `failures` not at once.
pub(crate) async fn fetch_schema(source: Source, failures: u32) -> Result<Format, SchemaError> {
    if failures > 0 {
        sleep(delay(failures)).await;
    }
    joined(spawn_blocking(move || source.read()).await)
}

/// Returns what a task has returned, or panics as it did.
pub(crate) fn joined<T>(task: Result<T, JoinError>) -> T {
    // Tasks are not cancelled while they are waited for.
    task.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}
