//! [`Scheme`]: which finder and which counter a detector has.
//!
//! The only file of this crate that asks. Everything else is written over the [`SchemeTypes`] that
//! [`for_scheme!`](crate::for_scheme) names, or asks [`Params`] what it needs to know.

use core::iter;
use core::ops::Range;

use crate::array::{ARRAYS, ArrayShape};
use crate::config::{Config, Scheme};
use crate::counter::rows::background;
use crate::counter::tagged::{expected, glimpse, load, pooled};
use crate::counter::{
    Counter, CounterPart, Estimate, RowsCounter, RowsParams, TaggedCounter, TaggedParams, Tally,
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

/// Names the types that a scheme is made of.
pub trait SchemeTypes: Send + Sync + 'static {
    /// What finds hosts.
    type Finder: Finder;
    /// What counts their opposite hosts.
    type Counter: Counter;
}

/// The recorders of a scheme's finder.
pub type FinderRecorder<S> = <<S as SchemeTypes>::Finder as Finder>::Recorder;

/// The recorders of a scheme's counter.
pub type CounterRecorder<S> = <<S as SchemeTypes>::Counter as Counter>::Recorder;

/// Names the types of [`Scheme::Tagged`].
#[derive(Clone, Copy, Debug)]
pub struct TaggedTypes;

impl SchemeTypes for TaggedTypes {
    type Finder = CellsFinder;
    type Counter = TaggedCounter;
}

/// Names the types of [`Scheme::Paper`].
#[derive(Clone, Copy, Debug)]
pub struct PaperTypes;

impl SchemeTypes for PaperTypes {
    type Finder = RsraFinder;
    type Counter = RowsCounter;
}

/// Does `$work` with the [`SchemeTypes`] of `$params`, named `$Types`.
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

/// Checks the rules of the counter of `config`.
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

/// Checks the rules of the finder of `config`.
pub(crate) fn finder_part(config: &Config, keys: &Keys) -> Result<FinderPart, ConfigError> {
    Ok(match config.scheme {
        Scheme::Paper { finder, .. } => FinderPart::Rsra(RsraParams::new(finder, config, keys)?),
        Scheme::Tagged { cell_bits, .. } => {
            FinderPart::Cells(CellsParams::new(cell_bits, config, keys)?)
        }
    })
}

/// Holds the sizes of a counter by which two detectors are compared, and which snapshots name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterSizes {
    /// Rows of recorders: 1 where there are lines.
    pub rows: u32,
    /// Linear estimators in a row, or lines.
    pub columns: u32,
    /// η': recorders of a linear estimator, in its fine region where there are several.
    pub width: u32,
    /// Recorders between neighbouring linear estimators, or of a line.
    pub stride: u32,
    /// Recorders in a row.
    pub row_len: u32,
    /// Tags that a word tells apart: 1 where words are ages.
    pub tags: u32,
    /// Ages by which an echo looks older than its touch: 0 where there are no echoes.
    pub echo_delay: u32,
    /// Slices per epoch.
    pub epoch_slices: u32,
}

impl FinderPart {
    /// Returns the params of the cells, in [`Scheme::Tagged`].
    #[inline]
    #[must_use]
    pub const fn cells(&self) -> Option<&CellsParams> {
        match self {
            Self::Cells(params) => Some(params),
            Self::Rsra(_) => None,
        }
    }

    /// Returns the params of the RSRA, in [`Scheme::Paper`].
    #[inline]
    #[must_use]
    pub const fn rsra(&self) -> Option<&RsraParams> {
        match self {
            Self::Cells(_) => None,
            Self::Rsra(params) => Some(params),
        }
    }

    /// Returns the slices per epoch.
    #[must_use]
    pub const fn epoch_slices(&self) -> u32 {
        match self {
            Self::Cells(params) => params.epoch_slices(),
            Self::Rsra(params) => params.epoch_slices(),
        }
    }

    /// Returns by how much a word grows in an epoch.
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
    /// Returns the params of the tagged counter, in [`Scheme::Tagged`].
    #[must_use]
    pub fn tagged(&self) -> Option<&TaggedParams> {
        match self {
            Self::Tagged(params) => Some(params),
            Self::Rows(_) => None,
        }
    }

    /// Returns the params of the paper's counter, in [`Scheme::Paper`].
    #[must_use]
    pub fn rows(&self) -> Option<&RowsParams> {
        match self {
            Self::Tagged(_) => None,
            Self::Rows(params) => Some(params),
        }
    }
}

impl Params {
    /// Which scheme it is, in snapshots.
    pub(crate) const fn scheme_number(&self) -> u32 {
        match self.counter {
            CounterPart::Rows(_) => 0,
            CounterPart::Tagged(_) => 1,
        }
    }

    /// Returns the counter's sizes.
    #[must_use]
    pub fn counter_sizes(&self) -> CounterSizes {
        match self.counter {
            CounterPart::Tagged(params) => CounterSizes {
                rows: 1,
                columns: params.lines,
                width: params.width,
                stride: crate::counter::tagged::LINE,
                row_len: params.recorders() as u32,
                tags: params.tags,
                echo_delay: params.echo_delay,
                epoch_slices: params.epoch_slices,
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
            },
        }
    }

    /// Returns the positions of each region of a linear estimator: all of the fine one, which every candidate that a
    /// glimpse does not dismiss is asked for, and behind them those of coarse ones, for hosts that
    /// [need](Self::needs_coarse) them.
    pub fn regions(&self) -> impl Iterator<Item = Range<u32>> {
        let (fine, coarse) = match self.counter() {
            CounterPart::Tagged(params) => (params.width, &params.regions.as_slice()[1..]),
            CounterPart::Rows(params) => (params.width, &[][..]),
        };
        let coarse = coarse.iter().map(|region| region.first..region.first + region.width);
        iter::once(0..fine).chain(coarse)
    }

    /// Returns whether the estimate of a host over `span` whose fine region has this `tally` takes the tallies of the
    /// coarse regions too.
    #[must_use]
    pub fn needs_coarse(&self, tally: &Tally, span: Span) -> bool {
        match (self.counter(), tally) {
            (CounterPart::Tagged(params), Tally::Visible(histograms)) => {
                pooled::needs_coarse(params, histograms, span)
            }
            _ => false,
        }
    }

    /// Returns the cardinality over `span` of the host with `tallies`, of the fine [region](Self::regions) alone or of all of
    /// them, where `row_weights[i]` recorders of row `i` of the counter's array are within that span.
    ///
    /// Only where [`needs_row_weights`](Self::needs_row_weights) is `row_weights` looked at.
    ///
    /// # Panics
    /// When `tallies` are of another counter, or of other regions.
    #[must_use]
    pub fn estimate(&self, tallies: &[Tally], span: Span, row_weights: &[u32]) -> Estimate {
        match (self.counter(), tallies) {
            (CounterPart::Tagged(params), tallies) => pooled::estimate(params, tallies, span),
            (CounterPart::Rows(params), [Tally::Union(weight)]) => {
                background::estimate(params, *weight, row_weights)
            }
            _ => panic!("a tally is of its detector's counter"),
        }
    }

    /// Returns whether estimates depend on how many recorders of each row are in the window.
    #[must_use]
    pub fn needs_row_weights(&self) -> bool {
        matches!(self.counter(), CounterPart::Rows(_))
    }

    /// Returns λ, distinct pairs of a window for each recorder of the counter, where `row_weights[i]` recorders of row `i`
    /// are within that window: as many random touches would leave as many.
    ///
    /// # Panics
    /// When there is no row.
    #[must_use]
    pub fn counter_load(&self, row_weights: &[u32]) -> f64 {
        let row_len = f64::from(self.counter_sizes().row_len);
        load::load_of(f64::from(row_weights[0]) / row_len)
    }

    /// Returns whether intervals of 95 % hold the truth in 88 to 97 % of cases at a [load](Self::counter_load) of `load`, for
    /// hosts with 100 peers and more: up to a load of 3 in the tagged scheme. The paper's errs by more than it says at any
    /// load.
    ///
    /// Above, up to the load of 5 of the tightest plans, estimates are right in the mean, and at most 3 % of the truths are
    /// below their intervals. More are above, because an estimate that is too low states too small an error:
    /// docs/tagged-recorders.md has the shares.
    #[must_use]
    pub fn errors_hold(&self, load: f64) -> bool {
        self.counter.tagged().is_some() && load <= load::HOLDING_LOAD
    }

    /// Returns the number of positions of a glimpse, the tally of a few positions that dismisses most candidates;
    /// `None` where a glimpse tells too little: below some θ, and in the paper's scheme, whose background
    /// looks like a host.
    #[must_use]
    pub fn glimpse_positions(&self) -> Option<u32> {
        let params = self.counter.tagged().filter(|params| glimpse::can_dismiss(params))?;
        Some(glimpse::positions(params))
    }

    /// Returns the standard error, in hosts, to expect of an estimate of a host with `cardinality` opposite
    /// hosts where a window holds `distinct_pairs` distinct pairs; `None` where no formula is known.
    #[must_use]
    pub fn expected_error(&self, cardinality: u32, distinct_pairs: u64) -> Option<f64> {
        let params = self.counter.tagged()?;
        Some(expected::std_error(params, cardinality, distinct_pairs))
    }

    /// Returns where the words are that may hold opposite hosts of `host`; `None` for a finder without any.
    #[must_use]
    pub fn peer_spots(&self, host: Address) -> Option<[Spot; SLOTS as usize]> {
        Some(self.finder.cells()?.spots(host))
    }

    /// Returns the opposite host that `word`, which is at `spot`, holds of `host`, whose spot that is.
    #[must_use]
    pub fn peer(&self, host: Address, spot: Spot, word: u64) -> Option<Peer> {
        self.finder.cells()?.peer(host, spot, word)
    }

    /// Returns the shape of each array.
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
