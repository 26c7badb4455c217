//! An input from a broker, with its contacts and log lines.

use std::collections::BTreeSet;
use std::time::Instant;

use srlg_input::{BrokerStatus, Contact, Event, Input, InputOptions, LogLevel, LogLine, Position};

use crate::process::PATIENCE;

pub(crate) struct Reading {
    pub(crate) input: Input,
    pub(crate) contacts: Vec<Contact>,
    pub(crate) log: Vec<LogLine>,
}

impl Reading {
    pub(crate) fn open(options: &InputOptions, position: Option<Position>) -> Self {
        let input = Input::resume(options, position).unwrap();
        Self { input, contacts: Vec::new(), log: Vec::new() }
    }

    pub(crate) fn until(&mut self, is_so: impl Fn(&Self) -> bool) -> &mut Self {
        let started = Instant::now();
        while !is_so(self) {
            let status = self.input.status();
            assert!(
                started.elapsed() < PATIENCE,
                "{} {:?} {status:?}",
                self.contacts.len(),
                self.log
            );
            match self.input.next_event().unwrap().expect("the input has ended unexpectedly") {
                Event::Contacts(contacts) => self.contacts.extend(contacts),
                Event::Log(line) => self.log.push(line),
                _ => {}
            }
        }
        self
    }

    /// Reads events until there are at least `count` contacts.
    pub(crate) fn contacts(&mut self, count: usize) -> &mut Self {
        self.until(|it| it.contacts.len() >= count)
    }

    pub(crate) fn broker(&self) -> BrokerStatus {
        self.input.status().broker.unwrap_or_default()
    }

    pub(crate) fn warnings(&self) -> usize {
        self.log.iter().filter(|line| line.level == LogLevel::Warning).count()
    }

    pub(crate) fn peers(&self) -> BTreeSet<String> {
        self.contacts.iter().map(|contact| contact.source.to_string()).collect()
    }
}

/// Returns the contacts, sorted and with all times set to zero.
pub(crate) fn without_times(contacts: &[Contact]) -> Vec<Contact> {
    let mut without_times = contacts.to_vec();
    without_times.iter_mut().for_each(|contact| contact.time_ns = 0);
    without_times.sort_by_key(|contact| (contact.source, contact.destination));
    without_times
}
