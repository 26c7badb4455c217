//! Reports on standard output: a table, ndjson or CSV.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Stdout, Write};
use std::net::IpAddr;

use anyhow::{Context, Result};
use srlg_host::report::SamplePeer;
use srlg_host::{SliceReport, SuperPoint};
use srlg_input::contact::Sampling;

use crate::commands::detect::args::{Args, Format};
use lines::{Line, csv, header, ndjson, row, unsampled};

mod lines;

pub(super) struct Output {
    writer: BufWriter<Stdout>,
    style: Style,
    slice_ms: u64,
    /// Until it is written.
    header: Option<String>,
    /// Sample peers of a super point, at most.
    most_peers: usize,
    /// Whether exporters tell of contacts, which may sample them.
    are_exports: bool,
}

enum Style {
    /// One line per host, at the end.
    Peaks(BTreeMap<IpAddr, Peak>),
    /// One line per super point and slice, as they come.
    Lines(fn(&mut dyn Write, &Line<'_>) -> io::Result<()>),
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
    /// The count without sampling, as text; empty where no exporter tells.
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
        let are_exports = args.source.is_exports();
        Self { writer, style, slice_ms, header: Some(header), most_peers, are_exports }
    }

    /// Takes one report, and how the contacts were sampled that count in the report.
    pub(super) fn report(&mut self, report: &SliceReport, sampling: Sampling) -> Result<()> {
        self.write(report, sampling).context("cannot write to standard output")
    }

    /// Writes what waits for the end.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.write_end().context("cannot write to standard output")
    }

    fn write(&mut self, report: &SliceReport, sampling: Sampling) -> io::Result<()> {
        let sampling = self.are_exports.then_some(sampling);
        let start_ms = report.slice.saturating_mul(self.slice_ms);
        let end_ms = start_ms.saturating_add(self.slice_ms);
        self.write_header()?;
        for point in &report.super_points {
            let point = &with_peers(point, self.most_peers);
            match &mut self.style {
                Style::Peaks(peaks) => remember(peaks, report.slice, point, sampling),
                Style::Lines(line) => {
                    let (slice, has_peers) = (report.slice, self.most_peers > 0);
                    let to = &mut self.writer;
                    line(to, &Line { slice, start_ms, end_ms, point, has_peers, sampling })?;
                }
            }
        }
        // Somebody may be reading along.
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
    peaks: &mut BTreeMap<IpAddr, Peak>,
    slice: u64,
    point: &SuperPoint,
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

/// The super point with `most` sample peers at most: those seen last.
pub(super) fn with_peers(point: &SuperPoint, most: usize) -> SuperPoint {
    let mut point = point.clone();
    point.peers.truncate(most);
    point
}

/// A line per peer, below that of its host.
pub(super) fn indented(to: &mut dyn Write, peers: &[SamplePeer]) -> io::Result<()> {
    for peer in peers {
        let host = peer.host.to_string();
        writeln!(to, "    peer {host:<15} last seen in slice {}", peer.last_seen)?;
    }
    Ok(())
}
