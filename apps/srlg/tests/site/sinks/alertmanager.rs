//! The Alertmanager of Debian, which tells a webhook of this test what it made of the alerts.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_cli::alerts::{Severity, Status};
use srlg_cli::notify::sinks::Sinks;
use srlg_cli::notify::store::Store;

use super::made::{Request, notices, serve, sink, wait};

const PROGRAMS: [&str; 2] = ["/usr/bin/prometheus-alertmanager", "/usr/local/bin/alertmanager"];
const REQUIRED: &str = "SRLG_REQUIRE_ALERTMANAGER";

struct Server {
    program: PathBuf,
    folder: tempfile::TempDir,
    address: SocketAddr,
    child: Child,
}

impl Server {
    /// A server that tells `webhook`, or none where there is no program.
    fn start(webhook: SocketAddr) -> Option<Self> {
        let program = PROGRAMS.map(PathBuf::from).into_iter().find(|program| program.exists());
        let Some(program) = program else {
            assert!(std::env::var_os(REQUIRED).is_none(), "there is no prometheus-alertmanager");
            let text = "skipped: there is no Alertmanager (scripts/alertmanager.sh)\n";
            // Past the harness, which keeps what a test prints to itself.
            std::io::stderr().write_all(text.as_bytes()).unwrap();
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "route: {{receiver: test, group_by: [...], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}}\n\
             receivers: [{{name: test, webhook_configs: [{{url: 'http://{webhook}/', send_resolved: true}}]}}]\n"
        );
        fs::write(folder.path().join("config.yml"), config).unwrap();
        // A port that is free now.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = run(&program, folder.path(), address);
        Some(Self { program, folder, address, child })
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = run(&self.program, self.folder.path(), self.address);
    }

    /// The labels of alerts that go on there.
    fn alerts(&self) -> Vec<Value> {
        let url = format!("http://{}/api/v2/alerts?active=true", self.address);
        let Ok(mut response) = ureq::get(&url).call() else { return Vec::new() };
        let alerts: Vec<Value> = response.body_mut().read_json().unwrap();
        alerts.into_iter().map(|mut alert| alert["labels"].take()).collect()
    }

    /// Waits until there are `severities` and no more.
    fn wait(&self, severities: &[&str]) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let alerts = self.alerts();
            if alerts.iter().map(|alert| &alert["severity"]).eq(severities) {
                return;
            }
            assert!(Instant::now() < until, "{alerts:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

fn run(program: &Path, folder: &Path, address: SocketAddr) -> Child {
    Command::new(program)
        .arg(format!("--config.file={}", folder.join("config.yml").display()))
        .arg(format!("--storage.path={}", folder.join("data").display()))
        .arg(format!("--web.listen-address={address}"))
        .arg("--cluster.listen-address=")
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What people are told next: firing or resolved, and the severity.
fn told(requests: &Receiver<Request>) -> (String, String) {
    let (_, body) = requests.recv_timeout(Duration::from_secs(60)).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert!(body["alerts"][0]["annotations"]["summary"].as_str().unwrap().contains("10.0.0.1"));
    (text(&body["status"]), text(&body["commonLabels"]["severity"]))
}

#[test]
fn an_alertmanager_of_debian_tells_starts_severities_and_ends_once() {
    let (webhook, requests) = serve(&["200 OK"]);
    let Some(mut server) = Server::start(webhook) else { return };
    let store = Store::open(None).unwrap();
    let options =
        format!("type = 'alertmanager'\nresend = '1s'\nurl = 'http://{}'", server.address);
    let start = || Sinks::start(&[sink(&options)], &store).unwrap();
    let pair = |text: &str, severity: &str| (text.to_owned(), severity.to_owned());
    let sinks = start();
    let notices = notices(1);
    let [started, ended] = &notices[..] else { panic!("{notices:?}") };
    store.add(std::slice::from_ref(started), &[]).unwrap();
    sinks.wake();
    server.wait(&["warning"]);
    let labels = server.alerts().remove(0);
    let names: Vec<&String> = labels.as_object().unwrap().keys().collect();
    assert_eq!(names, ["alertname", "direction", "host", "rule", "severity", "view"]);
    assert_eq!((&labels["rule"], &labels["direction"]), (&"r\"] x".into(), &"fan-in".into()));
    assert_eq!(told(&requests), pair("firing", "warning"));

    // A monitor that starts again tells nobody anything new.
    sinks.finish(Duration::ZERO);
    let sinks = start();
    let critical = srlg_cli::notify::notice::Notice {
        status: Status::Update,
        severity: Severity::Critical,
        ..started.clone()
    };
    wait(&sinks, |board| board.queue == 0);
    std::thread::sleep(Duration::from_millis(1_500));
    store.add(&[critical], &[]).unwrap();
    sinks.wake();
    server.wait(&["critical"]);
    let mut both = [told(&requests), told(&requests)];
    both.sort();
    assert_eq!(both, [pair("firing", "critical"), pair("resolved", "warning")]);

    // A server that starts again knows nothing, until the next time that it is told.
    server.stop();
    wait(&sinks, |board| board.error.is_some());
    server.start_again();
    server.wait(&["critical"]);
    wait(&sinks, |board| board.error.is_none());

    let ended = srlg_cli::notify::notice::Notice { severity: Severity::Critical, ..ended.clone() };
    store.add(&[ended], &[]).unwrap();
    sinks.wake();
    server.wait(&[]);
    loop {
        // After a kill, a server may not know that it has told of a start.
        let (status, severity) = told(&requests);
        assert_eq!(severity, "critical");
        if status == "resolved" {
            break;
        }
    }
    sinks.finish(Duration::from_secs(5));
}
