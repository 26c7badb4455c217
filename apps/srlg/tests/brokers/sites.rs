//! A site that joins and leaves a running network with `srlg setup --add` and `--remove`. No other probe restarts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use srlg_cli::network::broker::Broker;

use crate::probe::ProbeConfig;
use crate::process::Process;
use crate::running::{Site, when};
use crate::server::has_broker;

/// Number of further slices of every site after which a network counts as running.
const SLICES: u64 = 8;

/// Writes the configuration of a collector of `probes`.
fn configure(folder: &Path, broker: &str, probes: &[&str]) {
    let config = format!(
        "http = '127.0.0.1:0'\nstate = 'state'\nslice = '250ms'\n\
         [network]\nprobes = {probes:?}\nbroker = '{broker}'\n\
         [[view]]\nname = 'in'\nrole = 'destination'\n\
         [[rule]]\nname = 'r'\nthresholds = {{ 60s = 500 }}\n"
    );
    fs::write(folder.join("srlg.toml"), config).unwrap();
}

/// Runs `srlg setup` with `args` and returns what it prints.
fn setup(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
    command.args(["setup", "--config", "srlg.toml"]).args(args).current_dir(folder);
    let done = command.output().unwrap();
    let [out, err] = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(done.status.success(), "{out}{err}");
    out
}

fn collect(folder: &Path) -> Site {
    Site::start(folder, &["collect", "--config", "srlg.toml"])
}

/// Starts probe `name`, whose credentials and state are in `folder`.
fn start_probe(name: &str, folder: &Path, broker: &str) -> Process {
    let state = &folder.join("spool");
    let tables = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";
    Process::start(&mut ProbeConfig { name, folder, broker, state, general: "", tables }.command())
}

/// Returns the number of slices of each site that were in time. No slice may be lost.
fn in_time(collector: &Site) -> BTreeMap<String, u64> {
    // The collector knows the sites after it has agreed on the network with the broker.
    let sites = when(|| collector.status()["network"]["sites"].as_array().cloned());
    let sites = sites.iter().map(|site| {
        assert!(site["spool"].is_null() || site["spool"]["lost"] == 0, "{site}");
        (site["name"].as_str().unwrap().to_owned(), site["in_time"].as_u64().unwrap())
    });
    sites.collect()
}

/// Waits until every site of `collector` has delivered more slices in time. The sites must be `names`.
fn wait_for_slices(collector: &Site, names: &[&str]) {
    let before = in_time(collector);
    assert!(before.keys().eq(names), "{before:?}");
    when(|| {
        in_time(collector).iter().all(|(name, count)| *count >= before[name] + SLICES).then_some(())
    });
}

#[test]
fn a_site_joins_and_leaves_a_running_network_whose_other_probes_go_on() {
    if !has_broker() {
        return;
    }
    let (center, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (center, site) = (center.path(), site.path());
    configure(center, "localhost", &["a", "b"]);
    setup(center, &[]);
    let mut broker = Broker::start(center).unwrap();
    let address = broker.address();
    configure(center, &address, &["a", "b"]);
    let collector = collect(center);
    let mut others = ["a", "b"].map(|name| start_probe(name, center, &address));
    wait_for_slices(&collector, &["a", "b"]);

    let files = || {
        ["ca.pem", "a.nk", "b.nk", "collector.nk", "server.key"]
            .map(|name| fs::read(center.join(name)).unwrap())
    };
    let before = files();
    insta::assert_snapshot!("added", setup(center, &["--add", "c"]));
    assert_eq!(files(), before);
    broker.restart().unwrap();
    wait_for_slices(&collector, &["a", "b"]);
    for name in ["ca.pem", "c.nk"] {
        fs::copy(center.join(name), site.join(name)).unwrap();
    }
    let mut new = start_probe("c", site, &address);
    new.wait_for("127.0.0.1:");
    configure(center, &address, &["a", "b", "c"]);
    drop(collector);
    let collector = collect(center);
    wait_for_slices(&collector, &["a", "b", "c"]);

    insta::assert_snapshot!("removed", setup(center, &["--remove", "c"]));
    assert_eq!(files(), before);
    let reload = format!("kill -s HUP {}", broker.id());
    assert!(Command::new("sh").args(["-c", &reload]).status().unwrap().success());
    new.wait_for("authorization violation");
    new.kill();
    configure(center, &address, &["a", "b"]);
    drop(collector);
    let collector = collect(center);
    wait_for_slices(&collector, &["a", "b"]);
    let (code, said) = start_probe("c", site, &address).end();
    assert_eq!(code, Some(2), "{said}");
    insta::assert_snapshot!("refused", said.replace(&address, "BROKER"));
    others.iter_mut().for_each(Process::assert_runs);
}
