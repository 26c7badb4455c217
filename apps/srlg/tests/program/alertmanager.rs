//! Alertmanager, as packaged by Debian or installed in `/usr/local/bin`.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use srlg_traffic::skip::skip_or_fail;

use crate::process::PATIENCE;

const PROGRAMS: [&str; 2] = ["/usr/bin/prometheus-alertmanager", "/usr/local/bin/alertmanager"];
/// The configuration that srlg ships.
const CONFIG: &str = include_str!("../../service/alertmanager.yml");

pub(crate) const REQUIRED: &str = "SRLG_REQUIRE_ALERTMANAGER";

/// Minimum time between two messages to the webhook about one alert.
pub(crate) const GROUP_INTERVAL: Duration = Duration::from_secs(1);

/// A running Alertmanager, which is killed when this value is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Server {
    /// Starts a server that notifies `webhook`. If Alertmanager is not installed, prints a message and returns `None`,
    /// or panics if `SRLG_REQUIRE_ALERTMANAGER` is set.
    pub(crate) fn start(webhook: &str) -> Option<Self> {
        if program().is_none() {
            skip_or_fail(REQUIRED, "Alertmanager is missing; run scripts/alertmanager.sh");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let (_, inhibition) = CONFIG.split_once("inhibit_rules:").unwrap();
        let config = format!(
            "route: {{receiver: test, group_by: [...], group_wait: 0s, group_interval: {}s, repeat_interval: 1h}}\n\
             receivers: [{{name: test, webhook_configs: [{{url: '{webhook}', send_resolved: true}}]}}]\n\
             inhibit_rules:{inhibition}",
            GROUP_INTERVAL.as_secs()
        );
        fs::write(folder.path().join("config.yml"), config).unwrap();
        // This port is not in use.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut server = Self { address, folder, child: None };
        server.run();
        Some(server)
    }

    /// Starts the process and waits until it accepts connections. Can be called again after [`stop`](Self::stop).
    pub(crate) fn run(&mut self) {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let mut command = Command::new(program().unwrap());
        command
            .arg(format!("--config.file={}", path("config.yml")))
            .arg(format!("--storage.path={}", path("data")))
            .arg(format!("--web.listen-address={}", self.address))
            .arg("--cluster.listen-address=")
            .stderr(Stdio::null());
        let child = self.child.insert(command.spawn().unwrap());
        let started = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            assert_eq!(child.try_wait().unwrap(), None, "Alertmanager has stopped");
            assert!(started.elapsed() < PATIENCE, "Alertmanager accepts no connections");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the process.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn program() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|program| Path::new(program).exists())
}
