//! All views of one input: contacts and time in, notices and the board out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use crate::alerts::{Alert, AlertId, Severity, Status, Subject};
use anyhow::Result;
use srlg_input::Status as InputStatus;
use srlg_input::contact::{Contact, Networks, Role, Sampling, Side, ViewOptions};

use crate::config::Config;
use crate::measure::watch::Watch;
use crate::notify::notice::{Context, Direction, Notice};
use crate::show::board::{Board, ExporterBoard, InputBoard};

/// All views of one input.
pub struct Monitor {
    views: Vec<Watch>,
    labels: Networks<String>,
    slice_ms: u64,
    contacts: u64,
    samplings: Samplings,
    /// The last notice of every alert that goes on.
    open: BTreeMap<AlertId, Arc<Notice>>,
}

/// How exporters sampled all contacts so far.
#[derive(Debug, Default)]
struct Samplings {
    by_exporter: HashMap<IpAddr, Sampling>,
    last: Option<(IpAddr, Option<std::num::NonZeroU32>)>,
}

/// Exporters whose sampling is remembered, as many as a decoder knows.
const EXPORTERS: usize = 16_384;

impl Samplings {
    /// Mostly it is as it was.
    #[inline]
    fn take(&mut self, contact: &Contact) {
        let Some(exporter) = contact.exporter else { return };
        let now = Some((exporter, contact.sampling));
        if self.last != now {
            self.last = now;
            if self.by_exporter.len() < EXPORTERS || self.by_exporter.contains_key(&exporter) {
                self.by_exporter.entry(exporter).or_default().add(contact);
            }
        }
    }
}

impl Monitor {
    /// Makes the views of `config`, whose detectors hash with `seed`.
    pub fn new(config: &Config, seed: u64) -> Result<Self> {
        let watch = |view| Watch::new(view, &config.general, seed);
        Ok(Self {
            views: config.views.iter().map(watch).collect::<Result<_>>()?,
            labels: config.labels.clone(),
            slice_ms: u64::try_from(config.general.slice.as_millis())?,
            contacts: 0,
            samplings: Samplings::default(),
            open: BTreeMap::new(),
        })
    }

    /// Follows the rules, the allow lists and the labels of `config` from the next slice on.
    pub fn reload(&mut self, config: &Config) {
        for book in self.views.iter_mut().map(Watch::book_mut) {
            if let Some(next) = config.views.iter().find(|next| next.name == book.name) {
                book.set_rules(next.rules.clone());
            }
        }
        self.labels = config.labels.clone();
    }

    /// Returns the views.
    pub(crate) fn watches(&mut self) -> impl Iterator<Item = &mut Watch> {
        self.views.iter_mut()
    }

    /// Returns the bytes of the recorders of all views.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.views.iter().map(|watch| watch.detector().memory_bytes()).sum()
    }

    /// Returns the bytes that a checkpoint takes besides while it is written: of the largest view a copy of
    /// the recorders, and the bytes before and after they are packed.
    #[must_use]
    pub fn checkpoint_bytes(&self) -> usize {
        let largest = self.views.iter().map(|watch| watch.detector().memory_bytes()).max();
        3 * largest.unwrap_or(0)
    }

    /// Returns the end of the last slice, milliseconds since the Unix epoch.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.views.iter().map(|watch| watch.book().now_ms()).max().unwrap_or(0)
    }

    /// Takes a contact.
    #[inline]
    pub fn take(&mut self, contact: &Contact) -> Result<()> {
        self.contacts += 1;
        self.samplings.take(contact);
        self.watches().try_for_each(|watch| watch.take(contact))
    }

    /// Lets time pass until `now_ns`.
    pub fn pass(&mut self, now_ns: u64) -> Result<()> {
        self.watches().try_for_each(|watch| watch.pass(now_ns))
    }

    /// Ends the last slice, at the end of an input.
    pub fn finish(&mut self) -> Result<()> {
        self.watches().try_for_each(Watch::finish)
    }

    /// Returns what is to be told since the last call.
    pub fn notices(&mut self) -> Result<Vec<Notice>> {
        let mut notices = Vec::new();
        for at in 0..self.views.len() {
            for (alert, context) in self.views[at].book_mut().changes() {
                notices.push(self.notice(&self.views[at].options, alert, context)?);
            }
        }
        for notice in &notices {
            match notice.status {
                Status::End => drop(self.open.remove(&notice.id)),
                _ => drop(self.open.insert(notice.id, Arc::new(notice.clone()))),
            }
        }
        Ok(notices)
    }

    /// Takes over `notices`, the last ones of alerts that went on when this program was stopped, and returns the ends of
    /// those whose view is no more.
    pub fn reopen(&mut self, notices: Vec<Notice>) -> Vec<Notice> {
        let is_known = |notice: &Notice| self.views.iter().any(|it| it.book().name == notice.view);
        let (known, gone): (Vec<_>, Vec<_>) = notices.into_iter().partition(is_known);
        self.open = known.into_iter().map(|notice| (notice.id, Arc::new(notice))).collect();
        gone.into_iter().map(Notice::end_without_view).collect()
    }

    /// The view of the same hosts as `view` in which contacts go the other way.
    fn opposite(&self, view: &ViewOptions) -> Option<&Watch> {
        let role = match view.role {
            Role::Destination => Role::Source,
            Role::Source => Role::Destination,
            Role::Any => return None,
        };
        self.views.iter().find(|Watch { options: other, .. }| {
            (other.role, other.measure, other.prefixes) == (role, view.measure, view.prefixes)
        })
    }

    fn notice(&self, view: &ViewOptions, alert: Alert, mut context: Context) -> Result<Notice> {
        let host = match &alert.subject {
            Subject::Host(host) => *host,
            Subject::Network { largest, network, .. } => {
                largest.first().map_or(network.addr(), |(host, _)| *host)
            }
        };
        if let Some(opposite) = self.opposite(view) {
            // Of as much time: what a host does within an hour is no answer to a flood of a minute.
            let slices = alert.main().slices.into();
            context.opposite = Some(opposite.cardinality_within(host, slices)?.cardinality);
        }
        context.direction = Direction::from(view.role);
        context.is_inside = view.measure == Side::Inside;
        context.label = self.labels.get(host).cloned();
        Ok(Notice::new(alert, context))
    }

    /// Returns what is known now, with what `input` tells.
    #[must_use]
    pub fn board(&self, input: &InputStatus) -> Board {
        let mut views: Vec<_> = self.views.iter().map(Watch::board).collect();
        for view in &mut views {
            for host in &mut view.top {
                host.label = self.labels.get(host.host).cloned();
            }
            for notice in self.open.values().filter(|notice| notice.view == view.name) {
                view.alerts[match notice.severity {
                    Severity::Warning => 0,
                    Severity::Major => 1,
                    Severity::Critical => 2,
                }] += 1;
            }
        }
        let mut alerts: Vec<Arc<Notice>> = self.open.values().cloned().collect();
        alerts.sort_by_key(|notice| std::cmp::Reverse(notice.start_ms));
        let sockets = input.sockets.unwrap_or_default();
        let exporters = input.exporters.iter().map(|exporter| {
            let address = exporter.address.ip();
            let sampling = self.samplings.by_exporter.get(&address).copied().unwrap_or_default();
            ExporterBoard {
                address,
                datagrams: exporter.counts.datagrams,
                records: exporter.counts.records,
                contacts: exporter.counts.contacts,
                lost: exporter.losses.lost,
                templates: exporter.templates,
                undecodable_sets: exporter.undecodable.iter().map(|it| it.sets).sum(),
                skew_ms: -exporter.skew_ns / 1_000_000,
                sampling,
            }
        });
        Board {
            now_ms: self.now_ms(),
            slice_ms: self.slice_ms,
            is_input_lost: self.views.iter().any(|watch| watch.book().is_input_lost),
            memory_bytes: self.memory_bytes() as u64,
            views,
            alerts,
            input: InputBoard {
                contacts: self.contacts,
                received: sockets.received,
                refused: sockets.refused,
                dropped: sockets.dropped.or(input.interface_drops).unwrap_or(0),
            },
            exporters: exporters.collect(),
            ..Board::default()
        }
    }
}
