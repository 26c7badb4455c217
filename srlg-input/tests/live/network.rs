//! A test in a network namespace: its program runs once more, under `unshare --net`, for this test alone, with two virtual interfaces,
//! what is sent into one comes out of the other, and tcpreplay that sends.
//!
//! Invariant: a test passes only if its body ran, or if it said what is missing and nobody requires it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, fs, io, process};

use crate::traffic::Traffic;

const SENDING: &str = "sending";

/// The pair of interfaces of this test's namespace.
pub(crate) struct Network;

impl Network {
    /// Name of the interface at which packets come out.
    pub(crate) const LISTENING: &str = "listening";

    /// Makes the pair, and nothing else that would send: a host of IPv6 looks for routers and neighbours.
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

    /// Name of the interface at which packets come out.
    pub(crate) fn listening(&self) -> &'static str {
        Self::LISTENING
    }

    /// Calls `ip`, which must succeed.
    pub(crate) fn ip(&self, words: &[&str]) {
        let output = Command::new("ip").args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "ip {words:?}: {said}");
    }

    /// Begins to send `traffic`; `rate` is an option of tcpreplay.
    pub(crate) fn play(&self, traffic: &Traffic, rate: &str) -> Player {
        self.play_rounds(traffic, rate, 1)
    }

    /// The same, `rounds` times over.
    pub(crate) fn play_rounds(&self, traffic: &Traffic, rate: &str, rounds: usize) -> Player {
        Self::start(Command::new("tcpreplay"), traffic, rate, rounds)
    }

    /// Begins to send `traffic` on the CPU of number `cpu`.
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

/// A tcpreplay that sends.
pub(crate) struct Player {
    /// Until it has ended.
    child: Option<Child>,
    file: PathBuf,
    expected: usize,
}

impl Player {
    /// Whether all has been sent; panics if tcpreplay failed, or sent other than all.
    pub(crate) fn has_ended(&mut self) -> bool {
        let Some(child) = &mut self.child else { return true };
        if child.try_wait().unwrap().is_none() {
            return false;
        }
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let told = format!("Successful packets:        {}\n", self.expected);
        assert!(
            output.status.success() && said.contains(&told),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        true
    }
}

/// Leaves nothing behind when a test fails.
impl Drop for Player {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill().and_then(|()| child.wait());
        }
        let _ = fs::remove_file(&self.file);
    }
}

/// Set in the second run, to the name of the test.
const INSIDE: &str = "SRLG_LIVE_TEST";
/// Set by who wants a failure where something is missing.
const REQUIRED: &str = "SRLG_REQUIRE_LIVE";

/// Runs `body` as root of a network of its own; `test` is the path of the test function.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    run(test, &[], body);
}

/// The same, without the permission to capture.
pub(crate) fn without_permission(test: &str, body: impl FnOnce()) {
    run(test, &["setpriv", "--bounding-set", "-net_raw"], body);
}

fn run(test: &str, prefix: &[&str], body: impl FnOnce()) {
    if env::var(INSIDE).is_ok_and(|name| name == test) {
        return body();
    }
    if let Some(missing) = missing() {
        assert!(env::var(REQUIRED).is_err(), "{test} needs {missing}, and {REQUIRED} is set");
        println!("{test}: skipped, it needs {missing}");
        return;
    }
    let program = env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.arg("--net").args(prefix).arg(program);
    command.args(["--exact", test, "--nocapture", "--include-ignored"]).env(INSIDE, test);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} fails in its namespace");
    // A name that is not that of a test would run none, and well.
    assert!(said.contains("test result: ok. 1 passed"), "{test} is no test");
}

/// The first thing that the tests need and that is not there.
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
