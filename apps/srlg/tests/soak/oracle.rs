//! Planted attacks, and the incidents that they must raise.
//!
//! During an attack, every datagram contains one record of a flood and one of a scan, each with a new peer. An attack
//! lasts so long that its alerts start even if a program is killed in between.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::Request;
use crate::notifications::{assert_notified_once, by_key};
use crate::traffic::Pair;

/// Time from the start of an attack to the start of the next one.
const INTERVAL: Duration = Duration::from_secs(30);

const FIRST: Duration = Duration::from_secs(8);
const LENGTH: Duration = Duration::from_secs(18);

/// The view and the host of an incident.
pub(crate) type Subject = (String, String);

/// All attacks of a run.
#[derive(Clone, Copy)]
pub(crate) struct Attacks {
    began: Instant,
    pub(crate) count: u32,
}

/// A flood of an inside host and, at the same time, a scan by an outside host.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    number: u32,
}

impl Attacks {
    /// Plans the attacks that end within `time`.
    pub(crate) fn new(began: Instant, time: Duration) -> Self {
        let last = time.saturating_sub(FIRST + LENGTH).as_secs() / INTERVAL.as_secs();
        Self { began, count: last as u32 + 1 }
    }

    /// Returns the attack that is active now.
    pub(crate) fn active(&self) -> Option<Attack> {
        let elapsed = self.began.elapsed().checked_sub(FIRST)?;
        let number = (elapsed.as_secs() / INTERVAL.as_secs()) as u32;
        let is_active = number < self.count && elapsed - number * INTERVAL < LENGTH;
        is_active.then_some(Attack { number })
    }

    fn start(&self, attack: Attack) -> Instant {
        self.began + FIRST + attack.number * INTERVAL
    }

    /// Returns the attack for each expected incident.
    fn expected(&self) -> BTreeMap<Subject, Attack> {
        let of = |number| {
            let attack = Attack { number };
            [("fan-in", attack.victim()), ("outside", attack.scanner())].map(|(view, host)| {
                ((view.to_owned(), Ipv4Addr::from_bits(host).to_string()), attack)
            })
        };
        (0..self.count).flat_map(of).collect()
    }
}

impl Attack {
    /// Returns the flooded host. Each host has its own /24, so alerts are not joined.
    fn victim(self) -> u32 {
        0x0a40_0001 | self.number << 8
    }

    fn scanner(self) -> u32 {
        0xc612_0001 | self.number << 8
    }

    /// Returns the pairs of the flood and of the scan with peer number `peer`.
    pub(crate) fn pairs(self, peer: u32) -> [Pair; 2] {
        [[0x6000_0000 | peer, self.victim()], [self.scanner(), 0x0a80_0000 | peer & 0x7f_ffff]]
    }
}

/// The notifications that a webhook has received.
pub(crate) struct Inbox {
    requests: Receiver<Request>,
    /// Notifications by idempotency key.
    notifications: BTreeMap<String, Value>,
    /// Time at which the start of each incident was first received.
    starts: BTreeMap<Subject, Instant>,
    /// Number of requests that repeated an earlier one.
    pub(crate) repeated: usize,
}

/// Delays from the start of an attack to the first notification about it.
pub(crate) struct Delays {
    pub(crate) median: Duration,
    pub(crate) longest: Duration,
}

impl Inbox {
    pub(crate) fn new(requests: Receiver<Request>) -> Self {
        Self { requests, notifications: BTreeMap::new(), starts: BTreeMap::new(), repeated: 0 }
    }

    /// Reads all received requests. Repeated requests must contain the same notification.
    pub(crate) fn read(&mut self) {
        for (head, body) in self.requests.try_iter() {
            let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
            let (key, notification): (_, Value) =
                (key.expect(&head), serde_json::from_str(&body).unwrap());
            if notification["status"] == "start" {
                self.starts.entry(subject(&notification)).or_insert_with(Instant::now);
            }
            let before = self.notifications.insert(key.trim().to_owned(), notification);
            self.repeated += usize::from(before.is_some());
            assert!(before.is_none_or(|before| before == self.notifications[key.trim()]), "{key}");
        }
    }

    pub(crate) fn ends(&self) -> usize {
        self.notifications.values().filter(|notification| notification["status"] == "end").count()
    }

    pub(crate) fn notifications(&self) -> usize {
        self.notifications.len()
    }

    /// Asserts that the alert file, the webhook and the API have exactly one incident for each planted flood and scan,
    /// and no other incident. `peers` is the number of peers of an attack within one window. Returns the delays of the
    /// first notifications.
    pub(crate) fn judge(
        &self,
        name: &str,
        attacks: &Attacks,
        peers: f64,
        file: &str,
        incidents: &Value,
    ) -> Delays {
        let ids = assert_notified_once(file);
        let expected = attacks.expected();
        let incidents = incidents["incidents"].as_array().unwrap();
        let stored: BTreeSet<String> = incidents.iter().map(|it| text(&it["id"])).collect();
        assert_eq!(
            (ids.len(), incidents.len(), &stored),
            (expected.len(), ids.len(), &ids),
            "{name}"
        );
        assert!(incidents.iter().all(|it| it["is_over"] == true), "{name}: {incidents:?}");
        let subjects: BTreeSet<Subject> =
            incidents.iter().map(|it| (text(&it["view"]), text(&it["host"]))).collect();
        let planted: BTreeSet<Subject> = expected.keys().cloned().collect();
        assert_eq!(subjects, planted, "{name}");
        assert_peaks(name, incidents, peers);
        assert_eq!(
            self.notifications,
            by_key(file),
            "{name}: the webhook and the alert file differ"
        );
        let delay = |(subject, attack): (&Subject, &Attack)| {
            let delay = self.starts[subject].checked_duration_since(attacks.start(*attack));
            delay.unwrap_or_else(|| panic!("{name}: {subject:?} was reported before it started"))
        };
        let mut delays: Vec<Duration> = expected.iter().map(delay).collect();
        delays.sort_unstable();
        Delays { median: delays[delays.len() / 2], longest: delays[delays.len() - 1] }
    }
}

/// Asserts that the median of all peaks is the number of peers. A fault may lower some peaks, and a clock that is set
/// back raises them. When a slice closes, its contacts of the last 1.1 s may be missing, because exporters state the
/// time in whole seconds and flows end 0.1 s before their export. Estimates have a standard error of 0.5 %.
fn assert_peaks(name: &str, incidents: &[Value], peers: f64) {
    let mut peaks: Vec<f64> = incidents.iter().map(|it| it["peak"].as_f64().unwrap()).collect();
    peaks.sort_unstable_by(f64::total_cmp);
    let share = peaks[peaks.len() / 2] / peers;
    assert!((0.87..1.02).contains(&share), "{name}: {peers} peers, {peaks:?}");
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn subject(notification: &Value) -> Subject {
    (text(&notification["view"]), text(&notification["host"]))
}
