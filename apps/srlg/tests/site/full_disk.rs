//! While the database's disk is full, a webhook still receives notifications. The database stores the notifications
//! once the disk has space again.

use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_notify::store::Store;

use crate::disk::SmallDisk;
use crate::exporter::{Exporter, Pair};
use crate::http::{Request, serve};
use crate::process::PATIENCE;
use crate::running::Site;

/// Minimum number of notifications to send while the disk is full.
const WAITING: usize = 5;

fn metric(site: &Site, name: &str) -> f64 {
    let metrics = site.get("/metrics");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

#[track_caller]
fn flood(exporter: &mut Exporter, site: &Site, mut is_done: impl FnMut() -> bool) {
    let peer = |at: u8| Ipv4Addr::new(198, 51, 100, at);
    let pairs: Vec<Pair> = (0..200).map(|at| [peer(at), Ipv4Addr::new(10, 0, 0, 1)]).collect();
    let started = Instant::now();
    while !is_done() {
        assert!(started.elapsed() < PATIENCE, "{}", site.log());
        exporter.export(&pairs, Duration::from_millis(100));
    }
}

/// Returns the status of each notification that the webhook has received since the last call.
fn posted(requests: &Receiver<Request>) -> impl Iterator<Item = String> + '_ {
    requests.try_iter().map(|(_, body)| {
        let notification: Value = serde_json::from_str(&body).unwrap();
        notification["status"].as_str().unwrap().to_owned()
    })
}

#[test]
fn while_the_disk_is_full_a_webhook_gets_notifications_which_are_stored_later() {
    let Some(disk) = SmallDisk::new("16m") else { return };
    let (hook, requests) = serve(&["204 No Content"]);
    let folder = tempfile::tempdir().unwrap();
    let state = disk.folder().join("state");
    let config = format!(
        "inside = ['10.0.0.0/8']\nhttp = '127.0.0.1:0'\nstate = '{}'\ncheckpoint = '1h'\n\
         [input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\ntimestamps = 'received'\n\
         [[view]]\nname = 'in'\nrole = 'destination'\npairs = 10_000\nmemory = 1_000_000\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 5s = 100 }}\nhold = '1h'\nrepeat = '1s'\n\
         [[sink]]\ntype = 'webhook'\nurl = 'http://{hook}/'\n",
        state.display()
    );
    let path = folder.path().join("srlg.toml");
    fs::write(&path, config).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_srlg"));
    let site = Site::run(folder, program.args(["run", "--config"]).arg(path));
    let mut exporter = Exporter::new(site.exports);

    disk.fill();
    let mut sent = Vec::new();
    flood(&mut exporter, &site, || {
        sent.extend(posted(&requests));
        sent.len() >= WAITING
    });
    assert_eq!((sent[0].as_str(), Store::read(&state).unwrap().last()), ("start", 0));
    // The overview that metrics show may be older than the last notification.
    flood(&mut exporter, &site, || {
        metric(&site, "srlg_database_waiting_notifications") >= WAITING as f64
    });
    assert!(site.get("/healthz").starts_with("degraded"));

    disk.free();
    flood(&mut exporter, &site, || metric(&site, "srlg_database_waiting_notifications") == 0.0);
    // The program is healthy again after the next checkpoint.
    flood(&mut exporter, &site, || site.get("/healthz") == "ok");
    sent.extend(posted(&requests));
    let stored = Store::read(&state).unwrap().after(0, 1_000).unwrap();
    let statuses: Vec<String> = stored.iter().map(|(_, it)| it.status.to_string()).collect();
    // The webhook may not have received the last notifications yet.
    assert!(statuses.len() >= sent.len());
    assert_eq!(statuses[..sent.len()], sent);
    assert!((1..).zip(&stored).all(|(number, (stored, _))| number == *stored));
    let log = site.log();
    let is_of_notifications = |line: &&str| {
        line.contains("notifications can be stored again")
            || line.contains("cannot store notifications")
    };
    let lines: Vec<&str> = log.lines().filter(is_of_notifications).collect();
    let [full, free] = &lines[..] else { panic!("{log}") };
    assert!(full.contains(" WARN ") && full.contains("they are sent from memory"), "{full}");
    assert!(
        free.contains(" INFO ") && free.contains("notifications can be stored again"),
        "{free}"
    );
}
