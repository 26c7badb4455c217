//! Filter that turns contacts into the pairs that count in a view.

use anyhow::Result;
use srlg_input::ViewOptions;
use srlg_input::contact::{Contact, Host, View};

use srlg_alerts::rules::Rules;

/// Number of consecutive contacts without a port after which the input is assumed to have no ports.
const PORTLESS: u64 = 1_000;

/// A filter for the contacts of a view. It counts the contacts that an allow-list entry or a missing port excludes.
#[derive(Clone)]
pub(crate) struct PairFilter {
    view: View,
    pub(crate) counts: FilterCounts,
    /// Number of contacts since the last contact with a port, in a view of ports.
    portless: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FilterCounts {
    /// Whether a contact had a host in the inside networks.
    pub(crate) has_inside: bool,
    /// Contacts without a host in the inside networks, up to the first contact that has one.
    pub(crate) outside: u64,
    /// Contacts without a host in the view.
    pub(crate) unmatched: u64,
    /// Number of matches of each allow-list entry.
    pub(crate) hits: Vec<u64>,
    /// Contacts of which an allow-list entry excluded at least one pair.
    pub(crate) allowed: u64,
    /// Contacts without a port, which do not count in a view of ports.
    pub(crate) without_port: u64,
    /// Contacts that arrived after their slice had closed, but within the window.
    pub(crate) late: u64,
    /// Contacts older than the window, unless the slice clock has rejected and counted them.
    pub(crate) too_late: u64,
}

impl PairFilter {
    pub(crate) fn new(view: &ViewOptions, rules: &Rules) -> Result<Self> {
        Ok(Self { view: View::new(view)?, counts: FilterCounts::of(rules), portless: 0 })
    }

    /// Returns a copy of this filter for use with `rules`, with all counts at 0.
    pub(crate) fn anew(&self, rules: &Rules) -> Self {
        Self { view: self.view.clone(), counts: FilterCounts::of(rules), portless: 0 }
    }

    /// Returns the pairs of `contact` that count under `rules`. A pair is a host of the view with its peer.
    #[inline(always)]
    pub(crate) fn pairs(&mut self, contact: &Contact, rules: &Rules) -> [Option<(Host, Host)>; 2] {
        let [sent, received] = self.view.sent_and_received(contact);
        let are_there = [sent.is_some(), received.is_some()];
        self.counts.unmatched += u64::from(are_there == [false; 2]);
        if self.view.has_ports() {
            self.counts.without_port += u64::from(self.view.lacks_port(contact));
            self.portless = if contact.port().is_some() { 0 } else { self.portless + 1 };
        }
        if !self.counts.has_inside {
            self.look_inside(contact);
        }
        let counts = rules.counts(contact, are_there, &mut self.counts.hits);
        self.counts.allowed += u64::from(counts != are_there);
        [sent.filter(|_| counts[0]), received.filter(|_| counts[1])]
    }

    /// Notes whether `contact` has a host in the inside networks.
    #[cold]
    #[inline(never)]
    fn look_inside(&mut self, contact: &Contact) {
        let mut hosts = [contact.source, contact.destination].into_iter();
        self.counts.has_inside = hosts.any(|host| self.view.is_inside(host));
        self.counts.outside += u64::from(!self.counts.has_inside);
    }

    /// Returns whether this is a view of ports whose recent contacts all had no port.
    #[inline]
    pub(crate) const fn is_portless(&self) -> bool {
        self.portless >= PORTLESS
    }
}

impl FilterCounts {
    /// Returns zero counts for `rules`.
    pub(crate) fn of(rules: &Rules) -> Self {
        Self { hits: vec![0; rules.allows().len()], ..Self::default() }
    }

    /// Moves the counts of `other` into these counts. Both must belong to the same rules.
    pub(crate) fn absorb(&mut self, other: &mut Self) {
        let Self { has_inside, outside, unmatched, hits, allowed, without_port, late, too_late } =
            other;
        self.has_inside |= *has_inside;
        self.outside += std::mem::take(outside);
        self.unmatched += std::mem::take(unmatched);
        self.hits.iter_mut().zip(hits).for_each(|(all, more)| *all += std::mem::take(more));
        self.allowed += std::mem::take(allowed);
        self.without_port += std::mem::take(without_port);
        self.late += std::mem::take(late);
        self.too_late += std::mem::take(too_late);
    }
}
