//! Faults, and the seeded schedule on which they are injected.

use std::time::Duration;

use crate::accounts::Datagrams;
use crate::programs::PROBES;
use crate::traffic::{Mode, Receiver};
use crate::webhook::Behaviour;
use crate::{Random, Soak};

/// Time from one fault to the next. A shorter test has shorter times, so that it has at least one fault of each kind.
const INTERVAL: Duration = Duration::from_secs(40);

/// Time before the first fault.
const FIRST: Duration = Duration::from_secs(15);

/// Time for which a program stays dead, a disk stays full and a sink fails.
const DEAD: Duration = Duration::from_secs(1);
const FULL: Duration = Duration::from_secs(12);
const FAILING: Duration = Duration::from_secs(15);
const BROKER_AWAY: Duration = Duration::from_secs(20);

/// Seconds by which the clock is set forward and, later, back.
const FORWARD_S: i64 = 61;
const BACK_S: i64 = 4;

const MALFORMED: u64 = 400;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    MonitorKilled,
    ProbeKilled,
    CollectorKilled,
    MonitorDiskFull,
    CollectorDiskFull,
    BrokerAway,
    ExportersRestarted,
    ClockSet,
    MalformedExports,
    WebhooksRefuse,
    WebhooksHang,
    WebhooksAway,
}

impl Fault {
    pub(crate) const ALL: [Self; 12] = [
        Self::MonitorKilled,
        Self::ProbeKilled,
        Self::CollectorKilled,
        Self::MonitorDiskFull,
        Self::CollectorDiskFull,
        Self::BrokerAway,
        Self::ExportersRestarted,
        Self::ClockSet,
        Self::MalformedExports,
        Self::WebhooksRefuse,
        Self::WebhooksHang,
        Self::WebhooksAway,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::MonitorKilled => "kill -9 of `srlg run`",
            Self::ProbeKilled => "kill -9 of a probe",
            Self::CollectorKilled => "kill -9 of the collector",
            Self::MonitorDiskFull => "full disk of `srlg run`",
            Self::CollectorDiskFull => "full disk of the collector",
            Self::BrokerAway => "broker away for 20 s",
            Self::ExportersRestarted => "exporters restarted",
            Self::ClockSet => "clock set forward and back",
            Self::MalformedExports => "malformed exports",
            Self::WebhooksRefuse => "webhooks answer 500",
            Self::WebhooksHang => "webhooks hang",
            Self::WebhooksAway => "webhooks away",
        }
    }

    /// Returns whether the fault ends a process of srlg.
    pub(crate) const fn is_end_of_life(self) -> bool {
        use Fault::{CollectorDiskFull, CollectorKilled, MonitorKilled, ProbeKilled};
        matches!(self, MonitorKilled | ProbeKilled | CollectorKilled | CollectorDiskFull)
    }

    /// Returns the faults of a test that takes `time`, with their times. Each group of twelve contains every fault
    /// once, in a random order. After a third of the time, processes do not end any more, so that leaks show.
    pub(crate) fn schedule(time: Duration, random: &mut Random) -> Vec<(Duration, Self)> {
        let interval = INTERVAL.min((time / 3 - FIRST) / (Self::ALL.len() as u32 + 1));
        let count = (time - FIRST).as_millis() / interval.as_millis() - 1;
        let mut bag = Vec::new();
        let fault = |at: u128| {
            let start = FIRST + interval * at as u32;
            let is_allowed = |fault: &Self| start < time / 3 || !fault.is_end_of_life();
            bag.retain(is_allowed);
            if bag.is_empty() {
                bag.extend(Self::ALL.into_iter().filter(is_allowed));
            }
            let jitter = interval.mul_f64(random.below(250) as f64 / 1_000.0);
            (start + jitter, bag.swap_remove(random.below(bag.len() as u64) as usize))
        };
        (0..count).map(fault).collect()
    }
}

impl Soak {
    pub(crate) fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::MonitorKilled => self.kill_receiver(Receiver::Monitor),
            Fault::ProbeKilled => {
                self.check_collector();
                let probe = self.random.below(PROBES.len() as u64) as usize;
                self.kill_receiver(Receiver::Probe(probe));
            }
            Fault::CollectorKilled => {
                self.check_collector();
                self.network.collector.program = None;
                self.pass(DEAD);
                self.network.collector.start();
            }
            Fault::MonitorDiskFull => {
                self.monitor.disk.fill();
                self.pass(FULL);
                assert_eq!(self.monitor.metrics().sum("srlg_checkpoint_failing", ""), 1);
                self.monitor.disk.free();
            }
            Fault::CollectorDiskFull => self.fill_disk_of_collector(),
            Fault::BrokerAway => {
                self.network.broker.kill().unwrap();
                self.pass(BROKER_AWAY);
                self.network.broker.restart().unwrap();
            }
            Fault::ExportersRestarted => {
                for receiver in [Receiver::Monitor, Receiver::Probe(0), Receiver::Probe(1)] {
                    self.generator.restart_exporter(receiver, &mut self.random);
                }
                self.account.disturbed += 1;
            }
            Fault::ClockSet => self.set_clock(),
            Fault::MalformedExports => {
                self.generator.send_malformed(Receiver::Monitor, MALFORMED, &mut self.random);
            }
            Fault::WebhooksRefuse => self.fail_webhooks(Behaviour::Refusing),
            Fault::WebhooksHang => self.fail_webhooks(Behaviour::Hanging),
            Fault::WebhooksAway => self.fail_webhooks(Behaviour::Away),
        }
        *self.injected.entry(fault).or_default() += 1;
        if fault.is_end_of_life() {
            self.last_end_s = self.began.elapsed().as_secs();
        }
    }

    /// Kills a receiver, and starts it again. Every second time, its exporters are paused before, so that its account
    /// is exact.
    fn kill_receiver(&mut self, receiver: Receiver) {
        self.kills += 1;
        if self.kills.is_multiple_of(2) {
            self.close_account(receiver);
        } else {
            let counted = Datagrams::of(receiver, &self.metrics_of(receiver)).expect("no report");
            self.generator.set_mode(receiver, Mode::Unheard);
            let sent = self.generator.sent(receiver);
            self.account_of(receiver).close_killed(sent, counted);
        }
        match receiver {
            Receiver::Monitor => self.monitor.program = None,
            Receiver::Probe(probe) => self.network.probes[probe] = None,
        }
        self.generator.set_mode(receiver, Mode::Unheard);
        self.pass(DEAD);
        self.generator.set_mode(receiver, Mode::Paused);
        match receiver {
            Receiver::Monitor => self.monitor.start(),
            Receiver::Probe(probe) => self.network.start_probe(probe),
        }
        self.generator.set_mode(receiver, Mode::Sending);
    }

    /// Fills the disk of the collector until the collector exits, and starts it again with free space.
    fn fill_disk_of_collector(&mut self) {
        self.check_collector();
        self.network.collector.disk.fill();
        let mut collector = self.network.collector.program.take().unwrap();
        assert_eq!(collector.end().0, Some(2));
        self.network.collector.disk.free();
        self.network.collector.start();
    }

    /// Sets the clock of the monitor forward and then back by less than a window.
    fn set_clock(&mut self) {
        self.monitor.clock().expect("libfaketime").set(self.ahead_s + FORWARD_S);
        self.account.disturbed += 1;
        self.pass(FULL);
        self.ahead_s += FORWARD_S - BACK_S;
        self.monitor.clock().unwrap().set(self.ahead_s);
        // No slice closes until the clock has caught up.
        self.pass(Duration::from_secs(2 + BACK_S as u64));
    }

    fn fail_webhooks(&mut self, behaviour: Behaviour) {
        self.webhooks.iter().for_each(|webhook| webhook.set(behaviour));
        self.pass(FAILING);
        self.webhooks.iter().for_each(|webhook| webhook.set(Behaviour::Answering));
    }
}
