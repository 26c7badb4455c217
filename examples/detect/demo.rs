//! A minute of generated backbone traffic, and how the estimates compare with the truth.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use srlg::ingest::PairBatch;
use srlg::{IpPair, SliceReport, SlidingDetector};
use srlg_traffic::family::{Family, number};
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::Score;
use srlg_traffic::synthetic::{Backbone, Kind, Planted, inside_host};

use crate::args::{Args, Preset};
use crate::output::{indented, with_peers};
use crate::summary::peak_memory;

const SLICES: u32 = 60;

/// What the run measured.
#[derive(Default)]
struct Run {
    score: Score,
    packets: u64,
    ingesting: Duration,
    closing: Duration,
    slowest_close: Duration,
}

pub fn run(args: &Args) -> Result<()> {
    let planted = planted();
    let traffic = Backbone {
        seed: args.seed.unwrap_or(0),
        slices: SLICES,
        pairs: 1_500_000,
        planted: planted.clone(),
        ..Backbone::default()
    };
    // One of the planted hosts talks IPv6, where the scheme takes it.
    let v6 = (args.preset != Preset::Paper).then(|| planted[V6_HOST].host);
    let mut detector = args.detector()?;
    let mut exact = ExactWindow::new(args.window);
    let mut out = io::stdout().lock();
    writeln!(out, "generating and measuring {SLICES} slices of backbone-like traffic ...")?;
    let mut run = Run::default();
    let mut last = None;
    for slice in traffic.slices() {
        let batch = batch(&slice, v6);
        last = Some(run.slice(&mut detector, &mut exact, &slice, &batch, args.threshold)?);
    }
    let Some((report, truth)) = last else { return Ok(()) };
    print_points(&mut out, &report, args.peers, &truth, &planted, v6)?;
    Ok(run.print(&mut out, &detector, truth_size(&truth))?)
}

impl Run {
    /// Runs one slice through the detector and the oracle; the report and the truth.
    fn slice(
        &mut self,
        detector: &mut SlidingDetector,
        exact: &mut ExactWindow,
        packets: &[IpPair],
        batch: &PairBatch,
        threshold: u32,
    ) -> Result<(SliceReport, Vec<(u32, u32)>)> {
        let start = Instant::now();
        batch.ingest(detector)?;
        self.ingesting += start.elapsed();
        packets.iter().for_each(|&pair| exact.touch(pair));
        let start = Instant::now();
        let report = detector.close_slice()?;
        let took = start.elapsed();
        self.closing += took;
        self.slowest_close = self.slowest_close.max(took);
        self.packets += packets.len() as u64;
        let truth = exact.close_slice(1);
        let reported: Vec<(u32, f64)> = report
            .super_points
            .iter()
            .map(|point| (number(point.host), point.cardinality))
            .collect();
        self.score += Score::of(&truth, &reported, threshold);
        Ok((report, truth))
    }

    fn print(
        &self,
        out: &mut impl Write,
        detector: &SlidingDetector,
        pairs: u64,
    ) -> io::Result<()> {
        let percent = |ratio: Option<f64>| {
            ratio.map_or("none to tell from".to_owned(), |ratio| format!("{:.2} %", ratio * 100.0))
        };
        let score = &self.score;
        let (fpr, fnr) = (score.false_positive_ratio(), score.false_negative_ratio());
        let (real, found) = (score.true_super_points, score.reported);
        let megabytes = detector.memory_bytes() as f64 / 1e6;
        let close = self.closing.as_secs_f64() * 1e3 / f64::from(SLICES);
        let slowest = self.slowest_close.as_secs_f64() * 1e3;
        let rate = self.packets as f64 / self.ingesting.as_secs_f64() / 1e6;
        writeln!(out)?;
        writeln!(out, "distinct pairs in the window   {pairs}")?;
        writeln!(out, "super points, all slices       {real} true, {found} reported")?;
        writeln!(out, "false positives (FPR)          {}", percent(fpr))?;
        writeln!(out, "false negatives (FNR)          {}", percent(fnr))?;
        writeln!(out, "error of estimates (RMSE)      {}", percent(score.rmse()))?;
        writeln!(
            out,
            "memory                         {megabytes:.1} MB of recorders on {}, {}",
            detector.device(),
            peak_memory()
        )?;
        writeln!(
            out,
            "time per slice                 {close:.1} ms to close, at most {slowest:.1} ms"
        )?;
        let packets = self.packets;
        writeln!(
            out,
            "ingest                         {packets} packets, {rate:.0} M pairs/s on one thread"
        )
    }
}

/// Which of the planted hosts talks IPv6.
const V6_HOST: usize = 4;

/// The host of this number, by `v6` one of IPv6.
fn host(number: u32, v6: Option<u32>) -> IpAddr {
    if v6 == Some(number) { Family::V6.host(number) } else { Family::V4.host(number) }
}

/// The same packets as pairs to ingest: those of the inside host `v6`, and their opposite hosts, are of IPv6.
fn batch(packets: &[IpPair], v6: Option<u32>) -> PairBatch {
    let mut batch = PairBatch::new();
    let family = |pair: &IpPair| if v6 == Some(pair.inside) { Family::V6 } else { Family::V4 };
    batch.extend(packets.iter().map(|pair| family(pair).hosts(*pair)));
    batch
}

/// Nine super points of known cardinality.
fn planted() -> Vec<Planted> {
    let kinds = [Kind::FloodVictim, Kind::Scanner, Kind::Server];
    let cardinalities = [1100, 1300, 1600, 2000, 3000, 5000, 8000, 12_000, 20_000];
    (0..)
        .zip(cardinalities)
        .map(|(i, cardinality)| Planted {
            host: inside_host(i),
            cardinality,
            kind: kinds[i as usize % kinds.len()],
        })
        .collect()
}

/// The planted hosts, estimated against true, at the end of the last slice; with some of their peers.
fn print_points(
    out: &mut impl Write,
    report: &SliceReport,
    most_peers: usize,
    truth: &[(u32, u32)],
    planted: &[Planted],
    v6: Option<u32>,
) -> io::Result<()> {
    let truth: HashMap<u32, u32> = truth.iter().copied().collect();
    writeln!(out, "\nplanted host          kind          true   estimate          error")?;
    for planted in planted {
        let host = host(planted.host, v6);
        let exact = truth.get(&planted.host).copied().unwrap_or(0);
        let kind = format!("{:?}", planted.kind);
        write!(out, "{host:<21} {kind:<12} {exact:>5} ")?;
        match report.super_points.iter().find(|point| point.host == host) {
            Some(point) => {
                let (estimate, deviation) = (point.cardinality, point.std_error);
                let error = (estimate / f64::from(exact) - 1.0) * 100.0;
                writeln!(out, "{estimate:>10.0} ±{deviation:<5.0} {error:>+7.1}%")?;
                indented(out, &with_peers(point, most_peers).peers)?;
            }
            None => writeln!(out, "    missed")?,
        }
    }
    Ok(())
}

fn truth_size(truth: &[(u32, u32)]) -> u64 {
    truth.iter().map(|&(_, cardinality)| u64::from(cardinality)).sum()
}
