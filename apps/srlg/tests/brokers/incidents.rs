//! The same flows must cause the same incidents, whether they come from NetFlow exports or from a broker.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use srlg_system::now_ms;

use crate::flows::{ENRICHED, Flow, enriched, flows, goflow2, json, netflow};
use crate::kafka::broker::{Broker, PARTITIONS, has_kcat};
use crate::nats::server::{STREAM, Server};
use crate::running::{Site, when};

/// Length of a slice, in milliseconds, in which all flows of one `send` must be counted.
const SLICE_MS: u64 = 8_000;

fn start(folder: &Path, name: &str, input: &str) -> Site {
    let config = format!(
        "http = '127.0.0.1:0'\nstate = '{name}'\nslice = '{SLICE_MS}ms'\n\
         [input]\n{input}\n\
         [[view]]\nname = 'in'\nrole = 'destination'\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 320s = 500 }}\nfor = 1\nof = 1\n"
    );
    fs::write(folder.join(format!("{name}.toml")), config).unwrap();
    Site::start(folder, &["run", "--config", &format!("{name}.toml")])
}

/// Waits until the only incident of `site` has a start and an update. Returns the start, the update and the active
/// alert, without IDs and times.
fn incident(site: &Site) -> Vec<Value> {
    let page: Value = serde_json::from_str(&site.get("/api/v1/incidents")).unwrap();
    let [incident] = &page["incidents"].as_array().unwrap()[..] else { panic!("{page}") };
    let path = format!("/api/v1/incidents/{}", incident["id"].as_str().unwrap());
    // The start and the update are stored before the page has the update.
    let mut notifications = when(|| {
        let mut detail: Value = serde_json::from_str(&site.get(&path)).unwrap();
        let alert = detail["alert"].take();
        let notifications = detail["notifications"].as_array_mut().unwrap();
        let is_shown = notifications.len() == 2 && notifications[1]["text"] == alert["text"];
        notifications.push(alert);
        is_shown.then(|| notifications.clone())
    });
    notifications.iter_mut().for_each(forget_times);
    notifications
}

/// Removes IDs and times, which differ between sites even if the sites receive identical flows.
fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "id" && !name.ends_with("_ms"));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

#[test]
fn flows_from_brokers_are_the_incidents_that_netflow_has() {
    if !has_kcat() || Server::start("").is_none() {
        return;
    }
    let are_compared = (0..5).any(|_| compare_incidents().is_some());
    assert!(are_compared, "the machine is too slow for slices of {SLICE_MS} ms");
}

/// Compares the incidents of all inputs. Returns `None` if the flows were not counted in the intended slices.
fn compare_incidents() -> Option<()> {
    let nats = Server::start("").unwrap();
    nats.make_stream();
    let [kafka, enriching] = ["flows", "enriched-TESTHASH"].map(Broker::start);
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("schema.proto");
    fs::write(&schema, ENRICHED).unwrap();
    let listen = "listen = ['127.0.0.1:0']\nexporters = ['127.0.0.0/8']";
    let inputs = [
        ("netflow", listen.to_owned()),
        ("goflow2", format!("url = 'kafka://{}/flows'", kafka.addresses)),
        (
            "akvorado",
            format!(
                "url = 'kafka://{}/enriched'\nschema = '{}'",
                enriching.addresses,
                schema.display()
            ),
        ),
        (
            "nats",
            format!(
                "url = 'jetstream://{}/{STREAM}'\nmessage-format = 'json'",
                nats.broker.address()
            ),
        ),
    ];
    // A first run draws the seed that all later runs use.
    drop(start(folder.path(), "seed", listen));
    for (name, _) in &inputs {
        let state = folder.path().join(name);
        fs::create_dir(&state).unwrap();
        for file in fs::read_dir(folder.path().join("seed")).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), state.join(file.file_name())).unwrap();
            }
        }
    }
    let sites = inputs.each_ref().map(|(name, input)| start(folder.path(), name, input));
    let log = sites[0].program.log();
    let (_, address) = log.split_once("listening for flow exports on ").unwrap();
    let address = address.lines().next().unwrap().to_owned();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for (site, partitions) in sites[1..].iter().zip([PARTITIONS, PARTITIONS, 1]) {
        when(|| (site.status()["broker"]["partitions"] == partitions).then_some(()));
    }
    // All flows of a round are in one slice, so that ages are equal as well.
    let send = |flows: &[Flow], contacts| {
        let slice = now_ms() / SLICE_MS;
        for datagram in netflow(flows) {
            socket.send_to(&datagram, &address).unwrap();
        }
        nats.produce(flows.iter().map(|flow| json(flow).into_bytes()).collect());
        let messages: Vec<_> = flows.iter().map(|flow| goflow2(flow, true)).collect();
        kafka.produce("flows", 0, &messages);
        let messages: Vec<_> = flows.iter().map(enriched).collect();
        enriching.produce("enriched-TESTHASH", 0, &messages);
        sites.iter().for_each(|site| site.wait_for_contacts(contacts));
        if now_ms() / SLICE_MS > slice {
            return None;
        }
        let end_ms = (slice + 1) * SLICE_MS;
        for site in &sites {
            when(|| site.status()["now_ms"].as_u64().filter(|now_ms| *now_ms >= end_ms));
        }
        Some(())
    };
    thread::sleep(Duration::from_millis(SLICE_MS - now_ms() % SLICE_MS));
    send(&flows(0, 1_000), 1_000)?;
    // The alert has started, so details of the following flows are kept. Their sources are in 12 networks, few enough
    // for exact counts.
    send(&flows(0, 3_000), 4_000)?;
    let [expected, others @ ..] = sites.each_ref().map(incident);
    let alert = &expected[expected.len() - 1];
    assert_eq!(alert["host"], "10.0.0.7");
    assert!((2_850.0..3_150.0).contains(&alert["cardinality"].as_f64().unwrap()), "{alert}");
    assert!(alert["top_ports"].is_array() && alert["packets_per_second"].is_number(), "{alert}");
    others.iter().for_each(|incident| assert_eq!(*incident, expected));
    Some(())
}
