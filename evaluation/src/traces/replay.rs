//! A recording through a detector and the oracle.
//!
//! Shape: [`section`], all rows of a table; [`Replay`], one of them. Invariant: a window
//! is scored when it ends in a slice of the trace, began in one, and its turn has come;
//! empty time is passed over only after a whole empty window, so that a detector that
//! forgets late is found out.

use crate::system::points;
use anyhow::Result;
use indicatif::ProgressBar;
use srlg_core::{Config, IpPair};
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::Score;
use srlg_traffic::trace::Record;

use super::{Cut, Recording, Traces};
use crate::preset::Preset;
use crate::progress;

/// The rows of one table.
pub(super) struct Section {
    pub(super) preset: Preset,
    pub(super) cut: Cut,
    pub(super) rows: Vec<Row>,
    /// Traces without a whole window.
    pub(super) too_short: Vec<String>,
    /// Traces of more slices than wanted.
    pub(super) too_long: Vec<String>,
}

/// A trace at a threshold.
pub(super) struct Row {
    pub(super) trace: String,
    pub(super) threshold: u32,
    /// Windows that were scored.
    pub(super) windows: u32,
    /// Of all these windows together.
    pub(super) score: Score,
}

pub(super) fn section(
    recordings: &[Recording],
    preset: Preset,
    cut: Cut,
    options: &Traces,
) -> Result<Section> {
    let (mut too_short, mut too_long, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let records: usize = recordings.iter().map(|recording| recording.records.len()).sum();
    let bar = progress::bar((records * options.threshold.len()) as u64, "records");
    for recording in recordings {
        let name = recording.name.clone();
        match recording.slices(cut) {
            slices if slices < cut.window => too_short.push(name),
            slices if slices > options.most_slices => too_long.push(name),
            slices => {
                for &threshold in &options.threshold {
                    let replay = Replay::new(preset, cut, threshold, options.stride)?;
                    let windows = replay.scored_before(slices);
                    let score = replay.run(&recording.records, &bar)?;
                    rows.push(Row { trace: name.clone(), threshold, windows, score });
                }
            }
        }
    }
    Ok(Section { preset, cut, rows, too_short, too_long })
}

/// A detector and the truth, slice by slice over the same trace.
struct Replay {
    detector: SlidingDetector,
    exact: ExactWindow,
    cut: Cut,
    threshold: u32,
    stride: u32,
    /// The running slice.
    slice: u32,
    /// Slices since the last record at whose end the window was empty.
    silent: u32,
    score: Score,
}

impl Replay {
    fn new(preset: Preset, cut: Cut, threshold: u32, stride: u32) -> Result<Self> {
        let config = Config { threshold, window: cut.window, ..preset.config() };
        Ok(Self {
            detector: SlidingDetector::new(config, Device::Auto)?,
            exact: ExactWindow::new(cut.window),
            cut,
            threshold,
            stride,
            slice: 0,
            silent: 0,
            score: Score::default(),
        })
    }

    /// Scored windows that end before `slice`.
    fn scored_before(&self, slice: u32) -> u32 {
        slice.checked_sub(self.cut.window).map_or(0, |whole| whole / self.stride + 1)
    }

    fn run(mut self, records: &[Record], bar: &ProgressBar) -> Result<Score> {
        let cut = self.cut;
        for records in records.chunk_by(|a, b| cut.slice(a) == cut.slice(b)) {
            self.advance_to(cut.slice(&records[0]))?;
            let pairs: Vec<IpPair> = records.iter().flat_map(Record::pairs).collect();
            self.detector.ingest(&pairs)?;
            pairs.into_iter().for_each(|pair| self.exact.touch(pair));
            bar.inc(records.len() as u64);
        }
        self.close()?;
        Ok(self.score)
    }

    /// Closes slices until `slice` is running; where nothing is left, all at once.
    fn advance_to(&mut self, slice: u32) -> Result<()> {
        while self.slice < slice && self.silent <= self.cut.window {
            self.close()?;
        }
        self.exact.skip((slice - self.slice).into());
        self.detector.skip_to(slice.into())?;
        self.slice = slice;
        self.silent = 0;
        Ok(())
    }

    /// Closes the running slice, and scores its window when it is its turn.
    fn close(&mut self) -> Result<()> {
        self.silent += u32::from(self.exact.distinct_pairs() == 0);
        if self.scored_before(self.slice + 1) > self.scored_before(self.slice) {
            let truth = self.exact.super_points(self.threshold);
            let report = self.detector.close_slice()?;
            self.score += Score::of(&truth, &points(&report), self.threshold);
        } else {
            self.detector.skip_to(u64::from(self.slice) + 1)?;
        }
        self.exact.skip(1);
        self.slice += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Cut = Cut { seconds: 60, window: 5 };

    /// A scanner of 200 hosts in each of the minutes given.
    fn scans(minutes: &[u32]) -> Vec<Record> {
        let record =
            |minute, destination| Record { time_ms: minute * 60_000, source: 1, destination };
        let scan = |&minute| (1000..1200).map(move |host| record(minute, host));
        minutes.iter().flat_map(scan).collect()
    }

    fn replay(minutes: &[u32], stride: u32) -> Score {
        let replay = Replay::new(Preset::Default, CUT, 100, stride).unwrap();
        replay.run(&scans(minutes), &progress::bar(1, "")).unwrap()
    }

    #[test]
    fn a_scan_is_a_super_point_of_every_window_that_holds_it() {
        // Windows end in minutes 4 to 60; the scan of minute 20 is in those of 20 to 24.
        let score = replay(&[0, 20, 60], 1);
        // Those that end in 4 and in 60 hold the other two.
        assert_eq!((score.true_super_points, score.reported), (7, 7));
        assert_eq!((score.false_positives, score.false_negatives), (0, 0));
    }

    #[test]
    fn every_nth_window_is_scored_from_the_first_whole_one_on() {
        let replay_of = |stride| Replay::new(Preset::Default, CUT, 100, stride).unwrap();
        // Minutes 4, 14, 24 of the slices 0 to 24, and not 24 when there are 24 slices.
        let counts = [4, 5, 24, 25].map(|slices| replay_of(10).scored_before(slices));
        assert_eq!(counts, [0, 1, 2, 3]);
        // 4 and 24 hold a scan.
        assert_eq!(replay(&[0, 20, 24], 10).true_super_points, 2);
    }
}
