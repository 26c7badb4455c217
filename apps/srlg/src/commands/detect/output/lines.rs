//! A line for each super point and slice: objects of JSON, CSV, or rows for people.

use std::io::{self, Write};

use serde::Serialize;
use srlg_host::SuperPoint;
use srlg_host::report::{EstimateRange, SamplePeer};
use srlg_input::contact::Sampling;

use super::indented;
use crate::commands::detect::args::{Args, Format};

/// A super point in one slice.
pub(super) struct Line<'a> {
    pub(super) slice: u64,
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
    /// With as many sample peers as are asked for.
    pub(super) point: &'a SuperPoint,
    /// Whether sample peers are asked for.
    pub(super) has_peers: bool,
    /// Where exporters tell of contacts.
    pub(super) sampling: Option<Sampling>,
}

/// The line before all others.
pub(super) fn header(args: &Args) -> String {
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

fn is_lower_bound(point: &SuperPoint) -> bool {
    point.range == EstimateRange::Beyond
}

/// The most opposite hosts that there may be without sampling; none of a lower bound.
fn unsampled_most(point: &SuperPoint, sampling: Sampling) -> Option<f64> {
    sampling.unsampled_most(point.cardinality).filter(|_| !is_lower_bound(point))
}

/// A line of JSON: the super point as the library writes it, and what `detect` knows besides.
#[derive(Serialize)]
struct Object<'a> {
    slice: u64,
    start_ms: u64,
    end_ms: u64,
    #[serde(flatten)]
    point: &'a SuperPoint,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    /// Between which counts that without sampling lies; without an upper one where a rate is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsampled: Option<(f64, Option<f64>)>,
}

pub(super) fn ndjson(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, sampling, .. } = *line;
    let unsampled = sampling.map(|it| (point.cardinality, unsampled_most(point, it)));
    let object = Object { slice, start_ms, end_ms, point, sampling, unsampled };
    serde_json::to_writer(&mut *to, &object)?;
    to.write_all(b"\n")
}

/// Peers are one column: each with the slice in which it was seen last, `192.0.2.1@7`, and spaces between.
pub(super) fn csv(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, has_peers, sampling } = line;
    let SuperPoint { host, cardinality, std_error, .. } = point;
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
        let text = |peer: &SamplePeer| format!("{}@{}", peer.host, peer.last_seen);
        write!(to, ",{}", point.peers.iter().map(text).collect::<Vec<_>>().join(" "))?;
    }
    writeln!(to)
}

pub(super) fn row(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, point, sampling, .. } = line;
    let host = point.host.to_string();
    let bound = if is_lower_bound(point) { " at least" } else { "" };
    let range = sampling.map_or_else(String::new, |it| unsampled(point, it));
    writeln!(
        to,
        "{slice:<10} {start_ms:>14} {host:<15} {:>11.0}{bound}{range}",
        point.cardinality
    )?;
    indented(to, &point.peers)
}

/// The count without sampling, as a column of text.
pub(super) fn unsampled(point: &SuperPoint, sampling: Sampling) -> String {
    let cardinality = point.cardinality;
    match unsampled_most(point, sampling) {
        Some(most) => format!("   {cardinality:.0} to {most:.0}"),
        None => format!("   {cardinality:.0} or more"),
    }
}
