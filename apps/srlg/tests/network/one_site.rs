//! A network of three sites must have the same alerts in all views as a single site that sees everything.

use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use srlg_notify::store::Store;

use crate::collecting::alerts_of;
use crate::net::{Net, PROBES, configuration, run};
use crate::process::Process;

const SLICES: std::ops::Range<u64> = 5000..5120;

/// Slices with attacks.
const ATTACKS: std::ops::Range<u64> = 5040..5070;

/// Configuration tables after `[input]` or `[network]`: views of hosts, ports and services, an allow list for peers,
/// and a rule.
const RULES: &str = "\n[[view]]\nname = 'fan-in'\nrole = 'destination'\n\
    [[view]]\nname = 'fan-out'\nrole = 'source'\npairs = 20_000\nmemory = 3_000_000\n\
    [[view]]\nname = 'outside'\nmeasure = 'outside'\nrole = 'source'\n\
    [[view]]\nname = 'ports'\nrole = 'destination'\npeer = 'port'\nonly = 'initiated'\npairs = 20_000\nmemory = 3_000_000\n\
    [[view]]\nname = 'services'\nrole = 'destination'\nhost = 'address+port'\nhost-prefix6 = 64\nonly = 'initiated'\npairs = 20_000\nmemory = 3_000_000\n\
    [[allow]]\nwhy = 'our scanner'\npeers = ['10.2.0.0/16']\n\
    [[rule]]\nname = 'all'\nthresholds = { 20s = 200, 5s = 90 }\nhold = '5s'\n";

/// Returns the traffic of site number `site`, or all traffic if `site` is `None`, as a contact list. Two scans use many
/// ports. All other contacts use port 443.
fn contacts(site: Option<u32>) -> String {
    let mut text = "time_ms,src,dst,protocol,dst_port,initiated\n".to_owned();
    let mut write_to = |slice: u64, number: u32, [source, destination]: [[u8; 4]; 2], port: u32| {
        if site.is_none_or(|site| number % 3 == site || number.is_multiple_of(7)) {
            let [source, destination] = [source, destination].map(Ipv4Addr::from);
            let ms = slice * 1000 + 500;
            writeln!(text, "{ms},{source},{destination},6,{port},true").unwrap();
        }
    };
    for slice in SLICES {
        for number in 0..90_u32 {
            let [_, high, low, last] = (slice as u32 * 90 + number).to_be_bytes();
            if ATTACKS.contains(&slice) {
                let port = 1024 + (slice - ATTACKS.start) as u32 * 90 + number;
                write_to(slice, number, [[198, 51, 100, 9], [10, 0, 0, 3]], port);
                // This scan uses many ports, because the kind of its alert would otherwise depend on details, which
                // may arrive later.
                write_to(slice, number, [[192, 0, 2, 99], [10, 1, low, last]], port);
            }
            let mut write = |slice: u64, number: u32, source: [u8; 4], destination: [u8; 4]| {
                write_to(slice, number, [source, destination], 443);
            };
            write(slice, number, [192, 0, 2, last & 63], [10, 0, 1, low]);
            if ATTACKS.contains(&slice) {
                // New addresses flood one host in each slice, and another host scans new addresses.
                write(slice, number, [198, high, low, last], [10, 0, 0, 1]);
                write(slice, number, [10, 0, 0, 2], [203, high, low, last]);
                // An allow list ignores these contacts.
                write(slice, number, [10, 0, 9, 9], [10, 2, low, last]);
            }
        }
    }
    text
}

/// Returns the notifications in the file `path`, without the fields that may differ between the network and the single
/// site.
fn notifications(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let mut notifications: Vec<Value> = text
        .lines()
        .map(|line| {
            let mut notification: Value = serde_json::from_str(line).unwrap();
            let of = notification.as_object_mut().unwrap();
            for key in [
                "number",
                "data_age_ms",
                "detail_since_ms",
                "missing_sites",
                "sites",
                "sites_without_details",
                "peers",
                "syn_only",
                "top_ports",
                "top_prefixes",
                "text",
            ] {
                of.remove(key);
            }
            notification
        })
        .collect();
    notifications.sort_by_key(|it| [&it["now_ms"], &it["view"], &it["host"]].map(Value::to_string));
    notifications
}

#[test]
fn three_sites_tell_of_the_same_alerts_as_one_that_sees_everything() {
    let alone = tempfile::tempdir().unwrap();
    let [one, state, input, config] =
        ["alerts.ndjson", "state", "all.csv", "srlg.toml"].map(|name| alone.path().join(name));
    fs::write(&input, contacts(None)).unwrap();
    let general = configuration(alone.path()).split("[network]").next().unwrap().to_owned();
    let sink = |path: &Path| format!("[[sink]]\ntype = 'file'\npath = '{}'\n", path.display());
    let text = format!(
        "{general}state = '{}'\n[input]\ninput = ['{}']\n{RULES}{}",
        state.display(),
        input.display(),
        sink(&one)
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
    let done = command.args(["run", "--config"]).arg(&config).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    // Equal seeds give identical estimates, bit for bit.
    let seed = Store::read(&state).unwrap().state("seed").unwrap().unwrap();

    let seed = u64::from_le_bytes(seed.try_into().unwrap());
    let Some(net) = Net::with_rules(RULES, seed) else { return };
    run(net.stream());
    let (folder, spool) = (net.folder(), net.spool());
    let head = configuration(folder).split("[[view]]").next().unwrap().to_owned();
    let state = folder.join("state");
    let many = alerts_of(&state);
    let config = format!(
        "{general}state = '{}'\n[network]\nbroker = '{}'\ndeadline = '1h'\nmax-skew = 100_000\n{}{RULES}{}",
        state.display(),
        net.broker.address(),
        head.split_once("[network]\n").unwrap().1,
        sink(&many)
    );
    fs::write(folder.join("srlg.toml"), config).unwrap();
    let config = folder.join("srlg.toml");
    let until = (SLICES.end - 1).to_string();
    let args = ["collect", "--config", config.to_str().unwrap(), "--until-slice", &until];
    let mut collector = Process::srlg(args);
    let probes = PROBES.iter().zip(0..).map(|(name, site)| {
        let path = folder.join(format!("{name}.csv"));
        fs::write(&path, contacts(Some(site))).unwrap();
        let [folder, spool, path] = [folder, &spool, &path].map(|path| path.to_str().unwrap());
        let broker = net.broker.address();
        Process::srlg([
            "probe", name, "--folder", folder, "--spool", spool, "--input", path, "--broker",
            &broker,
        ])
    });
    for mut node in probes.collect::<Vec<_>>() {
        let (code, said) = node.end();
        assert_eq!(code, Some(0), "{said}");
    }
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");

    let (one, many) = (notifications(&one), notifications(&many));
    assert_eq!(one, many);
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
