//! Whether each attack was told once, from start to end, and nothing else was.

use std::io::{self, Write};

use srlg_alert::Status;

use crate::notice::Notice;

use super::attacks::{PlantedAttack, name};

pub(super) struct Verdict {
    planted: Vec<(PlantedAttack, Vec<Notice>)>,
    others: Vec<Notice>,
}

impl Verdict {
    pub(super) fn new(planted: Vec<PlantedAttack>) -> Self {
        let planted = planted.into_iter().map(|planted| (planted, Vec::new())).collect();
        Self { planted, others: Vec::new() }
    }

    pub(super) fn take(&mut self, notice: Notice) {
        let subject = notice.network.unwrap_or_else(|| notice.host.into());
        let is_of = |(planted, _): &&mut (PlantedAttack, Vec<Notice>)| {
            planted.subject == subject && planted.view == notice.view
        };
        match self.planted.iter_mut().find(is_of) {
            Some((_, alerts)) => alerts.push(notice),
            None => self.others.push(notice),
        }
    }

    /// Prints the verdict; whether all is right.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<bool> {
        let mut is_right = self.others.is_empty();
        for (planted, alerts) in &self.planted {
            let of = |status| alerts.iter().filter(|alert| alert.status == status).count();
            let (starts, ends) = (of(Status::Start), of(Status::End));
            let is_one = alerts.iter().all(|alert| alert.id == alerts[0].id);
            let is_told = starts == 1 && ends == 1 && is_one;
            is_right &= is_told;
            let word = if is_told { "right" } else { "WRONG" };
            writeln!(out, "{word}: {}: {starts} start, {ends} end", name(planted.subject))?;
        }
        for other in &self.others {
            writeln!(out, "WRONG: {} of {} was not planted", other.status, other.subject())?;
        }
        Ok(is_right)
    }
}
