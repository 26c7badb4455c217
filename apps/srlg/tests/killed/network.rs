//! A network in which random processes are killed repeatedly. Its sinks are a file, a webhook and an Alertmanager.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdin, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_cli::network::broker::Broker;
use srlg_system::now_ms;
use tempfile::TempDir;

use crate::alertmanager::{GROUP_INTERVAL, Server};
use crate::http::{Request, serve};
use crate::nats::has_broker;
use crate::notifications::{assert_notified_once, by_key};
use crate::probe::ProbeConfig;
use crate::process::{PATIENCE, Process};
use crate::{Kill, kills};

const PROBES: [&str; 3] = ["a", "b", "c"];

/// Number of peers of a flooded host. Each site sees a third of the peers. Two sites together see enough peers for an
/// alert, but one site does not.
const PEERS: usize = 120;

/// Minimum duration of the flood of each host. Hosts are flooded one after the other.
const PHASE: Duration = Duration::from_secs(3);

const PAUSE: Duration = Duration::from_millis(20);

/// Number of the flooded host, or 0 if no host is flooded.
type Target = Arc<AtomicU64>;

struct Network {
    folder: TempDir,
    target: Target,
    broker: Broker,
    collector: Option<Process>,
    probes: [Option<Process>; 3],
}

fn start(folder: &Path, args: &[&str]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
    Process::start(command.args(args).current_dir(folder))
}

impl Network {
    fn start(webhook: SocketAddr, alertmanager: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let configure = |broker: &str| {
            let config = config(broker, webhook, alertmanager);
            fs::write(folder.path().join("srlg.toml"), config).unwrap();
        };
        configure("localhost");
        let (code, said) = start(folder.path(), &["setup", "--config", "srlg.toml"]).end();
        assert_eq!(code, Some(0), "{said}");
        let broker = Broker::start(folder.path()).unwrap();
        configure(&broker.address());
        let (target, probes) = (Target::default(), [const { None }; 3]);
        let mut network = Self { folder, target, broker, collector: None, probes };
        network.start_collector();
        (0..PROBES.len()).for_each(|site| network.start_probe(site));
        network
    }

    fn start_collector(&mut self) {
        let args = ["collect", "--config", "srlg.toml"];
        self.collector = Some(start(self.folder.path(), &args));
    }

    /// Starts a probe and feeds it contacts until it exits.
    fn start_probe(&mut self, site: usize) {
        let (folder, broker) = (self.folder.path(), &self.broker.address());
        let (name, state) = (PROBES[site], &folder.join("spool"));
        let tables = "[input]\ninput = ['-']\nlive = true\n";
        let probe = ProbeConfig { name, folder, broker, state, general: "", tables };
        let mut probe = Process::start(&mut probe.command());
        let (pipe, target) = (probe.take_input(), Arc::clone(&self.target));
        thread::spawn(move || feed(pipe, site, &target));
        self.probes[site] = Some(probe);
    }

    /// Kills and restarts a process: a probe (0 to 2), the collector (3) or the broker (4).
    fn kill(&mut self, victim: u64) {
        match victim as usize {
            site @ 0..3 => {
                self.probes[site] = None;
                self.start_probe(site);
            }
            3 => {
                self.collector = None;
                self.start_collector();
            }
            _ => self.broker.restart().unwrap(),
        }
    }

    /// Returns the logs of the collector and of all probes, each since its process was last started.
    fn logs(&self) -> String {
        let collector = self.collector.iter().map(|process| ("collector", process));
        let probes = PROBES.into_iter().zip(&self.probes);
        let probes = probes.filter_map(|(site, process)| Some((site, process.as_ref()?)));
        let log = |(name, process): (&str, &Process)| format!("{name}:\n{}", process.log());
        collector.chain(probes).map(log).collect::<Vec<_>>().join("\n")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Returns the IDs of the alerts in the database. All alerts must have ended.
    fn stored(&self) -> BTreeSet<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
        command.args(["alerts", "--json", "--state", "state"]).current_dir(self.folder.path());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let id = |line: &str| {
            let notification: Value = serde_json::from_str(line).unwrap();
            assert_eq!(notification["status"], "end", "{line}");
            notification["id"].as_str().unwrap().to_owned()
        };
        text.lines().map(id).collect()
    }
}

fn feed(mut pipe: ChildStdin, site: usize, target: &AtomicU64) {
    let mut done = pipe.write_all(b"time_ms,src,dst\n");
    while done.is_ok() {
        let (now, host) = (now_ms(), target.load(Relaxed));
        let mut lines = format!("{now},192.0.2.1,10.1.0.1\n");
        for peer in (site..PEERS).step_by(PROBES.len()).filter(|_| host > 0) {
            writeln!(lines, "{now},198.51.100.{peer},10.0.{host}.7").unwrap();
        }
        done = pipe.write_all(lines.as_bytes());
        thread::sleep(Duration::from_millis(40));
    }
}

/// Returns the configuration of the network. A probe lists the pairs of a slice with one flooded host, and sends a delta
/// of a slice with two flooded hosts. An alert ends if the flood pauses for the 3 s of the window and the hold.
/// Feeders of contacts may pause for a shorter time on a busy machine.
fn config(broker: &str, webhook: SocketAddr, alertmanager: SocketAddr) -> String {
    format!(
        "inside = ['10.0.0.0/8']\nslice = '200ms'\nstate = 'state'\ncheckpoint = '600ms'\nhttp = '127.0.0.1:0'\n\
         [network]\nprobes = ['a', 'b', 'c']\nbroker = '{broker}'\ndeadline = '1s'\nmost-pairs = 50\n\
         [[view]]\nname = 'in'\nrole = 'destination'\npairs = 20_000\nmemory = 3_000_000\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 1s = 60 }}\nhold = '2s'\n\
         [[sink]]\ntype = 'file'\npath = 'alerts'\n\
         [[sink]]\ntype = 'webhook'\nurl = 'http://{webhook}/'\nmost-per-minute = 10_000\n\
         [[sink]]\ntype = 'alertmanager'\nurl = 'http://{alertmanager}'\n"
    )
}

#[derive(Default)]
struct Inbox {
    /// Notifications that the webhook has received, by idempotency key.
    notifications: BTreeMap<String, Value>,
    /// States that the Alertmanager has sent, by host: `firing`, then `resolved`.
    statuses: BTreeMap<String, Vec<String>>,
}

impl Inbox {
    /// Reads all received requests and checks that webhook requests with the same idempotency key contain the same
    /// notification.
    fn read(&mut self, webhook: &Receiver<Request>, alertmanager: &Receiver<Request>) {
        for (head, body) in webhook.try_iter() {
            let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
            let (key, notification) = (key.expect(&head), serde_json::from_str(&body).unwrap());
            let before = self.notifications.insert(key.trim().to_owned(), notification);
            assert!(before.is_none_or(|before| before == self.notifications[key.trim()]), "{key}");
        }
        for (_, body) in alertmanager.try_iter() {
            let body: Value = serde_json::from_str(&body).unwrap();
            for alert in body["alerts"].as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                self.statuses
                    .entry(text(&alert["labels"]["host"]))
                    .or_default()
                    .push(text(&alert["status"]));
            }
        }
    }

    fn ends(&self) -> [usize; 2] {
        let resolved = |statuses: &&Vec<String>| statuses.iter().any(|status| status == "resolved");
        let is_end = |notification: &&Value| notification["status"] == "end";
        [
            self.notifications.values().filter(is_end).count(),
            self.statuses.values().filter(resolved).count(),
        ]
    }
}

#[test]
fn alerts_of_a_network_start_and_end_once_despite_kills() {
    if !has_broker() {
        return;
    }
    let ((webhook, notifications), (receiver, requests)) = (serve(&["200 OK"]), serve(&["200 OK"]));
    let Some(alertmanager) = Server::start(&format!("http://{receiver}/")) else { return };
    let mut network = Network::start(webhook, alertmanager.address);
    let mut inbox = Inbox::default();
    let hosts = kill_while_flooded(&mut network, || {
        inbox.read(&notifications, &requests);
        inbox.statuses.len()
    });
    let calm = Instant::now();
    loop {
        inbox.read(&notifications, &requests);
        let ends = network.read("alerts").matches("\"status\":\"end\"").count();
        let [of_webhook, of_alertmanager] = inbox.ends();
        let counts = [ends, of_webhook, of_alertmanager];
        if counts.iter().all(|ends| *ends >= hosts) {
            break;
        }
        assert!(calm.elapsed() < PATIENCE, "{counts:?} of {hosts}\n{}", network.logs());
        thread::sleep(PAUSE);
    }
    // Repeated notifications may still arrive during this time.
    thread::sleep(3 * GROUP_INTERVAL);
    inbox.read(&notifications, &requests);
    let alerts = network.read("alerts");
    let ids = assert_notified_once(&alerts);
    assert_eq!((ids.len(), &network.stored()), (hosts, &ids), "{alerts}");
    assert_eq!(inbox.notifications, by_key(&alerts));
    assert!(
        inbox.statuses.values().all(|statuses| statuses == &["firing", "resolved"]),
        "{:?}",
        inbox.statuses
    );
    assert_eq!(inbox.statuses.len(), hosts);
    println!("{hosts} alerts, each with one start and one end");
}

/// Floods hosts one after the other while random processes are killed. Returns the number of flooded hosts. `sent`
/// returns the number of hosts of which the Alertmanager has sent an alert. A flood lasts until its alert has been
/// sent, because the Alertmanager sends nothing if it receives the start and the end at the same time.
fn kill_while_flooded(network: &mut Network, mut sent: impl FnMut() -> usize) -> usize {
    let (mut host, mut started) = (1, Instant::now());
    network.target.store(1, Relaxed);
    let mut is_sent = |network: &Network, host: u64, started: Instant| {
        thread::sleep(PAUSE);
        assert!(started.elapsed() < PATIENCE, "no alert of host {host}\n{}", network.logs());
        started.elapsed() > PHASE && sent() as u64 == host
    };
    for Kill { after, victim } in kills(5, 2_000) {
        let until = Instant::now() + after;
        while Instant::now() < until {
            if is_sent(network, host, started) {
                (host, started) = (host + 1, Instant::now());
                network.target.store(host, Relaxed);
            }
        }
        network.kill(victim);
    }
    while !is_sent(network, host, started) {}
    network.target.store(0, Relaxed);
    host as usize
}
