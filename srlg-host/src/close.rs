//! The end of a slice: from the recorders of a device to a [`SliceReport`].
//!
//! candidates -> glimpse, tallies and estimate of each -> sample peers of super points -> age. The device
//! counts; all decisions and floats are in srlg-core.

use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;

use srlg_core::counter::rows::background;
use srlg_core::{Ages, Estimate, Params, Span};

use crate::backend::{Backend, Found, Looked};
use crate::error::Error;
use crate::finder::{Quality, untouched_quality};
use crate::peers::{peers_of, sample_peers};
use crate::report::{Health, SliceReport, StageTimes, SuperPoint};

/// What is known of a slice that is being closed, before the window moves.
pub(crate) struct Studied {
    pub(crate) slice: u64,
    pub(crate) super_points: Vec<SuperPoint>,
    found: Found,
    stages: StageTimes,
}

impl Studied {
    /// Studies the window that ends with the running slice, number `slice`. The hosts in `kept` are candidates in any
    /// case.
    pub(crate) fn new(
        params: &Params,
        backend: &mut dyn Backend,
        kept: &[IpAddr],
        slice: u64,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let span = params.span(slice, params.window());
        let found = backend.candidates(span, kept)?;
        let searched = Instant::now();
        let super_points = super_points(params, backend, (span, slice), &found)?;
        let stages = StageTimes {
            search: searched - start,
            estimate: searched.elapsed(),
            ..StageTimes::default()
        };
        Ok(Self { slice, super_points, found, stages })
    }

    /// Makes every recorder `ages` older, and the report.
    pub(crate) fn report(
        self,
        params: &Params,
        backend: &mut dyn Backend,
        ages: Ages,
    ) -> Result<SliceReport, Error> {
        let Self { slice, super_points, mut found, mut stages } = self;
        let start = Instant::now();
        let row_weights = match found.row_weights.take() {
            Some(row_weights) => {
                backend.age(ages, None)?;
                row_weights
            }
            None => vec![backend.age(ages, Some(found.span))?],
        };
        stages.age = start.elapsed();
        let candidates = found.candidates;
        let health = health(params, &row_weights, found.quality);
        Ok(SliceReport { slice, super_points, candidates, health, stages })
    }
}

/// Those of the candidates whose estimate reaches the threshold, in the order of a report.
fn super_points(
    params: &Params,
    backend: &mut dyn Backend,
    (span, slice): (Span, u64),
    found: &Found,
) -> Result<Vec<SuperPoint>, Error> {
    let points = Mutex::new(Vec::new());
    let row_weights = found.row_weights.as_deref().unwrap_or_default();
    let each = |looked: &Looked<'_>| {
        let estimate = params.estimate(looked.tallies, span, row_weights);
        if let Some(mut point) = super_point(looked.host, estimate, params.threshold()) {
            let peers =
                looked.words.map(|words| peers_of(params, looked.host, words, (span, slice)));
            let has_peers = peers.is_some();
            point.peers = peers.unwrap_or_default();
            points.lock().expect("nobody panics with it").push((point, has_peers));
        }
    };
    backend.tally(found, &each)?;
    let mut points = points.into_inner().expect("nobody panics with it");
    let order = |a: &SuperPoint, b: &SuperPoint| {
        b.cardinality.total_cmp(&a.cardinality).then(a.host.cmp(&b.host))
    };
    points.sort_by(|(a, _), (b, _)| order(a, b));
    let asked = points.iter().filter(|(_, has_peers)| !has_peers);
    let hosts: Vec<IpAddr> = asked.map(|(point, _)| point.host).collect();
    let peers = sample_peers(params, backend, &hosts, (span, slice))?;
    let without = points.iter_mut().filter(|(_, has_peers)| !has_peers);
    without.zip(peers).for_each(|((point, _), peers)| point.peers = peers);
    Ok(points.into_iter().map(|(point, _)| point).collect())
}

/// The health of a detector that has closed no slice yet.
pub(crate) fn untouched_health(params: &Params) -> Health {
    let nothing = vec![0; params.counter_sizes().rows as usize];
    health(params, &nothing, untouched_quality(params))
}

fn super_point(host: IpAddr, estimate: Estimate, threshold: u32) -> Option<SuperPoint> {
    let Estimate { cardinality, std_error, range, .. } = estimate;
    let point = SuperPoint { host, cardinality, std_error, range, peers: Vec::new() };
    (cardinality >= f64::from(threshold)).then_some(point)
}

fn health(params: &Params, row_weights: &[u32], quality: Quality) -> Health {
    let row_len = params.counter_sizes().row_len;
    let factor = |&row_weight| background::setting_factor(row_len, row_weight);
    let load = params.counter_load(row_weights);
    Health {
        setting_factors: row_weights.iter().map(factor).collect(),
        background: background::share(row_len, row_weights),
        load,
        errors_hold: params.errors_hold(load),
        finder: quality.finder,
        miss_probability: quality.miss_probability,
        miss_probability_v6: quality.miss_probability_v6,
        burst_miss_probability: quality.burst_miss_probability,
        found_from: quality.found_from,
        overload: quality.overload,
    }
}
