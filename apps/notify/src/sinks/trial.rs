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
    let statuses = [Status::Start, Status::Update, Status::End];
    let test = |kind, status| Notification::test(kind, status, now_ms);
    let messages: Vec<Vec<Notification>> = match channel.digest().is_zero() {
        // Each alert ends before the next one starts.
        true => {
            Kind::ALL.iter().flat_map(|kind| statuses.map(|it| vec![test(*kind, it)])).collect()
        }
        false => statuses.map(|it| Kind::ALL.map(|kind| test(kind, it)).to_vec()).to_vec(),
    };
    let mut number = 0;
    for notifications in messages {
        let is_wanted = |notification: &Notification| {
            // Test notifications of one alert differ only in their status.
            let start = Notification { status: Status::Start, ..notification.clone() };
            options.only.wants(notification, options.only.wants(&start, false))
        };
        let (wanted, others): (Vec<_>, Vec<_>) = notifications.into_iter().partition(is_wanted);
        if !wanted.is_empty() {
            let numbered = wanted.iter().map(|notification| {
                number += 1;
                (number, notification.clone())
            });
            let numbered: Vec<NumberedNotification> = numbered.collect();
            let answer = channel.send_all(&numbered);
            told(&wanted, Some(answer.map_err(Failure::into_error)))?;
        }
        if !others.is_empty() {
            told(&others, None)?;
        }
    }
    Ok(())
}
