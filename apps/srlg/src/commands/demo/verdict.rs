//! Whether each attack raised one alert, with one start and one end, and nothing else did.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::attacks::{PlantedAttack, name};
use crate::alerts::Status;
use crate::notify::notice::Notice;

/// How long after the demonstration the last end may come.
const LATEST: Duration = Duration::from_secs(20);

/// The planted attacks, and the notifications that came.
pub(super) struct Verdict {
    planted: Vec<(PlantedAttack, Vec<Notice>)>,
    others: Vec<Notice>,
    file: Option<File>,
}

impl Verdict {
    /// Expects alerts of `planted`, and writes all that come to the file `alerts`.
    pub(super) fn new(planted: Vec<PlantedAttack>, alerts: Option<&Path>) -> Result<Self> {
        let create = |path: &Path| {
            File::create(path).with_context(|| format!("cannot write to {}", path.display()))
        };
        let file = alerts.map(create).transpose()?;
        let planted = planted.into_iter().map(|planted| (planted, Vec::new())).collect();
        Ok(Self { planted, others: Vec::new(), file })
    }

    /// Takes, prints and writes a notification that came `at` this time of the demonstration.
    pub(super) fn take(&mut self, notice: Notice, at: Duration) -> Result<()> {
        let Notice { status, severity, ref text, .. } = notice;
        writeln!(io::stdout(), "{:5.1} s  {status:<6} {severity:<8} {text}", at.as_secs_f64())?;
        if let Some(file) = &mut self.file {
            serde_json::to_writer(&mut *file, &notice)?;
            writeln!(file)?;
        }
        let subject = notice.network.or_else(|| notice.host.network());
        let is_of = |(planted, _): &&mut (PlantedAttack, Vec<Notice>)| {
            Some(planted.subject) == subject && planted.view == notice.view
        };
        match self.planted.iter_mut().find(is_of) {
            Some((_, alerts)) => alerts.push(notice),
            None => self.others.push(notice),
        }
        Ok(())
    }

    /// Returns whether more may come after `elapsed` of a demonstration of some `length`: a busy machine is late.
    pub(super) fn may_change(&self, elapsed: Duration, length: Duration) -> bool {
        let has_end = |(_, alerts): &(PlantedAttack, Vec<Notice>)| {
            alerts.iter().any(|alert| alert.status == Status::End)
        };
        elapsed < length || elapsed < length + LATEST && !self.planted.iter().all(has_end)
    }

    /// Prints the verdict, and returns whether all is right.
    pub(super) fn print(&self) -> io::Result<bool> {
        let mut out = io::stdout().lock();
        let mut is_right = self.others.is_empty();
        for (planted, alerts) in &self.planted {
            let of = |status| alerts.iter().filter(|alert| alert.status == status).count();
            let (starts, ends) = (of(Status::Start), of(Status::End));
            let is_one = alerts.iter().all(|alert| alert.id == alerts[0].id);
            let is_once = starts == 1 && ends == 1 && is_one;
            is_right &= is_once;
            let word = if is_once { "right" } else { "WRONG" };
            writeln!(out, "{word}: {}: {starts} start, {ends} end", name(planted.subject))?;
        }
        for other in &self.others {
            writeln!(out, "WRONG: {} of {} was not planted", other.status, other.subject())?;
        }
        Ok(is_right)
    }
}
