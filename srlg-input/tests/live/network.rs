//! A runner for tests in a network namespace. For each test, it starts the test program again under `unshare --net`.
//! The test creates a pair of connected virtual interfaces. Packets that tcpreplay sends into one interface arrive on
//! the other.
//!
//! Invariant: a test passes only if its body ran, or if it reported a missing requirement that is not mandatory.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, fs, io, process};

use srlg_traffic::skip::skip_or_fail;

use crate::traffic::Traffic;

const SENDING: &str = "sending";

/// The pair of interfaces in the namespace of a test.
pub(crate) struct Network;

impl Network {
    /// Name of the interface on which packets arrive.
    pub(crate) const LISTENING: &str = "listening";

    /// Creates the pair of interfaces. Disables IPv6 in the namespace, because an IPv6 host sends packets to search for
    /// routers and neighbours.
    pub(crate) fn new() -> Self {
        for scope in ["all", "default"] {
            let switch = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
            match fs::write(&switch, "1") {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    panic!("{switch}: {error}")
                }
                _ => {}
            }
        }
        let network = Self;
        network.ip(&[
            "link",
            "add",
            "name",
            SENDING,
            "type",
            "veth",
            "peer",
            "name",
            Self::LISTENING,
        ]);
        for interface in [SENDING, Self::LISTENING] {
            network.ip(&["link", "set", "dev", interface, "up"]);
        }
        network
    }

    pub(crate) fn listening(&self) -> &'static str {
        Self::LISTENING
    }

    pub(crate) fn ip(&self, words: &[&str]) {
        let output = Command::new("ip").args(words).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {words:?}: {printed}");
    }

    /// Starts sending `traffic` once. `rate` is an option of tcpreplay.
    pub(crate) fn play(&self, traffic: &Traffic, rate: &str) -> Player {
        self.play_rounds(traffic, rate, 1)
    }

    /// Starts sending `traffic` `rounds` times.
    pub(crate) fn play_rounds(&self, traffic: &Traffic, rate: &str, rounds: usize) -> Player {
        Self::start(Command::new("tcpreplay"), traffic, rate, rounds)
    }

    pub(crate) fn play_on(&self, cpu: u32, traffic: &Traffic, rate: &str) -> Player {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &cpu.to_string(), "tcpreplay"]);
        Self::start(command, traffic, rate, 1)
    }

    fn start(mut command: Command, traffic: &Traffic, rate: &str, rounds: usize) -> Player {
        static PLAYERS: AtomicUsize = AtomicUsize::new(0);
        let number = PLAYERS.fetch_add(1, Relaxed);
        let file = env::temp_dir().join(format!("srlg-live-{}-{number}.pcap", process::id()));
        fs::write(&file, traffic.file()).unwrap();
        command.args(["--preload-pcap", "--intf1", SENDING, rate]);
        command.arg(format!("--loop={rounds}")).arg(&file);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Player { child: Some(child), file, expected: traffic.frames.len() * rounds }
    }
}

/// A tcpreplay process.
pub(crate) struct Player {
    /// The process, or `None` after it has ended.
    child: Option<Child>,
    file: PathBuf,
    expected: usize,
}

impl Player {
    /// Returns whether tcpreplay has ended. Panics if tcpreplay failed or did not send all packets.
    pub(crate) fn has_ended(&mut self) -> bool {
        let Some(child) = &mut self.child else { return true };
        if child.try_wait().unwrap().is_none() {
            return false;
        }
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let expected = format!("Successful packets:        {}\n", self.expected);
        assert!(
            output.status.success() && printed.contains(&expected),
            "{printed}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        true
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill().and_then(|()| child.wait());
        }
        let _ = fs::remove_file(&self.file);
    }
}

/// Environment variable that contains the path of the test. It is set only when the test runs again, inside the
/// namespace.
const INSIDE: &str = "SRLG_LIVE_TEST";
/// Environment variable that makes tests fail if a requirement is missing.
const REQUIRED: &str = "SRLG_REQUIRE_LIVE";

/// Runs `body` as root in a separate network namespace. `test` is the path of the test function.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    run(test, &[], body);
}

/// Runs `body` as [`alone`] does, but without the permission to capture.
pub(crate) fn without_permission(test: &str, body: impl FnOnce()) {
    run(test, &["setpriv", "--bounding-set", "-net_raw"], body);
}

fn run(test: &str, prefix: &[&str], body: impl FnOnce()) {
    if env::var(INSIDE).is_ok_and(|name| name == test) {
        return body();
    }
    if let Some(missing) = missing() {
        return skip_or_fail(
            REQUIRED,
            &format!("{missing} is missing; run scripts/live.sh as root"),
        );
    }
    let program = env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.arg("--net").args(prefix).arg(program);
    command.args(["--exact", test, "--nocapture", "--include-ignored"]).env(INSIDE, test);
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} fails in its namespace");
    // With a wrong name, the second run would succeed without running any test.
    assert!(printed.contains("test result: ok. 1 passed"), "{test} is not a test");
}

fn missing() -> Option<&'static str> {
    let needs: [(&[&str], _); 5] = [
        (&["unshare", "--net", "true"], "root, and unshare of util-linux"),
        (&["setpriv", "--version"], "setpriv of util-linux"),
        (&["taskset", "--version"], "taskset of util-linux"),
        (&["ip", "-Version"], "ip of iproute2"),
        (&["tcpreplay", "--version"], "tcpreplay"),
    ];
    let runs = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).output();
        output.is_ok_and(|output| output.status.success())
    };
    needs.into_iter().find(|(words, _)| !runs(words)).map(|(_, name)| name)
}
