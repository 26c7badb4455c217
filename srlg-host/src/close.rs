//! The end of a slice: from the recorders of a device to a [`SliceReport`].
//!
//! survey -> search (regain at the lowest hot weight that the limits accept) -> glimpse ->
//! tally -> estimate -> finish (age). The device counts; all decisions and floats are here and in srlg-core.

use std::sync::OnceLock;
use std::time::Instant;

use srlg_core::estimate::{self, Estimate, background, glimpse};
use srlg_core::{Address, Ages, Params, Span, Tally, detection, regain};

use srlg_kernels::survey::WEIGHTS;

use crate::backend::{Backend, Survey};
use crate::error::Error;
use crate::report::{Health, Overload, SliceReport, StageTimes, SuperPoint};

/// The report on the window that ends with the running slice, number `slice`; then every recorder
/// is `ages` older.
pub(crate) fn report(
    params: &Params,
    backend: &mut dyn Backend,
    slice: u64,
    ages: Ages,
) -> Result<SliceReport, Error> {
    let start = Instant::now();
    let span = params.span(slice, params.window());
    let mut survey = backend.survey(span)?;
    let surveyed = Instant::now();
    let found = search(params, backend, &survey)?;
    let searched = Instant::now();
    let super_points = super_points(params, backend, span, &survey, &found.hosts)?;
    let estimated = Instant::now();
    backend.finish(&mut survey, span, ages)?;
    let stages = StageTimes {
        survey: surveyed - start,
        search: searched - surveyed,
        estimate: estimated - searched,
        age: estimated.elapsed(),
        ..StageTimes::default()
    };
    Ok(SliceReport {
        slice,
        super_points,
        candidates: found.hosts.len(),
        health: health(params, &survey, found.hot_weight, found.overload),
        stages,
    })
}

/// Those of `candidates` whose estimate reaches the threshold, in the order of a report.
fn super_points(
    params: &Params,
    backend: &mut dyn Backend,
    span: Span,
    survey: &Survey,
    candidates: &[Address],
) -> Result<Vec<SuperPoint>, Error> {
    let estimates: Vec<OnceLock<Estimate>> = candidates.iter().map(|_| OnceLock::new()).collect();
    let each = |number: usize, tally: &Tally| {
        let estimate = estimate::estimate(params, tally, span, &survey.linear_weights);
        estimates[number].set(estimate).expect("each number comes once");
    };
    // A glimpse tells nothing below some θ, nor in the paper's scheme, whose background looks like
    // a host.
    if params.is_tagged() && glimpse::can_dismiss(params) {
        let positions = glimpse::positions(params);
        let promises = |tally: &Tally| match tally {
            Tally::Visible(histograms) => glimpse::may_reach(params, histograms, span),
            Tally::Union(_) => true,
        };
        backend.tally_promising(candidates, span, positions, &promises, &each)?;
    } else {
        backend.tally(candidates, span, params.linear_width(), &each)?;
    }
    let points = candidates.iter().zip(estimates).filter_map(|(&host, estimate)| {
        super_point(host, estimate.into_inner()?, params.threshold())
    });
    let mut super_points: Vec<SuperPoint> = points.collect();
    super_points.sort_by(|a, b| b.cardinality.total_cmp(&a.cardinality).then(a.host.cmp(&b.host)));
    Ok(super_points)
}

/// The health of a detector that has closed no slice yet.
pub(crate) fn untouched_health(params: &Params) -> Health {
    let nothing = Survey {
        rough_weights: vec![[0; WEIGHTS]; params.rough_rows() as usize],
        linear_weights: vec![0; params.linear_rows() as usize],
    };
    health(params, &nothing, params.hot_weight(), None)
}

/// What a search found, and at which weight.
struct Found {
    hosts: Vec<Address>,
    hot_weight: u32,
    overload: Option<Overload>,
}

/// Candidates at the lowest hot weight that the limits accept: under overload the large
/// super points are still found, in bounded time, and the report says so.
fn search(params: &Params, backend: &mut dyn Backend, survey: &Survey) -> Result<Found, Error> {
    for hot_weight in params.hot_weight()..=params.rough_width() {
        if !is_searchable(params, survey, hot_weight) {
            continue;
        }
        if let Some(hosts) = backend.regain(hot_weight, params.candidate_limit())? {
            let raised = hot_weight > params.hot_weight();
            let overload = raised.then_some(Overload::RaisedHotWeight);
            return Ok(Found { hosts, hot_weight, overload });
        }
    }
    let overload = Some(Overload::Saturated);
    Ok(Found { hosts: Vec::new(), hot_weight: params.rough_width(), overload })
}

/// Whether the hot columns of no row are more than the limit, and those of the first two can be
/// searched.
fn is_searchable(params: &Params, survey: &Survey, hot_weight: u32) -> bool {
    let hot = [0, 1].map(|row| survey.hot_columns(row, hot_weight));
    survey.most_hot_columns(hot_weight) <= params.hot_limit() && regain::is_searchable(params, hot)
}

fn super_point(host: Address, estimate: Estimate, threshold: u32) -> Option<SuperPoint> {
    let Estimate { cardinality, std_error, range, .. } = estimate;
    let point = SuperPoint { host: host.into(), cardinality, std_error, range };
    (cardinality >= f64::from(threshold)).then_some(point)
}

fn health(params: &Params, survey: &Survey, hot_weight: u32, overload: Option<Overload>) -> Health {
    let columns = f64::from(params.rough_columns());
    let hot = |row| f64::from(survey.hot_columns(row, params.hot_weight())) / columns;
    let factor = |&row_weight| background::setting_factor(params, row_weight);
    let (width, tau) = (params.rough_width(), params.lsb_threshold());
    Health {
        setting_factors: survey.linear_weights.iter().map(factor).collect(),
        background: background::share(params, &survey.linear_weights),
        hot_shares: (0..survey.rough_weights.len()).map(hot).collect(),
        hot_weight,
        miss_probability: match overload {
            Some(Overload::Saturated) => 1.0,
            _ => detection::miss_probability(params.threshold(), width, tau, hot_weight),
        },
        overload,
    }
}
