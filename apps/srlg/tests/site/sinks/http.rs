use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use srlg_alerts::notification::Notification;
use srlg_alerts::{Remark, Severity, Silencing, Status, Why};
use srlg_notify::sinks::Sinks;
use srlg_notify::store::Store;
use srlg_system::secrets::write_secret;

use super::made::{Delivery, is_done, notifications, sink};
use crate::http::{Request, answer, serve};

fn posted(requests: &Receiver<Request>) -> (String, Value) {
    let (head, body) = requests.recv_timeout(Duration::from_secs(60)).unwrap();
    (head, serde_json::from_str(&body).unwrap())
}

fn time(alert: &Value, name: &str) -> SystemTime {
    humantime::parse_rfc3339(alert[name].as_str().unwrap()).unwrap()
}

/// Starts a server that sends `answers`, and a sink with these options that posts to it.
fn served(options: &str, answers: &'static [&'static str]) -> (Delivery, Receiver<Request>) {
    let (address, requests) = serve(answers);
    (Delivery::new(&format!("{options}\nurl = 'http://{address}/x/'")), requests)
}

#[test]
fn a_webhook_gets_each_notification_in_order_with_a_unique_key() {
    let (sinks, requests) = served("type = 'webhook'", &["200 OK"]);
    let notifications = notifications(2);
    sinks.send(&notifications);
    for (at, notification) in notifications.iter().enumerate() {
        let (head, body) = posted(&requests);
        assert!(head.starts_with("POST /x/ HTTP/1.1\r\n"), "{head}");
        let key =
            format!("idempotency-key: {}-{}-{}", notification.id, at + 1, notification.status);
        assert!(head.to_lowercase().contains(&key), "no {key} in {head}");
        assert_eq!(body, serde_json::to_value(notification).unwrap());
    }
    assert_eq!(sinks.wait(is_done).sent, 4);
}

#[test]
fn a_refusal_is_counted_and_a_failure_is_tried_again() {
    let answers = &["400 Bad Request", "503 Busy", "429 Slow", "200 OK"];
    let (sinks, requests) = served("type = 'webhook'", answers);
    sinks.send(&notifications(1));
    let (_, refused) = posted(&requests);
    let [busy, slow, taken] = [posted(&requests).1, posted(&requests).1, posted(&requests).1];
    assert_eq!((&refused["status"], &busy["status"]), (&"start".into(), &"end".into()));
    assert!(busy == slow && slow == taken);
    let overview = sinks.wait(is_done);
    assert_eq!((overview.sent, overview.failed, overview.dropped, overview.error), (1, 2, 1, None));
}

#[test]
fn an_unreachable_server_loses_nothing_that_fits_into_the_queue() {
    // This port is not in use yet.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let sinks = Delivery::new(&format!("type = 'webhook'\nqueue = 3\nurl = 'http://{address}'"));
    let notifications = notifications(4);
    sinks.send(&notifications[..2]);
    let overview = sinks.wait(|overview| overview.failed > 0);
    assert_eq!((overview.queue, overview.dropped), (2, 0));
    assert!(overview.error.unwrap().contains("refused"));
    sinks.store.add(&notifications[2..], &[]).unwrap();
    sinks.wait(|overview| overview.dropped == 5);
    let listener = TcpListener::bind(address).unwrap();
    let (sender, requests) = channel();
    thread::spawn(move || answer(&listener, &[], &sender));
    // The starts were dropped, so the ends are not sent.
    sinks.wait(is_done);
    sinks.send(&self::notifications(5)[4..5]);
    assert_eq!(posted(&requests).1["status"], "start");
    let overview = sinks.wait(is_done);
    assert_eq!((overview.sent, overview.dropped, overview.error), (1, 5, None));
}

#[test]
fn beyond_the_rate_starts_wait_until_there_is_room_or_their_alerts_end() {
    let (sinks, requests) = served("type = 'webhook'\nmost-per-minute = 60", &["200 OK"]);
    let notifications = notifications(70);
    sinks.send(&notifications[..70]);
    sinks.wait(|overview| overview.held > 0 && overview.sent >= 61);
    let statuses: Vec<Value> = (0..61).map(|_| posted(&requests).1["status"].clone()).collect();
    assert_eq!(statuses, ["start"; 61]);
    sinks.send(&notifications[70..]);
    let overview = sinks.wait(|overview| is_done(overview) && overview.held == 0);
    // An alert that ended before its start was sent counts with its start and its end.
    assert_eq!(overview.sent + overview.dropped, 140);
    assert!((2..=18).contains(&overview.dropped) && overview.dropped % 2 == 0, "{overview:?}");
}

#[test]
fn an_alertmanager_gets_active_alerts_and_ends_repeatedly() {
    let (sinks, requests) = served("type = 'alertmanager'\nresend = '1s'", &["200 OK"]);
    let notifications = notifications(1);
    let now = SystemTime::now();
    sinks.send(&notifications[..1]);
    for _ in 0..3 {
        let (head, body) = posted(&requests);
        assert!(head.starts_with("POST /x/api/v2/alerts HTTP/1.1\r\n"), "{head}");
        let alert = &body[0];
        assert_eq!(alert["labels"]["host"], "10.0.0.1");
        assert_eq!(alert["labels"]["victim_ip"], "10.0.0.1");
        assert_eq!(alert["labels"]["vector"], "flood");
        assert_eq!(alert["labels"]["alertname"], "SrlgSuperPoint");
        assert!(time(alert, "endsAt") > now + Duration::from_secs(1));
        assert_eq!(alert["startsAt"], "2023-11-14T22:13:20.000Z");
    }
    sinks.send(&notifications[1..]);
    while time(&posted(&requests).1[0], "endsAt") > SystemTime::now() {}
    sinks.finish(Duration::from_secs(5));
}

#[test]
fn a_silence_becomes_one_of_alertmanager_and_ends_no_alert() {
    let options = |address| {
        [sink(&format!("type = 'alertmanager'\nresend = '1h'\nurl = 'http://{address}'"))]
    };
    let (address, requests) = serve(&["200 OK"]);
    let store = Store::open(None).unwrap();
    let sinks = Delivery::start(&options(address), &store);
    let (webhook, hooked) = served("type = 'webhook'", &["200 OK"]);
    let [mut silent, loud] =
        notifications(2).try_into().map(|it: [_; 4]| [it[0].clone(), it[1].clone()]).unwrap();
    sinks.send(&[silent.clone(), loud]);
    let is_over = |alert: &Value| time(alert, "endsAt") <= SystemTime::now();
    assert!(!is_over(&posted(&requests).1[0]));
    let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() };
    let silence = Silencing { remark: remark.clone(), until_ms: u64::MAX, id: silent.id };
    (silent.silence, silent.remark) = (Some(silence), Some(remark));
    (silent.status, silent.why) = (Status::Update, Why::Silenced);
    sinks.send(&[silent.clone()]);
    let find = |requests: &Receiver<Request>, wanted: &str| -> Value {
        let until = Duration::from_secs(60);
        let mut all = std::iter::repeat_with(|| requests.recv_timeout(until).unwrap());
        let (_, body) = all.find(|(head, _)| head.contains(wanted)).unwrap();
        serde_json::from_str(&body).unwrap()
    };
    let posted_silence = find(&requests, "POST /api/v2/silences ");
    assert_eq!(
        (&posted_silence["createdBy"], &posted_silence["comment"]),
        (&"ann".into(), &"srlg: ours".into())
    );
    let labels = ["SrlgSuperPoint", "fan-in", &silent.host.to_string()].map(Value::from);
    let matchers = posted_silence["matchers"].as_array().unwrap().iter();
    assert!(matchers.map(|matcher| &matcher["value"]).eq(&labels), "{posted_silence}");
    // The alert stays active, also when the sink starts again. That sink has a server of its own, because the first one
    // may have sent the alerts once more than this test has read.
    assert!(!is_over(&find(&requests, "/alerts ")[0]));
    sinks.wait(|overview| overview.sent == 3);
    drop(sinks);
    let (address, requests) = serve(&["200 OK"]);
    let _sinks = Delivery::start(&options(address), &store);
    let body = find(&requests, "/alerts ");
    assert_eq!(body.as_array().unwrap().len(), 2, "{body}");
    // A webhook that has received the start of an alert also receives its silence and its end.
    let mut later = silent.clone();
    later.remark = None;
    let mut end = later.clone();
    end.status = Status::End;
    webhook.send(&[notifications(1)[0].clone(), silent, later, end]);
    let reasons: Vec<Value> = (0..3).map(|_| posted(&hooked).1["status"].clone()).collect();
    assert_eq!(reasons, ["start", "update", "end"]);
    let overview = webhook.wait(is_done);
    assert_eq!(
        (overview.sent, overview.dropped),
        (3, 0),
        "silenced notifications do not count as dropped"
    );
}

#[test]
fn starts_of_one_slice_are_one_message_of_a_chat() {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("service/templates/slack.json");
    let template = format!("type = 'webhook'\nbody-file = '{}'", template.display());
    let (sinks, requests) = served(&template, &["200 OK"]);
    let all = notifications(30);
    sinks.send(&all[..30]);
    let (_, body) = posted(&requests);
    let blocks = body["blocks"].as_array().unwrap();
    // A text, 20 names, and the number of the others.
    assert_eq!((blocks.len(), sinks.wait(is_done).sent), (22, 30));
    // The key overrides the template, and programs get each notification.
    let keys = format!("{template}\ndigest = '0s'");
    for options in [keys.as_str(), "type = 'webhook'"] {
        let (sinks, requests) = served(options, &["200 OK"]);
        sinks.send(&all[..30]);
        assert_eq!(sinks.wait(is_done).sent, 30);
        assert_eq!(requests.try_iter().count(), 30);
    }
    let (sinks, requests) = served("type = 'webhook'\ndigest = '1s'", &["200 OK"]);
    sinks.send(&all[..30]);
    let (head, body) = posted(&requests);
    assert!(head.to_lowercase().contains("idempotency-key: digest-1-30\r\n"), "{head}");
    assert_eq!((body["digest"].as_array().unwrap().len(), &body["more"]), (20, &10.into()));
    assert_eq!(body["shared"], serde_json::json!(["30 hosts are probably flooded"]));
    drop(sinks);
}

#[test]
fn an_unresponsive_server_delays_no_other_sink() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let text = format!("type = 'webhook'\ntimeout = '200ms'\nurl = 'http://{address}'");
    let sinks = Delivery::new(&text);
    sinks.send(&notifications(1));
    assert!(sinks.wait(|overview| overview.failed > 0).error.unwrap().contains("timeout"));
    let began = std::time::Instant::now();
    sinks.finish(Duration::ZERO);
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn redirects_are_not_followed_and_secrets_are_not_sent() {
    let (address, requests) = serve(&["302 Found\r\nLocation: http://127.0.0.1:1/"]);
    let url = format!("http://user:word@{address}/secret");
    let sinks = Delivery::new(&format!("type = 'webhook'\nurl = '{url}'"));
    sinks.send(&notifications(1)[..1]);
    let first = posted(&requests);
    let error = sinks.wait(|overview| overview.failed > 0).error.unwrap();
    insta::assert_snapshot!(error.replace(&address.port().to_string(), "PORT"));
    assert_eq!(posted(&requests).1, first.1);
}

#[test]
fn headers_come_from_a_file_and_are_checked_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headers");
    let (address, requests) = serve(&["200 OK"]);
    let text = format!(
        "type = 'webhook'\nurl = 'http://{address}'\ncredentials.headers-file = '{}'",
        path.display()
    );
    write_secret(&path, "").unwrap();
    for bad in ["no colon word", "a name: word", "name: wo\u{1}rd"] {
        std::fs::write(&path, format!("\n{bad}\n")).unwrap();
        let error = Sinks::start(&[sink(&text)], &Store::open(None).unwrap()).unwrap_err();
        let error = format!("{error:#}").replace(folder.path().to_str().unwrap(), "FOLDER");
        insta::assert_snapshot!("bad_header", error);
    }
    std::fs::write(&path, "Authorization: Bearer 1:2\n\nX-A: b\n").unwrap();
    let sinks = Delivery::new(&text);
    sinks.send(&notifications(1)[..1]);
    let head = posted(&requests).0.to_lowercase();
    assert!(
        head.contains("authorization: bearer 1:2\r\n") && head.contains("x-a: b\r\n"),
        "{head}"
    );
}

#[test]
fn an_end_is_sent_if_the_start_was_sent_before_a_restart() {
    let (address, requests) = serve(&["200 OK"]);
    let options = sink(&format!("type = 'webhook'\nmost-per-minute = 3\nurl = 'http://{address}'"));
    let store = Store::open(None).unwrap();
    let of_three = notifications(3);
    let sinks = Delivery::start(std::slice::from_ref(&options), &store);
    store.add(&of_three[..3], &[]).unwrap();
    sinks.finish(Duration::from_secs(10));
    // Starts of other alerts are sent before the ends, and reach the limit of the minute.
    store.add(&notifications(9)[3..9], &[]).unwrap();
    store.add(&of_three[3..], &[]).unwrap();
    let sinks = Delivery::start(&[options], &store);
    let count = |status: &str, number: usize| {
        for _ in 0..number {
            assert_eq!(posted(&requests).1["status"], status);
        }
    };
    count("start", 6);
    count("end", 3);
    let overview = sinks.wait(is_done);
    assert_eq!((overview.sent, overview.dropped, overview.held), (9, 0, 3));
    // Starts that wait are also reported at the end.
    sinks.finish(Duration::from_secs(10));
    let (head, report) = posted(&requests);
    assert!(head.to_lowercase().contains("idempotency-key: suppressed-"), "{head}");
    assert_eq!((&report["count"], &report["held"]), (&0.into(), &3.into()));
}

#[test]
fn an_alertmanager_gets_active_alerts_and_their_ends_despite_the_rate_limit() {
    let (address, requests) = serve(&["200 OK"]);
    let options = "type = 'alertmanager'\nresend = '1h'";
    let store = Store::open(None).unwrap();
    let notifications = notifications(3);
    // All active alerts are sent when a sink starts.
    store.add(&notifications[..3], &[]).unwrap();
    let sinks = Delivery::start(&[sink(&format!("{options}\nurl = 'http://{address}'"))], &store);
    while posted(&requests).1.as_array().unwrap().len() != 3 {}
    sinks.send(&notifications[3..]);
    let mut ends = 0;
    while ends < 3 {
        let alerts = posted(&requests).1;
        let is_end = time(&alerts[0], "endsAt") <= SystemTime::now();
        ends += usize::from(is_end && alerts.as_array().unwrap().len() == 1);
    }
    sinks.finish(Duration::from_secs(5));
}

#[test]
fn an_alertmanager_gets_an_alert_at_each_severity_that_it_has_reached() {
    let keys = "type = 'alertmanager'\nresend = '1h'";
    let all = ["warning", "major", "critical"];
    for (keys, severity, expected) in [
        (keys.to_owned(), Severity::Warning, &all[..1]),
        (keys.to_owned(), Severity::Critical, &all[..]),
        (format!("{keys}\nonly = {{ severity = 'major' }}"), Severity::Critical, &all[1..]),
    ] {
        let (sinks, requests) = served(&keys, &["200 OK"]);
        let [start, end] = notifications(1).try_into().unwrap();
        sinks.send(&[Notification { severity, ..start }]);
        let severities = |alerts: &Value| -> Vec<String> {
            let alerts = alerts.as_array().unwrap().iter();
            alerts.map(|it| it["labels"]["severity"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(severities(&posted(&requests).1), expected);
        sinks.send(&[Notification { severity, ..end }]);
        let is_over = |alerts: &Value| {
            let mut alerts = alerts.as_array().unwrap().iter();
            alerts.all(|it| time(it, "endsAt") <= SystemTime::now())
        };
        let ended = std::iter::repeat_with(|| posted(&requests).1).find(is_over).unwrap();
        assert_eq!(severities(&ended), expected);
    }
}

/// Answers each request with `head` and then an endless text. Returns the address, and the number of bytes that the
/// client of each connection has accepted.
fn serve_endlessly(head: &'static str) -> (SocketAddr, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, lengths) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            let _request = (&stream).read(&mut [0; 4_096]).unwrap();
            let mut length = (&stream).write(head.as_bytes()).unwrap();
            while let Ok(more) = (&stream).write(&[b'x'; 4_096]) {
                length += more;
            }
            if sender.send(length).is_err() {
                return;
            }
        }
    });
    (address, lengths)
}

#[test]
fn an_endless_response_is_cut_off() {
    for (head, is_sent) in [
        ("HTTP/1.1 200 OK\r\n\r\n", true),
        ("HTTP/1.1 503 Busy\r\n\r\n", false),
        ("HTTP/1.1 503 Busy\r\nX: ", false),
    ] {
        let (address, lengths) = serve_endlessly(head);
        let sinks = Delivery::new(&format!("type = 'webhook'\nurl = 'http://{address}'"));
        sinks.send(&notifications(1)[..1]);
        let length = lengths.recv_timeout(Duration::from_secs(60)).unwrap();
        // Nearly all accepted bytes are in the buffers of the system.
        assert!(length < 32 << 20, "{head:?}: {length}");
        let overview = sinks.wait(|overview| overview.sent + overview.failed > 0);
        assert_eq!(overview.sent == 1, is_sent, "{head:?}");
        let error = overview.error.unwrap_or_default();
        assert!(error.len() < 2_000 && error.is_empty() == is_sent, "{head:?}: {error}");
    }
}
