//! A monitor with the default configuration, and the machine sinks that receive its notifications.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_alerts::Status;
use srlg_alerts::notification::Notification;
use srlg_cli::traffic::Traffic;
use srlg_notify::sinks::{SinkOptions, Sinks};
use srlg_notify::store::Store;
use tempfile::TempDir;

use crate::http::{Request, serve};
use crate::simulated::Simulated;

/// Maximum time until a sink must have sent a severe start. The sinks are threads with a clock of their own, so this is
/// real time, while the monitor runs in simulated time.
const SOON: Duration = Duration::from_secs(10);

/// A site that is watched with the default configuration.
pub(crate) struct Watched {
    pub(crate) site: Simulated,
    store: Store,
    sinks: Option<Sinks>,
    outputs: Outputs,
}

/// Everything that the machine sinks have sent so far.
struct Outputs {
    folder: TempDir,
    webhook: Receiver<Request>,
    alertmanager: Receiver<Request>,
    syslog: UdpSocket,
    posted: String,
    managed: Vec<Value>,
    logged: String,
}

/// Names of the machine sinks.
pub(crate) const SINKS: [&str; 5] = ["file", "exec", "webhook", "alertmanager", "syslog"];

impl Watched {
    pub(crate) fn new(seed: u64) -> Self {
        let config = "inside = ['10.0.0.0/8', '2001:db8::/32']\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";
        let folder = tempfile::tempdir().unwrap();
        let [(hook, webhook), (manager, alertmanager)] = [(); 2].map(|()| serve(&["200 OK"]));
        let syslog = UdpSocket::bind("127.0.0.1:0").unwrap();
        syslog.set_nonblocking(true).unwrap();
        let path = folder.path().display();
        let options = [
            format!("type = 'file'\npath = '{path}/file'"),
            // This program is slow, so severe alerts must pass others.
            format!("type = 'exec'\ncommand = ['/bin/sh', '-c', 'cat >>{path}/exec; sleep 0.2']"),
            format!("type = 'webhook'\nurl = 'http://{hook}/'"),
            format!("type = 'alertmanager'\nurl = 'http://{manager}/'\nresend = '1h'"),
            format!("type = 'syslog'\naddress = 'udp://{}'", syslog.local_addr().unwrap()),
        ];
        let options = options.map(|it| toml::from_str::<SinkOptions>(&it).unwrap());
        let store = Store::open(None).unwrap();
        let sinks = Sinks::start(&options, &store).unwrap();
        Self {
            site: Simulated::new(config, seed),
            store,
            sinks: Some(sinks),
            outputs: Outputs {
                folder,
                webhook,
                alertmanager,
                syslog,
                posted: String::new(),
                managed: Vec::new(),
                logged: String::new(),
            },
        }
    }

    /// Lets `seconds` seconds pass, with the traffic that `add` adds to each. Its second argument is the number of
    /// seconds since the first one.
    pub(crate) fn pass(&mut self, seconds: u64, add: impl Fn(&mut Traffic, u64)) {
        for second in 0..seconds {
            let notified = self.site.pass_second(|traffic| add(traffic, second));
            if !notified.is_empty() {
                self.store.add(notified, &[]).unwrap();
                self.sinks.iter().for_each(Sinks::wake);
            }
        }
    }

    /// Returns the victims that Alertmanager was told of, once it has all alerts.
    pub(crate) fn victims(&mut self) -> BTreeSet<String> {
        let started = Instant::now();
        let is_done = |sinks: &Sinks| {
            sinks.overviews().iter().all(|sink| sink.name != "alertmanager" || sink.queue == 0)
        };
        while !self.sinks.iter().all(is_done) {
            assert!(started.elapsed() < SOON, "all alerts must be sent to Alertmanager");
            thread::sleep(Duration::from_millis(20));
        }
        self.outputs.read_alertmanager();
        let labels = self.outputs.managed.iter().map(|alert| &alert["labels"]["victim_ip"]);
        labels.filter_map(|victim| Some(victim.as_str()?.to_owned())).collect()
    }

    /// Returns the notifications about `host` in `view`.
    pub(crate) fn about(&self, view: &str, host: IpAddr) -> Vec<&Notification> {
        let host = host.to_string();
        self.site
            .notified
            .iter()
            .filter(|it| it.view == view && it.host.to_string() == host)
            .collect()
    }

    /// Asserts that the flood of `host`, which began in second `from` and still runs, has one alert, which started within
    /// `slices` slices and has not ended, and that every machine sink has its start or a later notification of it.
    pub(crate) fn assert_reported(&mut self, host: IpAddr, from: u64, slices: u64) {
        let about = self.about("fan-in", host);
        let starts: Vec<_> = about.iter().filter(|it| it.status == Status::Start).collect();
        let [start] = starts[..] else { panic!("{starts:?}") };
        let after_ms = start.now_ms - (self.site.start_ms + from * 1_000);
        assert!(after_ms <= slices * 1_000, "the alert started after {after_ms} ms");
        assert!(about.iter().all(|it| it.status != Status::End), "{about:?}");
        let id = start.id.to_string();
        let started = Instant::now();
        for name in SINKS {
            loop {
                let statuses = self.outputs.statuses(name, &id);
                assert!(!statuses.contains(&"end".to_owned()), "{name}: {statuses:?}");
                if let Some(first) = statuses.first() {
                    assert!(["start", "active"].contains(&first.as_str()), "{name}: {statuses:?}");
                    break;
                }
                assert!(started.elapsed() < SOON, "the alert must be sent to {name}");
                thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The programs of the exec sink write into the folder, which is removed later.
        if let Some(sinks) = self.sinks.take() {
            sinks.finish(Duration::ZERO);
        }
    }
}

impl Outputs {
    fn read_alertmanager(&mut self) {
        for (head, body) in self.alertmanager.try_iter() {
            if head.contains("/alerts ") {
                let alerts: Vec<Value> = serde_json::from_str(&body).unwrap();
                self.managed.extend(alerts);
            }
        }
    }

    /// Returns the statuses of the notifications that the sink `name` has sent about the alert `id`.
    fn statuses(&mut self, name: &str, id: &str) -> Vec<String> {
        let of_lines = |text: &str| {
            let lines = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            // The last record may be incomplete.
            let lines = lines.map_while(Result::ok).filter(|it| it["id"] == *id);
            lines.map(|it| it["status"].as_str().unwrap().to_owned()).collect()
        };
        match name {
            "file" | "exec" => {
                of_lines(&fs::read_to_string(self.folder.path().join(name)).unwrap_or_default())
            }
            "webhook" => {
                for (_, body) in self.webhook.try_iter() {
                    self.posted += &body;
                }
                of_lines(&self.posted)
            }
            "alertmanager" => {
                self.read_alertmanager();
                let now = humantime::format_rfc3339_millis(std::time::SystemTime::now());
                let now = now.to_string();
                let about = self.managed.iter().filter(|it| it["annotations"]["id"] == *id);
                let status = |it: &Value| match it["endsAt"].as_str().unwrap() > now.as_str() {
                    true => "active".to_owned(),
                    false => "end".to_owned(),
                };
                about.map(status).collect()
            }
            _ => {
                let mut buffer = [0; 9_000];
                while let Ok(length) = self.syslog.recv(&mut buffer) {
                    self.logged += &String::from_utf8_lossy(&buffer[..length]);
                    self.logged += "\n";
                }
                let about = self.logged.lines().filter(|line| line.contains(&format!("id={id} ")));
                let status = |line: &str| {
                    let (_, rest) = line.split_once("status=").unwrap();
                    rest.split(' ').next().unwrap().to_owned()
                };
                about.map(status).collect()
            }
        }
    }
}
