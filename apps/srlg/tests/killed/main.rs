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
mod site;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use srlg_cli::now_ms;

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

/// Asserts that each alert in `text` starts and ends once, and that a host has only one alert at a time. Returns the
/// IDs of all alerts.
fn assert_told_once(text: &str) -> BTreeSet<String> {
    let (mut open, mut ids): (BTreeMap<String, String>, BTreeMap<String, u32>) = Default::default();
    for (at, line) in text.lines().enumerate() {
        let notice: Value = serde_json::from_str(line).unwrap();
        assert_eq!(notice["number"], at + 1, "{line}");
        let [id, host] = ["id", "host"].map(|name| notice[name].as_str().unwrap().to_owned());
        match notice["status"].as_str().unwrap() {
            "start" => {
                assert_eq!(ids.insert(id.clone(), 0), None, "started twice: {line}");
                assert_eq!(open.insert(host, id), None, "two alerts of one host: {line}");
            }
            "update" => assert_eq!(open.get(&host), Some(&id), "{line}"),
            _ => {
                assert_eq!(open.remove(&host), Some(id.clone()), "{line}");
                *ids.get_mut(&id).unwrap() += 1;
            }
        }
    }
    assert!(open.is_empty(), "alerts without an end: {open:?}");
    assert!(ids.values().all(|ends| *ends == 1), "{ids:?}");
    ids.into_keys().collect()
}
