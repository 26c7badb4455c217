//! Programs that read from a Kafka or NATS broker, are killed, and continue from their state.
//!
//! The callback `produce` is called with 0, 1 and 2. Each call writes 2,000 flows, whose peers differ from those of the
//! other two calls.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use srlg_cli::network::broker::Broker as Nats;

use crate::probe::ProbeConfig;
use crate::process::Process;
use crate::running::{Site, start, when};

const VIEW: &str = "[[view]]\nname = 'in'\nrole = 'destination'\n\
    [[rule]]\nname = 'r'\nthresholds = { 300s = 500 }\n";

pub(crate) fn monitor(folder: &Path, input: &str) -> Site {
    let config = format!(
        "http = '127.0.0.1:0'\nstate = 'state'\nslice = '1s'\ncheckpoint = '3s'\n\
         [input]\n{input}\n{VIEW}"
    );
    fs::write(folder.join("srlg.toml"), config).unwrap();
    Site::start(folder, &["run", "--config", "srlg.toml"])
}

/// Waits until a checkpoint is written.
fn wait_for_checkpoint(folder: &Path) {
    let (now, checkpoints) = (SystemTime::now(), folder.join("state/views/in"));
    when(|| {
        let mut files = fs::read_dir(&checkpoints).ok()?;
        let is_new = |file: fs::DirEntry| {
            // A file with another extension is incomplete.
            file.path().extension().is_some_and(|extension| extension == "srlg")
                && file.metadata().is_ok_and(|file| file.modified().unwrap() > now)
        };
        files.any(|file| is_new(file.unwrap())).then_some(())
    });
}

/// Kills a monitor, restarts it, and checks that it has counted all flows. Returns the restarted monitor.
pub(crate) fn check_monitor(
    folder: &Path,
    input: &str,
    partitions: usize,
    produce: impl Fn(u32),
) -> Site {
    let site = monitor(folder, input);
    when(|| (site.status()["broker"]["partitions"] == partitions).then_some(()));
    produce(0);
    site.wait_for_contacts(2_000);
    // The second checkpoint from now was begun after these flows, so it contains them and their position.
    (0..2).for_each(|_| wait_for_checkpoint(folder));
    // These flows may not be in a checkpoint.
    produce(1);
    site.wait_for_contacts(4_000);
    drop(site);
    // These flows arrive while the program is not running.
    produce(2);
    let site = monitor(folder, input);
    let peers = site.peers(|peers| peers > 5_700.0);
    assert!(peers < 6_300.0, "{peers}");
    for line in
        ["srlg_broker_lag_messages 0", "srlg_broker_failing 0", "srlg_broker_expired_total 0"]
    {
        when(|| site.get("/metrics").lines().any(|it| it == line).then_some(()));
    }
    site
}

/// Kills a probe with the keys `input` of `[input]`, restarts it, and checks that the collector receives all flows.
pub(crate) fn check_probe(input: &str, partitions: usize, produce: impl Fn(u32)) {
    let folder = tempfile::tempdir().unwrap();
    let configure = |nats: &str| {
        let config = format!(
            "http = '127.0.0.1:0'\nstate = 'state'\nslice = '1s'\n\
             [network]\nprobes = ['a']\nbroker = '{nats}'\n{VIEW}"
        );
        fs::write(folder.path().join("srlg.toml"), config).unwrap();
    };
    configure("localhost");
    let (code, said) = start(folder.path(), &["setup", "--config", "srlg.toml"]).end();
    assert_eq!(code, Some(0), "{said}");
    let nats = Nats::start(folder.path()).unwrap();
    configure(&nats.address());
    let collector = Site::start(folder.path(), &["collect", "--config", "srlg.toml"]);
    let tables = &format!("[input]\n{input}\n");
    let probe = ProbeConfig {
        name: "a",
        folder: folder.path(),
        broker: &nats.address(),
        state: &folder.path().join("spool"),
        general: "",
        tables,
    };
    let mut command = probe.command();
    let probe = Process::start(&mut command);
    let position = folder.path().join("spool/a/position");
    let offsets = || {
        let text = fs::read_to_string(&position).ok()?;
        let position: Value = serde_json::from_str(&text).ok()?;
        position["offsets"].as_object().map(Map::len)
    };
    when(|| offsets().filter(|offsets| *offsets == partitions));
    produce(0);
    collector.peers(|peers| peers > 1_900.0);
    // The spool does not contain the running slice.
    produce(1);
    thread::sleep(Duration::from_millis(300));
    drop(probe);
    produce(2);
    let _probe = Process::start(&mut command);
    let peers = collector.peers(|peers| peers > 5_700.0);
    assert!(peers < 6_300.0, "{peers}");
}
