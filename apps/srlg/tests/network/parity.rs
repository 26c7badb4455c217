//! `srlg run`, `srlg probe` and `srlg collect` are operated alike: each has a file that `srlg check` accepts, a page,
//! metrics, health, reloads, and messages to a service manager. Reloads apply names of exporters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::manager::Manager;
use crate::net::{Net, make_folder, start_broker};
use crate::network_traffic::configuration_with;
use crate::probe::ProbeConfig;
use crate::process::{PATIENCE, Process};
use crate::routers::RULES;

const INPUT: &str = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['192.0.2.1']\n";

const EXPORTER: &str = "[[exporter]]\nname = 'edge-1'\nnetworks = ['192.0.2.1']\n";

/// A process, its configuration file, and its service manager.
struct Operated {
    process: Process,
    config: PathBuf,
    manager: Manager,
    page: String,
}

impl Operated {
    /// Checks the configuration `config` and starts `srlg` with `command`.
    fn start(command: &str, config: &Path) -> Self {
        let srlg = |command| {
            let mut srlg = Command::new(env!("CARGO_BIN_EXE_srlg"));
            srlg.args([command, "--config"]).arg(config);
            srlg
        };
        let checked = srlg("check").output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let manager = Manager::new(config.parent().unwrap());
        let mut process = Process::start(manager.watch(&mut srlg(command)));
        let page = process.wait_for_text_after("the page is at http://");
        let page = page.trim_end_matches('/').to_owned();
        Self { process, config: config.to_owned(), manager, page }
    }

    fn get(&self, path: &str) -> String {
        let url = format!("http://{}{path}", self.page);
        ureq::get(url).call().unwrap().body_mut().read_to_string().unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.get("/api/v1/status")).unwrap()
    }

    #[track_caller]
    fn wait(&mut self, mut is_so: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            let is_running = self.process.wait(Duration::from_millis(20)).is_none();
            assert!(is_running && start.elapsed() < PATIENCE, "{}", self.process.log());
        }
    }

    /// Asserts that the process is operated like all others, and stops it. `metric` is a metric that it must have.
    fn assert_operated(mut self, metric: &str) {
        let names = |it: &Self| -> Vec<Value> {
            let status = it.status();
            let exporters = status["exporters"].as_array().unwrap().iter();
            exporters.map(|exporter| exporter["name"].clone()).collect()
        };
        self.wait(|it| it.status()["slice_ms"] != 0 && it.manager.count("READY=1") == 1);
        assert!(self.get("/").contains("<title>srlg</title>"));
        assert!(self.get("/metrics").lines().any(|line| line.starts_with(metric)));
        assert!(["ok", "degraded: "].iter().any(|it| self.get("/healthz").starts_with(it)));
        let before = names(&self);
        assert!(before.iter().all(|name| name == "edge-1"), "{before:?}");
        self.wait(|it| it.manager.count("WATCHDOG=1") > 1);

        let started = self.status()["last_reload_ms"].clone();
        let text = fs::read_to_string(&self.config).unwrap();
        fs::write(&self.config, text.replace("edge-1", "edge-2")).unwrap();
        self.process.signal("HUP");
        self.wait(|it| it.status()["last_reload_ms"] != started);
        assert_eq!(self.status()["is_last_reload_good"], true);
        // A probe counts in another thread, which takes over the names a moment later.
        self.wait(|it| names(it) == vec![Value::from("edge-2"); before.len()]);
        assert_eq!(self.manager.count("RELOADING=1"), 1);
        assert_eq!(self.manager.count("READY=1"), 2);
        self.process.terminate();
        let (code, log) = self.process.end();
        assert_eq!(code, Some(0), "{log}");
        let start = Instant::now();
        while self.manager.count("STOPPING=1") == 0 {
            assert!(start.elapsed() < PATIENCE, "{}", self.manager.heard());
        }
    }
}

#[test]
fn a_monitor_is_operated_like_a_probe_and_a_collector() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("srlg.toml");
    fs::write(&config, format!("http = '127.0.0.1:0'\n{INPUT}{EXPORTER}")).unwrap();
    Operated::start("run", &config).assert_operated("srlg_super_points{view=\"fan-in\"} 0");
}

#[test]
fn a_probe_is_operated_like_a_monitor_and_a_collector() {
    let Some(net) = Net::start() else { return };
    crate::net::run(net.stream());
    let probe = ProbeConfig {
        name: "a",
        folder: net.folder(),
        broker: &net.broker.address(),
        state: &net.spool(),
        general: "http = '127.0.0.1:0'\n",
        tables: &format!("{INPUT}{EXPORTER}"),
    };
    let probe = Operated::start("probe", &probe.write());
    let start = Instant::now();
    let status = loop {
        let status = probe.status();
        // The probe has acknowledged slices.
        if status["probe"]["newest"].is_u64() && status["probe"]["spool"]["unsent"] == 0 {
            break status;
        }
        assert!(start.elapsed() < PATIENCE, "{status}");
    };
    assert_eq!(
        (&status["probe"]["name"], &status["probe"]["is_connected"]),
        (&"a".into(), &true.into())
    );
    probe.assert_operated("srlg_probe_connected{probe=\"a\"} 1");
}

#[test]
fn a_probe_that_waits_for_its_network_says_so() {
    let folder = tempfile::tempdir().unwrap();
    make_folder(folder.path());
    let probe = ProbeConfig {
        name: "a",
        folder: folder.path(),
        broker: "localhost:1",
        state: &folder.path().join("state"),
        general: "http = '127.0.0.1:0'\n",
        tables: INPUT,
    };
    let mut probe = Operated::start("probe", &probe.write());
    probe.wait(|it| it.get("/healthz").starts_with("degraded: not connected to the broker"));
    let metrics = probe.get("/metrics");
    for line in ["srlg_probe_connected{probe=\"a\"} 0", "srlg_config_last_reload_successful 1"] {
        assert!(metrics.lines().any(|it| it == line), "{line}\n{metrics}");
    }
    assert_eq!(probe.manager.count("READY=1"), 0);
    probe.process.terminate();
    assert_eq!(probe.process.end().0, Some(0));
}

#[test]
fn a_probe_that_has_read_its_file_has_a_page_until_all_slices_are_stored() {
    let Some(net) = Net::start() else { return };
    crate::net::run(net.stream());
    let list =
        crate::input::csv(net.folder(), "a", |slice| crate::input::pairs(1, slice), 1000..1010);
    let general = "http = '127.0.0.1:0'\n";
    let tables = format!("[input]\ninput = ['{}']\n", list.display());
    let manager = Manager::new(net.folder());
    let mut command = net.probe("a", &net.spool(), general, &tables);
    let mut process = Process::start(manager.watch(command.arg("--wait-durable")));
    let page = process.wait_for_text_after("the page is at http://");
    let page = page.trim_end_matches('/').to_owned();
    process.wait_for("10 slices and ");
    let mut probe = Operated { process, config: PathBuf::new(), manager, page };
    let watched = probe.manager.count("WATCHDOG=1");
    probe.wait(|it| it.manager.count("WATCHDOG=1") > watched + 1);
    probe.wait(|it| it.status()["probe"]["spool"]["unsent"] == 0);
    assert_eq!(probe.status()["probe"]["newest"], 1009);
    probe.process.terminate();
    assert_eq!(probe.process.end().0, Some(0));
}

#[test]
fn a_collector_is_operated_like_a_monitor_and_a_probe() {
    let Some((folder, broker)) = start_broker(&["a".to_owned()]) else { return };
    let config = folder.path().join("srlg.toml");
    let broker = format!("[network]\nbroker = '{}'", broker.address());
    let text = configuration_with(folder.path(), RULES).replace("['a', 'b', 'c']", "['a']");
    let text = format!(
        "http = '127.0.0.1:0'\nstate = '{}'\n{}{EXPORTER}",
        folder.path().join("state").display(),
        text.replace("[network]", &broker)
    );
    fs::write(&config, text).unwrap();
    Operated::start("collect", &config).assert_operated("srlg_checkpoint_slice 0");
}
