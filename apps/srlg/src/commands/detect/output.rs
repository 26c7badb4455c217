//! Reports on standard output: a table with one line per host, or one line per super point and slice as a table row,
//! NDJSON or CSV.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Stdout, Write};

use anyhow::{Context, Result};
use serde::Serialize;
use srlg_host::report::EstimateRange;
use srlg_host::{SliceReport, SuperPoint};
use srlg_input::contact::{Name, Packing, Sampling};

use crate::commands::detect::args::{Args, Format};

pub(super) struct Output {
    writer: BufWriter<Stdout>,
    style: Style,
    slice_ms: u64,
    /// Header line, or `None` once it is written.
    header: Option<String>,
    /// Packings of hosts and of peers.
    packings: [Packing; 2],
    /// Maximum number of sampled peers per super point.
    most_peers: usize,
    /// Whether the input consists of exports, which may be sampled.
    are_exports: bool,
}

enum Style {
    /// A table with one line per host, written at the end of the run.
    Peaks(BTreeMap<Name, Peak>),
    /// A line per super point and slice, written after each slice.
    Lines(fn(&mut dyn Write, &Line<'_>) -> io::Result<()>),
}

/// The line of a host in the table.
struct Peak {
    cardinality: f64,
    slice: u64,
    first: u64,
    last: u64,
    slices: u64,
    /// Sampled peers in the slice `last`.
    peers: Vec<Peer>,
    /// Range of the expected peak count without sampling, as text. The text is empty if the input does not consist of
    /// exports.
    unsampled: String,
}

impl Output {
    pub(super) fn new(args: &Args) -> Self {
        let style = match args.output {
            Format::Ndjson => Style::Lines(ndjson),
            Format::Csv => Style::Lines(csv),
            Format::Table if args.every_slice => Style::Lines(row),
            Format::Table => Style::Peaks(BTreeMap::new()),
        };
        let slice_ms = args.slice.as_millis() as u64;
        let writer = BufWriter::new(io::stdout());
        let (header, most_peers) = (header(args), args.peers);
        let packings = [args.view.hosts(), args.view.peers()];
        let are_exports = args.source.is_exports();
        Self { writer, style, slice_ms, header: Some(header), packings, most_peers, are_exports }
    }

    pub(super) fn report(&mut self, report: &SliceReport, sampling: Sampling) -> Result<()> {
        self.write(report, sampling).context("cannot write to standard output")
    }

    /// Writes the output that is complete only at the end of the run.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.write_end().context("cannot write to standard output")
    }

    fn write(&mut self, report: &SliceReport, sampling: Sampling) -> io::Result<()> {
        let sampling = self.are_exports.then_some(sampling);
        let start_ms = report.slice.saturating_mul(self.slice_ms);
        let end_ms = start_ms.saturating_add(self.slice_ms);
        self.write_header()?;
        for point in &report.super_points {
            let point = &Point::new(point, self.packings, self.most_peers);
            match &mut self.style {
                Style::Peaks(peaks) => remember(peaks, report.slice, point, sampling),
                Style::Lines(line) => {
                    let (slice, has_peers) = (report.slice, self.most_peers > 0);
                    let to = &mut self.writer;
                    line(to, &Line { slice, start_ms, end_ms, point, has_peers, sampling })?;
                }
            }
        }
        // A reader may be waiting for the next lines.
        self.writer.flush()
    }

    fn write_header(&mut self) -> io::Result<()> {
        self.header.take().map_or(Ok(()), |header| self.writer.write_all(header.as_bytes()))
    }

    fn write_end(&mut self) -> io::Result<()> {
        self.write_header()?;
        if let Style::Peaks(peaks) = &self.style {
            let mut peaks: Vec<_> = peaks.iter().collect();
            peaks.sort_by(|(_, a), (_, b)| b.cardinality.total_cmp(&a.cardinality));
            let longest = peaks.iter().map(|(host, _)| host.to_string().len()).max();
            let width = longest.unwrap_or(0).max(15);
            let sampling = if self.are_exports { "   unsampled" } else { "" };
            writeln!(
                self.writer,
                "{:<width$}      peak   in slice  first slice   last slice   slices{sampling}",
                "host"
            )?;
            for (host, peak) in peaks {
                let Peak { cardinality, slice, first, last, slices, peers, unsampled } = peak;
                let host = host.to_string();
                writeln!(
                    self.writer,
                    "{host:<width$} {cardinality:>9.0} {slice:>10} {first:>12} {last:>12} {slices:>8}{unsampled}"
                )?;
                indented(&mut self.writer, peers)?;
            }
        }
        self.writer.flush()
    }
}

fn remember(
    peaks: &mut BTreeMap<Name, Peak>,
    slice: u64,
    point: &Point,
    sampling: Option<Sampling>,
) {
    let cardinality = point.cardinality;
    let (first, last, peers) = (slice, slice, point.peers.clone());
    let text = || sampling.map_or_else(String::new, |it| unsampled(point, it));
    let peak = peaks.entry(point.host).or_insert_with(|| {
        let (peers, unsampled) = (Vec::new(), text());
        Peak { cardinality, slice, first, last, slices: 0, peers, unsampled }
    });
    if cardinality > peak.cardinality {
        (peak.cardinality, peak.slice, peak.unsampled) = (cardinality, slice, text());
    }
    peak.last = slice;
    peak.slices += 1;
    peak.peers = peers;
}

#[derive(Serialize)]
struct Point {
    host: Name,
    cardinality: f64,
    std_error: f64,
    range: EstimateRange,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    peers: Vec<Peer>,
}

#[derive(Clone, Serialize)]
struct Peer {
    host: Name,
    last_seen: u64,
}

impl Point {
    /// Converts `point` for the output, with at most `most_peers` of its sampled peers, most recent first.
    fn new(point: &SuperPoint, [hosts, peers]: [Packing; 2], most_peers: usize) -> Self {
        let &SuperPoint { host, cardinality, std_error, range, .. } = point;
        let sample = point.peers.iter().take(most_peers);
        let peers =
            sample.map(|it| Peer { host: peers.name(it.host), last_seen: it.last_seen }).collect();
        Self { host: hosts.name(host), cardinality, std_error, range, peers }
    }
}

fn indented(to: &mut dyn Write, peers: &[Peer]) -> io::Result<()> {
    for peer in peers {
        let Peer { host, last_seen } = peer;
        writeln!(to, "    peer {host:<15} last seen in slice {last_seen}")?;
    }
    Ok(())
}

/// A super point in one slice.
struct Line<'a> {
    pub(super) slice: u64,
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
    pub(super) point: &'a Point,
    /// Whether sampled peers are requested.
    pub(super) has_peers: bool,
    /// Sampling of the contacts, if the input consists of exports.
    pub(super) sampling: Option<Sampling>,
}

/// Returns the header line, which may be empty.
fn header(args: &Args) -> String {
    let columns = match args.output {
        Format::Csv => "slice,start_ms,end_ms,host,cardinality,std_error,lower_bound",
        Format::Table if args.every_slice => {
            "slice            start_ms host            cardinality"
        }
        Format::Ndjson | Format::Table => return String::new(),
    };
    let is_csv = args.output == Format::Csv;
    let exports = match (args.source.is_exports(), is_csv) {
        (false, _) => "",
        (true, true) => ",sampling_least,sampling_most,sampling_unknown,unsampled_most",
        (true, false) => "   unsampled",
    };
    let peers = if is_csv && args.peers > 0 { ",peers" } else { "" };
    format!("{columns}{exports}{peers}\n")
}

fn is_lower_bound(point: &Point) -> bool {
    point.range == EstimateRange::Beyond
}

/// Returns an upper bound of the number of peers without sampling, or `None` if the count is a lower bound or a
/// sampling rate is unknown.
fn unsampled_most(point: &Point, sampling: Sampling) -> Option<f64> {
    let Point { cardinality, std_error, .. } = point;
    sampling.unsampled_most(*cardinality, *std_error).filter(|_| !is_lower_bound(point))
}

/// A line of NDJSON: a super point in one slice.
#[derive(Serialize)]
struct Object<'a> {
    slice: u64,
    start_ms: u64,
    end_ms: u64,
    #[serde(flatten)]
    point: &'a Point,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    /// Bounds of the number of peers without sampling. The upper bound is `None` if a sampling rate is unknown or the
    /// count is a lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsampled: Option<(f64, Option<f64>)>,
}

fn ndjson(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, sampling, .. } = *line;
    let unsampled = sampling.map(|it| (point.cardinality, unsampled_most(point, it)));
    let object = Object { slice, start_ms, end_ms, point, sampling, unsampled };
    serde_json::to_writer(&mut *to, &object)?;
    to.write_all(b"\n")
}

/// Writes a line of CSV. All peers share one column, separated by spaces. The slice in which a peer was last seen
/// follows its address, as in `192.0.2.1@7`.
fn csv(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, has_peers, sampling } = line;
    let Point { host, cardinality, std_error, .. } = point;
    let bound = is_lower_bound(point);
    write!(to, "{slice},{start_ms},{end_ms},{host},{cardinality:.1},{std_error:.1},{bound}")?;
    if let Some(sampling) = sampling {
        let text = |rate: std::num::NonZeroU32| rate.to_string();
        let (least, most) = sampling
            .rates()
            .map_or_else(Default::default, |(least, most)| (text(least), text(most)));
        let top = unsampled_most(point, *sampling);
        let top = top.map_or_else(String::new, |top| format!("{top:.1}"));
        write!(to, ",{least},{most},{},{top}", sampling.is_unknown())?;
    }
    if *has_peers {
        let text = |peer: &Peer| format!("{}@{}", peer.host, peer.last_seen);
        write!(to, ",{}", point.peers.iter().map(text).collect::<Vec<_>>().join(" "))?;
    }
    writeln!(to)
}

fn row(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, point, sampling, .. } = line;
    let host = point.host;
    let bound = if is_lower_bound(point) { " at least" } else { "" };
    let range = sampling.map_or_else(String::new, |it| unsampled(point, it));
    writeln!(
        to,
        "{slice:<10} {start_ms:>14} {host:<15} {:>11.0}{bound}{range}",
        point.cardinality
    )?;
    indented(to, &point.peers)
}

/// Returns the bounds of the number of peers without sampling, as a column of text.
fn unsampled(point: &Point, sampling: Sampling) -> String {
    let cardinality = point.cardinality;
    match unsampled_most(point, sampling) {
        Some(most) => format!("   {cardinality:.0} to {most:.0}"),
        None => format!("   {cardinality:.0} or more"),
    }
}
