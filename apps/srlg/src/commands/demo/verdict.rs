//! The verdict: each attack must raise one alert per round with one start and one end, and there must be no other
//! alert.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::attacks::{Attacks, PlantedAttack, name};
use srlg_alerts::Status;
use srlg_alerts::notification::Notification;

/// Maximum time from the end of the demonstration to the last end of an alert.
const LATEST: Duration = Duration::from_secs(20);

pub(super) struct Verdict {
    planted: Vec<(PlantedAttack, Vec<Notification>)>,
    rounds: usize,
    others: Vec<Notification>,
    file: Option<File>,
}

impl Verdict {
    /// Creates a verdict. If a file `alerts` is given, all notifications are written to it.
    pub(super) fn new(attacks: &Attacks, alerts: Option<&Path>) -> Result<Self> {
        let create = |path: &Path| {
            File::create(path).with_context(|| format!("cannot write to {}", path.display()))
        };
        let file = alerts.map(create).transpose()?;
        let planted = attacks.planted().into_iter().map(|planted| (planted, Vec::new())).collect();
        let rounds = attacks.rounds as usize;
        Ok(Self { planted, rounds, others: Vec::new(), file })
    }

    /// Records and prints a notification. `at` is the time since the start of the demonstration.
    pub(super) fn record(&mut self, notification: Notification, at: Duration) -> Result<()> {
        let Notification { status, severity, ref text, .. } = notification;
        writeln!(io::stdout(), "{:5.1} s  {status:<6} {severity:<8} {text}", at.as_secs_f64())?;
        if let Some(file) = &mut self.file {
            serde_json::to_writer(&mut *file, &notification)?;
            writeln!(file)?;
        }
        let subject = notification.host.network();
        let is_of = |(planted, _): &&mut (PlantedAttack, Vec<Notification>)| {
            Some(planted.subject) == subject && planted.view == notification.view
        };
        match self.planted.iter_mut().find(is_of) {
            Some((_, alerts)) => alerts.push(notification),
            None => self.others.push(notification),
        }
        Ok(())
    }

    /// Returns whether more notifications are expected when a demonstration of this `length` has run for `elapsed`. On
    /// a busy machine, notifications may be late.
    pub(super) fn may_change(&self, elapsed: Duration, length: Duration) -> bool {
        let has_ended = |(_, alerts): &(PlantedAttack, Vec<Notification>)| {
            count(alerts, Status::End) >= self.rounds
        };
        elapsed < length || elapsed < length + LATEST && !self.planted.iter().all(has_ended)
    }

    /// Prints the verdict and returns whether all alerts are as expected.
    pub(super) fn print(&self) -> io::Result<bool> {
        let mut out = io::stdout().lock();
        let mut is_right = self.others.is_empty();
        for (planted, alerts) in &self.planted {
            let (starts, ends) = (count(alerts, Status::Start), count(alerts, Status::End));
            let ids: BTreeSet<_> = alerts.iter().map(|alert| alert.id).collect();
            let is_once = [starts, ends, ids.len()] == [self.rounds; 3];
            is_right &= is_once;
            let word = if is_once { "ok" } else { "WRONG" };
            let subject = name(planted.subject);
            let plural = |count| if count == 1 { "" } else { "s" };
            let (of_starts, of_ends) = (plural(starts), plural(ends));
            writeln!(out, "{word}: {subject}: {starts} start{of_starts}, {ends} end{of_ends}")?;
        }
        for other in &self.others {
            writeln!(out, "WRONG: unexpected {} of {}", other.status, other.host)?;
        }
        Ok(is_right)
    }
}

fn count(alerts: &[Notification], status: Status) -> usize {
    alerts.iter().filter(|alert| alert.status == status).count()
}
