//! Finds nine planted hosts in a minute of backbone-like traffic and compares each estimate with the true count.
//!
//! Run it with `cargo run --release -p srlg --example detect`. The crate `srlg-traffic` generates the traffic and
//! computes the exact counts. Everything that your own program needs is in `main` and `Run::slice`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use srlg::ingest::PairBatch;
use srlg::{Config, Device, Error, Ipv4Pair, SlidingDetector, SuperPoint};
use srlg_traffic::family::{Family, number};
use srlg_traffic::oracle::ExactWindow;
use srlg_traffic::score::Score;
use srlg_traffic::synthetic::{Backbone, Kind, PlantedHost, inside_host};

const SLICES: u32 = 60;

/// Index of the planted host that uses IPv6.
const V6_HOST: u32 = 4;

fn main() -> Result<(), Error> {
    let traffic =
        Backbone { slices: SLICES, pairs: 1_500_000, planted: planted(), ..Backbone::default() };
    let mut detector = SlidingDetector::new(Config::default(), Device::Auto)?;
    let mut exact = ExactWindow::new(detector.params().window());
    println!("generating and counting {SLICES} slices of backbone-like traffic ...");
    let mut run = Run::default();
    for packets in traffic.slices() {
        run.slice(&mut detector, &mut exact, &packets)?;
    }
    run.print_hosts();
    run.print_summary(&detector);
    Ok(())
}

#[derive(Default)]
struct Run {
    last: Vec<SuperPoint>,
    /// Inside hosts and their exact cardinalities in the last window.
    truth: Vec<(u32, u32)>,
    score: Score,
    packets: u64,
    ingesting: Duration,
    closing: Duration,
    slowest_close: Duration,
}

impl Run {
    /// Ingests the packets of one slice, closes the slice and compares the report with the exact counts.
    fn slice(
        &mut self,
        detector: &mut SlidingDetector,
        exact: &mut ExactWindow,
        packets: &[Ipv4Pair],
    ) -> Result<(), Error> {
        let mut batch = PairBatch::new();
        batch.extend(packets.iter().map(|&pair| family(pair.inside).hosts(pair)));
        let start = Instant::now();
        batch.ingest(detector)?;
        self.ingesting += start.elapsed();
        self.packets += packets.len() as u64;

        let start = Instant::now();
        self.last = detector.close_slice()?.super_points;
        let took = start.elapsed();
        self.closing += took;
        self.slowest_close = self.slowest_close.max(took);

        packets.iter().for_each(|&pair| exact.touch(pair));
        self.truth = exact.close_slice(1);
        let points = self.last.iter();
        let reported: Vec<_> =
            points.map(|point| (number(point.host), point.cardinality)).collect();
        self.score += Score::of(&self.truth, &reported, detector.params().threshold());
        Ok(())
    }

    fn print_hosts(&self) {
        let truth: HashMap<u32, u32> = self.truth.iter().copied().collect();
        println!("\nplanted host          kind          true   estimate          error");
        for PlantedHost { host, kind, .. } in planted() {
            let exact = truth.get(&host).copied().unwrap_or(0);
            let (host, kind) = (family(host).host(host), format!("{kind:?}"));
            match self.last.iter().find(|point| point.host == host) {
                Some(point) => {
                    let (estimate, deviation) = (point.cardinality, point.std_error);
                    let error = (estimate / f64::from(exact) - 1.0) * 100.0;
                    println!(
                        "{host:<21} {kind:<12} {exact:>5} {estimate:>10.0} ±{deviation:<5.0} {error:>+7.1}%"
                    );
                }
                None => println!("{host:<21} {kind:<12} {exact:>5}     missed"),
            }
        }
    }

    fn print_summary(&self, detector: &SlidingDetector) {
        let percent = |ratio: Option<f64>| {
            ratio.map_or("not defined".to_owned(), |ratio| format!("{:.2} %", ratio * 100.0))
        };
        let Score { true_super_points, reported, .. } = self.score;
        let pairs: u64 = self.truth.iter().map(|&(_, count)| u64::from(count)).sum();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let close = milliseconds(self.closing) / f64::from(SLICES);
        let rate = self.packets as f64 / self.ingesting.as_secs_f64() / 1e6;
        let megabytes = detector.memory_bytes() as f64 / 1e6;
        let slowest = milliseconds(self.slowest_close);
        println!("\ndistinct pairs in the window   {pairs}");
        println!("super points, all slices       {true_super_points} true, {reported} reported");
        println!("false positives (FPR)          {}", percent(self.score.false_positive_ratio()));
        println!("false negatives (FNR)          {}", percent(self.score.false_negative_ratio()));
        println!("error of estimates (RMSE)      {}", percent(self.score.rmse()));
        println!("memory                         {megabytes:.1} MB on {}", detector.device());
        println!(
            "time to close a slice          {close:.1} ms on average, at most {slowest:.1} ms"
        );
        println!("ingest                         {} packets, {rate:.0} M pairs/s", self.packets);
    }
}

fn family(host: u32) -> Family {
    if host == inside_host(V6_HOST) { Family::V6 } else { Family::V4 }
}

fn planted() -> Vec<PlantedHost> {
    let kinds = [Kind::FloodVictim, Kind::Scanner, Kind::Server];
    let cardinalities = [1100, 1300, 1600, 2000, 3000, 5000, 8000, 12_000, 20_000];
    let plant = |(cardinality, index)| PlantedHost {
        host: inside_host(index),
        cardinality,
        kind: kinds[index as usize % kinds.len()],
    };
    cardinalities.into_iter().zip(0..).map(plant).collect()
}
