//! [`Node`]: a detector on the CPU and its model.
//!
//! Each operation is applied to the detector and to the model, and the results must be equal, bit for bit.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Mutex;

use srlg_core::{Config, Estimate, EstimateRange, IpPair, Ipv4Pair, Tally};
use srlg_reference::{TaggedEstimate, TaggedModel, TaggedTally};

use super::contacts::{Contact, HOSTS, pair, short};
use crate::backend::HostTallies;
use crate::state::Snapshot;
use crate::state::Words;
use crate::{Device, Error, SlidingDetector, SuperPoint};

/// Cardinality, standard error and range of an estimate. The numbers are stored as bits, to distinguish 0 from -0.
type Bits = (u64, u64, EstimateRange);

fn bits(cardinality: f64, std_error: f64, range: EstimateRange) -> Bits {
    (cardinality.to_bits(), std_error.to_bits(), range)
}

fn modelled(estimate: TaggedEstimate) -> Bits {
    bits(estimate.cardinality, estimate.std_error, estimate.range)
}

pub(super) struct Node {
    pub(super) detector: SlidingDetector,
    model: TaggedModel,
    /// The super points of the last report and of merged states, which stay candidates.
    reported: BTreeSet<IpAddr>,
    kept: Option<State>,
}

/// A saved state: the snapshot of the detector, the model, and [`Node::reported`].
type State = (Snapshot, TaggedModel, BTreeSet<IpAddr>);

impl Node {
    pub(super) fn new(config: Config) -> Self {
        let detector = SlidingDetector::new(config, Device::Cpu).unwrap();
        let (model, reported) = (TaggedModel::new(config).unwrap(), BTreeSet::new());
        Self { detector, model, reported, kept: None }
    }

    pub(super) fn ingest(&mut self, contacts: &[Contact], late: u32, threads: usize) {
        let pairs: Vec<IpPair> = contacts.iter().map(pair).collect();
        pairs.iter().for_each(|&pair| self.model.touch(pair, late));
        std::thread::scope(|scope| {
            for pairs in pairs.chunks(pairs.len().div_ceil(threads).max(1)) {
                let detector = &self.detector;
                scope.spawn(move || {
                    let is_long = |pair: &&IpPair| short(pair).is_none();
                    let long: Vec<IpPair> = pairs.iter().filter(is_long).copied().collect();
                    detector.ingest_late(&long, late).unwrap();
                    let short: Vec<Ipv4Pair> = pairs.iter().filter_map(short).collect();
                    detector.ingest_late(&short, late).unwrap();
                });
            }
        });
    }

    /// Closes the running slice, compares the report with the model and returns the reported hosts.
    pub(super) fn close(&mut self) -> Vec<IpAddr> {
        let candidates = self.model.candidates();
        let left = self.left_by_glimpses(&candidates);
        assert_eq!(self.search(), [&candidates[..], &left[..]]);
        self.reported.extend(candidates);
        let candidates: Vec<IpAddr> = std::mem::take(&mut self.reported).into_iter().collect();
        let points = self.model.super_points(&self.left_by_glimpses(&candidates));
        let report = self.detector.close_slice().unwrap();
        assert_eq!(report.candidates, candidates.len());
        let bits = |point: &SuperPoint| {
            let &SuperPoint { host, cardinality, std_error, range, .. } = point;
            (host, bits(cardinality, std_error, range))
        };
        let reported = report.super_points.iter().map(bits);
        assert!(reported.eq(points.iter().map(|&(host, estimate)| (host, modelled(estimate)))));
        self.model.advance_to(self.detector.slice());
        self.reported = points.iter().map(|&(host, _)| host).collect();
        points.iter().map(|&(host, _)| host).collect()
    }

    /// Returns two sorted lists: the candidates of the backend, and the candidates that no glimpse dismisses.
    pub(super) fn search(&mut self) -> [Vec<IpAddr>; 2] {
        let params = *self.detector.params();
        let span = params.span(self.detector.slice(), params.window());
        let mut backend = self.detector.backend_mut().exclusive().unwrap();
        let candidates = backend.candidates(span, &[], params.candidate_limit()).unwrap();
        let left = Mutex::new(Vec::new());
        let visit = |of: &HostTallies<'_>| left.lock().unwrap().push(of.host);
        backend.tally(&candidates, &visit).unwrap();
        [candidates.hosts, left.into_inner().unwrap()].map(|mut hosts| {
            hosts.sort_unstable();
            hosts
        })
    }

    fn left_by_glimpses(&self, candidates: &[IpAddr]) -> Vec<IpAddr> {
        candidates.iter().copied().filter(|&host| self.model.may_reach(host)).collect()
    }

    pub(super) fn skip_to(&mut self, slice: u64) {
        self.detector.skip_to(slice).unwrap();
        self.model.advance_to(slice);
    }

    pub(super) fn keep(&mut self) {
        self.kept = Some(self.state());
    }

    fn state(&self) -> State {
        (self.detector.snapshot().unwrap(), self.model.clone(), self.reported.clone())
    }

    /// Merges the saved state of `other`. If no state was saved, the current state of `other` is used. If the state is
    /// from a later slice, advances to that slice first.
    pub(super) fn merge(&mut self, other: &Self) {
        let (snapshot, model, reported) = other.kept.clone().unwrap_or_else(|| other.state());
        self.skip_to(snapshot.slice().max(self.detector.slice()));
        self.detector.merge_snapshot(&snapshot).unwrap();
        self.model.merge(&model);
        self.reported.extend(reported);
    }

    /// Merges a delta of the last `slices` slices of `other`. A delta that is older than the window must be rejected.
    pub(super) fn merge_last(&mut self, other: &mut Self, slices: u32) {
        let delta = other.detector.delta(slices).unwrap();
        self.skip_to(delta.slice().max(self.detector.slice()));
        let window = self.detector.params().window();
        let merged = self.detector.merge_delta(&delta);
        if self.detector.slice() - delta.slice() < window.into() {
            merged.unwrap();
            self.model.merge(&other.last(slices));
        } else {
            assert!(matches!(merged, Err(Error::OlderThanWindow { .. })));
        }
    }

    /// Returns a model that contains only the touches of the last `slices` slices. A line with at least one of these
    /// touches also keeps the echoes of the same slices. The age of an echo is that of its touch plus `echo_delay`.
    fn last(&self, slices: u32) -> TaggedModel {
        let params = self.detector.params();
        let (span, sizes) = (params.span(self.detector.slice(), slices), params.counter_sizes());
        let mut model = self.model.clone();
        let beyond = u64::from(span.finder_ages) * params.finder().age_step();
        for word in model.cells.iter_mut().filter(|word| **word >= beyond) {
            *word = u64::MAX;
        }
        let age = |word: u16| u32::from(word) / sizes.tags;
        let is_touch = |word: u16| age(word) < span.ages;
        let echo_ages = sizes.echo_delay..sizes.echo_delay + span.ages;
        for line in model.slea.chunks_mut(sizes.stride as usize) {
            let has_touch = line.iter().any(|&word| is_touch(word));
            for word in line {
                let is_echo = has_touch && echo_ages.contains(&age(*word));
                if !is_touch(*word) && !is_echo {
                    *word = u16::MAX;
                }
            }
        }
        model
    }

    pub(super) fn assert_equal(&mut self) {
        let expected = [Words::W64(self.model.cells.clone()), Words::W16(self.model.slea.clone())];
        let snapshot = self.detector.snapshot().unwrap();
        assert!(snapshot.words == expected, "the recorders differ");
        let whole = self.detector.params().window();
        for window in [1, whole.div_ceil(2), whole] {
            for host in HOSTS {
                assert_eq!(self.tallies(host, window), self.model.tallies(host, window));
                let estimate = self.detector.cardinality_within(host, window).unwrap();
                let Estimate { cardinality, std_error, range, .. } = estimate;
                let expected = modelled(self.model.estimate(host, window));
                assert_eq!(bits(cardinality, std_error, range), expected);
            }
        }
    }

    fn tallies(&mut self, host: IpAddr, window: u32) -> Vec<TaggedTally> {
        let params = *self.detector.params();
        let span = params.span(self.detector.slice(), window);
        let host = params.host_id(host);
        let (tallies, _) = self.detector.backend_mut().shared().query(host, span).unwrap();
        let of_window = |bins: &[u32]| {
            let (within, beyond) = bins.split_at(span.ages as usize);
            assert!(beyond.iter().all(|&count| count == 0), "a position is outside the window");
            within.to_vec()
        };
        let of_region = |tally: &Tally| {
            let Tally::Visible(histograms) = tally else {
                panic!("unexpected tally of the paper's scheme")
            };
            TaggedTally {
                all: of_window(&histograms.all),
                own: of_window(&histograms.own),
                hidden: of_window(&histograms.hidden),
                hidden_twice: of_window(&histograms.hidden_twice),
                excluded_twice: of_window(&histograms.excluded_twice),
            }
        };
        tallies.iter().map(of_region).collect()
    }
}
