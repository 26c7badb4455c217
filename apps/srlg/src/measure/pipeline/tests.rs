use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use srlg_host::state::Snapshot;

use super::*;
use crate::config::Config;
use crate::measure::monitor::Monitor;
use srlg_alerts::notification::Notification;

const SECOND: u64 = 1_000_000_000;

/// Start of each test, in seconds since the Unix epoch.
const START: u64 = 1_000_000;

fn monitor(grace: &str) -> Monitor {
    Monitor::new(&config(grace), 1).unwrap()
}

fn config(grace: &str) -> Config {
    let text = format!(
        "grace = '{grace}'\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n\
         [[view]]\nname = 'hosts'\nrole = 'destination'\npairs = 10_000\nmemory = 1_000_000\n\
         [[view]]\nname = 'services'\nrole = 'destination'\nhost = 'address+port'\nhost-prefix6 = 64\npairs = 10_000\nmemory = 1_000_000\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 1s = 60, 8s = 100 }}\nhold = '2s'\nfor = 1\nof = 1\n\
         [[allow]]\nwhy = 'resolver'\npeers = ['198.51.0.7/32']\n"
    );
    Config::parse(&text).unwrap()
}

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Returns a contact whose time is less than `early_ns` before `now_ns`.
    fn contact(&mut self, now_ns: u64, early_ns: u64) -> Contact {
        let (peer, host) = (self.below(400) as u32, self.below(12));
        let is_v6 = self.below(8) == 0;
        let source = if is_v6 {
            Host::v6(0x2001 << 112 | u128::from(peer) << 64)
        } else {
            Host::v4(0xc633_0000 + peer)
        };
        let hosts = [[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3 + host as u8]];
        // One host has many peers for six of every 20 seconds.
        let is_flood = (now_ns / SECOND) % 20 < 6 && self.below(2) == 0;
        let host = if is_flood { hosts[0] } else { hosts[2] };
        let mut contact = Contact::new(now_ns - self.below(early_ns), source, host.into());
        (contact.protocol, contact.destination_port) = (Some(17), Some(self.below(3) as u16 * 53));
        contact.exporter = Some([192, 0, 2, self.below(3) as u8].into());
        contact.sampling = NonZeroU32::new(self.below(2) as u32 * 100);
        contact
    }
}

/// Returns the counters `late`, `allowed`, `hits`, `without_port` and `too_late` of each view.
fn counts(monitor: &mut Monitor) -> Vec<[u64; 5]> {
    let overview = monitor.overview(&srlg_input::Status::default());
    let counts = overview
        .views
        .iter()
        .map(|it| [it.late, it.allowed, it.allows[0].hits, it.without_port, it.too_late]);
    counts.collect()
}

/// Steps of 50 ms in which the main thread does nothing.
const PAUSE: Range<u64> = 700..760;

/// Returns `notification` without the shares of prefixes, because there are too many prefixes for exact counts. Ports
/// with equal shares are sorted. When slices close after the pause, a pipeline has already seen newer contacts than one
/// thread, so the details differ.
fn comparable(mut notification: Notification) -> Notification {
    notification.top_prefixes.clear();
    notification.top_ports.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let step = notification.now_ms / 50 - START * 20;
    if (PAUSE.start..=PAUSE.end).contains(&step) {
        (notification.data_age_ms, notification.top_ports, notification.peers) =
            (0, Vec::new(), Vec::new());
    }
    notification
}

fn detector(monitor: &mut Monitor, view: usize) -> Snapshot {
    monitor.snapshot(view).unwrap().with_attachment(Vec::new())
}

#[test]
fn a_pipeline_does_what_one_thread_does() {
    for (grace, early_ns) in [("0s", SECOND / 2), ("100ms", 3 * SECOND), ("2500ms", 11 * SECOND)] {
        let [mut one, mut other] = [monitor(grace), monitor(grace)];
        let (mut sink, mut numbers) = (other.pipeline().unwrap(), Numbers(7));
        let mut notified = (Vec::new(), Vec::new());
        for step in 0..2_400_u64 {
            // The jump is a long silence, and the stalled steps are a pause of the main thread.
            let step = if step > 1_500 { step + 40_000 } else { step };
            let now_ns = (START * 20 + step) * SECOND / 20;
            let is_stalled = PAUSE.contains(&step);
            if !is_stalled {
                one.advance(now_ns).unwrap();
                other.advance(now_ns).unwrap();
            }
            let block = 1 + numbers.below(if step % 50 == 0 { 9_000 } else { 60 });
            // With one thread, contacts advance the clock, so no contact may be earlier than the clock.
            let early_ns = if is_stalled { 1 } else { early_ns };
            let contacts: Vec<_> = (0..block).map(|_| numbers.contact(now_ns, early_ns)).collect();
            contacts.iter().for_each(|contact| one.ingest(contact).unwrap());
            sink.accept(&contacts).unwrap();
            let [of_one, of_other] = [&mut one, &mut other].map(|it| it.notifications().unwrap());
            notified.0.extend(of_one.into_iter().map(comparable));
            notified.1.extend(of_other.into_iter().map(comparable));
        }
        assert!(notified.0.len() > 8, "{}", notified.0.len());
        // After a pause, several slices close at once. Their notifications are then ordered by view first.
        let by_time =
            |notification: &Notification| (notification.now_ms, notification.view.clone());
        notified.0.sort_by_key(by_time);
        notified.1.sort_by_key(by_time);
        assert_eq!(notified.0, notified.1, "{grace}");
        for view in 0..2 {
            let [of_one, of_other] = [&mut one, &mut other].map(|it| detector(it, view));
            assert!(of_one == of_other, "{grace}, view {view}");
        }
        assert_eq!(counts(&mut one), counts(&mut other), "{grace}");
    }
}

#[test]
fn threads_push_while_another_closes_and_no_pair_is_lost() {
    const THREADS: u64 = 3;
    const BLOCKS: u64 = 400;
    let [mut one, mut other] = [monitor("100ms"), monitor("100ms")];
    let start_ns = START * SECOND;
    for monitor in [&mut one, &mut other] {
        monitor.advance(start_ns).unwrap();
    }
    let blocks = |thread| {
        let mut numbers = Numbers(thread);
        (0..BLOCKS).map(move |block| {
            let now_ns = start_ns + block * SECOND / 10;
            (0..700).map(|_| numbers.contact(now_ns, SECOND)).collect::<Vec<_>>()
        })
    };
    let sinks: Vec<_> = (0..THREADS).map(|_| other.pipeline().unwrap()).collect();
    let (newest, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for (thread, mut sink) in (0..).zip(sinks) {
            let (newest, ended) = (&newest, &ended);
            scope.spawn(move || {
                for (number, block) in (0..).zip(blocks(thread)) {
                    // No thread may be two seconds behind another, because its contacts could be too late.
                    while number * THREADS > newest.load(Relaxed) + 20 {
                        thread::yield_now();
                    }
                    sink.accept(&block).unwrap();
                    newest.fetch_add(1, Relaxed);
                }
                ended.fetch_add(1, Relaxed);
            });
        }
        while ended.load(Relaxed) < THREADS {
            other.advance(start_ns + newest.load(Relaxed) / THREADS * SECOND / 10).unwrap();
        }
    });
    let mut all: Vec<_> = (0..THREADS).map(blocks).collect();
    for _ in 0..BLOCKS {
        for contact in all.iter_mut().filter_map(Iterator::next).flatten() {
            one.ingest(&contact).unwrap();
        }
    }
    let end_ns = start_ns + (BLOCKS / 10 + 1) * SECOND;
    for monitor in [&mut one, &mut other] {
        (0..3).for_each(|more| monitor.advance(end_ns + more * SECOND).unwrap());
    }
    let overview = other.overview(&srlg_input::Status::default());
    assert_eq!(overview.input.contacts, THREADS * BLOCKS * 700);
    assert!(overview.views.iter().all(|view| view.too_late == 0), "{:?}", overview.views);
    for view in 0..2 {
        let [of_one, of_other] = [&mut one, &mut other].map(|it| detector(it, view));
        assert!(of_one == of_other, "view {view}");
    }
}

#[test]
fn a_reload_loses_no_count_of_a_thread() {
    const CONTACTS: u64 = 200_000;
    let (mut monitor, config) = (monitor("0s"), config("0s"));
    monitor.advance(START * SECOND).unwrap();
    let mut sink = monitor.pipeline().unwrap();
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let resolver = Host::from([198, 51, 0, 7]);
            let contact = Contact::new(START * SECOND, resolver, [10, 0, 0, 1].into());
            (0..CONTACTS).for_each(|_| sink.accept(&[contact]).unwrap());
            has_ended.store(true, Relaxed);
        });
        while !has_ended.load(Relaxed) {
            monitor.reload(&config);
        }
    });
    let [hosts, services] = counts(&mut monitor)[..] else { panic!("two views") };
    assert_eq!(hosts, [0, CONTACTS, CONTACTS, 0, 0]);
    assert_eq!(services, [0, 0, 0, CONTACTS, 0]);
}

#[test]
fn contacts_that_are_too_late_count_as_with_one_thread() {
    let mut monitors = [monitor("0s"), monitor("0s")];
    monitors.iter_mut().for_each(|monitor| monitor.advance(START * SECOND).unwrap());
    let [one, other] = &mut monitors;
    let mut sink = other.pipeline().unwrap();
    let contacts = (1..100).map(|slice| {
        let resolver = Host::from([198, 51, 0, 7]);
        let mut contact = Contact::new(slice * SECOND, resolver, [10, 0, 0, 1].into());
        (contact.exporter, contact.sampling) = (Some(resolver), NonZeroU32::new(10));
        contact
    });
    let contacts: Vec<_> = contacts.collect();
    contacts.iter().for_each(|contact| one.ingest(contact).unwrap());
    sink.accept(&contacts).unwrap();
    assert_eq!(counts(one), counts(other));
    assert!(counts(other).iter().all(|[.., too_late]| *too_late == 99));
    // Old slices must not accumulate while no slice closes.
    let [of_one, of_other] = [one, other].map(|monitor| {
        let snapshot = monitor.snapshot(0).unwrap();
        let attachment: serde_json::Value = serde_json::from_slice(snapshot.attachment()).unwrap();
        attachment["sampling"].clone()
    });
    assert_eq!([of_one, of_other], [serde_json::json!([]), serde_json::json!([])]);
}

#[test]
fn an_input_is_lost_while_all_its_contacts_are_too_late() {
    let mut monitors = [monitor("0s"), monitor("0s")];
    let mut sink = monitors[1].pipeline().unwrap();
    for second in START..START + 100 {
        monitors.iter_mut().for_each(|monitor| monitor.advance(second * SECOND).unwrap());
        let host = Host::from([10, 0, 0, 1]);
        let contact = Contact::new((second - 20) * SECOND, [192, 0, 2, 1].into(), host);
        monitors[0].ingest(&contact).unwrap();
        sink.accept(&[contact]).unwrap();
    }
    for monitor in &mut monitors {
        let overview = monitor.overview(&srlg_input::Status::default());
        assert!(overview.views.iter().all(|view| view.too_late == 100), "{:?}", overview.views);
        assert!(overview.is_input_lost);
    }
}
