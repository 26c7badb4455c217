//! A measurement of how much feeds at full speed lengthen a close.
//!
//! Run this with `cargo test -p srlg-host --release feed -- --ignored --nocapture`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::ingest::Feed;
use crate::report::StageTimes;
use crate::{Config, Device, Ipv4Pair, SlidingDetector};

/// Number of closes in a round. The first [`UNCOUNTED`] closes are not measured.
const CLOSES: usize = 25;
const UNCOUNTED: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

type Close = (Duration, StageTimes);

/// Ingests a million random pairs repeatedly until `ends` is set, in calls of 256 pairs without a pause. Returns the
/// duration of the longest call.
fn never_pause(mut feed: Feed, mut seed: u64, ends: &AtomicBool) -> Duration {
    let random = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let mixed = (seed ^ (seed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        Ipv4Pair { inside: (mixed >> 44) as u32, peer: mixed as u32 }
    });
    let pairs: Vec<Ipv4Pair> = random.take(1 << 20).collect();
    let calls = pairs.chunks(256).cycle().take_while(|_| !ends.load(Relaxed));
    let times = calls.map(|pairs| {
        let start = Instant::now();
        feed.ingest(pairs).unwrap();
        start.elapsed()
    });
    times.max().unwrap()
}

fn closes(capacity: usize) -> (Vec<Close>, Duration) {
    let mut detector = SlidingDetector::new(Config::default(), Device::Cpu).unwrap();
    let feeds = [1, 2].map(|seed| (seed, detector.feed(capacity).unwrap()));
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let ends = &ends;
        let threads =
            feeds.map(|(seed, feed)| scope.spawn(move || never_pause(feed, seed << 40, ends)));
        let closes = (0..CLOSES).map(|_| {
            thread::sleep(PAUSE);
            let start = Instant::now();
            let stages = detector.close_slice().unwrap().stages;
            (start.elapsed(), stages)
        });
        let closes: Vec<Close> = closes.skip(UNCOUNTED).collect();
        ends.store(true, Relaxed);
        (closes, threads.map(|thread| thread.join().unwrap()).into_iter().max().unwrap())
    })
}

/// Returns the median and the maximum of a duration over all `closes`, in milliseconds.
fn milliseconds(closes: &[Close], of: impl Fn(&Close) -> Duration) -> [f64; 2] {
    let mut values: Vec<f64> = closes.iter().map(|close| of(close).as_secs_f64() * 1e3).collect();
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[values.len() - 1]]
}

#[test]
#[ignore = "a measurement, which needs an idle machine"]
fn feeds_at_full_speed_do_not_lengthen_a_close() {
    for capacity in [1_000, 100_000, 1 << 20] {
        let (closes, longest) = closes(capacity);
        let of = |name: &str, stage: fn(&StageTimes) -> Duration| {
            let [median, most] = milliseconds(&closes, |(_, stages)| stage(stages));
            eprint!(", {name} {median:.3} ({most:.3})");
            median
        };
        let [wall, most] = milliseconds(&closes, |&(wall, _)| wall);
        eprint!("capacity {capacity}: wall {wall:.3} ({most:.3}) ms");
        let work = of("work", |it| it.search + it.estimate + it.age);
        of("search", |it| it.search);
        of("estimate", |it| it.estimate);
        of("age", |it| it.age);
        of("hand_in", |it| it.hand_in);
        of("wait", |it| it.wait);
        of("other", |it| it.other);
        let total = of("total", StageTimes::total);
        eprintln!(", longest ingest {longest:?}, wall / work {:.3}", wall / work);
        assert!(wall <= 1.3 * work, "a close waits for feeds");
        assert!(wall <= 1.1 * total, "the stages do not cover the close");
    }
}
