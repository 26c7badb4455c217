//! The command `traces`, which compares a detector on recorded traffic with the exact answer, window by window.
//!
//! There is a table for every preset and [`Cut`], with a row for every record file and threshold. The detector finds
//! its candidates itself, and both hosts of a record are counted.
//!
//! A trace is omitted if it is shorter than a window or has too many slices. It has no row for a threshold at which it
//! has neither true nor reported super points. The text below a table lists these traces and thresholds.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use srlg_core::{Config, Ipv4Pair};
use srlg_host::{Device, SlidingDetector};
use srlg_input::number;
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::Score;
use srlg_traffic::trace::{Record, SUFFIX, Trace, record_files};

use crate::options::Preset;
use crate::results::{Cell, Column, Results, Row, details};
use crate::study::{CommandLine, PageOptions, Study, Sweep};
use crate::system::points;
use crate::table::short;

const COLUMNS: &[Column] = &[
    Column::decimals(0, "windows"),
    Column::decimals(0, "super points"),
    Column::percent("TFR").metric("tfr", "%"),
    Column::percent("FPR").metric("fpr", "%"),
    Column::percent("FNR").metric("fnr", "%"),
    Column::percent("RMSE").metric("rmse", "%"),
    Column::percent("largest error").metric("largest_error", "%"),
];

#[derive(Args)]
pub(crate) struct Traces {
    /// Folder that contains record files (NAME.spt.zst), directly or in its subfolder dev/ [default:
    /// $SRLG_DATA]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Scheme and sizes of the detector
    #[arg(long, value_enum, value_delimiter = ',', default_value = "default,paper")]
    preset: Vec<Preset>,
    /// Seconds per slice and slices per window
    #[arg(long, value_delimiter = ',', default_value = "60x5,300x1,1x300", value_parser = cut)]
    cut: Vec<Cut>,
    /// Minimum numbers of distinct peers of a super point
    #[arg(long, value_delimiter = ',', default_value = "100,256,1024", value_parser = number::count)]
    threshold: Vec<u32>,
    /// Score every n-th window
    #[arg(long, default_value = "1", value_parser = number::count)]
    stride: u32,
    /// Omit traces with more slices than this
    #[arg(long, default_value = "10k", value_parser = number::count)]
    most_slices: u32,
    #[command(flatten)]
    output: PageOptions,
}

/// Length of a slice in seconds, and number of slices per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    seconds: u32,
    window: u32,
}

fn cut(text: &str) -> Result<Cut> {
    let cut = || {
        let (seconds, window) = text.split_once('x')?;
        Some(Cut { seconds: number::count(seconds).ok()?, window: number::count(window).ok()? })
    };
    cut().context("must be seconds per slice and slices per window (at least 1x1), such as 60x5")
}

impl Cut {
    /// Returns the number of the slice that contains a record. Slice 0 starts at time 0 of the trace.
    fn slice(self, record: &Record) -> u32 {
        (u64::from(record.time_ms) / (u64::from(self.seconds) * 1000)) as u32
    }
}

struct Recording {
    name: String,
    /// Records, sorted by time. The list is never empty.
    records: Vec<Record>,
}

impl Recording {
    fn read(path: &PathBuf) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let records: Vec<Record> = Trace::open(path)?.collect::<Result<_, _>>()?;
        let sorted = records.is_sorted_by_key(|record| record.time_ms);
        ensure!(sorted, "{} is not sorted by time", path.display());
        ensure!(!records.is_empty(), "{} has no records", path.display());
        Ok(Self { name: name.trim_end_matches(SUFFIX).to_owned(), records })
    }

    /// Returns the number of slices up to and including the slice of the last record.
    fn slices(&self, cut: Cut) -> u32 {
        self.records.last().map_or(0, |record| cut.slice(record) + 1)
    }
}

pub(crate) fn run(options: &Traces, line: CommandLine) -> Result<()> {
    let data = || std::env::var_os("SRLG_DATA").map(PathBuf::from);
    let folder = options.data.clone().or_else(data);
    let folder = folder.context("no folder of record files: set --data or SRLG_DATA")?;
    let with_cuts = |&preset| options.cut.iter().map(move |&cut| Table { preset, cut });
    let tables: Vec<Table> = options.preset.iter().flat_map(with_cuts).collect();
    let places: Vec<_> = tables.iter().map(Table::place).collect();
    let mut study = Study::in_page(&options.output, &places)?;
    let recordings = files(&folder)?.iter().map(Recording::read).collect::<Result<Vec<_>>>()?;
    for table in tables {
        let sweep =
            Sweep { results: table.results(options, line), steps: recordings.iter().collect() };
        study.run(1, vec![sweep], |recording, results, _| {
            table.measure(recording, options, results)?;
            results.below = table.left_out(&recordings, options, &results.rows);
            Ok(())
        })?;
    }
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = |folder: &Path| {
        record_files(folder).with_context(|| format!("cannot read {}", folder.display()))
    };
    let mut files = read(folder)?;
    let dev = folder.join("dev");
    if files.is_empty() && dev.is_dir() {
        files = read(&dev)?;
    }
    ensure!(!files.is_empty(), "{} has no record files (NAME{SUFFIX})", folder.display());
    Ok(files)
}

/// Parameters that all rows of a table share.
struct Table {
    preset: Preset,
    cut: Cut,
}

impl Table {
    fn place(&self) -> String {
        let Self { preset, cut } = self;
        format!("{} s x {}, preset {}", cut.seconds, cut.window, preset.name())
    }

    fn results(&self, options: &Traces, line: CommandLine) -> Results {
        let (place, preset, Cut { seconds, window }) = (self.place(), self.preset.name(), self.cut);
        let cut = format!("{seconds}x{window}");
        let instead = [("data", "DIR"), ("preset", preset.as_str()), ("cut", cut.as_str())];
        Results {
            heading: format!("Real traffic, {place}"),
            place,
            setting: format!("Slices of {seconds} s, {window} per window, preset {preset}"),
            above: format!("`{}`", line(&instead)),
            names: vec!["trace", "θ"],
            columns: COLUMNS,
            details: details!(
                options => stride; "preset": preset, "slice_s": seconds, "window": window
            ),
            ..Results::default()
        }
    }

    /// Adds one row per threshold for a recording, unless the recording is too short or too long.
    fn measure(
        &self,
        recording: &Recording,
        options: &Traces,
        results: &mut Results,
    ) -> Result<()> {
        let slices = recording.slices(self.cut);
        if slices < self.cut.window || slices > options.most_slices {
            return Ok(());
        }
        for &threshold in &options.threshold {
            let replay = Replay::new(self, threshold, options.stride)?;
            let windows = replay.scored_before(slices);
            let score = replay.run(&recording.records)?;
            results.rows.push(row(&recording.name, threshold, windows, &score));
        }
        Ok(())
    }

    /// Returns the text below the table, which lists the traces that do not have a row for every threshold.
    fn left_out(&self, recordings: &[Recording], options: &Traces, rows: &[Row]) -> String {
        let quiet: Vec<&Row> = rows.iter().filter(|row| row.json_only).collect();
        let quiet = quiet.chunk_by(|one, next| one.names[0] == next.names[0]).map(|rows| {
            let thresholds: Vec<&str> = rows.iter().map(|row| row.names[1].as_str()).collect();
            format!("{} (θ = {})", rows[0].names[0], thresholds.join(", "))
        });
        let of_slices = |is_out: &dyn Fn(u32) -> bool| {
            let out = recordings.iter().filter(|recording| is_out(recording.slices(self.cut)));
            out.map(|recording| recording.name.clone()).collect()
        };
        let is_short = |slices| slices < self.cut.window;
        let too_long = format!("Traces longer than {} slices", short(options.most_slices));
        let lines: [(&str, Vec<String>); 3] = [
            ("Without true or reported super points", quiet.collect()),
            ("Traces shorter than a window", of_slices(&is_short)),
            (&too_long, of_slices(&|slices| !is_short(slices) && slices > options.most_slices)),
        ];
        let lines = lines.iter().filter(|(_, traces)| !traces.is_empty());
        let lines = lines.map(|(what, traces)| format!("{what}: {}.", traces.join(", ")));
        lines.collect::<Vec<_>>().join("\n\n")
    }
}

fn row(trace: &str, threshold: u32, windows: u32, score: &Score) -> Row {
    let cells = vec![
        windows.into(),
        score.true_super_points.into(),
        Cell::ratio(score.total_false_rate()),
        Cell::ratio(score.false_positive_ratio()).or(&format!("{} of 0", score.false_positives)),
        Cell::ratio(score.false_negative_ratio()),
        Cell::ratio(score.rmse()),
        Cell::ratio(score.max_error()),
    ];
    let details = details!(
        score => false_positives;
        "trace": trace, "threshold": threshold, "windows": windows,
        "super_points": score.true_super_points
    );
    Row {
        json_only: score.true_super_points == 0 && score.reported == 0,
        ..Row::new(vec![trace.to_owned(), threshold.to_string()], cells, details)
    }
}

/// A detector and an exact counter that process the same trace, slice by slice.
///
/// Every `stride`-th window of the trace is scored. Slices without records are skipped only after the window was empty
/// at the close of more than `cut.window` slices in a row. Until then they are closed, so that a detector that forgets
/// pairs too late is noticed.
struct Replay {
    detector: SlidingDetector,
    exact: ExactWindow,
    cut: Cut,
    threshold: u32,
    stride: u32,
    slice: u32,
    /// Number of consecutive slices at whose close the window was empty.
    silent: u32,
    score: Score,
}

impl Replay {
    fn new(&Table { preset, cut }: &Table, threshold: u32, stride: u32) -> Result<Self> {
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

    fn scored_before(&self, slice: u32) -> u32 {
        slice.checked_sub(self.cut.window).map_or(0, |whole| whole / self.stride + 1)
    }

    fn run(mut self, records: &[Record]) -> Result<Score> {
        let cut = self.cut;
        for records in records.chunk_by(|a, b| cut.slice(a) == cut.slice(b)) {
            self.advance_to(cut.slice(&records[0]))?;
            let pairs: Vec<Ipv4Pair> = records.iter().flat_map(Record::pairs).collect();
            self.detector.ingest(&pairs)?;
            pairs.into_iter().for_each(|pair| self.exact.touch(pair));
        }
        self.close()?;
        Ok(self.score)
    }

    /// Closes or skips slices until `slice` is running.
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

    /// Closes the running slice, and scores its window if the stride selects the window.
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

    const TABLE: Table = Table { preset: Preset::Default, cut: Cut { seconds: 60, window: 5 } };

    fn scans(minutes: &[u32]) -> Vec<Record> {
        let record =
            |minute, destination| Record { time_ms: minute * 60_000, source: 1, destination };
        let scan = |&minute| (1000..1200).map(move |host| record(minute, host));
        minutes.iter().flat_map(scan).collect()
    }

    fn replay(minutes: &[u32], stride: u32) -> Score {
        let replay = Replay::new(&TABLE, 100, stride).unwrap();
        replay.run(&scans(minutes)).unwrap()
    }

    #[test]
    fn a_scan_is_a_super_point_of_every_window_that_holds_it() {
        // Windows end in minutes 4 to 60. The windows that end in minutes 20 to 24 have the scan of minute 20.
        let score = replay(&[0, 20, 60], 1);
        // The window that ends in minute 4 has the first scan, and the window that ends in minute 60 has the last scan.
        assert_eq!((score.true_super_points, score.reported), (7, 7));
        assert_eq!((score.false_positives, score.false_negatives), (0, 0));
    }

    #[test]
    fn every_nth_window_is_scored_from_the_first_whole_one_on() {
        let replay_of = |stride| Replay::new(&TABLE, 100, stride).unwrap();
        // With slices 0 to 24, the scored windows end in minutes 4, 14 and 24. With 24 slices, no window ends in minute
        // 24.
        let counts = [4, 5, 24, 25].map(|slices| replay_of(10).scored_before(slices));
        assert_eq!(counts, [0, 1, 2, 3]);
        // The windows that end in minutes 4 and 24 have a scan.
        assert_eq!(replay(&[0, 20, 24], 10).true_super_points, 2);
    }
}
