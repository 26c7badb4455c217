//! A minute of generated backbone traffic, and how the estimates compare with the truth.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use srlg::{IpPair, SliceReport, SlidingDetector};
use srlg_evaluation::oracle::ExactWindow;
use srlg_evaluation::score::Score;
use srlg_evaluation::traffic::{Backbone, Kind, Planted, inside_host};

use crate::args::Args;
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
        seed: args.seed,
        slices: SLICES,
        pairs: 1_500_000,
        planted: planted.clone(),
        ..Backbone::default()
    };
    let mut detector = args.detector()?;
    let mut exact = ExactWindow::new(args.window);
    println!("generating and measuring {SLICES} slices of backbone-like traffic ...");
    let mut run = Run::default();
    let mut last = None;
    for slice in traffic.slices() {
        last = Some(run.slice(&mut detector, &mut exact, &slice, args.threshold)?);
    }
    let Some((report, truth)) = last else { return Ok(()) };
    print_points(&report, &truth, &planted);
    run.print(&detector, truth_size(&truth));
    Ok(())
}

impl Run {
    /// Runs one slice through the detector and the oracle; the report and the truth.
    fn slice(
        &mut self,
        detector: &mut SlidingDetector,
        exact: &mut ExactWindow,
        packets: &[IpPair],
        threshold: u32,
    ) -> Result<(SliceReport, Vec<(u32, u32)>)> {
        let start = Instant::now();
        detector.ingest(packets)?;
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
            .map(|point| (point.host.to_bits(), point.cardinality))
            .collect();
        self.score += Score::of(&truth, &reported, threshold);
        Ok((report, truth))
    }

    fn print(&self, detector: &SlidingDetector, pairs: u64) {
        let percent = |ratio: Option<f64>| match ratio {
            Some(ratio) => format!("{:.2} %", ratio * 100.0),
            None => "none to tell from".to_owned(),
        };
        let seconds = self.ingesting.as_secs_f64();
        println!();
        println!("distinct pairs in the window   {pairs}");
        println!(
            "super points, all slices       {} true, {} reported",
            self.score.true_super_points, self.score.reported
        );
        println!("false positives (FPR)          {}", percent(self.score.false_positive_ratio()));
        println!("false negatives (FNR)          {}", percent(self.score.false_negative_ratio()));
        println!("error of estimates (RMSE)      {}", percent(self.score.rmse()));
        println!(
            "memory                         {:.1} MB of recorders, {}",
            detector.memory_bytes() as f64 / 1e6,
            peak_memory()
        );
        println!(
            "time per slice                 {:.1} ms to close, at most {:.1} ms",
            self.closing.as_secs_f64() * 1e3 / f64::from(SLICES),
            self.slowest_close.as_secs_f64() * 1e3
        );
        println!(
            "ingest                         {} packets, {:.0} M pairs/s on one thread",
            self.packets,
            self.packets as f64 / seconds / 1e6
        );
    }
}

/// Nine super points of known cardinality.
fn planted() -> Vec<Planted> {
    let kinds = [("flood", Kind::FloodVictim), ("scan", Kind::Scanner), ("server", Kind::Server)];
    let cardinalities = [1100, 1300, 1600, 2000, 3000, 5000, 8000, 12_000, 20_000];
    (0..)
        .zip(cardinalities)
        .map(|(i, cardinality)| Planted {
            host: inside_host(i),
            cardinality,
            kind: kinds[i as usize % kinds.len()].1,
        })
        .collect()
}

/// The planted hosts, estimated against true, at the end of the last slice.
fn print_points(report: &SliceReport, truth: &[(u32, u32)], planted: &[Planted]) {
    let truth: HashMap<u32, u32> = truth.iter().copied().collect();
    println!();
    println!("planted host      kind          true   estimate    error");
    for planted in planted {
        let host = std::net::Ipv4Addr::from_bits(planted.host);
        let exact = truth.get(&planted.host).copied().unwrap_or(0);
        let kind = format!("{:?}", planted.kind);
        let estimate = report.super_points.iter().find(|point| point.host == host);
        match estimate.map(|point| point.cardinality) {
            Some(estimate) => {
                let error = (estimate / f64::from(exact) - 1.0) * 100.0;
                println!("{host:<17} {kind:<12} {exact:>5} {estimate:>10.0} {error:>+7.1}%");
            }
            None => println!("{host:<17} {kind:<12} {exact:>5}     missed"),
        }
    }
}

fn truth_size(truth: &[(u32, u32)]) -> u64 {
    truth.iter().map(|&(_, cardinality)| u64::from(cardinality)).sum()
}
