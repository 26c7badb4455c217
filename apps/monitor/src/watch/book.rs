//! What is written of closed slices: alerts, and what is shown.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context as _, Result};
use srlg_alert::{Alert, Condition, Sighting, Status, Subject, Tracker};
use srlg_host::report::EstimateRange;
use srlg_host::{SliceReport, SlidingDetector};
use srlg_input::contact::{Contact, Sampling, SamplingWindow};

use super::MOST_SILENT;
use super::details::Details;
use super::shown::Shown;
use crate::board::{AllowBoard, ViewBoard};
use crate::maxima::Maxima;
use crate::notice::Detail;
use crate::rules::Rules;

/// Without any contact for so long the input is lost: silence is no end of an attack.
const LOST_MS: u64 = 60_000;

/// Hosts are reported to a tracker from below the count at which alerts end.
pub(crate) const BELOW_DOWN: f64 = 0.9;

/// Tells of an alert, with what the view knows besides.
#[derive(Clone, Debug)]
pub struct Told {
    /// The alert.
    pub alert: Alert,
    /// Length of the window.
    pub window_ms: u64,
    /// Opposite hosts that the detector has, those seen last first.
    pub peers: Vec<IpAddr>,
    /// What contacts told one by one.
    pub detail: Option<Detail>,
    /// How the contacts were sampled that count.
    pub sampling: Sampling,
    /// Milliseconds since the newest contact.
    pub data_age_ms: u64,
}

pub(super) struct Book {
    name: String,
    /// The longest window.
    window: u32,
    /// By the length of the window in slices.
    trackers: BTreeMap<u32, Tracker>,
    maxima: BTreeMap<u32, Maxima>,
    rules: Rules,
    slice_ms: u64,
    /// The next slice that the trackers are told of.
    next: u64,
    /// Before this slice counts are too low, as nothing was seen for a while.
    whole_from: u64,
    sampling: SamplingWindow,
    /// When the newest contact was read, whichever it was.
    newest_input_ms: u64,
    is_input_lost: bool,
    told: Vec<Told>,
    details: Details,
    shown: Shown,
    closed: u64,
    overloads: u64,
}

impl Book {
    pub(super) fn new(name: &str, window: u32, rules: Rules, slice_ms: u64) -> Self {
        let mut book = Self {
            name: name.to_owned(),
            window,
            trackers: BTreeMap::new(),
            maxima: BTreeMap::new(),
            rules,
            slice_ms,
            next: 0,
            whole_from: 0,
            sampling: SamplingWindow::new(window),
            newest_input_ms: 0,
            is_input_lost: false,
            told: Vec::new(),
            details: Details::default(),
            shown: Shown::default(),
            closed: 0,
            overloads: 0,
        };
        book.make_trackers();
        book
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(super) fn set_rules(&mut self, mut rules: Rules) {
        rules.take_hits(&self.rules);
        self.rules = rules;
        self.make_trackers();
    }

    fn make_trackers(&mut self) {
        for window in self.rules.windows() {
            self.trackers.entry(window).or_insert_with(|| Tracker::new(&self.name));
        }
    }

    pub(super) fn closed(&self) -> u64 {
        self.closed
    }

    pub(super) fn is_input_lost(&self) -> bool {
        self.is_input_lost
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.next.saturating_mul(self.slice_ms)
    }

    /// Takes note of a contact of `slice`, whether it counts or not.
    #[inline]
    pub(super) fn see(&mut self, slice: u64, contact: &Contact) {
        self.newest_input_ms = self.newest_input_ms.max(contact.time_ns / 1_000_000);
        self.sampling.add(slice, contact);
    }

    #[inline]
    pub(super) fn has_details(&self) -> bool {
        !self.details.is_empty()
    }

    #[inline]
    pub(super) fn detail(&mut self, pair: (IpAddr, IpAddr), contact: &Contact) {
        self.details.take(pair, contact);
    }

    pub(super) fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    pub(super) fn state(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_vec(&self.trackers)?)
    }

    /// Counts are too low until a whole window has passed.
    pub(super) fn restore_state(&mut self, state: &[u8]) -> Result<()> {
        self.trackers = serde_json::from_slice(state)
            .with_context(|| format!("the state of alerts of the view {} is damaged", self.name))?;
        self.make_trackers();
        // Until a slice starts nobody knows how long nothing was seen.
        self.whole_from = u64::MAX;
        Ok(())
    }

    pub(super) fn maxima(&self) -> impl Iterator<Item = (u32, &Maxima)> {
        self.maxima.iter().map(|(window, maxima)| (*window, maxima))
    }

    pub(super) fn restore_maxima(&mut self, window: u32, maxima: &[u8]) -> Result<()> {
        let maxima = serde_json::from_slice(maxima)
            .with_context(|| format!("the largest counts of the view {} are damaged", self.name))?;
        self.maxima.insert(window, maxima);
        Ok(())
    }

    pub(super) fn sampling_slices(&self) -> Vec<(u64, String)> {
        self.sampling.slices().map(|(slice, sampling)| (slice, sampling.to_string())).collect()
    }

    /// Goes on at `slice`, before which contacts were sampled so.
    pub(super) fn resume(&mut self, slice: u64, sampling: Vec<(u64, Sampling)>) {
        self.next = slice;
        sampling.into_iter().for_each(|(slice, sampling)| self.sampling.merge(slice, sampling));
    }

    /// The first slice is `slice`.
    pub(super) fn start(&mut self, slice: u64) {
        self.next = slice;
        self.newest_input_ms = self.newest_input_ms.max(slice.saturating_mul(self.slice_ms));
        if self.whole_from == u64::MAX {
            self.whole_from = slice.saturating_add(self.window.into());
        }
    }

    pub(super) fn close(&mut self, report: &SliceReport, detector: &SlidingDetector) -> Result<()> {
        self.silence_until(report.slice);
        self.closed += 1;
        let is_overloaded = report.health.finder.overload.is_some();
        self.overloads += u64::from(is_overloaded);
        let mut alerts = Vec::new();
        let condition = self.condition(report.slice, is_overloaded);
        for (window, tracker) in &mut self.trackers {
            let points = sightings(report, detector, (*window, self.window), &self.rules)?;
            let rules = &self.rules;
            for point in &points {
                rules.count_host(point.host, *window, point.cardinality - point.std_error);
            }
            let now_ms = (report.slice + 1).saturating_mul(self.slice_ms);
            let maxima = self.maxima.entry(*window).or_default();
            maxima.pass(now_ms);
            points.iter().for_each(|point| maxima.take(point.host, point.cardinality, now_ms));
            let told = tracker.close(now_ms, &points, |host| rules.rule(host, *window), condition);
            alerts.extend(told.into_iter().map(|alert| (*window, alert)));
        }
        self.next = report.slice + 1;
        let now_ms = self.now_ms();
        let sampling = self.sampling.at(report.slice);
        let looked_at = self.looked_at(report);
        self.details.look_at(&looked_at, now_ms);
        let active = |host: IpAddr| self.trackers.values().any(|tracker| tracker.is_active(host));
        self.shown.close(report, active);
        for (window, alert) in alerts {
            let told = self.tell(window, alert, sampling, report);
            self.told.push(told);
        }
        // An alert that is over was told with what was known of it.
        self.trackers.retain(|window, tracker| {
            tracker.active() > 0 || self.rules.windows().contains(window)
        });
        Ok(())
    }

    fn tell(&self, window: u32, alert: Alert, sampling: Sampling, report: &SliceReport) -> Told {
        let point = |host| report.super_points.iter().find(|point| point.host == host);
        let hosts: Vec<IpAddr> = match &alert.subject {
            Subject::Host(host) => vec![*host],
            Subject::Network { largest, .. } => largest.iter().map(|(host, _)| *host).collect(),
        };
        let peers = hosts.first().and_then(|host| point(*host)).map(|point| &point.peers);
        Told {
            window_ms: u64::from(window) * self.slice_ms,
            peers: peers.into_iter().flatten().map(|peer| peer.host).collect(),
            detail: if alert.status == Status::End { None } else { self.details.of(&hosts) },
            sampling,
            data_age_ms: alert.now_ms.saturating_sub(self.newest_input_ms),
            alert,
        }
    }

    /// Hosts with an alert, or about to have one; those with the most opposite hosts first.
    fn looked_at(&self, report: &SliceReport) -> Vec<IpAddr> {
        let mut hosts: Vec<IpAddr> = self.trackers.values().flat_map(Tracker::hosts).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let points = report.super_points.iter();
        let counts: BTreeMap<IpAddr, f64> =
            points.map(|point| (point.host, point.cardinality)).collect();
        let count = |host: &IpAddr| counts.get(host).copied().unwrap_or(0.0);
        hosts.sort_by(|a, b| count(b).total_cmp(&count(a)));
        hosts
    }

    /// Slices before `slice` that nobody has reported, as nothing was in their window.
    pub(super) fn silence_until(&mut self, slice: u64) {
        self.next = self.next.max(slice.saturating_sub(MOST_SILENT));
        while self.next < slice {
            let condition = self.condition(self.next, false);
            let now_ms = (self.next + 1).saturating_mul(self.slice_ms);
            for (window, tracker) in &mut self.trackers {
                let rules = &self.rules;
                let told = tracker.close(now_ms, &[], |host| rules.rule(host, *window), condition);
                let window_ms = u64::from(*window) * self.slice_ms;
                let data_age_ms = now_ms.saturating_sub(self.newest_input_ms);
                self.told.extend(told.into_iter().map(|alert| Told {
                    alert,
                    window_ms,
                    peers: Vec::new(),
                    detail: None,
                    sampling: Sampling::default(),
                    data_age_ms,
                }));
            }
            self.next += 1;
            self.shown.silence();
        }
    }

    fn condition(&mut self, slice: u64, is_overloaded: bool) -> Condition {
        let now_ms = (slice + 1).saturating_mul(self.slice_ms);
        self.is_input_lost = now_ms.saturating_sub(self.newest_input_ms) >= LOST_MS;
        let is_overloaded = is_overloaded || slice < self.whole_from;
        Condition { is_input_lost: self.is_input_lost, is_overloaded }
    }

    pub(super) fn board(&self) -> ViewBoard {
        ViewBoard {
            name: self.name.clone(),
            window_ms: u64::from(self.window) * self.slice_ms,
            slices: self.closed,
            overloads: self.overloads,
            allows: self
                .rules
                .allows()
                .map(|(allow, hits)| AllowBoard { why: allow.why.clone(), hits })
                .collect(),
            left_out: self.trackers.values().map(Tracker::left_out).sum(),
            ..self.shown.board()
        }
    }
}

/// The hosts of a report that a tracker of `window` slices looks at, of a detector of `longest`.
fn sightings(
    report: &SliceReport,
    detector: &SlidingDetector,
    (window, longest): (u32, u32),
    rules: &Rules,
) -> Result<Vec<Sighting>> {
    let least = rules.least(Some(window)) * BELOW_DOWN;
    let mut sightings = Vec::new();
    for point in &report.super_points {
        let (cardinality, std_error, range) = if window == longest {
            (point.cardinality, point.std_error, point.range)
        } else if point.cardinality < least {
            continue;
        } else {
            // The slice that runs is one more, and empty.
            let estimate = detector.cardinality_within(point.host, window + 1)?;
            (estimate.cardinality, estimate.std_error, estimate.range)
        };
        if cardinality >= least {
            let mut sighting = Sighting::new(point.host, cardinality, std_error);
            sighting.is_lower_bound = range == EstimateRange::Beyond;
            sightings.push(sighting);
        }
    }
    Ok(sightings)
}
