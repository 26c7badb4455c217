//! Reports on standard output: a table, ndjson or CSV.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Stdout, Write};
use std::net::IpAddr;

use anyhow::{Context, Result};
use srlg::{EstimateRange, SamplePeer, SliceReport, SuperPoint};

use crate::args::{Args, Format};

pub struct Output {
    writer: BufWriter<Stdout>,
    style: Style,
    slice_ms: u64,
    headed: bool,
    /// Sample peers of a super point, at most.
    most_peers: usize,
}

enum Style {
    /// One line per host, at the end.
    Peaks(BTreeMap<IpAddr, Peak>),
    /// One line per super point and slice, as they come.
    Lines(fn(&mut dyn Write, &Line<'_>) -> io::Result<()>, &'static str),
}

/// A super point in one slice.
struct Line<'a> {
    slice: u64,
    start_ms: u64,
    end_ms: u64,
    point: &'a SuperPoint,
    /// Where any are asked for.
    peers: Option<&'a [SamplePeer]>,
}

/// What is remembered of a host for the table.
struct Peak {
    cardinality: f64,
    slice: u64,
    first: u64,
    last: u64,
    slices: u64,
    /// Those of the last slice.
    peers: Vec<SamplePeer>,
}

impl Output {
    pub fn new(args: &Args) -> Self {
        let style = match args.output {
            Format::Ndjson => Style::Lines(ndjson, ""),
            Format::Csv if args.peers > 0 => Style::Lines(csv, CSV_HEADER_WITH_PEERS),
            Format::Csv => Style::Lines(csv, CSV_HEADER),
            Format::Table if args.every_slice => Style::Lines(row, ROW_HEADER),
            Format::Table => Style::Peaks(BTreeMap::new()),
        };
        let slice_ms = args.slice.as_millis() as u64;
        let writer = BufWriter::new(io::stdout());
        Self { writer, style, slice_ms, headed: false, most_peers: args.peers }
    }

    /// Takes one report.
    pub fn report(&mut self, report: &SliceReport) -> Result<()> {
        self.write(report).context("cannot write to standard output")
    }

    /// Writes what waits for the end.
    pub fn finish(&mut self) -> Result<()> {
        self.write_end().context("cannot write to standard output")
    }

    fn write(&mut self, report: &SliceReport) -> io::Result<()> {
        let start_ms = report.slice.saturating_mul(self.slice_ms);
        let end_ms = start_ms.saturating_add(self.slice_ms);
        self.write_header()?;
        for point in &report.super_points {
            let peers = first_peers(point, self.most_peers);
            match &mut self.style {
                Style::Peaks(peaks) => remember(peaks, report.slice, point, peers),
                Style::Lines(line, _) => {
                    let (slice, peers) = (report.slice, (self.most_peers > 0).then_some(peers));
                    line(&mut self.writer, &Line { slice, start_ms, end_ms, point, peers })?;
                }
            }
        }
        // Somebody may be reading along.
        self.writer.flush()
    }

    fn write_header(&mut self) -> io::Result<()> {
        if let (false, Style::Lines(_, header)) = (self.headed, &self.style) {
            self.writer.write_all(header.as_bytes())?;
        }
        self.headed = true;
        Ok(())
    }

    fn write_end(&mut self) -> io::Result<()> {
        self.write_header()?;
        if let Style::Peaks(peaks) = &self.style {
            let mut peaks: Vec<_> = peaks.iter().collect();
            peaks.sort_by(|(_, a), (_, b)| b.cardinality.total_cmp(&a.cardinality));
            let longest = peaks.iter().map(|(host, _)| host.to_string().len()).max();
            let width = longest.unwrap_or(0).max(15);
            writeln!(
                self.writer,
                "{:<width$}      peak   in slice  first slice   last slice   slices",
                "host"
            )?;
            for (host, peak) in peaks {
                let Peak { cardinality, slice, first, last, slices, peers } = peak;
                let host = host.to_string();
                writeln!(
                    self.writer,
                    "{host:<width$} {cardinality:>9.0} {slice:>10} {first:>12} {last:>12} {slices:>8}"
                )?;
                indented(&mut self.writer, peers)?;
            }
        }
        self.writer.flush()
    }
}

fn remember(
    peaks: &mut BTreeMap<IpAddr, Peak>,
    slice: u64,
    point: &SuperPoint,
    peers: &[SamplePeer],
) {
    let cardinality = point.cardinality;
    let new = Peak { cardinality, slice, first: slice, last: slice, slices: 0, peers: Vec::new() };
    let peak = peaks.entry(point.host).or_insert(new);
    if cardinality > peak.cardinality {
        (peak.cardinality, peak.slice) = (cardinality, slice);
    }
    peak.last = slice;
    peak.slices += 1;
    peak.peers = peers.to_vec();
}

/// The first `most` sample peers of a super point: those seen last.
pub fn first_peers(point: &SuperPoint, most: usize) -> &[SamplePeer] {
    &point.peers[..point.peers.len().min(most)]
}

/// A line per peer, below that of its host.
pub fn indented(to: &mut dyn Write, peers: &[SamplePeer]) -> io::Result<()> {
    for peer in peers {
        let host = peer.host.to_string();
        writeln!(to, "    peer {host:<15} last seen in slice {}", peer.last_seen)?;
    }
    Ok(())
}

fn is_lower_bound(point: &SuperPoint) -> bool {
    point.range == EstimateRange::Beyond
}

fn ndjson(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, peers } = line;
    let SuperPoint { host, cardinality, std_error, .. } = point;
    write!(
        to,
        r#"{{"slice":{slice},"start_ms":{start_ms},"end_ms":{end_ms},"host":"{host}","cardinality":{cardinality:.1},"std_error":{std_error:.1}"#
    )?;
    if is_lower_bound(point) {
        to.write_all(b",\"lower_bound\":true")?;
    }
    if let Some(peers) = peers {
        let object = |peer: &SamplePeer| {
            format!(r#"{{"host":"{}","last_seen":{}}}"#, peer.host, peer.last_seen)
        };
        let objects: Vec<_> = peers.iter().map(object).collect();
        write!(to, r#","peers":[{}]"#, objects.join(","))?;
    }
    to.write_all(b"}\n")
}

const CSV_HEADER: &str = "slice,start_ms,end_ms,host,cardinality,std_error,lower_bound\n";
const CSV_HEADER_WITH_PEERS: &str =
    "slice,start_ms,end_ms,host,cardinality,std_error,lower_bound,peers\n";

/// Peers are one column: each with the slice in which it was seen last, `192.0.2.1@7`, and spaces between.
fn csv(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, peers } = line;
    let SuperPoint { host, cardinality, std_error, .. } = point;
    let bound = is_lower_bound(point);
    write!(to, "{slice},{start_ms},{end_ms},{host},{cardinality:.1},{std_error:.1},{bound}")?;
    if let Some(peers) = peers {
        let text = |peer: &SamplePeer| format!("{}@{}", peer.host, peer.last_seen);
        write!(to, ",{}", peers.iter().map(text).collect::<Vec<_>>().join(" "))?;
    }
    writeln!(to)
}

const ROW_HEADER: &str = "slice            start_ms host            cardinality\n";

fn row(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, point, peers, .. } = line;
    let host = point.host.to_string();
    let bound = if is_lower_bound(point) { " at least" } else { "" };
    writeln!(to, "{slice:<10} {start_ms:>14} {host:<15} {:>11.0}{bound}", point.cardinality)?;
    indented(to, peers.unwrap_or_default())
}
