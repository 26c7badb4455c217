//! A sink that sends to an Alertmanager, which notifies a webhook of the test.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_alerts::notification::Notification;
use srlg_alerts::{Remark, Severity, Silencing, Status, Why};
use srlg_notify::store::Store;
use srlg_traffic::skip::skip_or_fail;

use super::made::{Delivery, notifications, sink};
use crate::alertmanager::{REQUIRED, Server};
use crate::http::{Request, serve};

/// Returns the labels of the alerts that the server does not mute, or an empty list if the server does not respond.
fn alerts(server: &Server) -> Vec<Value> {
    let only = "active=true&silenced=false&inhibited=false";
    let url = format!("http://{}/api/v2/alerts?{only}", server.address);
    let Ok(mut response) = ureq::get(&url).call() else { return Vec::new() };
    let alerts: Vec<Value> = response.body_mut().read_json().unwrap();
    alerts.into_iter().map(|mut alert| alert["labels"].take()).collect()
}

/// Returns the active silences of the server.
fn silences(server: &Server) -> Vec<Value> {
    let url = format!("http://{}/api/v2/silences", server.address);
    let silences: Vec<Value> = ureq::get(&url).call().unwrap().body_mut().read_json().unwrap();
    silences.into_iter().filter(|silence| silence["status"]["state"] == "active").collect()
}

/// Waits until the active alerts have exactly these `severities`.
fn wait_for(server: &Server, severities: &[&str]) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let alerts = alerts(server);
        if alerts.iter().map(|alert| &alert["severity"]).eq(severities) {
            return;
        }
        assert!(Instant::now() < until, "{alerts:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits for the next message to the webhook.
fn receive(requests: &Receiver<Request>) -> (String, String) {
    message(requests.recv_timeout(Duration::from_secs(60)).unwrap())
}

/// Returns the status (firing or resolved) and the severity of a message.
fn message((_, body): Request) -> (String, String) {
    let body: Value = serde_json::from_str(&body).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert!(body["alerts"][0]["annotations"]["summary"].as_str().unwrap().contains("10.0.0.1"));
    (text(&body["status"]), text(&body["commonLabels"]["severity"]))
}

#[test]
fn an_alertmanager_of_debian_tells_starts_severities_and_ends_once() {
    let (webhook, requests) = serve(&["200 OK"]);
    let Some(mut server) = Server::start(&format!("http://{webhook}/")) else { return };
    let store = Store::open(None).unwrap();
    let options =
        format!("type = 'alertmanager'\nresend = '10s'\nurl = 'http://{}'", server.address);
    let start = || Delivery::start(&[sink(&options)], &store);
    let pair = |text: &str, severity: &str| (text.to_owned(), severity.to_owned());
    let sinks = start();
    let notifications = notifications(1);
    let [started, ended] = &notifications[..] else { panic!("{notifications:?}") };
    sinks.send(std::slice::from_ref(started));
    wait_for(&server, &["warning"]);
    let labels = alerts(&server).remove(0);
    let names: Vec<&String> = labels.as_object().unwrap().keys().collect();
    let expected =
        ["alertname", "direction", "host", "rule", "severity", "vector", "victim_ip", "view"];
    assert_eq!(names, expected);
    assert_eq!((&labels["rule"], &labels["direction"]), (&"r\"] x".into(), &"fan-in".into()));
    assert_eq!(receive(&requests), pair("firing", "warning"));

    // A restart of the monitor causes no new message.
    sinks.finish(Duration::ZERO);
    let sinks = start();
    let update =
        |severity, why| Notification { status: Status::Update, severity, why, ..started.clone() };
    sinks.wait(|overview| overview.queue == 0);
    std::thread::sleep(Duration::from_millis(1_500));
    sinks.send(&[update(Severity::Major, Why::Severity)]);
    wait_for(&server, &["major"]);
    assert_eq!(receive(&requests), pair("firing", "major"));
    sinks.send(&[update(Severity::Critical, Why::Severity)]);
    wait_for(&server, &["critical"]);
    assert_eq!(receive(&requests), pair("firing", "critical"));

    // A silence mutes the alert and resolves nothing.
    let remark = Remark { by: "ann".to_owned(), at_ms: 1, text: "ours".to_owned() };
    let silence = Silencing { remark: remark.clone(), until_ms: u64::MAX, id: started.id };
    let acted = |why, silence| Notification {
        remark: Some(remark.clone()),
        silence,
        ..update(Severity::Critical, why)
    };
    sinks.send(&[acted(Why::Silenced, Some(silence))]);
    wait_for(&server, &[]);
    let silences = silences(&server);
    assert_eq!((silences.len(), &silences[0]["createdBy"]), (1, &"ann".into()));
    assert_eq!(silences[0]["endsAt"], "9000-01-01T00:00:00.000Z");
    sinks.send(&[acted(Why::Unsilenced, None)]);
    wait_for(&server, &["critical"]);

    // Silencing and unsilencing resolve nothing, and a lower severity is not sent again.
    for request in requests.try_iter() {
        assert_eq!(message(request), pair("firing", "critical"));
    }

    // A restarted server has no alerts until they are sent again. After a kill it does not know what it has already
    // sent, and without a wait for the group it may send a lower severity before it has the highest.
    server.stop();
    sinks.wait(|overview| overview.error.is_some());
    server.run();
    wait_for(&server, &["critical"]);
    sinks.wait(|overview| overview.error.is_none());
    for request in requests.try_iter() {
        assert_eq!(message(request).0, "firing");
    }

    let ended = Notification { severity: Severity::Critical, ..ended.clone() };
    sinks.send(&[ended]);
    wait_for(&server, &[]);
    while receive(&requests) != pair("resolved", "critical") {}
    sinks.finish(Duration::from_secs(5));
}

#[test]
fn the_shipped_configuration_passes_the_check_of_alertmanager() {
    let tools = ["/usr/bin/amtool", "/usr/local/bin/amtool"];
    let Some(tool) = tools.into_iter().find(|tool| Path::new(tool).exists()) else {
        return skip_or_fail(REQUIRED, "amtool is missing; run scripts/alertmanager.sh");
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/service/alertmanager.yml");
    let checked = Command::new(tool).args(["check-config", path]).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    assert!(String::from_utf8_lossy(&checked.stdout).contains("2 inhibit rules"), "{checked:?}");
}
