//! The loop: contacts and time in, notices out.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use srlg_alert::Subject;
use srlg_contact::{Contact, Prefixes, Role, Side, ViewOptions};
use srlg_input::{Event, Input};
use tracing::{info, warn};

use crate::notice::Notice;
use crate::options::Options;
use crate::watch::{Watch, WatchOptions};

/// Watches all views of one input.
pub struct Monitor {
    /// Each with whether its hosts receive.
    watches: Vec<(Watch, bool)>,
    window_ms: u64,
}

impl Monitor {
    /// Makes the views that `options` ask for: hosts inside by whom they receive from, and by whom they send to; and hosts
    /// outside by whom they send to inside.
    ///
    /// # Errors
    /// What is wrong with the options.
    pub fn new(options: &Options) -> Result<Self> {
        let inside = options.inside.clone();
        // Who is outside may have as many addresses of a /64 as they like.
        let prefixes = Prefixes { peer6: 64, ..Prefixes::default() };
        let base = ViewOptions { inside, prefixes, ..ViewOptions::default() };
        let mut views = vec![
            ("fan-in", ViewOptions { role: Role::Destination, ..base.clone() }),
            ("fan-out", ViewOptions { role: Role::Source, ..base.clone() }),
        ];
        if !options.inside.is_empty() {
            let prefixes = Prefixes { host6: 64, ..Prefixes::default() };
            let (measure, role) = (Side::Outside, Role::Source);
            views.push(("outside", ViewOptions { measure, role, prefixes, ..base }));
        }
        let watches: Result<Vec<_>> = views
            .into_iter()
            .map(|(name, view)| {
                let is_fan_in = view.role == Role::Destination;
                let (config, rule) = (options.detector()?, options.rule()?);
                let Options { slice, grace, .. } = *options;
                Ok((
                    Watch::new(WatchOptions { name, view, config, rule, slice, grace })?,
                    is_fan_in,
                ))
            })
            .collect();
        Ok(Self { watches: watches?, window_ms: u64::try_from(options.window.as_millis())? })
    }

    /// Returns the bytes of the recorders of all views.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.watches.iter().map(|(watch, _)| watch.memory_bytes()).sum()
    }

    /// Takes a contact.
    ///
    /// # Errors
    /// What a detector says.
    pub fn take(&mut self, contact: &Contact) -> Result<()> {
        self.watches.iter_mut().try_for_each(|(watch, _)| watch.take(contact))
    }

    /// Lets time pass until `now_ns`.
    ///
    /// # Errors
    /// What a detector says.
    pub fn pass(&mut self, now_ns: u64) -> Result<()> {
        self.watches.iter_mut().try_for_each(|(watch, _)| watch.pass(now_ns))
    }

    /// Ends the last slice, at the end of an input.
    ///
    /// # Errors
    /// What a detector says.
    pub fn finish(&mut self) -> Result<()> {
        self.watches.iter_mut().try_for_each(|(watch, _)| watch.finish())
    }

    /// Returns what is to be told since the last call.
    ///
    /// # Errors
    /// What a detector says.
    pub fn notices(&mut self) -> Result<Vec<Notice>> {
        let mut notices = Vec::new();
        for at in 0..self.watches.len() {
            let (watch, is_fan_in) = &mut self.watches[at];
            let is_fan_in = *is_fan_in;
            for told in watch.told() {
                let opposite = match told.alert.subject {
                    Subject::Host(host) => self.opposite(at, host)?,
                    Subject::Network { .. } => Some(0.0),
                };
                notices.push(Notice::new(told, is_fan_in, opposite, self.window_ms));
            }
        }
        Ok(notices)
    }

    /// How many hosts the other direction of a host inside has; of those outside only one is watched.
    fn opposite(&self, at: usize, host: std::net::IpAddr) -> Result<Option<f64>> {
        let Some(other) = [1, 0].get(at) else { return Ok(Some(0.0)) };
        Ok(Some(self.watches[*other].0.cardinality(host)?.cardinality))
    }
}

/// Watches until the input ends, or a signal comes.
///
/// # Errors
/// What is wrong with the options, the input, or the file of alerts.
pub fn run(options: &Options) -> Result<()> {
    let mut monitor = Monitor::new(options)?;
    let mut out = open(&options.alerts)?;
    let mut input = Input::open(&options.source)?;
    input.stop_at_signals()?;
    let memory = monitor.memory_bytes() as f64 / 1e6;
    info!("{} views take {memory:.1} MB, whatever comes", monitor.watches.len());
    while let Some(event) = input.next_event()? {
        match event {
            Event::Contact(contact) => monitor.take(&contact)?,
            Event::Time(now_ns) => monitor.pass(now_ns)?,
            Event::Notice(line) => match line.strip_prefix("warning: ") {
                Some(line) => warn!("{line}"),
                None => info!("{line}"),
            },
        }
        write(&mut out, monitor.notices()?)?;
    }
    if !options.source.is_live() {
        monitor.finish()?;
        write(&mut out, monitor.notices()?)?;
    }
    let status = input.status();
    status.to_string().lines().for_each(|line| info!("{line}"));
    status.exporters.iter().for_each(|exporter| info!("exporter {exporter}"));
    Ok(())
}

fn open(path: &Path) -> Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdout()));
    }
    let file = File::options().create(true).append(true).open(path);
    Ok(Box::new(file.with_context(|| format!("cannot write to {}", path.display()))?))
}

fn write(out: &mut dyn Write, notices: Vec<Notice>) -> Result<()> {
    for notice in notices {
        let mut line = serde_json::to_vec(&notice)?;
        line.push(b'\n');
        // In one call, so that whoever reads along sees whole lines.
        out.write_all(&line).and_then(|()| out.flush()).context("cannot write alerts")?;
        let alert = &notice.alert;
        info!("{:?} {} {}: {}", alert.status, alert.severity, alert.id, notice.text);
    }
    Ok(())
}
