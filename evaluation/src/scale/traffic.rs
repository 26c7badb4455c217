//! Bytes of a node and slice against its traffic.

use super::Setting;
use super::collector::Collector;
use super::document::{Column, Results, Row};
use super::node;
use crate::number::short;
use anyhow::Result;
use indicatif::ProgressBar;
use srlg_core::IpPair;
use srlg_traffic::synthetic::Stream;

const COLUMNS: &[Column] = &[
    Column::new("recorders", "recorders touched", "", 0),
    Column::charted("delta_bytes", "bytes of the delta", "bytes", 0),
    Column::new("delta_bytes_per_pair", "bytes per pair", "bytes", 2),
    Column::charted("delta_make_ms", "to make it, ms", "ms", 2),
    Column::charted("delta_merge_ms", "to merge it, ms", "ms", 2),
];

pub(super) fn measure(setting: &Setting<'_>, _: &ProgressBar) -> Result<Results> {
    let most = if setting.options.quick { 3_000 } else { setting.options.most };
    let decades = (3..9).flat_map(|power| [10_u32.pow(power), 3 * 10_u32.pow(power)]);
    let rows = decades.take_while(|&pairs| pairs <= most).map(|pairs| row(setting, pairs));
    Ok(Results {
        heading: "Bytes against traffic",
        setting: "One node and one slice; every pair is a new one".to_owned(),
        x: "distinct pairs in the slice",
        columns: COLUMNS,
        rows: rows.collect::<Result<_>>()?,
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
    Ok(Row { series: "a node".to_owned(), x, name: short(x), values: medians(&rounds) })
}

/// The middle one, or the upper one of the two, of each value; there is at least one round.
pub(super) fn medians<const N: usize>(rounds: &[[f64; N]]) -> Vec<f64> {
    let middle = |column: usize| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[column]).collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    };
    (0..N).map(middle).collect()
}
