//! A network of three sites must have the same alerts in all views as a single site that sees everything.

use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use serde_json::Value;
use srlg_input::Contact;
use srlg_notify::store::Store;

use super::network_traffic::PROBES;
use super::{Simulation, notifications};
use crate::config::options::Options;
use crate::measure::run;

const SLICES: std::ops::Range<u64> = 5000..5120;

/// Slices with attacks.
const ATTACKS: std::ops::Range<u64> = 5040..5070;

/// Configuration tables after `[input]` or `[network]`: views of hosts, ports and services, an allow list for peers,
/// and a rule.
const RULES: &str = "\n[[view]]\nname = 'fan-in'\nrole = 'destination'\npairs = 20_000\nmemory = 3_000_000\n\
    [[view]]\nname = 'fan-out'\nrole = 'source'\npairs = 20_000\nmemory = 3_000_000\n\
    [[view]]\nname = 'outside'\nmeasure = 'outside'\nrole = 'source'\npairs = 20_000\nmemory = 3_000_000\n\
    [[view]]\nname = 'ports'\nrole = 'destination'\npeer = 'port'\nonly = 'initiated'\npairs = 20_000\nmemory = 3_000_000\n\
    [[view]]\nname = 'services'\nrole = 'destination'\nhost = 'address+port'\nhost-prefix6 = 64\nonly = 'initiated'\npairs = 20_000\nmemory = 3_000_000\n\
    [[allow]]\nwhy = 'our scanner'\npeers = ['10.2.0.0/16']\n\
    [[rule]]\nname = 'all'\nthresholds = { 20s = 200, 5s = 90 }\nhold = '5s'\n";

/// Returns the traffic of site number `site` in `slice`, or all traffic if `site` is `None`. Two scans use many ports.
/// All other contacts use port 443.
fn contacts(site: Option<u32>, slice: u64) -> Vec<Contact> {
    let mut contacts = Vec::new();
    let mut add = |number: u32, [source, destination]: [[u8; 4]; 2], port: u16| {
        if site.is_none_or(|site| number % 3 == site || number.is_multiple_of(7)) {
            let [source, destination] = [source, destination].map(Ipv4Addr::from);
            let time_ns = (slice * 1000 + 500) * 1_000_000;
            let mut contact = Contact::new(time_ns, source.into(), destination.into());
            (contact.protocol, contact.initiated) = (Some(6), Some(true));
            contact.destination_port = Some(port);
            contacts.push(contact);
        }
    };
    for number in 0..90_u32 {
        let [_, high, low, last] = (slice as u32 * 90 + number).to_be_bytes();
        add(number, [[192, 0, 2, last & 63], [10, 0, 1, low]], 443);
        if ATTACKS.contains(&slice) {
            let port = (1024 + (slice - ATTACKS.start) as u32 * 90 + number) as u16;
            add(number, [[198, 51, 100, 9], [10, 0, 0, 3]], port);
            // This scan uses many ports, because the kind of its alert would otherwise depend on details, which may
            // arrive later.
            add(number, [[192, 0, 2, 99], [10, 1, low, last]], port);
            // New addresses flood one host in each slice, and another host scans new addresses.
            add(number, [[198, high, low, last], [10, 0, 0, 1]], 443);
            add(number, [[10, 0, 0, 2], [203, high, low, last]], 443);
            // An allow list ignores these contacts.
            add(number, [[10, 0, 9, 9], [10, 2, low, last]], 443);
        }
    }
    contacts
}

/// Returns all traffic as a contact list.
fn contact_list() -> String {
    let mut text = "time_ms,src,dst,protocol,dst_port,initiated\n".to_owned();
    for contact in SLICES.flat_map(|slice| contacts(None, slice)) {
        let Contact { time_ns, source, destination, .. } = contact;
        let (ms, port) = (time_ns / 1_000_000, contact.destination_port.unwrap());
        writeln!(text, "{ms},{source},{destination},6,{port},true").unwrap();
    }
    text
}

/// Returns the notifications in the database in `state`, without the fields that may differ between the network and
/// the single site.
fn comparable(state: &Path) -> Vec<Value> {
    let mut notifications = notifications(state);
    for notification in &mut notifications {
        let of = notification.as_object_mut().unwrap();
        for key in [
            "data_age_ms",
            "detail_since_ms",
            "missing_sites",
            "sites",
            "sites_without_details",
            "peers",
            "syn_only",
            "top_ports",
            "top_source_ports",
            "top_prefixes",
            "text",
        ] {
            of.remove(key);
        }
    }
    notifications.sort_by_key(|it| [&it["now_ms"], &it["view"], &it["host"]].map(Value::to_string));
    notifications
}

/// Runs the monitor of a single site, and returns the folder of its state.
fn run_alone(folder: &Path) -> PathBuf {
    let [state, input, config] = ["state", "all.csv", "srlg.toml"].map(|name| folder.join(name));
    fs::write(&input, contact_list()).unwrap();
    let text = format!(
        "inside = ['10.0.0.0/8']\nstate = '{}'\n[input]\ninput = ['{}']\n{RULES}\
         [[sink]]\ntype = 'file'\npath = '{}'\n",
        state.display(),
        input.display(),
        folder.join("alerts.ndjson").display(),
    );
    fs::write(&config, text).unwrap();
    let options = Options::augment_args(clap::Command::new("run"));
    let options =
        options.get_matches_from(["run".as_ref(), "--config".as_ref(), config.as_os_str()]);
    run::run(&Options::from_arg_matches(&options).unwrap()).unwrap();
    state
}

/// Runs a network of three sites with the seed `seed`, whose probes list up to `most_pairs` pairs of a slice.
fn run_network(most_pairs: usize, seed: u64) -> Simulation {
    let keys = format!("deadline = '1h'\nmax-skew = 100_000\nmost-pairs = {most_pairs}\n");
    let mut network = Simulation::with_rules(RULES, &keys, seed);
    let mut collector = network.collector();
    let mut probes = PROBES.map(|name| network.probe(name, None));
    for slice in SLICES {
        for (site, probe) in (0..).zip(&mut probes) {
            probe.ingest(&contacts(Some(site), slice));
            network.send(probe);
        }
        collector.read(&network.stream);
    }
    for probe in &mut probes {
        probe.end();
        network.send(probe);
    }
    collector.read(&network.stream);
    assert_eq!(collector.running(), Some(SLICES.end));
    collector.stop();
    network
}

#[test]
fn three_sites_have_the_same_alerts_as_one_that_sees_everything() {
    let alone = tempfile::tempdir().unwrap();
    let state = run_alone(alone.path());
    // Equal seeds give identical estimates, bit for bit.
    let seed = Store::read(&state).unwrap().state("seed").unwrap().unwrap();
    let seed = u64::from_le_bytes(seed.try_into().unwrap());
    let one = comparable(&state);
    // Of no slice, of quiet slices and of all slices, the probes send lists of pairs in place of deltas.
    for most_pairs in [0, 80, 100_000] {
        assert_eq!(comparable(&run_network(most_pairs, seed).files.state), one, "{most_pairs}");
    }
    let starts = one.iter().filter(|notification| notification["status"] == "start");
    let mut starts: Vec<_> =
        starts.map(|it| [&it["view"], &it["host"]].map(|it| it.as_str().unwrap())).collect();
    starts.sort_unstable();
    assert_eq!(
        starts,
        [
            ["fan-in", "10.0.0.1"],
            ["fan-out", "10.0.0.2"],
            ["outside", "192.0.2.99"],
            ["ports", "10.0.0.3"],
            ["services", "10.0.0.1 tcp/443"],
        ]
    );
    let ends = one.iter().filter(|notification| notification["status"] == "end").count();
    assert_eq!(ends, 5);
}
