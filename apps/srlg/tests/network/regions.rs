//! A region whose probes connect to a broker of their own, a leaf node of the broker at which the collector reads. The
//! connection between the brokers is cut and restored.

use std::fs;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use async_nats::jetstream::stream::{Config, External, Source};
use async_nats::jetstream::{self, Context};
use srlg_cli::network::broker::{Broker, LOG_FILE};
use srlg_cli::network::connect::Access;
use srlg_cli::network::setup::CONF_FILE;
use srlg_cli::network::subjects::{ALL_SLICES, STREAM, slice};
use srlg_system::secrets::write_secret;
use tempfile::TempDir;

use crate::collecting::{Collector, start_probe};
use crate::input::csv;
use crate::net::{Net, run};
use crate::network_traffic::{OneNode, PROBES, seen};
use crate::process::Process;

const SLICES: std::ops::Range<u64> = 1000..1040;

/// First slice that probe `a` reads after the cut.
const CUT: u64 = 1020;

/// Line of the broker's configuration that `setup` writes.
const JETSTREAM: &str = "jetstream { store_dir: jetstream }";

/// A TCP connection between two brokers, which a test can cut.
struct Cable {
    port: u16,
    state: Arc<Mutex<CableState>>,
}

#[derive(Default)]
struct CableState {
    /// Port of the broker at the other end.
    target: u16,
    is_cut: bool,
    /// Both ends of each connection.
    connections: Vec<[TcpStream; 2]>,
}

impl Cable {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(CableState::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                shared.lock().unwrap().connect(near);
            }
        });
        Self { port, state }
    }

    fn set_target(&self, port: u16) {
        self.state.lock().unwrap().target = port;
    }

    /// Closes all connections, and every further one until [`mend`](Self::mend).
    fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        for end in state.connections.drain(..).flatten() {
            // A broker may have closed the connection.
            let _closed = end.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.state.lock().unwrap().is_cut = false;
    }
}

impl CableState {
    /// Connects `near` to the target, unless the cable is cut.
    fn connect(&mut self, near: TcpStream) {
        if self.is_cut {
            return;
        }
        let Ok(far) = TcpStream::connect(("127.0.0.1", self.target)) else { return };
        for (from, to) in [(&near, &far), (&far, &near)] {
            let [mut from, mut to] = [from, to].map(|end| end.try_clone().unwrap());
            thread::spawn(move || {
                // Both brokers see the end of the connection, and connect again.
                let _ended = io::copy(&mut from, &mut to);
                let _closed = [from, to].map(|end| end.shutdown(Shutdown::Both));
            });
        }
        self.connections.push([near, far]);
    }
}

/// The hub and the broker of a region.
struct Region {
    cable: Cable,
    broker: Broker,
    _folder: TempDir,
}

impl Region {
    /// Makes the broker of `net` a hub, and starts the broker of a region with the accounts of the hub. `edit` changes
    /// the configuration of the region's broker, whose remote has the settings in `remote`.
    fn start(net: &mut Net, remote: &str, edit: impl FnOnce(String) -> String) -> Self {
        let path = net.folder().join(CONF_FILE);
        let conf = fs::read_to_string(&path).unwrap();
        let cable = Cable::new();
        // Without `advertise`, the hub would send its own port, and the region would connect to it beside the cable.
        let hub = format!(
            "jetstream {{ store_dir: jetstream, domain: hub }}\n\
             leafnodes {{\n  host: 127.0.0.1\n  port: -1\n  advertise: \"localhost:{}\"\n  \
             tls {{ cert_file: server.pem, key_file: server.key }}\n  \
             authorization {{ user: oslo, password: secret, account: SRLG }}\n}}",
            cable.port
        );
        fs::write(&path, conf.replace(JETSTREAM, &hub)).unwrap();
        net.broker.restart().unwrap();
        cable.set_target(leaf_port(net.folder()));

        let folder = tempfile::tempdir().unwrap();
        for name in ["ca.pem", "server.pem"] {
            fs::copy(net.folder().join(name), folder.path().join(name)).unwrap();
        }
        let key = fs::read_to_string(net.folder().join("server.key")).unwrap();
        write_secret(&folder.path().join("server.key"), &key).unwrap();
        let remote = format!(
            "leafnodes {{ remotes: [ {{\n  url: \"tls://oslo:secret@localhost:{}\"\n  account: SRLG\n  \
             tls {{ ca_file: ca.pem }}\n{remote}}} ] }}\n",
            cable.port
        );
        let conf = edit(conf).replace("server_name: srlg\n", "server_name: oslo\n") + &remote;
        fs::write(folder.path().join(CONF_FILE), conf).unwrap();
        let broker = Broker::start(folder.path()).unwrap();
        Self { cable, broker, _folder: folder }
    }

    /// Returns the stream API of the region's broker.
    async fn context(&self, net: &Net) -> Context {
        let access = Access { folder: net.folder().to_owned(), broker: self.broker.address() };
        jetstream::new(access.connect("collector").await.unwrap().client)
    }

    /// Starts probe `a` at the region's broker, with the slices before [`CUT`].
    fn start_probe(&self, net: &Net) -> Process {
        let mut probe = net.probe("a", &net.spool(), "", "[input]\ninput = ['-']\n");
        let config = net.folder().join("a.toml");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(config, text.replace(&net.broker.address(), &self.broker.address())).unwrap();
        let mut probe = Process::start(&mut probe);
        probe.write(&contacts(net, SLICES.start..CUT));
        probe
    }
}

/// Returns the port at which the broker in `folder` accepts leaf nodes.
fn leaf_port(folder: &Path) -> u16 {
    let log = fs::read_to_string(folder.join(LOG_FILE)).unwrap();
    let line = log.lines().rfind(|line| line.contains("Listening for leafnode connections"));
    line.unwrap().rsplit(':').next().unwrap().parse().unwrap()
}

/// Returns the contacts of probe `a` as CSV. Only those of the first slice have a header.
fn contacts(net: &Net, slices: std::ops::Range<u64>) -> String {
    let is_first = slices.start == SLICES.start;
    let path = csv(net.folder(), "contacts", |slice| seen(0, slice), slices);
    let text = fs::read_to_string(path).unwrap();
    if is_first { text } else { text.split_once('\n').unwrap().1.to_owned() }
}

/// Returns the number of messages of probe `a` in the stream of the hub.
fn messages_of_a(net: &Net) -> usize {
    let messages = run(net.messages());
    messages.iter().filter(|(subject, ..)| *subject == slice(PROBES[0])).count()
}

/// Starts the collector, the probes `b` and `c` at the hub, and probe `a` in the region. After the collector has closed
/// slices of all three, cuts the cable and gives probe `a` the rest of its contacts.
fn cut_in_the_middle(net: &Net, region: &Region) -> (Collector, Process) {
    let mut collector = Collector::start(net, &[]);
    for probe in [1, 2] {
        let (code, said) = start_probe(net, probe, SLICES, "keep = 100\n").end();
        assert_eq!(code, Some(0), "{said}");
    }
    let mut probe = region.start_probe(net);
    collector.wait_for_slice(CUT - 5);
    region.cable.cut();
    probe.write(&contacts(net, CUT..SLICES.end));
    probe.hang_up();
    (collector, probe)
}

fn assert_is_whole(net: &Net, collector: &mut Collector) {
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&OneNode::of(&[0, 1, 2], SLICES));
    assert_eq!(messages_of_a(net), SLICES.count());
}

/// The broker of the region has no streams. An acknowledgement comes from the hub.
#[test]
fn a_region_without_streams_sends_what_its_probes_have_kept_while_the_hub_was_away() {
    let Some(mut net) = Net::start() else { return };
    let region = Region::start(&mut net, "", |conf| {
        let conf = conf.replace(JETSTREAM, "default_js_domain: { SRLG: hub }");
        conf.replace("    jetstream: enabled\n", "")
    });
    let (mut collector, mut probe) = cut_in_the_middle(&net, &region);
    probe.wait_for("cannot send slices");
    assert!(messages_of_a(&net) <= (CUT - SLICES.start) as usize);
    region.cable.mend();
    let (code, said) = probe.end();
    assert_eq!(code, Some(0), "{said}");
    assert_is_whole(&net, &mut collector);
}

/// The broker of the region stores slices, and the hub's stream has the region's stream as a source. An acknowledgement
/// comes from the region, even if the hub is away.
#[test]
fn a_region_with_streams_acknowledges_slices_that_the_hub_gets_once_later() {
    let Some(mut net) = Net::start() else { return };
    // The hub must get a slice only through its source, and the region no slices of other probes.
    let deny = "  deny_imports: \"srlg.slice.>\"\n  deny_exports: \"srlg.slice.>\"\n";
    let region = Region::start(&mut net, deny, |conf| {
        conf.replace(JETSTREAM, "jetstream { store_dir: jetstream, domain: oslo }")
    });
    run(async {
        let source = |name: &str, domain| Source {
            name: name.to_owned(),
            external: Some(External {
                api_prefix: format!("$JS.{domain}.API"),
                delivery_prefix: None,
            }),
            ..Source::default()
        };
        let slices = Config {
            name: STREAM.to_owned(),
            subjects: vec![ALL_SLICES.to_owned()],
            ..Config::default()
        };
        let description = Config {
            name: "KV_SRLG".to_owned(),
            max_messages_per_subject: 1,
            allow_direct: true,
            mirror: Some(source("KV_SRLG", "hub")),
            ..Config::default()
        };
        let context = region.context(&net).await;
        context.create_stream(slices.clone()).await.unwrap();
        context.create_stream(description).await.unwrap();
        let hub = jetstream::new(net.link("collector").await.client);
        hub.create_stream(Config { sources: Some(vec![source(STREAM, "oslo")]), ..slices })
            .await
            .unwrap();
    });
    let (mut collector, mut probe) = cut_in_the_middle(&net, &region);
    let (code, said) = probe.end();
    assert_eq!(code, Some(0), "{said}");
    let stored = run(async {
        let mut stream = region.context(&net).await.get_stream(STREAM).await.unwrap();
        stream.info().await.unwrap().state.messages
    });
    assert_eq!(stored, SLICES.count() as u64);
    assert!(messages_of_a(&net) <= (CUT - SLICES.start) as usize);
    region.cable.mend();
    assert_is_whole(&net, &mut collector);
}
