//! Checks of alert files: each alert starts once and ends once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Asserts that each alert in `text` starts and ends once, and that a host has only one alert at a time. Returns the
/// IDs of all alerts.
pub(crate) fn assert_notified_once(text: &str) -> BTreeSet<String> {
    let (mut open, mut ids): (BTreeMap<String, String>, BTreeMap<String, u32>) = Default::default();
    for (at, line) in text.lines().enumerate() {
        let notification: Value = serde_json::from_str(line).unwrap();
        assert_eq!(notification["number"], at + 1, "{line}");
        let [id, host] = ["id", "host"].map(|name| notification[name].as_str().unwrap().to_owned());
        match notification["status"].as_str().unwrap() {
            "start" => {
                assert_eq!(ids.insert(id.clone(), 0), None, "started twice: {line}");
                assert_eq!(open.insert(host, id), None, "two alerts of one host: {line}");
            }
            "update" => assert_eq!(open.get(&host), Some(&id), "{line}"),
            _ => {
                assert_eq!(open.remove(&host), Some(id.clone()), "{line}");
                *ids.get_mut(&id).unwrap() += 1;
            }
        }
    }
    assert!(open.is_empty(), "alerts without an end: {open:?}");
    assert!(ids.values().all(|ends| *ends == 1), "{ids:?}");
    ids.into_keys().collect()
}

/// Returns the notifications in an alert file, by the idempotency key that a webhook uses for them.
pub(crate) fn by_key(alerts: &str) -> BTreeMap<String, Value> {
    let keyed = |line: &str| {
        let mut notification: Value = serde_json::from_str(line).unwrap();
        let number = notification.as_object_mut().unwrap().remove("number").unwrap();
        let [id, status] = ["id", "status"].map(|name| notification[name].as_str().unwrap());
        (format!("{id}-{number}-{status}"), notification)
    };
    alerts.lines().map(keyed).collect()
}
