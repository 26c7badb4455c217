//! The GoBGP recipe with two daemons. One daemon must receive the routes that the other daemon announces.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::made::{Delivery, notices};

/// Two daemons with a BGP session over loopback. They are killed when this value is dropped.
struct Routers {
    daemons: Vec<Child>,
    /// Ports of the daemons' APIs. The first port belongs to the announcing daemon.
    ports: [u16; 2],
    _folder: TempDir,
}

impl Drop for Routers {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _gone = daemon.kill();
            daemon.wait().unwrap();
        }
    }
}

fn free_ports() -> [u16; 4] {
    let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Routers {
    /// Starts the daemons, and waits until the session is established. If GoBGP is not installed, prints a message and
    /// returns `None`, or panics if `SRLG_REQUIRE_GOBGP` is set.
    fn start() -> Option<Self> {
        if Command::new("gobgp").arg("--version").output().is_err() {
            let required = std::env::var_os("SRLG_REQUIRE_GOBGP").is_some();
            assert!(!required, "gobgp is not installed; run scripts/gobgp.sh");
            eprintln!("skipped: gobgp is not installed; run scripts/gobgp.sh");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let [bgp_a, bgp_b, port_a, port_b] = free_ports();
        let sides = [(1, bgp_a, 2, bgp_b, port_a), (2, bgp_b, 1, bgp_a, port_b)];
        let daemons = sides.map(|(own, bgp, other, other_bgp, port)| {
            let config = format!(
                "[global.config]\nas = 64512\nrouter-id = '192.0.2.{own}'\nport = {bgp}\nlocal-address-list = ['127.0.0.{own}']\n\
                 [[neighbors]]\n[neighbors.config]\nneighbor-address = '127.0.0.{other}'\npeer-as = 64512\n\
                 [neighbors.transport.config]\nlocal-address = '127.0.0.{own}'\nremote-port = {other_bgp}\npassive-mode = {}\n\
                 [neighbors.timers.config]\nconnect-retry = 1\n\
                 [[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = 'ipv4-unicast'\n\
                 [[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = 'ipv4-flowspec'\n",
                own == 2
            );
            let path = folder.path().join(format!("{own}.toml"));
            fs::write(&path, config).unwrap();
            Command::new("gobgpd")
                .args(["--pprof-disable", "--api-hosts", &format!("127.0.0.1:{port}"), "-f"])
                .arg(path)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        });
        let routers = Self { daemons: daemons.into(), ports: [port_a, port_b], _folder: folder };
        routers.wait(0, &["neighbor"], "Establ");
        Some(routers)
    }

    fn ask(&self, side: usize, question: &[&str]) -> String {
        let port = self.ports[side].to_string();
        let output = Command::new("gobgp").args(["-p", &port]).args(question).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Repeats `question` until the answer of the daemon `side` contains `text`.
    fn wait(&self, side: usize, question: &[&str], text: &str) {
        let start = Instant::now();
        loop {
            let answer = self.ask(side, question);
            if answer.contains(text) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{question:?}: {answer}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn sink(state: &Path, way: &str, port: u16) -> String {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("service/recipes/gobgp.sh");
    format!(
        "type = 'exec'\ncommand = ['{}', '{}', '{way}', '192.0.2.1', '-p', '{port}']",
        recipe.display(),
        state.display()
    )
}

#[test]
fn a_flood_is_announced_while_its_alert_is_active() {
    let Some(routers) = Routers::start() else { return };
    let told = notices(1);
    for (way, question, route) in [
        ("blackhole", &["global", "rib", "10.0.0.1/32"][..], "Communities: blackhole"),
        ("flowspec", &["global", "rib", "-a", "ipv4-flowspec"], "destination: 10.0.0.1/32"),
    ] {
        let state = tempfile::tempdir().unwrap();
        let sinks = Delivery::new(&sink(state.path(), way, routers.ports[0]));
        // While another alert of the same host is active, the route stays.
        let mut other = told.clone();
        other.iter_mut().for_each(|notice| notice.id = "00000000000000aa".parse().unwrap());
        sinks.send(&[told[0].clone(), other[0].clone()]);
        routers.wait(1, question, route);
        sinks.send(&other[1..]);
        sinks.wait(|board| board.sent == 3);
        assert!(routers.ask(1, question).contains(route));
        sinks.send(&told[1..]);
        sinks.wait(|board| board.sent == 4);
        let start = Instant::now();
        while routers.ask(1, question).contains(route) {
            assert!(start.elapsed() < Duration::from_secs(60), "the route must be withdrawn");
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1, "only the lock must be left");
    }
}

#[test]
fn what_is_no_flood_of_an_inside_host_is_not_announced() {
    if Command::new("jq").arg("--version").output().is_err() {
        assert!(std::env::var_os("SRLG_REQUIRE_GOBGP").is_none(), "jq is not installed");
        eprintln!("skipped: jq is not installed; run scripts/gobgp.sh");
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let mut told = notices(4)[..4].to_vec();
    told[0].is_inside = false;
    told[1].kind = srlg_cli::notify::notice::Kind::Scan;
    told[2].hosts = 12;
    told[3].direction = srlg_cli::notify::notice::Direction::FanOut;
    // Port 1 is not in use, so an announcement would fail.
    let sinks = Delivery::new(&sink(state.path(), "blackhole", 1));
    sinks.send(&told);
    let board = sinks.wait(|board| board.sent + board.dropped == 4);
    assert_eq!((board.sent, board.failed), (4, 0));
}
