//! `traces`: a detector on recorded traffic, against the exact truth of its windows.
//!
//! Shape: for every preset and [`Cut`] a table, with a row for every record file and
//! threshold. Invariant: the detector finds its candidates itself, both ends of a record
//! are measured, and what is left out is named below the table.

mod replay;
mod results;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use clap::Args;
use srlg_traffic::trace::{self, Record, SUFFIX, Trace, record_files};

use crate::number;
use crate::preset::Preset;
use crate::study::{CommandLine, PageOptions, StudyOutput};

#[derive(Args)]
pub(crate) struct Traces {
    /// Folder of record files, NAME.spt.zst, or of a folder dev/ of them [default: SRLG_DATA]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Sizes and sampling of the detector
    #[arg(long, value_enum, value_delimiter = ',', default_value = "default,paper")]
    preset: Vec<Preset>,
    /// Seconds of a slice and slices of a window
    #[arg(long, value_delimiter = ',', default_value = "60x5,300x1,1x300")]
    cut: Vec<Cut>,
    /// Distinct opposite hosts that make a super point
    #[arg(long, value_delimiter = ',', default_value = "100,256,1024", value_parser = number::count)]
    threshold: Vec<u32>,
    /// Score every n-th window
    #[arg(long, default_value = "1", value_parser = number::count)]
    stride: u32,
    /// Leave out traces of more slices
    #[arg(long, default_value = "10k", value_parser = number::count)]
    most_slices: u32,
    #[command(flatten)]
    output: PageOptions,
}

/// How time is cut into slices, and how many of them make a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Seconds of a slice.
    seconds: u32,
    /// Slices of a window.
    window: u32,
}

/// A text that is no [`Cut`].
#[derive(Debug, thiserror::Error)]
#[error("give seconds per slice and slices per window, each at least 1: 60x5")]
struct NotACut;

impl FromStr for Cut {
    type Err = NotACut;

    fn from_str(text: &str) -> Result<Self, NotACut> {
        let (seconds, window) = text.split_once('x').ok_or(NotACut)?;
        let count = |text| number::count(text).map_err(|_| NotACut);
        Ok(Self { seconds: count(seconds)?, window: count(window)? })
    }
}

/// A record file in memory.
struct Recording {
    /// The name of the file.
    name: String,
    /// At least one record, sorted by time.
    records: Vec<Record>,
}

impl Recording {
    fn read(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let records: Vec<Record> = Trace::open(path)?.collect::<Result<_, _>>()?;
        let sorted = records.is_sorted_by_key(|record| record.time_ms);
        ensure!(sorted, "{} is not sorted by time", path.display());
        ensure!(!records.is_empty(), "{} has no records", path.display());
        Ok(Self { name: name.trim_end_matches(SUFFIX).to_owned(), records })
    }

    /// Slices from the first record to the last.
    fn slices(&self, cut: Cut) -> u32 {
        self.records.last().map_or(0, |record| cut.slice(record) + 1)
    }
}

impl Cut {
    /// The slice of a record; the trace begins at time 0.
    fn slice(self, record: &Record) -> u32 {
        (u64::from(record.time_ms) / (u64::from(self.seconds) * 1000)) as u32
    }
}

pub(crate) fn run(options: &Traces, line: CommandLine) -> Result<()> {
    let folder = options.data.clone().or_else(trace::data_dir);
    let folder = folder.context("there is no folder of record files: give --data")?;
    let with_cuts = |&preset| options.cut.iter().map(move |&cut| (preset, cut));
    let sections: Vec<_> = options.preset.iter().flat_map(with_cuts).collect();
    let places: Vec<_> = sections.iter().map(|&(preset, cut)| place(preset, cut)).collect();
    let mut output = StudyOutput::in_page(&options.output, &places)?;
    let files = files(&folder)?;
    let recordings = files.iter().map(|path| Recording::read(path)).collect::<Result<Vec<_>>>()?;
    for ((preset, cut), place) in sections.into_iter().zip(places) {
        let section = replay::section(&recordings, preset, cut, options)?;
        output.tell(&[results::of(place, &section, options, line)])?;
    }
    Ok(())
}

/// The name of a table in the markers of a page.
fn place(preset: Preset, cut: Cut) -> String {
    format!("{} s x {}, preset {}", cut.seconds, cut.window, preset.name())
}

/// The record files of `folder`, or else those of its dev/.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = |folder: &Path| {
        record_files(folder).with_context(|| format!("cannot read {}", folder.display()))
    };
    let mut files = read(folder)?;
    let dev = folder.join("dev");
    if files.is_empty() && dev.is_dir() {
        files = read(&dev)?;
    }
    ensure!(!files.is_empty(), "{} holds no record files, NAME{SUFFIX}", folder.display());
    Ok(files)
}
