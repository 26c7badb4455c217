//! A severe alert behind many small ones.

use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_alerts::notification::{Kind, Notification};
use srlg_alerts::{Severity, Status, Why};
use srlg_notify::store::Store;

use super::made::{Delivery, notifications, sink};
use super::smtp::Server;
use crate::http::{Request, answer_all, serve};

/// Maximum time until each sink must have sent the start of the severe alert. A mail waits for 10 seconds after the
/// last one, so this test needs real time.
const SOON: Duration = Duration::from_secs(15);

/// Waits until `seen`, which is called repeatedly, returns true.
fn wait(started: Instant, sink: &str, mut seen: impl FnMut() -> bool) {
    while !seen() {
        assert!(started.elapsed() < SOON, "the start of the flood must be sent to {sink}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_severe_start_reaches_all_sinks_behind_two_hundred_small_alerts() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let (hook, requests) = serve(&["200 OK"]);
    let (mail, mails) = Server::default().start();
    let syslog = UdpSocket::bind("127.0.0.1:0").unwrap();
    syslog.set_nonblocking(true).unwrap();
    let options = [
        format!("type = 'webhook'\nurl = 'http://{hook}/'"),
        format!("type = 'exec'\ncommand = ['/bin/sh', '-c', 'cat >>{}']", run.display()),
        format!(
            "type = 'mail'\nserver = 'smtp://{mail}'\nplain = true\nfrom = 'srlg@example.org'\nto = ['a@example.net']"
        ),
        format!("type = 'syslog'\naddress = 'udp://{}'", syslog.local_addr().unwrap()),
    ];
    let sinks = Delivery::start(&options.map(|it| sink(&it)), &Store::open(None).unwrap());
    let mut notifications = notifications(201);
    notifications.truncate(201);
    let flood = notifications.pop().unwrap();
    let flood = Notification { severity: Severity::Major, ..flood };
    notifications.iter_mut().for_each(|scan| scan.kind = Kind::Scan);
    sinks.send(&notifications);
    let (started, host) = (Instant::now(), flood.host.to_string());
    sinks.send(&[flood]);
    wait(started, "webhook", || requests.try_iter().any(|(_, body)| body.contains(&host)));
    wait(started, "exec", || fs::read_to_string(&run).unwrap_or_default().contains(&host));
    let mut buffer = [0; 4096];
    wait(started, "syslog", || {
        let message = syslog.recv(&mut buffer).map(|length| &buffer[..length]);
        message.is_ok_and(|it| String::from_utf8_lossy(it).contains(&host))
    });
    wait(started, "mail", || {
        mails.try_iter().any(|mail| mail.header("Subject")[0].starts_with("srlg: major"))
    });
    assert!(sinks.wait(|overview| overview.held > 0).held <= 141);
}

/// Starts a server that answers the first three requests once the sender is dropped, and then is busy.
fn held_server() -> (SocketAddr, Sender<()>, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (gate, opened) = channel::<()>();
    let (sender, requests) = channel();
    thread::spawn(move || {
        let streams = listener.incoming().map(|stream| {
            // Receiving fails as soon as the sender is dropped.
            let _opened = opened.recv();
            stream.unwrap()
        });
        answer_all(streams, &["200 OK", "200 OK", "200 OK", "503 Busy"], &sender);
    });
    (address, gate, requests)
}

#[test]
fn a_rise_passes_what_waits_for_a_slow_receiver_in_order_and_once() {
    let options = |address| sink(&format!("type = 'webhook'\nurl = 'http://{address}'"));
    let store = Store::open(None).unwrap();
    let (address, gate, requests) = held_server();
    let sinks = Delivery::start(&[options(address)], &store);
    let mut all = notifications(20);
    all.truncate(20);
    let (start, why) = (all[10].clone(), Why::Severity);
    all.push(Notification { status: Status::Update, why, severity: Severity::Major, ..start });
    sinks.send(&all);
    // The sink searches what waits once per second, which needs real time.
    thread::sleep(Duration::from_millis(1_500));
    drop(gate);
    let name = |body: &str| {
        let body: Value = serde_json::from_str(body).unwrap();
        [&body["id"], &body["status"]].map(|it| it.as_str().unwrap().to_owned())
    };
    let mut sent: Vec<[String; 2]> =
        (0..3).map(|_| name(&requests.recv_timeout(SOON).unwrap().1)).collect();
    sinks.wait(|overview| overview.failed > 0);
    let expected: Vec<[String; 2]> =
        all.iter().map(|it| [it.id.to_string(), it.status.to_string()]).collect();
    let rise: Vec<_> = [10, 20].map(|at| expected[at].clone()).into();
    assert_eq!(sent[1..], rise);
    sinks.finish(Duration::ZERO);
    // After a restart, the sink sends the rest, and nothing twice.
    let (address, requests) = serve(&["200 OK"]);
    let sinks = Delivery::start(&[options(address)], &store);
    sinks.wait(|overview| overview.sent == 21);
    sent.extend(requests.try_iter().map(|(_, body)| name(&body)));
    let rest: Vec<_> = expected.iter().filter(|it| !rise.contains(it)).cloned().collect();
    sent.drain(1..3);
    assert_eq!(sent, rest);
}

#[test]
fn a_file_has_all_notifications_in_order_although_it_could_not_be_written_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let [here, away] = ["here", "away"].map(|name| folder.path().join(name));
    fs::create_dir(&here).unwrap();
    let path = here.join("alerts");
    // Each line is written to a file of its own, for which the folder is needed.
    let keys = format!("type = 'file'\nrotate-bytes = 1\nkeep = 100\npath = '{}'", path.display());
    let sinks = Delivery::new(&keys);
    let mut all = notifications(20);
    all.truncate(20);
    let (start, why) = (all[10].clone(), Why::Severity);
    all.push(Notification { status: Status::Update, why, severity: Severity::Major, ..start });
    sinks.send(&all[..1]);
    sinks.wait(|overview| overview.sent == 1);
    fs::rename(&here, &away).unwrap();
    sinks.send(&all[1..]);
    sinks.wait(|overview| overview.failed > 0);
    // The sink would search what waits for severe alerts once per second, which needs real time.
    thread::sleep(Duration::from_millis(1_500));
    fs::rename(&away, &here).unwrap();
    sinks.wait(|overview| overview.sent == 21);
    let lines = (1..21).rev().map(|at| here.join(format!("alerts.{at}"))).chain([path]);
    let numbers: Vec<Value> = lines
        .map(|path| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap())
        .map(|line| line["number"].clone())
        .collect();
    assert_eq!(numbers, (1..=21).collect::<Vec<_>>());
}
