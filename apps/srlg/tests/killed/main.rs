//! Programs that are killed repeatedly. Each alert must start once and end once.
//!
//! `SRLG_KILLS=50` sets the number of kills, which is 8 by default.

#[path = "../program/alertmanager.rs"]
mod alertmanager;
#[path = "../program/http.rs"]
mod http;
#[path = "../program/nats.rs"]
mod nats;
mod network;
#[path = "../program/notifications.rs"]
mod notifications;
#[path = "../program/probe.rs"]
mod probe;
#[path = "../program/process.rs"]
mod process;
mod site;

use std::time::Duration;

use srlg_system::now_ms;

/// A program to kill, and the time to wait after the previous kill.
struct Kill {
    after: Duration,
    victim: u64,
}

/// Returns kills of random programs, numbered from 0 to `programs` - 1. The time after the previous kill is 200 ms plus
/// up to `more_ms`. `SRLG_KILLS` sets the number of kills (default: 8).
fn kills(programs: u64, more_ms: u64) -> impl Iterator<Item = Kill> {
    let count: u64 = std::env::var("SRLG_KILLS").map_or(8, |count| count.parse().unwrap());
    let mut random = now_ms();
    println!("{count} kills, seed {random}");
    let mut below = move |end| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % end
    };
    let after = |ms| Duration::from_millis(200 + ms);
    (0..count).map(move |_| Kill { after: after(below(more_ms)), victim: below(programs) })
}
