//! A monitor under a service manager: readiness and watchdog messages, reloads that keep alerts active, and file
//! permissions.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::manager::Manager;
use crate::process::{PATIENCE, Process};

fn config(slice: &str, threshold: &str, label: &str) -> String {
    format!(
        "slice = '{slice}'\n[input]\ninput = ['-']\nlive = true\n[[view]]\nname = 'in'\nrole = 'destination'\n[[rule]]\nname = 'r'\n\
         thresholds = {{ 60s = 50 }}\nhold = '1m'\n[[rule]]\nname = 'far'\nnetworks = ['10.2.0.0/16']\n\
         thresholds = {{ 60s = {threshold} }}\n[[label]]\nname = '{label}'\nnetworks = ['10.0.0.0/8']\n\
         [[sink]]\ntype = 'file'\npath = 'alerts'\n"
    )
}

/// Writes contacts of two hosts with 100 peers each to `monitor` until `is_done` returns true.
#[track_caller]
fn feed(monitor: &mut Process, mut is_done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < until, "the condition was not met in time");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
        let mut lines = String::new();
        for peer in 0..100 {
            for host in 1..3 {
                writeln!(lines, "{now},198.51.100.{peer},10.{host}.0.1").unwrap();
            }
        }
        monitor.write(&lines);
        thread::sleep(Duration::from_millis(40));
    }
}

fn alerts(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn a_service_manager_is_notified_and_a_reload_applies_what_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let manager = Manager::new(folder.path());
    fs::write(path("srlg.toml"), config("100ms", "100000", "old")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
    command.args(["run", "--config"]).arg(path("srlg.toml")).current_dir(folder.path());
    let mut monitor = Process::start(manager.watch(&mut command));
    monitor.write("time_ms,src,dst\n");
    let reload = |monitor: &Process, text: &str| {
        fs::write(path("srlg.toml"), text).unwrap();
        monitor.signal("HUP");
    };
    feed(&mut monitor, || !alerts(&path("alerts")).is_empty());
    feed(&mut monitor, || manager.count("WATCHDOG=1") > 0);
    assert!(manager.heard().starts_with("READY=1\n"), "{}", manager.heard());

    let is_ready = |times: usize| manager.count("READY=1") == times;
    // An invalid configuration changes nothing, and its error is logged with the line number.
    reload(&monitor, &config("100ms", "many", "new"));
    feed(&mut monitor, || is_ready(2));

    // A threshold and a label are applied, and alerts stay active. A change of slice needs a restart.
    reload(&monitor, &config("250ms", "60", "new"));
    feed(&mut monitor, || is_ready(3));
    reload(&monitor, &config("100ms", "60", "new"));
    feed(&mut monitor, || alerts(&path("alerts")).len() > 1);
    feed(&mut monitor, || is_ready(4));
    assert_eq!(manager.count("RELOADING=1\nMONOTONIC_USEC="), 3, "{}", manager.heard());
    // A second SIGTERM within milliseconds must not disturb the shutdown.
    for _ in 0..2 {
        monitor.terminate();
    }
    let (code, log) = monitor.end();
    assert_eq!(code, Some(0), "{log}");
    let until = Instant::now() + PATIENCE;
    while manager.count("STOPPING=1") == 0 {
        assert!(Instant::now() < until, "{}", manager.heard());
        thread::sleep(Duration::from_millis(10));
    }

    let [first, second] = &alerts(&path("alerts"))[..] else { panic!("{log}") };
    let warnings = log
        .lines()
        .filter_map(|line| Some(line.split_once("  WARN ")?.1))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(warnings.replace(folder.path().to_str().unwrap(), "FOLDER"));
    let facts = |alert: &Value| -> Vec<String> {
        ["status", "host", "rule", "label"].map(|name| alert[name].as_str().unwrap().into()).into()
    };
    assert_eq!(facts(first), ["start", "10.1.0.1", "r", "old"]);
    assert_eq!(facts(second), ["start", "10.2.0.1", "far", "new"]);
}

/// Returns the names of all files and folders below `folder` that users other than the owner can access.
fn open_files(folder: &Path) -> Vec<String> {
    let mut open = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.metadata().unwrap().permissions().mode() & 0o077 != 0 {
            open.push(entry.file_name().into_string().unwrap());
        }
        if entry.file_type().unwrap().is_dir() {
            open.extend(open_files(&entry.path()));
        }
    }
    open
}

#[test]
fn written_files_are_private_and_an_open_state_causes_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("input"), "time_ms,src,dst\n1000,192.0.2.1,10.0.0.1\n").unwrap();
    let config = "state = 'state'\n[[sink]]\ntype = 'file'\npath = 'alerts'\n";
    fs::write(path("srlg.toml"), config).unwrap();
    for name in ["input", "srlg.toml"] {
        fs::set_permissions(path(name), Permissions::from_mode(0o600)).unwrap();
    }
    let run = || {
        // The shell sets the usual umask, which may differ from the umask of the test.
        let line = "umask 022; \"$0\" run --config \"$1/srlg.toml\" --input \"$1/input\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", line, env!("CARGO_BIN_EXE_srlg")]).arg(folder.path());
        shell.current_dir(folder.path());
        let output = shell.output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), log.matches("can read the state").count())
    };
    assert_eq!(run(), (true, 0));
    assert!(path("state/views").exists() && path("state/srlg.sqlite").exists());
    assert_eq!(open_files(folder.path()), [""; 0]);
    fs::set_permissions(path("state"), Permissions::from_mode(0o755)).unwrap();
    // The state is now newer than the input.
    assert_eq!(run(), (false, 1));
}
