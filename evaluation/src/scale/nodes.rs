//! A collector's time against the number of its nodes.

use super::Setting;
use super::collector::Collector;
use super::node::{self, Sent};
use crate::number::short;
use crate::study::{Column, Results, Row};
use anyhow::Result;
use indicatif::ProgressBar;
use srlg_core::IpPair;
use srlg_traffic::synthetic::Stream;

const COLUMNS: &[Column] = &[
    Column::decimals(0, "bytes to the collector")
        .metric("collector_bytes", "bytes")
        .chart("collector-bytes"),
    Column::decimals(0, "bytes per delta").metric("delta_bytes", "bytes"),
    Column::decimals(1, "to merge all, ms")
        .metric("collector_merge_ms", "ms")
        .chart("collector-merge-ms"),
    Column::decimals(0, "deltas per second").metric("deltas_per_second", "1/s"),
    Column::decimals(1, "to close, ms").metric("collector_close_ms", "ms"),
];

pub(super) fn measure(setting: &Setting<'_>, bar: &ProgressBar) -> Result<Results> {
    let options = setting.options;
    let most = if options.quick { 3 } else { options.nodes };
    let places: Vec<u32> = places(most);
    let mut rows = Vec::new();
    for &nodes in &places {
        bar.set_message(format!("nodes, {nodes} with traffic of their own"));
        let pairs = nodes as usize * options.pairs as usize;
        rows.push(row(setting, "traffic of their own", nodes, pairs)?);
    }
    let shared = most as usize * options.pairs as usize;
    for &nodes in &places {
        bar.set_message(format!("nodes, {nodes} share the traffic"));
        rows.push(row(setting, "shares of one traffic", nodes, shared)?);
    }
    Ok(Results {
        heading: "A collector against nodes".to_owned(),
        setting: format!(
            "One slice, one thread. Traffic of their own: {} pairs each. Shares of one traffic: \
             {shared} pairs in all",
            short(options.pairs)
        ),
        names: vec!["", "nodes"],
        columns: COLUMNS,
        rows,
        ..Results::default()
    })
}

/// 1, 3, 10 and so on up to `most`, and that.
pub(super) fn places(most: u32) -> Vec<u32> {
    let decades = (0..6).flat_map(|power| [10_u32.pow(power), 3 * 10_u32.pow(power)]);
    let mut places: Vec<u32> = decades.take_while(|&place| place < most).collect();
    places.push(most);
    places
}

fn row(setting: &Setting<'_>, series: &str, nodes: u32, pairs: usize) -> Result<Row> {
    let sent = slice(setting, nodes, pairs)?;
    let mut collector = Collector::new(setting)?;
    sent.iter().try_for_each(|sent| collector.take(&sent.bytes))?;
    let close = collector.close()?;
    let (bytes, merge) = (collector.bytes as f64, collector.time.as_secs_f64());
    let nodes_f64 = f64::from(nodes);
    let values =
        [bytes, bytes / nodes_f64, merge * 1e3, nodes_f64 / merge, close.as_secs_f64() * 1e3];
    Ok(super::row(series, nodes, values))
}

/// What `nodes` nodes send of a slice with `pairs` pairs in all, an equal share each.
pub(super) fn slice(setting: &Setting<'_>, nodes: u32, pairs: usize) -> Result<Vec<Sent>> {
    let load = u32::try_from(pairs)?.max(1000);
    let mut stream = Stream::new(setting.options.seed, load);
    let share = (pairs / nodes as usize).max(1);
    let send = |_| {
        let pairs: Vec<IpPair> = stream.by_ref().take(share).collect();
        node::send(setting, &pairs)
    };
    (0..nodes).map(send).collect()
}
