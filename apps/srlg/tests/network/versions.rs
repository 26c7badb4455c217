//! A changed configuration creates a new version of the network. Probes keep running, and incidents stay active.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use srlg_cli::network::broker::Broker;
use srlg_cli::network::connect::Access;
use srlg_cli::network::{NetworkVersion, bucket};

use crate::net::{run, start_broker};
use crate::probe::ProbeConfig;
use crate::process::{PATIENCE, Process};

fn configuration(folder: &Path, broker: &Broker, memory: u32) -> String {
    let folder = folder.display();
    let broker = broker.address();
    format!(
        "inside = ['10.0.0.0/8']\nslice = '250ms'\nstate = '{folder}/state'\nhttp = '127.0.0.1:0'\n\
         [network]\nprobes = ['a']\nfolder = '{folder}'\nbroker = '{broker}'\ndeadline = '2s'\n\
         [[view]]\nname = 'all'\npairs = 20_000\nmemory = {memory}\n\
         [[rule]]\nname = 'all'\nthresholds = {{ 2s = 50 }}\nhold = '1s'\n\
         [[sink]]\ntype = 'file'\npath = '{folder}/notifications.ndjson'\n"
    )
}

fn collect(folder: &Path) -> Process {
    collect_by(folder, "srlg.toml")
}

fn collect_by(folder: &Path, config: &str) -> Process {
    let [config, reports] = [config, "reports.ndjson"].map(|name| folder.join(name));
    let args = ["collect".as_ref(), "--config".as_ref(), config.as_os_str()];
    Process::srlg(args.into_iter().chain(["--reports".as_ref(), reports.as_os_str()]))
}

/// Returns the current version of the network, which is stored on the broker.
fn current(folder: &Path, broker: &str) -> Option<NetworkVersion> {
    run(async {
        let access = Access { folder: folder.to_owned(), broker: broker.to_owned() };
        let link = access.connect("a").await.unwrap();
        Some(bucket::read(&link.client).await.ok()??.version)
    })
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Contacts of one host with a hundred peers in turn, so that each window of two seconds contains all peers.
struct Contacts {
    step_ms: u128,
    next: u128,
}

impl Contacts {
    fn begin() -> Self {
        let step_ms = 20;
        Self { step_ms, next: now_ms() / step_ms }
    }

    /// Sends contacts to the probe in real time until `is_so` returns true.
    fn until(&mut self, probe: &mut Process, mut is_so: impl FnMut() -> bool) {
        let since = Instant::now();
        while !is_so() {
            assert!(since.elapsed() < PATIENCE, "the condition was never met");
            for step in self.next..now_ms() / self.step_ms {
                let (time_ms, peer) = (step * self.step_ms, step % 100 + 1);
                probe.write(&format!("{time_ms},192.0.2.{peer},10.0.0.1\n"));
                self.next = step + 1;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()
}

#[test]
fn other_sizes_begin_with_an_agreed_slice_and_an_empty_window_and_end_no_incident() {
    let Some((folder, broker)) = start_broker(&["a".to_owned()]) else { return };
    let folder = folder.path();
    let (config, notifications) = (folder.join("srlg.toml"), folder.join("notifications.ndjson"));
    fs::write(&config, configuration(folder, &broker, 3_000_000)).unwrap();
    let mut collector = collect(folder);
    let (state, address) = (&folder.join("spool"), broker.address());
    let tables = "[input]\ninput = ['-']\nlive = true\n";
    let probe = ProbeConfig { name: "a", folder, broker: &address, state, general: "", tables };
    let mut probe = Process::start(&mut probe.command());
    probe.write("time_ms,src,dst\n");
    let mut contacts = Contacts::begin();
    contacts.until(&mut probe, || !lines(&notifications).is_empty());

    collector.terminate();
    assert_eq!(collector.end().0, Some(0));
    fs::write(&config, configuration(folder, &broker, 3_500_000)).unwrap();
    let before = lines(&folder.join("reports.ndjson")).len();
    let mut collector = collect(folder);
    let mut version = None;
    contacts.until(&mut probe, || {
        version = current(folder, &address).filter(|version| version.id.number == 2);
        version.is_some()
    });
    let version = version.unwrap();
    let last = version.first_slice + 9;
    let reports = || lines(&folder.join("reports.ndjson")).split_off(before);
    contacts.until(&mut probe, || {
        reports().last().is_some_and(|it| it["slice"].as_u64() >= Some(last))
    });
    let slices: Vec<u64> = reports().iter().map(|it| it["slice"].as_u64().unwrap()).collect();
    assert_eq!(slices, (version.first_slice..).take(slices.len()).collect::<Vec<_>>());
    assert_eq!(reports()[0]["super_points"], Value::Array(Vec::new()), "the window must be empty");
    for report in reports() {
        assert_eq!((&report["closed"], &report["delivered"][0]), (&"complete".into(), &"a".into()));
    }
    assert_eq!(lines(&notifications).len(), 1, "the incident must still be active");
    let since = Instant::now();
    while lines(&notifications).len() < 2 {
        assert!(since.elapsed() < PATIENCE, "the incident did not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let notifications = lines(&notifications);
    assert_eq!([&notifications[0]["status"], &notifications[1]["status"]], ["start", "end"]);
    assert_eq!(notifications[0]["id"], notifications[1]["id"]);
    for versions in ["spool/a", "state/network"] {
        let entries =
            fs::read_dir(folder.join(versions)).unwrap().map(|entry| entry.unwrap().path());
        let folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
        assert_eq!(folders, [folder.join(versions).join(version.id.to_string())], "{versions}");
    }
    collector.terminate();
    assert_eq!(collector.end().0, Some(0));
    probe.hang_up();
    assert_eq!(probe.end().0, Some(0));
}

#[test]
fn a_collector_ends_when_another_one_has_changed_the_network() {
    let Some((folder, broker)) = start_broker(&["a".to_owned()]) else { return };
    let folder = folder.path();
    let address = broker.address();
    let config = configuration(folder, &broker, 3_000_000);
    fs::write(folder.join("srlg.toml"), &config).unwrap();
    let other = config.replace("/state'", "/other'").replace("notifications", "others");
    let other = other.replace("3000000", "3500000");
    fs::write(folder.join("other.toml"), other).unwrap();
    let wait_for = |number| {
        let since = Instant::now();
        loop {
            assert!(since.elapsed() < PATIENCE, "version {number} did not appear");
            if let Some(version) = current(folder, &address).filter(|it| it.id.number == number) {
                return version;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let mut first = collect(folder);
    wait_for(1);
    let mut second = collect_by(folder, "other.toml");
    second.wait_for("the page is at");
    let version = wait_for(2);
    let (code, said) = first.end();
    assert_eq!(code, Some(3), "{said}");
    let last = said.lines().last().unwrap().replace(&version.id.to_string(), "SECOND");
    assert!(last.contains("the broker has network version SECOND"), "{said}");
    second.terminate();
    let (code, said) = second.end();
    assert_eq!(code, Some(0), "{said}");
    // A collector without its state reads the version from the broker.
    fs::remove_dir_all(folder.join("other")).unwrap();
    let mut third = collect_by(folder, "other.toml");
    third.wait_for("the page is at");
    assert_eq!(wait_for(2), version);
    third.terminate();
    assert_eq!(third.end().0, Some(0));
}
