//! A monitor within the test process: its notifications, and its state after a restart.

#[path = "program/mmdb.rs"]
mod mmdb;
#[path = "monitor/origins.rs"]
mod origins;
#[path = "monitor/ports.rs"]
mod ports;
#[path = "monitor/usual.rs"]
mod usual;

use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use srlg_alerts::notification::{Kind, Notification};
use srlg_alerts::status::overview::Overview;
use srlg_alerts::status::problems::ProblemKind;
use srlg_alerts::{Status, Why};
use srlg_cli::config::Config;
use srlg_cli::measure::checkpoints::Continued;
use srlg_cli::measure::monitor::Monitor;
use srlg_input::flow::{ExporterStatus, FlowCounts, Losses};
use srlg_input::{Contact, Status as InputStatus};
use srlg_system::now_ms;
use srlg_web::health::{Health, Level};

const RULE: &str = "[[rule]]\nname = 'r'\nthresholds = { 5s = 50 }\nhold = '5s'\n";

fn view(name: &str, role: &str) -> String {
    format!("[[view]]\nname = '{name}'\nrole = '{role}'\npairs = 10_000\nmemory = 1_000_000\n")
}

fn config(folder: &Path, views: &[&str]) -> Config {
    let views: String = views.iter().map(|name| view(name, "destination")).collect();
    Config::parse(&format!(
        "state = '{}'\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/24']\n{views}{RULE}\
         [[exporter]]\nname = 'edge-2'\nnetworks = ['127.0.0.2']\n",
        folder.display()
    ))
    .unwrap()
}

/// Lets `peers` hosts contact 10.0.0.1 in each second, for `seconds` seconds from `start_ms`. Returns the
/// notifications.
fn feed(monitor: &mut Monitor, start_ms: u64, seconds: u64, peers: u32) -> Vec<Notification> {
    let mut notified = Vec::new();
    for second in 0..seconds {
        let time_ns = (start_ms + second * 1_000) * 1_000_000;
        monitor.advance(time_ns).unwrap();
        for peer in 0..peers {
            let peer = (0xc633_0000 + peer).to_be_bytes();
            monitor.ingest(&Contact::new(time_ns, peer.into(), [10, 0, 0, 1].into())).unwrap();
        }
        notified.extend(monitor.notifications().unwrap());
    }
    notified
}

/// Stores `notifications` of a monitor and stops the monitor.
fn end(mut of: Continued, notifications: &[Notification]) {
    of.alert_store.keep(of.monitor.manager(), notifications).unwrap();
    of.checkpoints.finish(&mut of.monitor).unwrap();
}

#[test]
fn alerts_of_a_view_that_went_and_came_back_have_ended_once() {
    let folder = tempfile::tempdir().unwrap();
    let open = |views: &[&str]| Continued::open(&config(folder.path(), views)).unwrap();
    let start_ms = now_ms() - 200_000;
    let mut first = open(&["a", "b"]);
    let notified = feed(&mut first.monitor, start_ms, 10, 100);
    assert_eq!(notified.len(), 2);
    end(first, &notified);

    let second = open(&["a"]);
    let ended = second.ended.clone();
    let [of_b] = &ended[..] else { panic!("{ended:?}") };
    assert_eq!((of_b.view.as_str(), of_b.status, of_b.why), ("b", Status::End, Why::Rule));
    end(second, &ended);

    let mut third = open(&["a", "b"]);
    assert_eq!(third.ended, []);
    let notified = feed(&mut third.monitor, start_ms + 20_000, 60, 1);
    let notified: Vec<_> = notified
        .iter()
        .map(|notification| (notification.view.as_str(), notification.status))
        .collect();
    assert_eq!(notified, [("a", Status::End)]);
}

#[test]
fn after_a_restart_each_window_waits_for_its_own_length() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "state = '{}'\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n{}\
         [[rule]]\nname = 'r'\nthresholds = {{ 10s = 50, 8m = 5000 }}\nhold = '5s'\n",
        folder.path().display(),
        view("a", "destination")
    );
    let config = Config::parse(&text).unwrap();
    let start_ms = (now_ms() / 1_000 - 200) * 1_000;
    let mut first = Continued::open(&config).unwrap();
    let notified = feed(&mut first.monitor, start_ms, 20, 100);
    end(first, &notified);

    // The flood stops 10 s after the restart.
    let mut second = Continued::open(&config).unwrap();
    let mut notified = feed(&mut second.monitor, start_ms + 22_000, 10, 100);
    notified.extend(feed(&mut second.monitor, start_ms + 32_000, 60, 1));
    let [end] = &notified[..] else { panic!("{notified:?}") };
    assert_eq!((end.status, end.main.window_ms), (Status::End, 10_000));
    let after_ms = end.now_ms - (start_ms + 32_000);
    // This is the window plus the hold time.
    assert_eq!(after_ms, 15_000);
}

/// A monitor whose clock can be set, and its notifications. Its methods count time from `start_ms`.
struct SteppedMonitor {
    monitor: Monitor,
    start_ms: u64,
    notified: Vec<Notification>,
}

impl SteppedMonitor {
    fn new(rule: &str) -> Self {
        let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/24']\n";
        let text = format!("{input}{}{rule}", view("a", "destination"));
        let monitor = Monitor::new(&Config::parse(&text).unwrap(), 1).unwrap();
        Self { monitor, start_ms: 1_750_000_000_000, notified: Vec::new() }
    }

    fn feed(&mut self, seconds: Range<u64>, peers: u32) {
        let (start_ms, length) = (self.start_ms + seconds.start * 1_000, seconds.count() as u64);
        self.notified.extend(feed(&mut self.monitor, start_ms, length, peers));
    }

    /// Sets the clock forward by `step_ms` to `now_ms`.
    fn set_forward(&mut self, step_ms: u64, now_ms: u64) {
        let step = Duration::from_millis(step_ms);
        self.monitor.set_forward(step, (self.start_ms + now_ms) * 1_000_000);
    }

    /// Returns the status and the reason of each notification, and the second in which it was sent.
    fn changes(&self) -> Vec<(Status, Why, u64)> {
        let second = |notification: &Notification| (notification.now_ms - self.start_ms) / 1_000;
        self.notified
            .iter()
            .map(|notification| (notification.status, notification.why, second(notification)))
            .collect()
    }
}

#[test]
fn a_clock_set_forward_by_an_hour_neither_ends_nor_restarts_alerts() {
    for rule in [RULE.to_owned(), format!("{RULE}unconfirmed-after = '10m'\n")] {
        let mut stepped = SteppedMonitor::new(&rule);
        stepped.feed(0..10, 100);
        stepped.set_forward(3_600_000, 3_610_000);
        // The exporters send the first flows some seconds after the step.
        stepped.feed(3_610..3_618, 0);
        stepped.feed(3_618..3_640, 100);
        stepped.feed(3_640..3_670, 1);
        let [start, ..] = &stepped.notified[..] else { panic!() };
        assert!(stepped.notified.iter().all(|notification| notification.id == start.id));
        let changes = [(Status::Start, Why::Threshold, 3), (Status::End, Why::Below, 3_650)];
        assert_eq!(stepped.changes(), changes);
    }
}

#[test]
fn an_alert_stays_active_when_the_clock_skips_its_window_in_a_few_seconds() {
    let rule = RULE.replace("5s = 50", "3s = 50").replace("hold = '5s'", "hold = '1s'");
    for step_ms in [1_000, 2_500, 4_900] {
        let mut stepped = SteppedMonitor::new(&rule);
        stepped.feed(0..10, 100);
        let after = (10_000 + step_ms) / 1_000;
        stepped.set_forward(step_ms, 10_000 + step_ms);
        stepped.feed(after..after + 20, 100);
        assert_eq!(stepped.changes(), [(Status::Start, Why::Threshold, 3)], "{step_ms}");
    }
}

#[test]
fn the_time_that_a_clock_has_skipped_does_not_count_for_unconfirmed_after() {
    let mut stepped = SteppedMonitor::new(&format!("{RULE}unconfirmed-after = '10m'\n"));
    let look = |stepped: &mut SteppedMonitor, second: u64, last: [u64; 2]| {
        let exporters = [([127, 0, 0, 1], last[0]), ([127, 0, 0, 2], last[1])];
        let input = status(stepped.start_ms, exporters);
        stepped.monitor.observe_input(&input, (stepped.start_ms + second * 1_000) * 1_000_000);
    };
    for second in 0..70 {
        // The second exporter sends no data after the flood and counts as silent after 15 s.
        let is_flood = second < 10;
        stepped.feed(second..second + 1, if is_flood { 100 } else { 1 });
        look(&mut stepped, second, [second, second.min(9)]);
    }
    let silent = [(Status::Start, Why::Threshold, 3), (Status::Update, Why::Unconfirmed, 24)];
    assert_eq!(stepped.changes(), silent);
    stepped.set_forward(3_600_000, 3_670_000);
    for second in 3_670..4_300 {
        stepped.feed(second..second + 1, 1);
        look(&mut stepped, second, [second, 9]);
    }
    let end = (Status::End, Why::Unconfirmed, 4_215);
    assert_eq!(stepped.changes(), [&silent[..], &[end]].concat());
}

/// Returns the status of an input. `exporters` contains the address of each exporter and the second of its last
/// datagram.
fn status<const N: usize>(start_ms: u64, exporters: [([u8; 4], u64); N]) -> InputStatus {
    let exporters = exporters.map(|(address, second)| {
        let mut counts = FlowCounts::default();
        counts.records = 1;
        let last_ns = (start_ms + second * 1_000) * 1_000_000;
        ExporterStatus {
            address: (address, 0).into(),
            last_seen_ns: last_ns,
            last_read_ns: last_ns,
            last_record_ns: last_ns,
            counts,
            losses: Some(Losses::default()),
            skew_ns: 0,
            templates: 0,
            backlog: None,
            undecodable: Vec::new(),
        }
    });
    InputStatus { exporters: exporters.into(), ..InputStatus::default() }
}

#[test]
fn an_exporter_that_fell_silent_before_a_restart_is_waited_for_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Continued::open(&config(folder.path(), &["a"])).unwrap();
    let start_ms = (now_ms() / 1_000 - 300) * 1_000;
    let [a, b] = [[127, 0, 0, 1], [127, 0, 0, 2]];
    let mut of = open();
    let mut notified = Vec::new();
    for second in 0..200 {
        if second == 20 {
            // The last checkpoint was written in second 19.
            of.checkpoints.finish(&mut of.monitor).unwrap();
            of.alert_store.keep(of.monitor.manager(), &notified).unwrap();
            drop((of.alert_store, of.monitor));
            of = open();
        }
        let time_ns = (start_ms + second * 1_000) * 1_000_000;
        of.monitor.advance(time_ns).unwrap();
        // Only the second exporter reports the flood. This exporter sends no data after second 11.
        let peers = if (2..12).contains(&second) { 100 } else { 0 };
        for (exporter, peers) in [(a, 1), (b, peers)] {
            for peer in 0..peers {
                let peer: [u8; 4] = (0xc633_0000_u32 + peer).to_be_bytes();
                let mut contact = Contact::new(time_ns, peer.into(), [10, 0, 0, 1].into());
                contact.exporter = Some(exporter.into());
                of.monitor.ingest(&contact).unwrap();
            }
        }
        let input = match second < 20 {
            true => status(start_ms, [(a, second), (b, second.min(11))]),
            false => status(start_ms, [(a, second)]),
        };
        of.monitor.observe_input(&input, time_ns);
        notified.extend(of.monitor.notifications().unwrap());
    }
    let ends = notified.iter().filter(|notification| notification.status == Status::End).count();
    assert_eq!(ends, 0, "{notified:?}");
    let overview = of.monitor.overview(&status(start_ms, [(a, 199)]));
    let exporters = overview.exporters.iter();
    let exporters: Vec<_> =
        exporters.map(|it| (it.address.to_string(), it.name.as_deref(), it.is_silent)).collect();
    let expected = [("127.0.0.1", None, false), ("127.0.0.2", Some("edge-2"), true)];
    let expected = expected.map(|(address, name, is_silent)| (address.to_owned(), name, is_silent));
    assert_eq!(exporters, expected);
    let health = Health::of(&overview, overview.closed_ms).text;
    assert!(health.contains("edge-2 (127.0.0.2)"), "{health}");
    let last = notified.last().unwrap();
    assert_eq!(last.why, Why::Unconfirmed);
    let [silent] = &last.silent[..] else { panic!("{last:?}") };
    assert_eq!((silent.source.as_str(), silent.name.as_deref()), ("127.0.0.2", Some("edge-2")));
    assert!(last.text.ends_with(&silent.to_string()), "{}", last.text);
}

#[test]
fn an_exporter_that_never_sends_is_shown_and_holds_up_no_end() {
    let text = format!(
        "silent-after = '5s'\n[input]\nlisten = ['127.0.0.1:0']\n\
         exporters = ['127.0.0.9', '127.0.0.1', '192.0.2.0/24']\n{}{RULE}",
        view("a", "destination")
    );
    let mut monitor = Monitor::new(&Config::parse(&text).unwrap(), 1).unwrap();
    let start_ms = now_ms();
    let look = |monitor: &mut Monitor, second| {
        let input = status(start_ms, [([127, 0, 0, 1], second)]);
        monitor.observe_input(&input, (start_ms + second * 1_000) * 1_000_000);
        let overview = Overview { is_live: true, ..monitor.overview(&input) };
        let exporters = overview.exporters.iter();
        let exporters: Vec<_> =
            exporters.map(|it| (it.address.to_string(), it.last_seen_ms, it.is_silent)).collect();
        (exporters, Health::of(&overview, overview.closed_ms).level)
    };
    let expected = |second: u64, is_silent| {
        let seen_ms = Some(start_ms + second * 1_000);
        vec![("127.0.0.1".to_owned(), seen_ms, false), ("127.0.0.9".to_owned(), None, is_silent)]
    };
    let mut notified = feed(&mut monitor, start_ms, 4, 100);
    assert_eq!(look(&mut monitor, 4), (expected(4, false), Level::Good));
    notified.extend(feed(&mut monitor, start_ms + 4_000, 10, 100));
    assert_eq!(look(&mut monitor, 14), (expected(14, true), Level::Warn));
    notified.extend(feed(&mut monitor, start_ms + 14_000, 20, 1));
    look(&mut monitor, 34);
    notified.extend(feed(&mut monitor, start_ms + 34_000, 5, 1));
    let changes = notified.iter().filter(|notification| notification.status != Status::Update);
    let changes: Vec<_> =
        changes.map(|notification| (notification.status, notification.why)).collect();
    assert_eq!(changes, [(Status::Start, Why::Threshold), (Status::End, Why::Below)]);
}

#[test]
fn a_clock_that_was_set_back_keeps_no_monitor_from_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), &["a"]);
    let mut first = Continued::open(&config).unwrap();
    let notified = feed(&mut first.monitor, now_ms() + 3_600_000, 10, 100);
    end(first, &notified);

    let mut second = Continued::open(&config).unwrap();
    let ends = feed(&mut second.monitor, now_ms(), 30, 1);
    assert_eq!((ends.len(), ends[0].status, ends[0].id), (1, Status::End, notified[0].id));
}

/// Creates a monitor for a replay. Its configuration consists of `text` and two views: contacts into 10.0.0.0/8 and
/// contacts out of it.
fn replay(text: &str) -> Monitor {
    let views = view("in", "destination") + &view("out", "source");
    let text = format!("inside = ['10.0.0.0/8']\n{views}{text}");
    Monitor::new(&Config::parse(&text).unwrap(), 1).unwrap()
}

fn contact(second: u64, source: [u8; 4], destination: [u8; 4]) -> Contact {
    Contact::new((1_750_000_000 + second) * 1_000_000_000, source.into(), destination.into())
}

fn flood(monitor: &mut Monitor, seconds: Range<u64>) {
    for second in seconds {
        (0..100).for_each(|peer| {
            monitor.ingest(&contact(second, [192, 0, 2, peer], [10, 0, 0, 1])).unwrap();
        });
    }
}

#[test]
fn a_flood_has_rates_after_each_slice_and_its_end_the_largest() {
    let mut monitor = replay(RULE);
    let (mut notified, mut rates) = (Vec::new(), Vec::new());
    for second in 0..130 {
        // 120 hosts send ten packets of 1,250 bytes per second each. One packet in ten is sampled.
        let flood = (0..120).filter(|_| second < 90).map(|peer| ([192, 0, 2, peer], [10, 0, 0, 1]));
        for (source, destination) in flood.chain([([192, 0, 2, 1], [10, 0, 0, 2])]) {
            let mut contact = contact(second, source, destination);
            (contact.packets, contact.octets) = (NonZeroU64::new(1), NonZeroU64::new(1_250));
            (contact.sampling, contact.ingress) = (NonZeroU32::new(10), NonZeroU32::new(517));
            contact.exporter = Some([198, 51, 100, 1].into());
            monitor.ingest(&contact).unwrap();
        }
        notified.extend(monitor.notifications().unwrap());
        let alerts = monitor.overview(&InputStatus::default()).alerts;
        rates.extend(alerts.iter().map(|alert| (second, alert.notification_now().rates)));
    }
    for (second, rates) in &rates {
        let packets = rates.packets_per_second.unwrap_or(0);
        let expected = match second {
            5..80 => 1_170..1_230,
            90.. => 900..1_230,
            _ => 0..1_230,
        };
        assert!(expected.contains(&packets), "{packets} in second {second}");
        let bits = rates.bits_per_second.unwrap_or(0);
        assert!(bits.abs_diff(10_000 * packets) <= 10_000, "{bits} bits, {packets} packets");
        assert!(!rates.is_rate_lower_bound && !rates.is_rate_upper_bound);
        assert_eq!(rates.is_rate_scaled, packets > 0);
    }
    let of_flood =
        notified.iter().filter(|notification| notification.view == "in").collect::<Vec<_>>();
    let (start, end) = (of_flood[0], of_flood[of_flood.len() - 1]);
    assert_eq!((start.status, end.status), (Status::Start, Status::End));
    let peak = end.peak_rates.unwrap();
    assert!((1_190..1_300).contains(&peak.packets_per_second.unwrap()), "{peak:?}");
    let notified = ", 1.2 kpps, 12 Mbit/s (estimated from samples)";
    assert!(end.text.contains(notified), "{}", end.text);
}

#[test]
fn a_gap_in_a_file_is_not_its_end() {
    let mut monitor = replay(&RULE.replace("hold = '5s'", "hold = '2m'"));
    flood(&mut monitor, 0..10);
    let mut notified = Vec::new();
    // The count has been below the threshold since second 14, and the end stays unconfirmed for ten minutes.
    for second in [15].into_iter().chain(600..730) {
        monitor.ingest(&contact(second, [192, 0, 2, 1], [10, 0, 0, 2])).unwrap();
        let notifications = monitor.notifications().unwrap().into_iter();
        notified.extend(notifications.filter(|notification| notification.status != Status::Update));
    }
    let [start, end] = &notified[..] else { panic!("{notified:?}") };
    assert_eq!((start.status, end.status), (Status::Start, Status::End));
    let second = (end.now_ms - 1_750_000_000_000) / 1_000;
    assert!((720..725).contains(&second), "{second}");
}

#[test]
fn one_time_far_from_now_lets_no_contact_of_a_file_be_too_late() {
    let mut monitor = replay(RULE);
    flood(&mut monitor, 0..2);
    monitor.ingest(&contact(1 << 32, [192, 0, 2, 1], [10, 0, 0, 2])).unwrap();
    flood(&mut monitor, 2..10);
    assert_eq!(monitor.notifications().unwrap().len(), 1);
}

#[test]
fn a_flood_is_compared_with_what_its_victim_did_meanwhile() {
    let views = |of: &str, window: &str| {
        format!("[[rule]]\nname = '{of}'\nviews = ['{of}']\nthresholds = {{ {window} = 50 }}\n")
    };
    let mut monitor = replay(&(views("in", "5s") + &views("out", "1h")));
    for peer in 0..100 {
        let peer = [198, 51, 100, peer];
        monitor.ingest(&contact(0, [10, 0, 0, 1], peer)).unwrap();
    }
    monitor.ingest(&contact(59, [192, 0, 2, 1], [10, 0, 0, 2])).unwrap();
    monitor.notifications().unwrap();
    flood(&mut monitor, 60..70);
    let notified = monitor.notifications().unwrap();
    let flood = notified.iter().find(|it| it.view == "in").unwrap();
    assert_eq!(flood.kind, Kind::Flood, "{flood:?}");
}

#[test]
fn an_input_that_has_no_host_inside_is_a_problem_until_it_has_one() {
    let mut monitor = replay(RULE);
    let mut count = |seconds: Range<u64>, destination: [u8; 4]| {
        for second in seconds {
            for peer in 0..100 {
                monitor.ingest(&contact(second, [192, 0, 2, peer], destination)).unwrap();
            }
        }
        monitor.notifications().unwrap();
        monitor.overview(&InputStatus::default()).input.problems.of(ProblemKind::NoInside)
    };
    let (outside, inside) = ([172, 16, 0, 1], [10, 0, 0, 1]);
    assert_eq!(count(0..10, outside), 0, "too short to be sure");
    assert_eq!(count(10..20, outside), 2_000);
    assert_eq!(count(20..21, inside), 0);
    assert_eq!(count(21..40, outside), 0);
}
