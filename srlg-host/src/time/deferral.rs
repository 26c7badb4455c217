//! [`Deferral`]: pairs that wait while no slice can have a super point.

use std::collections::{BTreeMap, HashMap};
use std::mem;

use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::Owner;
use srlg_core::finder::cells::chance::least_c_min;
use srlg_core::{ArrayParams, COUNTER, FINDER, PairIds, Params};

use crate::detector::SlidingDetector;
use crate::error::Error;
use crate::ingest::PairBatch;
use crate::report::{Health, SliceReport, StageTimes};

/// Share of the cells that may be touched in a window whose cells are tracked, as a power of two. With a larger share,
/// candidates need fewer cells.
const TRACKED_SHARE: u32 = 6;

/// Number of pairs in a slice above which nothing is tracked. Tracking these pairs takes a few percent of the time of a
/// close, and in such a slice a close is cheap compared with reading the contacts.
const MOST_TRACKED: usize = 1 << 13;

/// Number of waiting pairs at which they are ingested.
const MOST_WAITING: usize = 1 << 16;

/// Part of the window for which nothing is tracked after a slice had too many pairs, or after too many cells were
/// touched. Tracking costs time.
const PAUSE: u64 = 8;

/// The pairs that a detector has not ingested, and the cells that recent pairs touch.
///
/// A close takes as long for a hundred pairs as for a million, because it reads and ages all recorders. Logs of a few
/// contacts per second therefore take longer to close than to read. A `Deferral` counts the cells that each host may
/// hold. As long as no host may hold as many cells as a candidate needs, a close cannot find a super point. The
/// detector then ingests nothing and closes nothing, and the pairs wait. They are ingested as late pairs before the
/// first close that may find a candidate, so all reports have the same super points as without the deferral. However,
/// if closes may change the [share](SlidingDetector::set_most_share), a share that was doubled may be halved in a
/// different slice, which changes estimates within their errors.
#[derive(Debug)]
pub struct Deferral {
    params: Params,
    cells: CellsParams,
    /// Number of slices, up to the running one, whose touches the finder may count.
    reach: u64,
    /// Number of slices after which a touch has left the recorders.
    lasting: u64,
    /// Minimum number of cells of a candidate.
    least: u32,
    /// First slice whose touches are tracked.
    tracked_from: u64,
    /// The running slice, and the number of its pairs.
    counted: (u64, usize),
    /// Slice of the newest touch of each cell by each owner.
    touched: HashMap<(u32, Owner), u64>,
    /// The keys of `touched`, each once, by the slice of a touch. Later slices may have touched the cell again.
    by_slice: BTreeMap<u64, Vec<(u32, Owner)>>,
    /// Number of cells of each owner.
    held: HashMap<Owner, u32>,
    /// Number of owners with at least `least` cells.
    large: usize,
    waiting: BTreeMap<u64, PairBatch>,
    waiting_len: usize,
    /// Report of a slice without candidates.
    report: SliceReport,
}

impl Deferral {
    /// Creates a deferral for `detector`, whose recorders must be untouched. Returns `None` if the detector uses the
    /// paper's scheme, whose finder has no cells.
    #[must_use]
    pub fn new(detector: &SlidingDetector) -> Option<Self> {
        let params = *detector.params();
        let cells = *params.finder().cells()?;
        let most = (cells.recorders() >> TRACKED_SHARE) as u32;
        let is_left = |slices: u64| {
            let steps = params.age_steps(params.ages_between(0, slices));
            steps[COUNTER] >= u16::MAX.into() && steps[FINDER] == u64::MAX
        };
        let report = SliceReport {
            slice: 0,
            super_points: Vec::new(),
            candidates: 0,
            health: Health::untouched(&params, detector.share()),
            stages: StageTimes::default(),
        };
        Some(Self {
            params,
            cells,
            // All slices of an epoch count if one of them is in the window.
            reach: u64::from(params.window()) + u64::from(cells.epoch_slices()) - 1,
            lasting: (0..u64::BITS).map(|bits| 1 << bits).find(|slices| is_left(*slices))?,
            least: least_c_min(&cells, most),
            tracked_from: 0,
            counted: (0, 0),
            touched: HashMap::new(),
            by_slice: BTreeMap::new(),
            held: HashMap::new(),
            large: 0,
            waiting: BTreeMap::new(),
            waiting_len: 0,
            report,
        })
    }

    /// Notes that the recorders may contain any touches of slices before `slice`, for example because the detector was
    /// restored from a snapshot.
    pub fn distrust(&mut self, slice: u64) {
        (self.tracked_from, self.large) = (slice, 0);
        self.touched.clear();
        self.by_slice.clear();
        self.held.clear();
    }

    /// Records a contact for each of `pairs`, `slices_late` slices before the slice `running`.
    ///
    /// The detector ingests the pairs now or, if the running slice cannot have a super point, later.
    ///
    /// # Errors
    /// Returns the errors of [`PairBatch::ingest_late`] and [`settle`](Self::settle).
    pub fn ingest(
        &mut self,
        detector: &mut SlidingDetector,
        pairs: &PairBatch,
        running: u64,
        slices_late: u32,
    ) -> Result<(), Error> {
        let slice = running.saturating_sub(slices_late.into());
        self.track(pairs, running, slice)?;
        if !self.is_quiet(detector, running) || self.waiting_len + pairs.len() > MOST_WAITING {
            self.settle(detector, running)?;
            return pairs.ingest_late(detector, slices_late);
        }
        self.waiting_len += pairs.len();
        self.waiting.entry(slice).or_default().append(pairs)
    }

    /// Returns the report of the slice `running` if it cannot have a candidate. The health in the report is that of an
    /// untouched detector. The slice then needs no close.
    pub fn quiet_report(
        &mut self,
        detector: &SlidingDetector,
        running: u64,
    ) -> Option<SliceReport> {
        self.forget_before((running + 1).saturating_sub(self.reach));
        while let Some(oldest) =
            self.waiting.first_entry().filter(|oldest| oldest.key() + self.lasting <= running)
        {
            self.waiting_len -= oldest.remove().len();
        }
        self.is_quiet(detector, running)
            .then(|| SliceReport { slice: running, ..self.report.clone() })
    }

    /// Moves the window of `detector` until the slice `running` is running, and ingests all waiting pairs.
    ///
    /// # Errors
    /// Returns the errors of [`SlidingDetector::skip_to`] and [`PairBatch::ingest_late`].
    pub fn settle(&mut self, detector: &mut SlidingDetector, running: u64) -> Result<(), Error> {
        if detector.slice() < running {
            detector.skip_to(running)?;
        }
        self.waiting_len = 0;
        mem::take(&mut self.waiting).into_iter().try_for_each(|(slice, pairs)| {
            // Pairs that are later than this number have left the recorders.
            let late = u32::try_from(running - slice).unwrap_or(u32::MAX);
            pairs.ingest_late(detector, late)
        })
    }

    /// Returns whether the slice `running` cannot have a candidate.
    fn is_quiet(&self, detector: &SlidingDetector, running: u64) -> bool {
        let is_tracked = self.tracked_from == 0 || self.tracked_from + self.reach <= running + 1;
        is_tracked && self.large == 0 && !detector.has_kept_hosts()
    }

    fn track(&mut self, pairs: &PairBatch, running: u64, slice: u64) -> Result<(), Error> {
        if slice < self.tracked_from || slice + self.reach <= running {
            return Ok(());
        }
        if self.counted.0 != running {
            self.counted = (running, 0);
        }
        self.counted.1 += pairs.len();
        if self.counted.1 > MOST_TRACKED {
            self.distrust(running + 1 + self.reach / PAUSE);
            return Ok(());
        }
        let most = self.cells.recorders() >> TRACKED_SHARE;
        for pair in pairs.v4()?.iter() {
            self.touch(pair, slice);
            if self.touched.len() > most {
                break;
            }
        }
        for pair in pairs.v6()?.iter() {
            if self.touched.len() > most {
                break;
            }
            self.touch(&self.params.pair_ids(*pair), slice);
        }
        if self.touched.len() > most {
            self.distrust(running + 1 + self.reach / PAUSE);
        }
        Ok(())
    }

    fn touch(&mut self, pair: &impl PairIds, slice: u64) {
        let Some(touch) = self.cells.touched_cell(pair) else { return };
        match self.touched.get_mut(&touch) {
            // The entry in `by_slice` follows when its slice is forgotten. A second entry for each slice that touches
            // the cell would make the memory grow with the window.
            Some(newest) => *newest = slice.max(*newest),
            None => {
                self.touched.insert(touch, slice);
                self.by_slice.entry(slice).or_default().push(touch);
                let held = self.held.entry(touch.1).or_default();
                *held += 1;
                self.large += usize::from(*held == self.least);
            }
        }
    }

    /// Forgets the touches of all slices before `slice`.
    fn forget_before(&mut self, slice: u64) {
        while let Some(oldest) = self.by_slice.first_entry().filter(|oldest| *oldest.key() < slice)
        {
            for touch in oldest.remove() {
                if let Some(newest) = self.touched.get(&touch).filter(|newest| **newest >= slice) {
                    self.by_slice.entry(*newest).or_default().push(touch);
                    continue;
                }
                self.touched.remove(&touch);
                if let Some(held) = self.held.get_mut(&touch.1) {
                    self.large -= usize::from(*held == self.least);
                    *held -= 1;
                    if *held == 0 {
                        self.held.remove(&touch.1);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
