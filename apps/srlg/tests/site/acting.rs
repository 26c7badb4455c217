//! User actions on alerts of a running program. Actions are stored and sent to sinks. A silence suppresses
//! notifications about its host, except for user actions and the end of an alert.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use srlg_system::now_ms;

use crate::http::{Request, serve};
use crate::running::Site;
use crate::silence::{Ends, export};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn post(site: &Site, path: &str, body: &str) -> (u16, Value) {
    let mut stream = site.send(&format!(
        "POST {path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

/// Waits for a notification with the reason `why`. Returns this notification and the reasons of all earlier
/// notifications.
fn wait_for(requests: &Receiver<Request>, why: &str) -> (Value, Vec<String>) {
    let mut before = Vec::new();
    loop {
        let (_, body) = requests.recv_timeout(Duration::from_secs(60)).unwrap();
        let notification: Value = serde_json::from_str(&body).unwrap();
        if notification["why"] == why {
            return (notification, before);
        }
        before.push(notification["why"].as_str().unwrap().to_owned());
    }
}

/// Waits for `time`, and returns the reasons of all unread notifications.
fn heard(requests: &Receiver<Request>, time: Duration) -> Vec<String> {
    thread::sleep(time);
    let notifications = requests.try_iter();
    let why = |(_, body): Request| serde_json::from_str::<Value>(&body).unwrap()["why"].clone();
    notifications.map(|it| why(it).as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_people_do_is_stored_and_sent_and_silence_is_kept() {
    let (hook, requests) = serve(&["204 No Content"]);
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    fs::write(&tokens, format!("ann {TOKEN}\n")).unwrap();
    fs::set_permissions(&tokens, Permissions::from_mode(0o600)).unwrap();
    let site = Site::of(&format!(
        "http-tokens = '{}'\ninside = ['10.0.0.0/8']\n\
         [input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/8']\n\
         [[view]]\nname = 'fan-in'\nrole = 'destination'\npairs = 10_000\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 4s = 100 }}\nrepeat = '1s'\nhold = '1h'\n\
         [[sink]]\ntype = 'webhook'\nurl = 'http://{hook}'\nmost-per-minute = 1000\n",
        tokens.display()
    ));
    let (sends, ends) = (AtomicBool::new(true), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| export(&site, "127.0.0.1:0", 200, &sends, &ends));
        let _ends = Ends(&ends);
        let alert = site.alerts_when(|alerts| !alerts.is_empty()).remove(0);
        let path = format!("/api/v1/incidents/{}/acts", alert["id"].as_str().unwrap());
        let act = |act: Value| post(&site, &path, &act.to_string());
        wait_for(&requests, "repeat");

        let before_ms = now_ms();
        let (status, silenced) =
            act(json!({"act": "silence", "for": "1h", "text": "a test\nof ours"}));
        assert_eq!((status, &silenced["why"]), (200, &json!("silenced")), "{silenced}");
        let silence = &silenced["silence"];
        assert_eq!((&silence["by"], &silence["text"]), (&json!("ann"), &json!("a test of ours")));
        let left_ms = silence["until_ms"].as_u64().unwrap() - before_ms;
        assert!((3_600_000..3_660_000).contains(&left_ms), "{left_ms}");
        let (notification, _) = wait_for(&requests, "silenced");
        assert_eq!(notification["remark"]["by"], "ann");
        assert_eq!(heard(&requests, Duration::from_secs(3)), Vec::<String>::new());
        let page = site.page();
        assert_eq!(
            (&page["can_act"], &page["silences"][0]["host"]),
            (&json!(true), &json!("10.0.0.1"))
        );
        assert_eq!(
            page["alerts"][0]["silence"], *silence,
            "the silenced alert must stay active and visible"
        );

        assert_eq!(act(json!({"act": "unsilence"})).0, 200);
        assert_eq!(act(json!({"act": "unsilence"})).0, 409, "there must be no silence left");
        wait_for(&requests, "unsilenced");
        wait_for(&requests, "repeat");

        assert_eq!(act(json!({"act": "silence", "for": "2s", "text": "for a moment"})).0, 200);
        let (over, before) = wait_for(&requests, "unsilenced");
        // The alert may be repeated once more before it is silenced.
        let silent: Vec<_> = before.into_iter().skip_while(|why| why == "repeat").collect();
        assert_eq!((silent, &over["remark"]), (vec!["silenced".to_owned()], &Value::Null));

        assert_eq!(act(json!({"act": "acknowledge", "text": "on it"})).0, 200);
        let (notification, _) = wait_for(&requests, "acknowledged");
        assert_eq!(notification["text"], "cause unknown: 10.0.0.1: acknowledged by ann: on it");
        assert_eq!(
            heard(&requests, Duration::from_secs(3)),
            Vec::<String>::new(),
            "there must be no repeated notification"
        );
        let open = &site.alerts_when(|alerts| alerts[0]["why"] == "repeat")[0];
        assert_eq!(
            open["acknowledged"]["text"], "on it",
            "the acknowledgement must survive later notifications"
        );

        assert_eq!(act(json!({"act": "close"})).0, 409, "the alert would start again at once");
        assert_eq!(act(json!({"act": "comment", "text": " "})).0, 400);
        assert_eq!(
            post(&site, "/api/v1/incidents/0123456789abcdef/acts", r#"{"act": "close"}"#).0,
            404
        );
        sends.store(false, Relaxed);
        // The incident can be closed only when the window has passed.
        let closed = loop {
            let (status, closed) = act(json!({"act": "close", "text": "it was us"}));
            if status == 200 {
                break closed;
            }
            assert_eq!(status, 409, "{closed}");
            thread::sleep(Duration::from_millis(200));
        };
        assert_eq!((&closed["status"], &closed["why"]), (&json!("end"), &json!("closed")));
        let (notification, _) = wait_for(&requests, "closed");
        assert_eq!(notification["remark"]["text"], "it was us");
        assert!(notification["peak"].as_f64().unwrap() > 150.0, "{notification}");
        site.alerts_when(<[Value]>::is_empty);

        assert_eq!(act(json!({"act": "acknowledge"})).0, 409, "the incident has ended");
        assert_eq!(act(json!({"act": "comment", "text": "the scanner of team red"})).0, 200);
        let (comment, _) = wait_for(&requests, "comment");
        assert_eq!((&comment["status"], &comment["id"]), (&json!("end"), &alert["id"]));
        // The host may exceed its threshold again.
        assert_eq!(act(json!({"act": "silence", "for": "1h", "text": "known"})).0, 200);
        while site.page()["silences"][0]["id"] != alert["id"] {
            thread::sleep(Duration::from_millis(100));
        }
        sends.store(true, Relaxed);
        let again = site.alerts_when(|alerts| !alerts.is_empty());
        assert_eq!(again[0]["silence"]["text"], "known");
        let (_, before) = wait_for(&requests, "silenced");
        assert_eq!(before, Vec::<String>::new());
        assert_eq!(heard(&requests, Duration::from_secs(3)), Vec::<String>::new());
        assert_eq!(act(json!({"act": "unsilence"})).0, 200);
        let (notification, _) = wait_for(&requests, "unsilenced");
        assert_eq!((&notification["status"], &notification["id"]), (&json!("end"), &alert["id"]));
        let (notification, _) = wait_for(&requests, "unsilenced");
        assert_eq!(
            (&notification["status"], &notification["id"]),
            (&json!("update"), &again[0]["id"])
        );
    });
}
