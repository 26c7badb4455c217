//! Bytes of a node and slice against its traffic.

use super::Setting;
use super::collector::Collector;
use super::node;
use crate::sample::Sample;
use crate::study::{Column, Results, Row};
use anyhow::Result;
use indicatif::ProgressBar;
use srlg_core::IpPair;
use srlg_traffic::synthetic::Stream;

const COLUMNS: &[Column] = &[
    Column::decimals(0, "recorders touched").metric("recorders", ""),
    Column::decimals(0, "bytes of the delta").metric("delta_bytes", "bytes").chart("delta-bytes"),
    Column::decimals(2, "bytes per pair").metric("delta_bytes_per_pair", "bytes"),
    Column::decimals(2, "to make it, ms").metric("delta_make_ms", "ms").chart("delta-make-ms"),
    Column::decimals(2, "to merge it, ms").metric("delta_merge_ms", "ms").chart("delta-merge-ms"),
];

pub(super) fn measure(setting: &Setting<'_>, _: &ProgressBar) -> Result<Results> {
    let most = if setting.options.quick { 3_000 } else { setting.options.most };
    let decades = (3..9).flat_map(|power| [10_u32.pow(power), 3 * 10_u32.pow(power)]);
    let rows = decades.take_while(|&pairs| pairs <= most).map(|pairs| row(setting, pairs));
    Ok(Results {
        heading: "Bytes against traffic".to_owned(),
        setting: "One node and one slice; every pair is a new one".to_owned(),
        names: vec!["", "distinct pairs in the slice"],
        columns: COLUMNS,
        rows: rows.collect::<Result<_>>()?,
        ..Results::default()
    })
}

fn row(setting: &Setting<'_>, x: u32) -> Result<Row> {
    let pairs: Vec<IpPair> =
        Stream::new(setting.options.seed, x.max(1000)).take(x as usize).collect();
    let rounds = (0..setting.options.repeat).map(|_| {
        let sent = node::send(setting, &pairs)?;
        let mut collector = Collector::new(setting)?;
        collector.take(&sent.bytes)?;
        let bytes = sent.bytes.len() as f64;
        let (make, merge) = (sent.time.as_secs_f64() * 1e3, collector.time.as_secs_f64() * 1e3);
        Ok([sent.recorders as f64, bytes, bytes / f64::from(x), make, merge])
    });
    let rounds = rounds.collect::<Result<Vec<_>>>()?;
    let median = |value| Sample::of(rounds.iter().map(|round: &[f64; 5]| round[value])).median;
    Ok(super::row("a node", x, (0..COLUMNS.len()).map(median)))
}
