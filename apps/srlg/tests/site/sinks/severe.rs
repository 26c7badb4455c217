//! A severe alert behind many small ones.

use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use srlg_alerts::Severity;
use srlg_alerts::notification::{Kind, Notification};
use srlg_notify::store::Store;

use super::made::{Delivery, notifications, sink};
use super::smtp::Server;
use crate::http::serve;

/// Maximum time until each sink must have sent the start of the severe alert. A mail waits for 10 seconds after the
/// last one, so this test needs real time.
const SOON: Duration = Duration::from_secs(15);

/// Waits until `seen`, which is called repeatedly, returns true.
fn wait(started: Instant, sink: &str, mut seen: impl FnMut() -> bool) {
    while !seen() {
        assert!(started.elapsed() < SOON, "the start of the flood must be sent to {sink}");
        std::thread::sleep(Duration::from_millis(20));
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
