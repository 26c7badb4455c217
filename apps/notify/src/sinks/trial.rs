//! Test notifications, which show what a sink sends and what its receiver answers.

use std::path::PathBuf;

use anyhow::Result;
use srlg_alerts::Status;
use srlg_alerts::notification::{Kind, Notification};

use super::{Failure, SinkKind, SinkOptions};
use crate::store::{NumberedNotification, Store};

/// Sends a test notification of each kind and status to the sink with these `options`, one message for each status if
/// the sink sends digests. `told` receives the notifications of each message and the answer of the receiver, or `None`
/// if the sink does not want the notification. A file sink writes to standard output instead of its file.
///
/// # Errors
///
/// Returns an error if the sink cannot be opened.
pub fn try_sink(
    options: &SinkOptions,
    now_ms: u64,
    mut told: impl FnMut(&[Notification], Option<Result<String>>) -> Result<()>,
) -> Result<()> {
    let mut options = options.clone();
    if let SinkKind::File { path, .. } = &mut options.kind {
        *path = PathBuf::from("-");
    }
    let mut channel = options.open(0, &Store::open(None)?)?;
    let most = if options.digest().is_zero() { 1 } else { Kind::ALL.len() };
    let mut number = 0;
    for status in [Status::Start, Status::Update, Status::End] {
        let notifications = Kind::ALL.map(|kind| Notification::test(kind, status, now_ms));
        let is_wanted = |notification: &Notification| {
            // Test notifications of one alert differ only in their status.
            let start = Notification { status: Status::Start, ..notification.clone() };
            options.only.wants(notification, options.only.wants(&start, false))
        };
        let (wanted, others): (Vec<_>, Vec<_>) = notifications.into_iter().partition(is_wanted);
        for notifications in wanted.chunks(most) {
            let numbered = notifications.iter().map(|notification| {
                number += 1;
                (number, notification.clone())
            });
            let numbered: Vec<NumberedNotification> = numbered.collect();
            let answer = channel.send_all(&numbered);
            let error = |(Failure::Refused(error) | Failure::Failed(error))| error;
            told(notifications, Some(answer.map_err(error)))?;
        }
        if !others.is_empty() {
            told(&others, None)?;
        }
    }
    Ok(())
}
