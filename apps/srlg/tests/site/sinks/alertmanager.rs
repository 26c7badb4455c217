//! A sink that sends to an Alertmanager, which notifies a webhook of the test.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::Value;
use srlg_alerts::{Severity, Status};
use srlg_notify::store::Store;

use super::made::{Delivery, notifications, sink};
use crate::alertmanager::Server;
use crate::http::{Request, serve};

/// Returns the labels of the active alerts of the server, or an empty list if the server does not respond.
fn alerts(server: &Server) -> Vec<Value> {
    let url = format!("http://{}/api/v2/alerts?active=true", server.address);
    let Ok(mut response) = ureq::get(&url).call() else { return Vec::new() };
    let alerts: Vec<Value> = response.body_mut().read_json().unwrap();
    alerts.into_iter().map(|mut alert| alert["labels"].take()).collect()
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

/// Waits for the next message to the webhook. Returns its status (firing or resolved) and its severity.
fn receive(requests: &Receiver<Request>) -> (String, String) {
    let (_, body) = requests.recv_timeout(Duration::from_secs(60)).unwrap();
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
    let critical = srlg_alerts::notification::Notification {
        status: Status::Update,
        severity: Severity::Critical,
        ..started.clone()
    };
    sinks.wait(|overview| overview.queue == 0);
    std::thread::sleep(Duration::from_millis(1_500));
    sinks.send(&[critical]);
    wait_for(&server, &["critical"]);
    let mut both = [receive(&requests), receive(&requests)];
    both.sort();
    assert_eq!(both, [pair("firing", "critical"), pair("resolved", "warning")]);

    // A restarted server has no alerts until they are sent again.
    server.stop();
    sinks.wait(|overview| overview.error.is_some());
    server.run();
    wait_for(&server, &["critical"]);
    sinks.wait(|overview| overview.error.is_none());

    let ended =
        srlg_alerts::notification::Notification { severity: Severity::Critical, ..ended.clone() };
    sinks.send(&[ended]);
    wait_for(&server, &[]);
    loop {
        // After a kill, the server may not know that it has already sent a start.
        let (status, severity) = receive(&requests);
        assert_eq!(severity, "critical");
        if status == "resolved" {
            break;
        }
    }
    sinks.finish(Duration::from_secs(5));
}
