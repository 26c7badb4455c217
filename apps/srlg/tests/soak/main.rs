//! The whole product under faults: a monitor, and a network of two probes and a collector, receive 50,000 flow records
//! per second while programs are killed, disks fill up, and the broker and the sinks fail. In the last two thirds of
//! the time, no program is killed.
//!
//! Every planted attack must raise exactly one incident. Every datagram must be received or counted as lost. In the
//! life of a program after the last kill, memory, descriptors and threads must stay flat. `scripts/soak.sh` runs this
//! test and draws its results.
//!
//! `SRLG_SECONDS` sets the duration (default: 5,400), `SRLG_SEED` the seed of traffic and faults, and `SRLG_SOAK` the
//! folder for the results.

mod accounts;
#[path = "../program/disk.rs"]
mod disk;
#[path = "../program/faketime.rs"]
mod faketime;
mod faults;
#[path = "../program/http.rs"]
#[allow(dead_code, reason = "this test has its own webhook, which can fail")]
mod http;
#[path = "../program/nats.rs"]
mod nats;
#[path = "../program/notifications.rs"]
mod notifications;
mod oracle;
#[path = "../program/probe.rs"]
mod probe;
#[path = "../program/process.rs"]
mod process;
mod programs;
mod results;
mod samples;
mod traffic;
mod webhook;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use accounts::{Account, Datagrams, Metrics};
use faults::Fault;
use oracle::{Attacks, Inbox};
use process::PATIENCE;
use programs::{Network, PROBES, Service, free_address};
use samples::{Counters, Samples};
use traffic::{Generator, Mode, Plan, RECORDS, Receiver};
use webhook::Webhook;

const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Exporters of the monitor, and rates in records per second.
const EXPORTERS: u8 = 4;
const MONITOR_RATE: f64 = 35_000.0;
const PROBE_RATE: f64 = 7_500.0;

/// Maximum duration. A longer test would plant more attacks than there are addresses.
const LONGEST: Duration = Duration::from_secs(4 * 3_600);

/// Time in which a paused receiver finishes the running slice and shows its counters.
const SETTLE: Duration = Duration::from_millis(1_500);

/// Pseudo-random numbers that are the same on all machines.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 31) % end
    }
}

struct Soak {
    began: Instant,
    random: Random,
    generator: Generator,
    monitor: Service,
    network: Network,
    /// The webhooks of the monitor and of the collector.
    webhooks: [Webhook; 2],
    inboxes: [Inbox; 2],
    /// Seconds by which the clock of the monitor is ahead.
    ahead_s: i64,
    account: Account,
    probe_accounts: [Account; PROBES.len()],
    samples: Samples,
    sampled: Instant,
    injected: BTreeMap<Fault, u32>,
    /// Number of killed receivers.
    kills: u32,
    /// Time of the last fault that ended a process.
    last_end_s: u64,
}

fn set_number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

/// Returns the plans of all exporters: those of the monitor at `exports`, and one for each probe.
fn plans(exports: SocketAddr, of_probes: [SocketAddr; PROBES.len()]) -> Vec<Plan> {
    let of_monitor = (1..=EXPORTERS).map(|number| Plan {
        receiver: Receiver::Monitor,
        address: Ipv4Addr::new(127, 0, 1, number),
        to: exports,
        rate: MONITOR_RATE / f64::from(EXPORTERS),
    });
    let of_network = (0..).zip(of_probes).map(|(probe, to)| Plan {
        receiver: Receiver::Probe(probe),
        address: Ipv4Addr::new(127, 0, 2, 1 + probe as u8),
        to,
        rate: PROBE_RATE,
    });
    of_monitor.chain(of_network).collect()
}

impl Soak {
    fn start(folder: &std::path::Path, time: Duration, mut random: Random) -> (Self, Attacks) {
        let exports = free_address();
        let of_probes = [free_address(), free_address()];
        let [(first, of_first), (second, of_second)] = [(); 2].map(|()| Webhook::start());
        let (webhooks, inboxes) = ([first, second], [of_first, of_second].map(Inbox::new));
        let mut monitor = Service::monitor(folder, exports, webhooks[0].address);
        monitor.start();
        let network = Network::start(folder, of_probes, webhooks[1].address);
        let began = Instant::now();
        let attacks = Attacks::new(began, time);
        let plans = plans(exports, of_probes);
        let soak = Self {
            began,
            generator: Generator::start(plans, attacks, &mut random),
            random,
            monitor,
            network,
            webhooks,
            inboxes,
            ahead_s: 0,
            account: Account::default(),
            probe_accounts: Default::default(),
            samples: Samples::default(),
            sampled: began,
            injected: BTreeMap::new(),
            kills: 0,
            last_end_s: 0,
        };
        (soak, attacks)
    }

    /// Waits for `time`, and meanwhile takes samples and reads notifications.
    fn pass(&mut self, time: Duration) {
        let until = Instant::now() + time;
        loop {
            self.inboxes.iter_mut().for_each(Inbox::read);
            if self.sampled.elapsed() >= SAMPLE_INTERVAL {
                self.sampled += SAMPLE_INTERVAL;
                self.sample();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(PAUSE));
        }
    }

    fn sample(&mut self) {
        let seconds = self.began.elapsed().as_secs();
        let notifications = [0, 1].map(|at| self.inboxes[at].notifications());
        if let Some(program) = &mut self.monitor.program {
            program.assert_runs();
            let (id, metrics) = (program.id(), self.monitor.metrics());
            let counters = self.counters(&metrics);
            self.samples.add(seconds, "run", id, &self.monitor.state(), notifications[0], counters);
        }
        let mut of_collector = None;
        if let Some(program) = &mut self.network.collector.program {
            program.assert_runs();
            let id = program.id();
            let metrics = of_collector.insert(self.network.collector.metrics());
            let messages = |result: &str| metrics.sum("srlg_probe_messages_total", result);
            let counters = Counters {
                received: Some(messages("")),
                used: Some(messages("in_time") + messages("late")),
                dropped: Some(messages("refused")),
                sent: None,
            };
            let state = self.network.collector.state();
            self.samples.add(seconds, "collect", id, &state, notifications[1], counters);
        }
        self.sample_probes(seconds, of_collector.as_ref());
        let (id, store) = (self.network.broker.id(), self.network.broker_store());
        self.samples.add(seconds, "broker", id, &store, 0, Counters::default());
    }

    fn sample_probes(&mut self, seconds: u64, metrics: Option<&Metrics>) {
        for (probe, process) in (0..).zip(["probe a", "probe b"]) {
            let Some(program) = &mut self.network.probes[probe] else { continue };
            program.assert_runs();
            let (id, spool) = (program.id(), self.network.spool(probe));
            let (sent, account) =
                (self.generator.sent(Receiver::Probe(probe)), &self.probe_accounts[probe]);
            let counted = metrics.and_then(|it| Datagrams::of(Receiver::Probe(probe), it));
            let counters = Counters {
                sent: Some(sent.datagrams + sent.unheard),
                received: counted.map(|it| account.received + it.received),
                dropped: counted.map(|it| account.dropped + it.dropped),
                used: None,
            };
            self.samples.add(seconds, process, id, &spool, 0, counters);
        }
    }

    fn counters(&self, metrics: &Metrics) -> Counters {
        let sent = self.generator.sent(Receiver::Monitor);
        let sum = |name, label| metrics.sum(name, label);
        let dropped = self.account.dropped + sum("srlg_dropped_total", "\"kernel\"");
        Counters {
            sent: Some(sent.datagrams + sent.unheard),
            received: Some(self.account.received + sum("srlg_datagrams_total", "")),
            dropped: Some(dropped),
            used: Some((self.account.used + sum("srlg_records_total", "")) / RECORDS),
        }
    }

    fn account_of(&mut self, receiver: Receiver) -> &mut Account {
        match receiver {
            Receiver::Monitor => &mut self.account,
            Receiver::Probe(probe) => &mut self.probe_accounts[probe],
        }
    }

    /// Returns the metrics that contain the counts of a receiver.
    fn metrics_of(&self, receiver: Receiver) -> Metrics {
        match receiver {
            Receiver::Monitor => self.monitor.metrics(),
            Receiver::Probe(_) => self.network.collector.metrics(),
        }
    }

    /// Pauses the exporters of a receiver, waits until it has closed the running slice, which would be lost, and closes
    /// the account of its life.
    fn close_account(&mut self, receiver: Receiver) {
        self.generator.set_mode(receiver, Mode::Paused);
        self.pass(SETTLE);
        let (sent, started) = (self.generator.sent(receiver), Instant::now());
        let (counted, metrics) = loop {
            let metrics = self.metrics_of(receiver);
            let counted = Datagrams::of(receiver, &metrics);
            match counted.filter(|counted| self.account_of(receiver).is_read(sent, *counted)) {
                Some(counted) => break (counted, metrics),
                None => self.pass(PAUSE),
            }
            assert!(started.elapsed() < PATIENCE, "datagrams are missing: {counted:?} {sent:?}");
        };
        if receiver == Receiver::Monitor {
            self.account.check_records(sent, counted, &metrics);
        }
        self.account_of(receiver).close(sent, counted);
    }

    /// Asserts that the collector has rejected no message, and that no probe has lost a slice.
    fn check_collector(&self) {
        let metrics = self.network.collector.metrics();
        assert_eq!(metrics.get("srlg_refused_total", ""), None);
        // A collector that was started just now may have no reports.
        assert_eq!(metrics.get("srlg_probe_lost_slices_total", "").unwrap_or(0), 0);
        assert_eq!(metrics.sum("srlg_overloads_total", ""), 0);
    }

    /// Waits until both webhooks have received the end of `count` incidents.
    fn wait_for_ends(&mut self, count: usize) {
        let started = Instant::now();
        while self.inboxes.iter().any(|inbox| inbox.ends() < count) {
            let ends = self.inboxes.each_ref().map(Inbox::ends);
            assert!(started.elapsed() < PATIENCE, "{ends:?} of {count} incidents have ended");
            self.pass(PAUSE);
        }
    }
}

#[test]
#[ignore = "takes 90 minutes: scripts/soak.sh"]
fn under_faults_each_attack_is_one_incident_and_nothing_is_lost() {
    if !nats::has_broker() {
        return;
    }
    let time = Duration::from_secs(set_number("SRLG_SECONDS", 5_400));
    assert!(time <= LONGEST, "SRLG_SECONDS: must be at most {}", LONGEST.as_secs());
    let seed = set_number("SRLG_SEED", 1);
    // If the test fails, the logs of the programs remain in this folder.
    let folder = tempfile::tempdir().unwrap().keep();
    println!("seed {seed}, logs in {}", folder.display());
    let mut random = Random(seed);
    let schedule = Fault::schedule(time, &mut random);
    let (mut soak, attacks) = Soak::start(&folder, time, random);
    if soak.generator.recorded == 0 {
        println!(
            "NO RECORDED TRAFFIC: SRLG_DATA is not set, so all background traffic is generated"
        );
    }
    for (at, fault) in schedule {
        soak.pass(at.saturating_sub(soak.began.elapsed()));
        println!("{:6.1} s: {}", soak.began.elapsed().as_secs_f64(), fault.name());
        soak.inject(fault);
    }
    soak.pass(time.saturating_sub(soak.began.elapsed()));
    results::finish(soak, &attacks, time.as_secs(), seed);
    std::fs::remove_dir_all(folder).unwrap();
}
