use std::fs;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::made::{Delivery, is_done, notifications};

/// Checks the header and the fields of an RFC 5424 message.
fn check(message: &str, status: &str) {
    let (head, data) = message.split_once(" - \u{feff}id=").unwrap();
    let parts: Vec<&str> = head.split(' ').collect();
    assert_eq!(parts.len(), 6, "{message}");
    assert_eq!(
        (parts[0], parts[3], parts[5]),
        (if status == "end" { "<133>1" } else { "<132>1" }, "srlg", status)
    );
    assert!(humantime::parse_rfc3339(parts[1]).is_ok());
    assert!(data.contains(" rule=\"r\\\"] x\" host=10.0.0.1 "), "{message}");
    assert!(
        data.contains(" text=\"probably a flood: 10.0.0.1") && data.ends_with('"'),
        "{message}"
    );
}

#[test]
fn syslog_has_messages_over_datagrams_of_both_families() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let to = socket.local_addr().unwrap();
        let sinks = Delivery::new(&format!("type = 'syslog'\naddress = 'udp://{to}'"));
        sinks.send(&notifications(1));
        let mut buffer = [0; 4096];
        for status in ["start", "end"] {
            let length = socket.recv(&mut buffer).unwrap();
            check(std::str::from_utf8(&buffer[..length]).unwrap(), status);
        }
    }
}

#[test]
fn syslog_counts_octets_over_tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let sinks = Delivery::new(&format!("type = 'syslog'\naddress = 'tcp://{to}'"));
    sinks.send(&notifications(1));
    let (mut stream, _) = listener.accept().unwrap();
    sinks.wait(is_done);
    sinks.finish(Duration::ZERO);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    for status in ["start", "end"] {
        let (length, rest) = text.split_once(' ').unwrap();
        let (message, rest) = rest.split_at(length.parse().unwrap());
        check(message, status);
        text = rest.to_owned();
    }
    assert_eq!(text, "");
}

#[test]
fn syslog_reconnects_without_loss() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let sinks = Delivery::new(&format!("type = 'syslog'\naddress = 'tcp://{to}'"));
    let notifications = notifications(1);
    for (at, notification) in notifications.iter().enumerate() {
        sinks.send(std::slice::from_ref(notification));
        let (mut stream, _) = listener.accept().unwrap();
        sinks.wait(|overview| overview.sent == at as u64 + 1);
        let mut buffer = [0; 4096];
        let length = stream.read(&mut buffer).unwrap();
        let (_, message) = std::str::from_utf8(&buffer[..length]).unwrap().split_once(' ').unwrap();
        check(message, ["start", "end"][at]);
        // The server closes the connection.
    }
}

#[test]
fn syslog_finds_the_address_that_answers() {
    // On most machines, localhost resolves to ::1 first.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let sinks = Delivery::new(&format!("type = 'syslog'\naddress = 'tcp://localhost:{port}'"));
    sinks.send(&notifications(1));
    assert_eq!(sinks.wait(is_done).sent, 2);
}

#[test]
fn syslog_of_this_machine_may_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let sinks = Delivery::new(&format!("type = 'syslog'\naddress = 'unix://{}'", path.display()));
    sinks.send(&notifications(1));
    let overview = sinks.wait(|overview| overview.failed > 0);
    let error = overview.error.unwrap();
    insta::assert_snapshot!(error.replace(folder.path().to_str().unwrap(), "FOLDER"));
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).unwrap();
    check(std::str::from_utf8(&buffer[..length]).unwrap(), "start");
    sinks.wait(is_done);
}

#[test]
fn a_program_reads_each_notification_and_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let (out, children) = (folder.path().join("out"), folder.path().join("children"));
    let exec = |script: &str, file: &Path, more: &str| {
        let script = script.replace("FILE", file.to_str().unwrap());
        Delivery::new(&format!("type = 'exec'\ncommand = ['sh', '-c', '{script}']\n{more}"))
    };
    let notifications = notifications(1);
    let sinks = exec("cat >> FILE; echo >> FILE", &out, "");
    sinks.send(&notifications);
    let overview = sinks.wait(is_done);
    assert_eq!((overview.sent, overview.failed, overview.dropped), (2, 0, 0));
    let text = fs::read_to_string(&out).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines,
        notifications.iter().map(|it| serde_json::to_value(it).unwrap()).collect::<Vec<_>>()
    );

    let sinks = exec("sleep 300 & echo $! >> FILE; wait", &children, "timeout = '1s'");
    sinks.send(&notifications[..1]);
    let overview = sinks.wait(is_done);
    assert_eq!((overview.sent, overview.failed, overview.dropped), (0, 3, 1));
    let pids = fs::read_to_string(&children).unwrap();
    assert!(!pids.is_empty());
    let runs = |pid: &str| {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    let until = Instant::now() + Duration::from_secs(60);
    while pids.lines().any(runs) {
        assert!(Instant::now() < until, "{pids}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_that_fails_is_given_up_after_three_attempts() {
    let sinks = Delivery::new("type = 'exec'\ncommand = ['false']");
    sinks.send(&notifications(1)[..1]);
    let overview = sinks.wait(is_done);
    assert_eq!((overview.sent, overview.failed, overview.dropped), (0, 3, 1));
    sinks.finish(Duration::ZERO);
    let sinks = Delivery::new("type = 'exec'\ncommand = ['/no/such/program']");
    sinks.send(&notifications(1)[..1]);
    let overview = sinks.wait(|overview| overview.failed > 0);
    assert!(overview.error.unwrap().contains("/no/such/program"));
}
