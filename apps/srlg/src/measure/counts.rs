//! Counts of contacts that do not depend on the views.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;

use srlg_input::contact::{Contact, Host, Sampling};

use srlg_alerts::status::problems::{ProblemCounts, ProblemKind};
use srlg_alerts::witnesses::table::EXPORTERS;

#[derive(Debug, Default)]
pub(crate) struct ContactCounts {
    pub(crate) contacts: u64,
    pub(crate) samplings: Samplings,
    pub(crate) unused: Unused,
}

#[derive(Debug, Default)]
pub(crate) struct Samplings {
    by_exporter: HashMap<IpAddr, Sampling>,
    last: Option<(Host, Option<NonZeroU32>)>,
}

/// Numbers of contacts that do not count, by exporter and reason.
#[derive(Debug, Default)]
pub(crate) struct Unused(HashMap<Option<IpAddr>, ProblemCounts>);

impl ContactCounts {
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { contacts, samplings, unused } = other;
        self.contacts += contacts;
        for (exporter, sampling) in samplings.by_exporter {
            self.samplings.exporter(exporter).into_iter().for_each(|it| it.merge(sampling));
        }
        unused
            .0
            .into_iter()
            .for_each(|(exporter, counts)| self.unused.entry(exporter).merge(counts));
    }

    /// Removes the counts of `exporter`, so that they start at 0 if it sends again.
    pub(crate) fn forget(&mut self, exporter: IpAddr) {
        self.unused.0.remove(&Some(exporter));
        self.samplings.by_exporter.remove(&exporter);
        self.samplings.last = None;
    }
}

impl Samplings {
    /// Notes the sampling of `contact`. Returns whether its exporter or its sampling differs from that of the last
    /// contact.
    #[inline]
    pub(crate) fn record(&mut self, contact: &Contact) -> bool {
        let Some(exporter) = contact.exporter else { return false };
        let now = Some((exporter, contact.sampling));
        let is_other = self.last != now;
        if is_other {
            self.last = now;
            self.exporter(exporter.into()).into_iter().for_each(|it| it.add(contact));
        }
        is_other
    }

    pub(crate) const fn forget_last(&mut self) {
        self.last = None;
    }

    /// Returns the sampling of `exporter`, or `None` if `exporter` is new and the limit of [`EXPORTERS`] is reached.
    fn exporter(&mut self, exporter: IpAddr) -> Option<&mut Sampling> {
        let has_room =
            self.by_exporter.len() < EXPORTERS || self.by_exporter.contains_key(&exporter);
        has_room.then(|| self.by_exporter.entry(exporter).or_default())
    }

    /// Returns the sampling of all exporters.
    pub(crate) fn all(&self) -> Sampling {
        let mut all = Sampling::default();
        self.by_exporter.values().for_each(|of| all.merge(*of));
        all
    }

    pub(crate) fn of(&self, exporter: IpAddr) -> Sampling {
        self.by_exporter.get(&exporter).copied().unwrap_or_default()
    }
}

impl Unused {
    pub(crate) fn add(&mut self, exporter: Option<IpAddr>, kind: ProblemKind) {
        self.entry(exporter).add(kind, 1);
    }

    /// Returns the counts of `exporter`. If there are too many exporters, the additional ones share an entry.
    fn entry(&mut self, exporter: Option<IpAddr>) -> &mut ProblemCounts {
        let has_room = self.0.len() < EXPORTERS || self.0.contains_key(&exporter);
        self.0.entry(exporter.filter(|_| has_room)).or_default()
    }

    pub(crate) fn of(&self, exporter: Option<IpAddr>) -> ProblemCounts {
        self.0.get(&exporter).copied().unwrap_or_default()
    }
}
