//! The dispatch on [`Scheme`], which selects the finder and the counter of a detector.
//!
//! Within the crate, only this module matches on the scheme. All other code is generic over the [`SchemeTypes`] that
//! [`for_scheme!`](crate::for_scheme) provides, or calls methods of [`Params`].

use core::iter;
use core::ops::Range;

use crate::array::{ARRAYS, ArrayShape};
use crate::config::{Config, Scheme};
use crate::counter::rows::background;
use crate::counter::tagged::{expected, glimpse, load, pooled};
use crate::counter::{
    Counter, CounterPart, Estimate, EstimateRange, RowsCounter, RowsParams, TaggedCounter,
    TaggedParams, Tally,
};
use crate::epoch::Span;
use crate::error::ConfigError;
use crate::finder::cells::{Peer, SLOTS, Spot};
use crate::finder::{CellsFinder, CellsParams, Finder, FinderPart, RsraFinder, RsraParams};
use crate::hash::Keys;
use crate::pair::Address;
use crate::params::Params;
use crate::sizes::Size;
use crate::view::ArrayParams;

/// The types that implement a scheme.
pub trait SchemeTypes: Send + Sync + 'static {
    /// Type of the finder, which recovers the addresses of likely super points.
    type Finder: Finder;
    /// Type of the counter, which counts the peers of hosts.
    type Counter: Counter;
}

/// Recorder type of a scheme's finder.
pub type FinderRecorder<S> = <<S as SchemeTypes>::Finder as Finder>::Recorder;

/// Recorder type of a scheme's counter.
pub type CounterRecorder<S> = <<S as SchemeTypes>::Counter as Counter>::Recorder;

/// The types that implement [`Scheme::Tagged`].
#[derive(Clone, Copy, Debug)]
pub struct TaggedTypes;

impl SchemeTypes for TaggedTypes {
    type Finder = CellsFinder;
    type Counter = TaggedCounter;
}

/// The types that implement [`Scheme::Paper`].
#[derive(Clone, Copy, Debug)]
pub struct PaperTypes;

impl SchemeTypes for PaperTypes {
    type Finder = RsraFinder;
    type Counter = RowsCounter;
}

/// Evaluates `$work` with `$Types` as the [`SchemeTypes`] of `$params`.
#[macro_export]
macro_rules! for_scheme {
    ($params:expr, $Types:ident => $work:expr) => {
        match $crate::Params::counter($params) {
            $crate::counter::CounterPart::Tagged(_) => {
                type $Types = $crate::scheme::TaggedTypes;
                $work
            }
            $crate::counter::CounterPart::Rows(_) => {
                type $Types = $crate::scheme::PaperTypes;
                $work
            }
        }
    };
}

pub(crate) fn counter_part(config: &Config, keys: &Keys) -> Result<CounterPart, ConfigError> {
    Ok(match config.scheme {
        Scheme::Paper { rows, columns, stride, .. } => {
            CounterPart::Rows(RowsParams::new([rows, columns, stride], config, keys)?)
        }
        Scheme::Tagged { lines, tags, .. } => {
            CounterPart::Tagged(TaggedParams::new(lines, tags, config, keys)?)
        }
    })
}

pub(crate) fn finder_part(config: &Config, keys: &Keys) -> Result<FinderPart, ConfigError> {
    Ok(match config.scheme {
        Scheme::Paper { finder, .. } => FinderPart::Rsra(RsraParams::new(finder, config, keys)?),
        Scheme::Tagged { cell_bits, .. } => {
            FinderPart::Cells(CellsParams::new(cell_bits, config, keys)?)
        }
    })
}

/// The sizes of a counter, which snapshots contain and detectors compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterSizes {
    /// Number of rows of recorders. It is 1 if the counter consists of lines.
    pub rows: u32,
    /// Number of linear estimators in a row, or number of lines.
    pub columns: u32,
    /// η': number of recorders in a linear estimator, or in its fine region if it has several regions.
    pub width: u32,
    /// Number of recorders between the starts of neighbouring linear estimators, or of neighbouring lines.
    pub stride: u32,
    /// Number of recorders in a row.
    pub row_len: u32,
    /// Number of tags, or 1 if words contain only ages.
    pub tags: u32,
    /// Number of ages by which an echo looks older than its touch, or 0 if there are no echoes.
    pub echo_delay: u32,
    /// Number of slices per epoch.
    pub epoch_slices: u32,
    /// [`Config::share`], which a running detector may change.
    pub share: u32,
}

impl FinderPart {
    /// Returns the params of the cells, or `None` if the scheme is not [`Scheme::Tagged`].
    #[inline]
    #[must_use]
    pub const fn cells(&self) -> Option<&CellsParams> {
        match self {
            Self::Cells(params) => Some(params),
            Self::Rsra(_) => None,
        }
    }

    /// Returns the params of the RSRA, or `None` if the scheme is not [`Scheme::Paper`].
    #[inline]
    #[must_use]
    pub const fn rsra(&self) -> Option<&RsraParams> {
        match self {
            Self::Cells(_) => None,
            Self::Rsra(params) => Some(params),
        }
    }

    /// Returns the number of slices in an epoch of the finder.
    #[must_use]
    pub const fn epoch_slices(&self) -> u32 {
        match self {
            Self::Cells(params) => params.epoch_slices(),
            Self::Rsra(params) => params.epoch_slices(),
        }
    }

    /// Returns the amount by which a word of the finder grows in one epoch.
    #[must_use]
    pub const fn age_step(&self) -> u64 {
        match self {
            Self::Cells(params) => params.age_step(),
            Self::Rsra(_) => 1,
        }
    }

    pub(crate) fn sizes(&self) -> [Size; 7] {
        match self {
            Self::Cells(params) => params.sizes(),
            Self::Rsra(params) => params.sizes(),
        }
    }
}

impl CounterPart {
    /// Returns the params of the tagged counter, or `None` if the scheme is not [`Scheme::Tagged`].
    #[must_use]
    pub fn tagged(&self) -> Option<&TaggedParams> {
        match self {
            Self::Tagged(params) => Some(params),
            Self::Rows(_) => None,
        }
    }

    /// Returns the params of the paper's counter, or `None` if the scheme is not [`Scheme::Paper`].
    #[must_use]
    pub fn rows(&self) -> Option<&RowsParams> {
        match self {
            Self::Tagged(_) => None,
            Self::Rows(params) => Some(params),
        }
    }
}

/// Minimum excess over θ in a crowded counter, in standard errors.
const CLEAR: f64 = 3.0;

impl Params {
    /// Returns the number that identifies the scheme in snapshots.
    pub(crate) const fn scheme_number(&self) -> u32 {
        match self.counter {
            CounterPart::Rows(_) => 0,
            CounterPart::Tagged(_) => 1,
        }
    }

    /// Returns the sizes of the counter.
    #[doc(hidden)]
    #[must_use]
    pub fn counter_sizes(&self) -> CounterSizes {
        match self.counter {
            CounterPart::Tagged(params) => CounterSizes {
                rows: 1,
                columns: params.lines,
                width: params.regions.fine().full,
                stride: crate::counter::tagged::LINE,
                row_len: params.recorders() as u32,
                tags: params.tags,
                echo_delay: params.echo_delay,
                epoch_slices: params.epoch_slices,
                share: params.share,
            },
            CounterPart::Rows(params) => CounterSizes {
                rows: params.rows,
                columns: params.columns,
                width: params.width,
                stride: params.stride,
                row_len: params.row_len,
                tags: 1,
                echo_delay: 0,
                epoch_slices: 1,
                share: 1,
            },
        }
    }

    /// Returns the same params while one pair in `share` is counted and estimates use only pairs that one in `largest`
    /// counts. `largest` is the largest share in the window.
    ///
    /// # Errors
    /// Returns [`ConfigError::Share`] or [`ConfigError::FullEstimator`] if a share breaks the rules of
    /// [`Config::share`].
    #[doc(hidden)]
    pub fn with_shares(&self, share: u32, largest: u32) -> Result<Self, ConfigError> {
        let counter = match self.counter {
            CounterPart::Tagged(params) => CounterPart::Tagged(params.with_shares(share, largest)?),
            CounterPart::Rows(_) if (share, largest) == (1, 1) => self.counter,
            CounterPart::Rows(_) => return Err(ConfigError::Share { share, max: 1 }),
        };
        Ok(Self { counter, ..*self })
    }

    /// Returns the range of positions of each region in a linear estimator. The fine region comes first and is counted
    /// for all candidates that a glimpse does not dismiss. The coarse regions follow and are counted for hosts that
    /// [need](Self::needs_coarse) them.
    #[doc(hidden)]
    pub fn regions(&self) -> impl Iterator<Item = Range<u32>> {
        let (fine, coarse) = match self.counter() {
            CounterPart::Tagged(params) => (params.width(), &params.regions.as_slice()[1..]),
            CounterPart::Rows(params) => (params.width, &[][..]),
        };
        let coarse = coarse.iter().map(|region| region.first..region.first + region.width);
        iter::once(0..fine).chain(coarse)
    }

    /// Returns whether the estimate of a host over `span` also needs the tallies of the coarse regions. `tally` is the
    /// tally of the fine region.
    #[doc(hidden)]
    #[must_use]
    pub fn needs_coarse(&self, tally: &Tally, span: Span) -> bool {
        match (self.counter(), tally) {
            (CounterPart::Tagged(params), Tally::Visible(histograms)) => {
                pooled::needs_coarse(params, histograms, span)
            }
            _ => false,
        }
    }

    /// Returns the estimated cardinality of a host over `span`, given its `tallies`.
    ///
    /// `tallies` contains the tally of the fine [region](Self::regions), or the tallies of all regions.
    /// `row_weights[i]` is the number of recorders within `span` in row `i` of the counter. `row_weights` is used only
    /// if [`needs_row_weights`](Self::needs_row_weights) returns true.
    ///
    /// # Panics
    /// Panics if the tallies do not belong to this counter and its regions.
    #[doc(hidden)]
    #[must_use]
    pub fn estimate(&self, tallies: &[Tally], span: Span, row_weights: &[u32]) -> Estimate {
        match (self.counter(), tallies) {
            (CounterPart::Tagged(params), tallies) => pooled::estimate(params, tallies, span),
            (CounterPart::Rows(params), [Tally::Union(weight)]) => {
                background::estimate(params, *weight, row_weights)
            }
            _ => panic!("the tally belongs to a different counter"),
        }
    }

    /// Returns whether the touches of other hosts hide nearly all old touches of a host over `span`, judging by its
    /// `tallies`. This is a hint that the counter [is crowded](Self::is_crowded), and much cheaper than its load.
    #[doc(hidden)]
    #[must_use]
    pub fn seems_crowded(&self, tallies: &[Tally], span: Span) -> bool {
        match (self.counter(), tallies) {
            (CounterPart::Tagged(params), [Tally::Visible(fine), ..]) => {
                pooled::seems_crowded(params, fine, span)
            }
            _ => false,
        }
    }

    /// Returns whether the tagged counter has more touches per recorder than its estimates tolerate, judging by this
    /// [load](Self::counter_load): more than 4. Only hosts that are [clearly](Self::is_clear) super points are then
    /// reported.
    #[doc(hidden)]
    #[must_use]
    pub fn is_crowded(&self, load: f64) -> bool {
        self.counter.tagged().is_some() && load > load::CROWDED_LOAD
    }

    /// Returns whether a host with this `estimate` over `span`, computed from `tallies`, is a super point even if the
    /// counter is crowded: whether the estimate exceeds θ by at least three standard errors. If the estimate is beyond
    /// the range, its standard error has no meaning, and the touches that are visible must suffice.
    #[doc(hidden)]
    #[must_use]
    pub fn is_clear(&self, estimate: &Estimate, tallies: &[Tally], span: Span) -> bool {
        match (self.counter(), estimate.range) {
            (CounterPart::Tagged(params), EstimateRange::Beyond) => {
                pooled::shows_super_point(params, tallies, span)
            }
            _ => {
                let excess = estimate.cardinality - f64::from(self.threshold());
                excess >= CLEAR * estimate.std_error
            }
        }
    }

    /// Returns whether estimates depend on the number of recorders within the span in each row of the counter.
    #[doc(hidden)]
    #[must_use]
    pub fn needs_row_weights(&self) -> bool {
        matches!(self.counter(), CounterPart::Rows(_))
    }

    /// Returns an estimate of λ, the number of distinct pairs in a window divided by the number of recorders in a row.
    /// All touches are assumed to be random. `row_weights[i]` is the number of recorders within the window in row `i`.
    /// Only row 0 is used.
    ///
    /// # Panics
    /// Panics if `row_weights` is empty.
    #[doc(hidden)]
    #[must_use]
    pub fn counter_load(&self, row_weights: &[u32]) -> f64 {
        let row_len = f64::from(self.counter_sizes().row_len);
        load::load_of(f64::from(row_weights[0]) / row_len)
    }

    /// Returns whether 95 % intervals cover the true value in 88 to 97 % of cases at this load,
    /// for hosts with at least 100 peers. In the tagged scheme, the result is true for loads of up to 3. In the paper's
    /// scheme, it is always false, because errors are larger than stated.
    ///
    /// For loads of 3 to 5, estimates are unbiased, and at most 3 % of the true values are below their intervals. A
    /// larger share of the true values is above their intervals, because estimates that are too low have standard
    /// errors that are too small. The shares are listed in docs/tagged-recorders.md.
    #[must_use]
    pub fn errors_hold(&self, load: f64) -> bool {
        self.counter.tagged().is_some() && load <= load::HOLDING_LOAD
    }

    /// Returns the number of positions of a glimpse. A glimpse is the tally of a few positions, which dismisses most
    /// candidates.
    ///
    /// Returns `None` if θ is so small that a glimpse cannot dismiss any host. In the paper's scheme, the result is
    /// always `None`, because touches of other hosts look like touches of the candidate.
    #[doc(hidden)]
    #[must_use]
    pub fn glimpse_stages(&self) -> Option<[u32; glimpse::STAGES]> {
        let params = self.counter.tagged().filter(|params| glimpse::can_dismiss(params))?;
        Some(glimpse::stages(params))
    }

    /// Returns the expected standard error, in peers, of the estimate for a host with `cardinality` peers, if a window
    /// contains `distinct_pairs` distinct pairs. Returns `None` for the paper's scheme, for which no formula is known.
    #[must_use]
    pub fn expected_error(&self, cardinality: u32, distinct_pairs: u64) -> Option<f64> {
        let params = self.counter.tagged()?;
        Some(expected::std_error(params, cardinality, distinct_pairs))
    }

    /// Returns the spots of the cells that may contain peers of `host`, or `None` if the finder stores no peers.
    #[doc(hidden)]
    #[must_use]
    pub fn peer_spots(&self, host: Address) -> Option<[Spot; SLOTS as usize]> {
        Some(self.finder.cells()?.spots(host))
    }

    /// Returns the peer of `host` that `word` contains. `spot` must be a spot of `host`, and `word` must be the word of
    /// its cell. Returns `None` if `word` does not contain an IPv4 peer of `host`.
    #[doc(hidden)]
    #[must_use]
    pub fn peer(&self, host: Address, spot: Spot, word: u64) -> Option<Peer> {
        self.finder.cells()?.peer(host, spot, word)
    }

    /// Returns the shape of each array.
    #[doc(hidden)]
    #[must_use]
    pub fn arrays(&self) -> [ArrayShape; ARRAYS] {
        crate::for_scheme!(self, Types => [
            ArrayShape::of::<FinderRecorder<Types>>(
                <Types as SchemeTypes>::Finder::params(&self.finder).recorders(),
            ),
            ArrayShape::of::<CounterRecorder<Types>>(
                <Types as SchemeTypes>::Counter::params(&self.counter).recorders(),
            ),
        ])
    }
}
