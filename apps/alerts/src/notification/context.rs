//! Facts from which a notification is written: the view, the counts, and evidence about the host.

use std::net::IpAddr;

use ipnet::IpNet;
use srlg_input::contact::{ContactFilter, Packing, PeerKey};

use super::cause::ALIKE;
use super::{Direction, InterfaceShare, Kind, MOSTLY, Rates, Unit};
use crate::{Alert, Status, Why};

/// Facts about an alert that an [`Alert`] does not contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Direction of the view's contacts.
    pub direction: Direction,
    /// Whether the hosts of the view are inside hosts.
    pub is_inside: bool,
    /// Contacts that the view counts.
    pub only: ContactFilter,
    /// Whether the hosts of the view are networks rather than addresses.
    pub is_of_networks: bool,
    /// Packed form of the view's hosts.
    pub host_packing: Packing,
    /// Packed form of the view's peers.
    pub peer_packing: Packing,
    /// Configured label of the network that contains the host.
    pub label: Option<String>,
    /// Length of a slice, in milliseconds.
    pub slice_ms: u64,
    /// Whether the contacts are old, so that the text states the time of the slice.
    pub is_replay: bool,
    /// Number of peers in the opposite direction.
    pub opposite: OppositeCounts,
    /// Whether later slices have closed since. The number of peers in the opposite direction is then that of a later
    /// time, so it says nothing about the cause.
    pub is_stale: bool,
    /// Sampling of the contacts.
    pub sampling: srlg_input::contact::Sampling,
    /// Age of the newest contact, in milliseconds.
    pub data_age_ms: u64,
    /// Sites whose data had not arrived when the slice closed.
    pub missing_sites: Vec<String>,
    /// Evidence from contacts and from sites.
    pub evidence: Evidence,
    /// The detector's sample of the host's peers, in packed form.
    pub peers: Vec<IpAddr>,
    /// Largest rates so far.
    pub peak_rates: Rates,
    /// The statements of the last notification of the alert, if there was one.
    pub former: Option<Former>,
}

/// Numbers of a host's peers in the opposite direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OppositeCounts {
    /// Peers with known replies, if a view counts only these.
    pub replies: Option<f64>,
    /// Peers with other contacts.
    pub others: Option<f64>,
    /// Peers in the direction of the alert, counted at the same time as the others. The window of an alert ends a slice
    /// earlier, so its first slice is not comparable.
    pub own: Option<f64>,
}

/// The statements of an alert's last notification that affect the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Former {
    /// Probable cause.
    pub kind: Kind,
    /// Probable cause when the alert started.
    pub kind_at_start: Kind,
    /// Whether the host answered its peers but had far more of them than usual.
    pub is_unusual: bool,
    /// Reflected protocol.
    pub protocol: Option<String>,
    /// Number of peers in the opposite direction.
    pub opposite: Option<f64>,
}

/// Evidence about the host of an alert, from its contacts and from the sites.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Details of the host, if there are any.
    pub detail: Option<Detail>,
    /// Rates of the host.
    pub rates: Rates,
    /// Peer counts of the host within the main window, one per reporting site, in any order.
    pub sites: Vec<SiteCount>,
    /// Sites that did not report the peer count of the host.
    pub sites_without_details: Vec<String>,
}

/// Peer count of a host at one site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteCount {
    /// Name of the site.
    pub site: String,
    /// Number of peers that the site saw.
    pub cardinality: f64,
}

/// Details of a host, collected from its contacts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// Start of the period that the details cover, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// A uniform sample of the peers, in packed form.
    pub peers: Vec<IpAddr>,
    /// Exporters that saw the host.
    pub exporters: Vec<IpAddr>,
    /// Destination ports with their shares of contacts.
    pub ports: Vec<(String, f64)>,
    /// Source ports with their shares of contacts.
    pub source_ports: Vec<(String, f64)>,
    /// Prefixes of peers with their shares of contacts.
    pub prefixes: Vec<(IpNet, f64)>,
    /// Interfaces with their shares of contacts.
    pub interfaces: Vec<InterfaceShare>,
    /// Share of contacts that are TCP and have the flag SYN but not ACK.
    pub syn_only: f64,
    /// Share of peers that sent, or were sent, nothing but attempts to connect.
    pub attempts: f64,
    /// Share of contacts that are known to be requests.
    pub requests: f64,
    /// Share of contacts that are known to be replies.
    pub replies: f64,
    /// Share of contacts whose ports are unknown.
    pub without_port: f64,
}

impl Context {
    /// Returns the number of peers in the opposite direction, as far as they belong to the same conversations.
    pub(super) fn opposite(&self) -> Option<f64> {
        let OppositeCounts { replies, others, .. } = self.opposite;
        let detail = self.evidence.detail.as_ref();
        let is_of_requests = detail.is_some_and(|detail| detail.requests >= MOSTLY);
        match (self.only, is_of_requests) {
            // What the host requests of others says nothing about requests to it.
            (ContactFilter::NoReplies, true) => replies,
            // Unknown contacts may be replies.
            _ => [replies, others].into_iter().flatten().reduce(f64::max),
        }
    }

    /// Returns whether most of the `count` peers of an alert have left the window before the peers in the opposite
    /// direction were counted, which then say nothing.
    pub(super) fn has_passed(&self, count: f64) -> bool {
        self.opposite.own.is_some_and(|own| own * ALIKE < count)
    }

    /// Returns whether the view's hosts or peers include ports.
    pub(super) fn has_ports(&self) -> bool {
        [self.host_packing, self.peer_packing].iter().any(|it| it.key() != PeerKey::Address)
    }

    pub(super) fn unit(&self) -> Unit {
        Unit::of(self.peer_packing, self.direction)
    }

    /// Returns the words that follow the host in the text of a notification.
    pub(super) const fn did(&self) -> &'static str {
        match (self.direction, self.peer_packing.key()) {
            (Direction::FanIn, PeerKey::Port) => "was contacted on",
            (Direction::FanIn, _) => "was contacted by",
            (Direction::FanOut, _) => "contacted",
            (Direction::Any, PeerKey::Port) => "was in contact on",
            (Direction::Any, _) => "was in contact with",
        }
    }

    /// Returns whether the alert keeps the kind `former` although a notification with this context suggests `kind`.
    /// Details may be missing in a slice, and a low count says nothing about the cause.
    pub(super) fn keeps_kind(&self, former: Kind, kind: Kind, alert: &Alert) -> bool {
        let is_without_details = kind == Kind::Unknown && self.evidence.detail.is_none();
        let is_low = alert.main().cardinality < alert.main().threshold;
        let is_known = former != Kind::Unknown || self.opposite != OppositeCounts::default();
        let has_passed = self.has_passed(alert.main().cardinality);
        let is_fixed = alert.status == Status::End || self.is_stale || has_passed;
        // An attack does not end because it pauses.
        let is_pause = kind.is_benign()
            && !former.is_benign()
            && !matches!(alert.why, Why::Repeat | Why::Cause);
        is_fixed || is_without_details || is_low && is_known || is_pause
    }
}
