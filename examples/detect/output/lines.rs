//! A line for each super point and slice: objects of JSON, CSV, or rows for people.

use std::io::{self, Write};

use srlg::{EstimateRange, SamplePeer, SuperPoint};
use srlg_contact::Sampling;

use super::indented;
use crate::args::{Args, Format};

/// A super point in one slice.
pub struct Line<'a> {
    pub slice: u64,
    pub start_ms: u64,
    pub end_ms: u64,
    pub point: &'a SuperPoint,
    /// Where any are asked for.
    pub peers: Option<&'a [SamplePeer]>,
    /// Where exporters tell of contacts.
    pub sampling: Option<Sampling>,
}

/// The line before all others.
pub fn header(args: &Args) -> String {
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

pub fn ndjson(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, peers, sampling } = line;
    let SuperPoint { host, cardinality, std_error, .. } = point;
    write!(
        to,
        r#"{{"slice":{slice},"start_ms":{start_ms},"end_ms":{end_ms},"host":"{host}","cardinality":{cardinality:.1},"std_error":{std_error:.1}"#
    )?;
    if is_lower_bound(point) {
        to.write_all(b",\"lower_bound\":true")?;
    }
    if let Some(sampling) = sampling {
        let (least, most) = rates(*sampling, "null");
        let unknown = sampling.is_unknown();
        let top = sampling.unsampled_most(*cardinality);
        let top = top.map_or("null".to_owned(), |top| format!("{top:.1}"));
        write!(
            to,
            r#","sampling":{{"least":{least},"most":{most},"unknown":{unknown}}},"unsampled":[{cardinality:.1},{top}]"#
        )?;
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

/// Peers are one column: each with the slice in which it was seen last, `192.0.2.1@7`, and spaces between.
pub fn csv(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, end_ms, point, peers, sampling } = line;
    let SuperPoint { host, cardinality, std_error, .. } = point;
    let bound = is_lower_bound(point);
    write!(to, "{slice},{start_ms},{end_ms},{host},{cardinality:.1},{std_error:.1},{bound}")?;
    if let Some(sampling) = sampling {
        let (least, most) = rates(*sampling, "");
        let top = sampling.unsampled_most(*cardinality);
        let top = top.map_or_else(String::new, |top| format!("{top:.1}"));
        write!(to, ",{least},{most},{},{top}", sampling.is_unknown())?;
    }
    if let Some(peers) = peers {
        let text = |peer: &SamplePeer| format!("{}@{}", peer.host, peer.last_seen);
        write!(to, ",{}", peers.iter().map(text).collect::<Vec<_>>().join(" "))?;
    }
    writeln!(to)
}

pub fn row(to: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    let Line { slice, start_ms, point, peers, sampling, .. } = line;
    let host = point.host.to_string();
    let bound = if is_lower_bound(point) { " at least" } else { "" };
    let range = sampling.map_or_else(String::new, |it| unsampled(point.cardinality, it));
    writeln!(
        to,
        "{slice:<10} {start_ms:>14} {host:<15} {:>11.0}{bound}{range}",
        point.cardinality
    )?;
    indented(to, peers.unwrap_or_default())
}

/// The count without sampling, as a column of text.
pub fn unsampled(cardinality: f64, sampling: Sampling) -> String {
    match sampling.unsampled_most(cardinality) {
        Some(most) => format!("   {cardinality:.0} to {most:.0}"),
        None => format!("   {cardinality:.0} or more"),
    }
}

/// The least and the largest rate, or `none`.
fn rates(sampling: Sampling, none: &str) -> (String, String) {
    let text = |rate: std::num::NonZeroU32| rate.to_string();
    let rates = sampling.rates().map(|(least, most)| (text(least), text(most)));
    rates.unwrap_or_else(|| (none.to_owned(), none.to_owned()))
}
