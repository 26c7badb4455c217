//! Compares the speed of ingesting from C with that from Rust, in alternating runs. The argument is the path of the
//! program built from `examples/ingest.c`.
//!
//! `scripts/c.sh --measure` runs this example.

use std::error::Error;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use srlg_host::{Config, Device, Ipv4Pair, SlidingDetector};

const ROUNDS: usize = 7;
const PAIRS: u32 = 10_000_000;

/// Nanoseconds per pair in one large call, in calls that pass 64 pairs to a feed, and in calls that pass one pair to a
/// feed. The last number is the duration of a call without pairs, in nanoseconds.
type Row = [f64; 4];

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args()
        .nth(1)
        .ok_or("missing argument: the path of the program built from examples/ingest.c")?;
    let pairs: Vec<Ipv4Pair> = (0..PAIRS)
        .map(|i| Ipv4Pair { inside: i.wrapping_mul(2_654_435_761) >> 12, peer: i })
        .collect();
    let (mut rust, mut c) = ([f64::INFINITY; 4], [f64::INFINITY; 4]);
    for _ in 0..ROUNDS {
        keep_least(&mut rust, in_rust(&pairs)?);
        keep_least(&mut c, in_c(&program)?);
    }
    let names = [
        "ns/pair, one call",
        "ns/pair, feed, 64 per call",
        "ns/pair, feed, 1 per call",
        "ns/call, no pairs",
    ];
    println!("{:<26}{:>8}{:>8}{:>18}", "least of 7 rounds", "Rust", "C", "C rate / Rust rate");
    for ((name, rust), c) in names.into_iter().zip(rust).zip(c) {
        println!("{name:<26}{rust:>8.2}{c:>8.2}{:>18.3}", rust / c);
    }
    Ok(())
}

fn keep_least(least: &mut Row, row: Row) {
    least.iter_mut().zip(row).for_each(|(least, new)| *least = least.min(new));
}

fn in_rust(pairs: &[Ipv4Pair]) -> Result<Row, srlg_host::Error> {
    let new = || SlidingDetector::new(Config::default(), Device::Cpu);
    let detector = new()?;
    let one_call = time(|| detector.ingest(pairs))?;
    let empty = time(|| (0..PAIRS).try_for_each(|_| detector.ingest(black_box(&pairs[..0]))))?;
    drop(detector);
    let in_calls_of = |count| {
        let detector = new()?;
        let mut feed = detector.feed(1 << 20)?;
        time(|| pairs.chunks(count).try_for_each(|pairs| feed.ingest(black_box(pairs))))
    };
    Ok([one_call, in_calls_of(64)?, in_calls_of(1)?, empty])
}

/// Runs `work` and returns its duration divided by `PAIRS`, in nanoseconds.
fn time(work: impl FnOnce() -> Result<(), srlg_host::Error>) -> Result<f64, srlg_host::Error> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_nanos() as f64 / f64::from(PAIRS))
}

fn in_c(program: &str) -> Result<Row, Box<dyn Error>> {
    let output = Command::new(program).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    numbers.try_into().map_err(|_| format!("{program} printed {text:?}").into())
}
