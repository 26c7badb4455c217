//! A tree of collectors: each merges what those below it send, and sends one delta up.

use super::Setting;
use super::collector::Collector;
use super::node::Sent;
use super::nodes;
use crate::number::short;
use crate::study::{Column, Results, Row};
use anyhow::{Result, ensure};
use indicatif::ProgressBar;
use std::time::Duration;

const COLUMNS: &[Column] = &[
    Column::decimals(0, "levels").metric("tree_levels", ""),
    Column::decimals(0, "collectors").metric("tree_collectors", ""),
    Column::decimals(0, "bytes to the root")
        .metric("tree_root_bytes", "bytes")
        .chart("tree-root-bytes"),
    Column::decimals(0, "bytes on all links").metric("tree_bytes", "bytes"),
    Column::decimals(1, "root, ms").metric("tree_root_ms", "ms"),
    Column::decimals(1, "nodes to answer, ms")
        .metric("tree_latency_ms", "ms")
        .chart("tree-latency-ms"),
];

pub(super) fn measure(setting: &Setting<'_>, bar: &ProgressBar) -> Result<Results> {
    let options = setting.options;
    let nodes = if options.quick { 8 } else { options.nodes };
    bar.set_message("tree, deltas of all nodes");
    let sent = nodes::slice(setting, nodes, nodes as usize * options.pairs as usize)?;
    let flat = collect(setting, &sent)?.detector.snapshot()?;
    let mut rows = Vec::new();
    for fan_in in [2, 3, 10, 30, 100, 300].into_iter().filter(|&it| it < nodes).chain([nodes]) {
        bar.set_message(format!("tree, {fan_in} below each collector"));
        let mut tree = Tree::default();
        let root = tree.grow(setting, &sent, fan_in as usize)?;
        ensure!(root.detector.snapshot()? == flat, "a tree of {fan_in} gives another answer");
        rows.push(tree.row(root, fan_in)?);
    }
    Ok(Results {
        heading: "A tree of collectors".to_owned(),
        setting: format!(
            "{} nodes with {} pairs of their own each, one slice; collectors of a level work at \
             the same time, one thread each",
            short(nodes),
            short(options.pairs)
        ),
        names: vec!["", "below each collector"],
        columns: COLUMNS,
        rows,
        ..Results::default()
    })
}

fn collect(setting: &Setting<'_>, sent: &[Sent]) -> Result<Collector> {
    let mut collector = Collector::new(setting)?;
    sent.iter().try_for_each(|sent| collector.take(&sent.bytes))?;
    Ok(collector)
}

/// What a tree costs.
#[derive(Default)]
struct Tree {
    levels: u32,
    collectors: usize,
    bytes: usize,
    /// Of the slowest collector of each level below the root, and of the slowest node.
    latency: Duration,
}

impl Tree {
    /// Collectors over collectors until one is left.
    fn grow(&mut self, setting: &Setting<'_>, nodes: &[Sent], fan_in: usize) -> Result<Collector> {
        self.latency = slowest(nodes.iter().map(|sent| sent.time));
        let mut level = self.level(setting, nodes, fan_in)?;
        while level.len() > 1 {
            let sent = level.iter_mut().map(Collector::send).collect::<Result<Vec<_>>>()?;
            let times = level.iter().zip(&sent);
            self.latency += slowest(times.map(|(collector, sent)| collector.time + sent.time));
            level = self.level(setting, &sent, fan_in)?;
        }
        Ok(level.remove(0))
    }

    fn level(
        &mut self,
        setting: &Setting<'_>,
        below: &[Sent],
        fan_in: usize,
    ) -> Result<Vec<Collector>> {
        let level = below.chunks(fan_in).map(|group| collect(setting, group));
        let level = level.collect::<Result<Vec<_>>>()?;
        self.levels += 1;
        self.collectors += level.len();
        self.bytes += level.iter().map(|collector| collector.bytes).sum::<usize>();
        Ok(level)
    }

    fn row(self, mut root: Collector, fan_in: u32) -> Result<Row> {
        let last = root.time + root.close()?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let values = [
            f64::from(self.levels),
            self.collectors as f64,
            root.bytes as f64,
            self.bytes as f64,
            ms(last),
            ms(self.latency + last),
        ];
        Ok(super::row("tree", fan_in, values))
    }
}

fn slowest(times: impl Iterator<Item = Duration>) -> Duration {
    times.max().unwrap_or_default()
}
