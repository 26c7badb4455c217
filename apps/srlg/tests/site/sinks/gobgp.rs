//! The GoBGP recipe with two daemons. One daemon must receive the routes that the other daemon announces.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use srlg_alerts::notification::{Direction, Kind, Notification, Rates};
use srlg_alerts::{Condition, Rule, Severity, Sighting, Status, Terms, Tracker, Witnesses};
use srlg_traffic::skip::skip_or_fail;
use tempfile::TempDir;

use super::made::{Delivery, notifications};
use crate::gobgp_recipe::{Recipe, has_jq, recipe};

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
            skip_or_fail("SRLG_REQUIRE_GOBGP", "gobgp is missing; run scripts/gobgp.sh");
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
    format!(
        "type = 'exec'\ncommand = ['{}', '{}', '{way}', '192.0.2.1', '-p', '{port}']",
        recipe().display(),
        state.display()
    )
}

/// Returns the start and the end of a flood that the recipe announces with its default options.
fn floods(count: u16) -> Vec<Notification> {
    let severe =
        |notification| Notification { severity: Severity::Major, ..with_rate(notification) };
    notifications(count).into_iter().map(severe).collect()
}

fn with_rate(notification: Notification) -> Notification {
    let rates = Rates { packets_per_second: Some(20_000), ..Rates::default() };
    Notification { rates, ..notification }
}

#[test]
fn a_route_needs_a_severe_flood_with_a_known_rate() {
    if !has_jq() {
        return;
    }
    let flood = floods(1).remove(0);
    let rates = |packets_per_second| Rates { packets_per_second, ..Rates::default() };
    let others = [
        Notification { severity: Severity::Warning, ..flood.clone() },
        Notification { rates: rates(None), ..flood.clone() },
        Notification { rates: rates(Some(0)), ..flood.clone() },
        Notification { rates: rates(Some(9_999)), ..flood.clone() },
        Notification { kind: Kind::Server, ..flood.clone() },
        Notification { kind: Kind::Scan, ..flood.clone() },
        Notification { kind: Kind::Unknown, ..flood.clone() },
        Notification { is_inside: false, ..flood.clone() },
        Notification { direction: Direction::FanOut, ..flood.clone() },
        Notification { host: "10.0.0.0/24".parse().unwrap(), ..flood.clone() },
    ];
    let reflection = Notification { kind: Kind::Reflection, ..flood.clone() };
    let recipe = Recipe::new();
    recipe.run(&[], &reflection);
    assert_eq!(recipe.routes(), ["10.0.0.1/32".to_owned()].into());
    let recipe = Recipe::new();
    for other in &others {
        assert_eq!(recipe.run(&[], other).len(), 1, "{other:?}");
        assert_eq!(recipe.routes(), BTreeSet::new(), "{other:?}");
    }
    // The rate becomes known with a later notification of the same alert.
    let update =
        Notification { status: Status::Update, rates: rates(Some(10_000)), ..flood.clone() };
    assert_eq!(recipe.run(&[], &update).len(), 1);
    assert_eq!(recipe.routes(), ["10.0.0.1/32".to_owned()].into());
    // While the alert is active, the route stays, whatever a notification says.
    assert_eq!(recipe.run(&[], &others[4]).len(), 1);
    assert_eq!(recipe.routes().len(), 1);
    let options = ["--severity", "warning", "--least-pps", "0"];
    for other in &others[2..4] {
        let other = Notification { severity: Severity::Warning, ..other.clone() };
        let recipe = Recipe::new();
        recipe.run(&options, &other);
        assert_eq!(recipe.routes().len(), 1, "{other:?}");
    }
}

/// Closes a slice with a flood of one host, if `flood` is set, and with `neighbours` other hosts of its network that
/// have a few more peers than the threshold. The recipe gets all notifications.
fn close(tracker: &mut Tracker, recipe: &Recipe, second: u64, flood: bool, neighbours: u8) {
    let terms = Terms { hold_ms: 5_000, repeat_ms: 10_000, ..Terms::default() };
    let rule = Rule { name: "r".to_owned(), networks: Vec::new(), windows: [(60, terms)].into() };
    let neighbours =
        (1..=neighbours).map(|host| Sighting::new([10, 9, 9, host].into(), 1_200.0, 5.0));
    let flood = flood.then(|| Sighting::new([10, 9, 9, 200].into(), 20_000.0, 90.0));
    let points = neighbours.chain(flood).collect();
    let none = |_, _| Witnesses::default();
    let (now_ms, whole) = (second * 1_000, Condition::default());
    for alert in tracker.close(now_ms, &[(60, points)].into(), |_| Some(&rule), whole, none) {
        recipe.run(&[], &with_rate(super::made::flood(alert)));
    }
}

#[test]
fn neighbours_of_a_flood_neither_withdraw_its_route_nor_prevent_it() {
    if !has_jq() {
        return;
    }
    let route: BTreeSet<String> = ["10.9.9.200/32".to_owned()].into();
    for (flood_from, neighbours_from) in [(0, 10), (10, 0)] {
        let (mut tracker, recipe) = (Tracker::new("fan-in"), Recipe::new());
        for second in 0..60 {
            let neighbours = if (neighbours_from..40).contains(&second) { 10 } else { 0 };
            close(&mut tracker, &recipe, second, second >= flood_from, neighbours);
            // An alert starts in the third slice.
            let expected = if second < flood_from + 2 { BTreeSet::new() } else { route.clone() };
            assert_eq!(recipe.routes(), expected, "second {second}");
        }
        (60..70).for_each(|second| close(&mut tracker, &recipe, second, false, 0));
        assert_eq!(recipe.routes(), BTreeSet::new());
    }
}

#[test]
fn there_are_at_most_ten_routes_and_none_to_a_listed_address() {
    if !has_jq() {
        return;
    }
    let (recipe, floods) = (Recipe::new(), floods(12));
    let list = recipe.0.path().join("never");
    let text = "# resolvers\n10.0.0.1\n\n::FFFF:10.9.0.1\n 2001:DB8:0::1 # a spelling of its own\n\
        192.0.2.64/26\n2001:db8:4000::/34\n";
    fs::write(&list, text).unwrap();
    let options = ["--never", list.to_str().unwrap()];
    let at = |host: &str| Notification { host: host.parse().unwrap(), ..floods[1].clone() };
    let listed = ["10.9.0.1", "2001:db8::1", "192.0.2.64", "192.0.2.127", "2001:db8:7fff::1"];
    for notification in listed.map(at).iter().chain([&floods[0]]) {
        assert_eq!(recipe.run(&options, notification).len(), 1);
        assert_eq!(recipe.routes(), BTreeSet::new());
    }
    for host in ["192.0.2.63", "192.0.2.128", "2001:db8:3fff::1", "2001:db8:8000::1"] {
        let recipe = Recipe::new();
        recipe.run(&options, &at(host));
        assert_eq!(recipe.routes().len(), 1, "{host}");
    }
    for notification in &floods[1..12] {
        assert_eq!(recipe.run(&options, notification).len(), 1);
    }
    let routes: BTreeSet<String> = (1..11).map(|at| format!("10.0.{at}.1/32")).collect();
    assert_eq!(recipe.routes(), routes);
    // When an alert ends, there is room for another route.
    recipe.run(&options, &floods[12 + 1]);
    recipe.run(&options, &floods[11]);
    assert!(recipe.routes().contains("10.0.11.1/32") && recipe.routes().len() == 10);
    // An address that is added to the list loses its route.
    fs::write(&list, "10.0.11.1").unwrap();
    recipe.run(&options, &floods[11]);
    assert!(!recipe.routes().contains("10.0.11.1/32") && recipe.routes().len() == 9);
}

#[test]
fn a_flood_is_announced_while_its_alert_is_active() {
    let Some(routers) = Routers::start() else { return };
    let notifications = floods(1);
    for (way, question, route) in [
        ("blackhole", &["global", "rib", "10.0.0.1/32"][..], "Communities: blackhole"),
        ("flowspec", &["global", "rib", "-a", "ipv4-flowspec"], "destination: 10.0.0.1/32"),
    ] {
        let state = tempfile::tempdir().unwrap();
        let sinks = Delivery::new(&sink(state.path(), way, routers.ports[0]));
        // While another alert of the same host is active, the route stays.
        let mut other = notifications.clone();
        other
            .iter_mut()
            .for_each(|notification| notification.id = "00000000000000aa".parse().unwrap());
        sinks.send(&[notifications[0].clone(), other[0].clone()]);
        routers.wait(1, question, route);
        sinks.send(&other[1..]);
        sinks.wait(|overview| overview.sent == 3);
        assert!(routers.ask(1, question).contains(route));
        sinks.send(&notifications[1..]);
        sinks.wait(|overview| overview.sent == 4);
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
    if !has_jq() {
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let mut notifications = floods(4)[..4].to_vec();
    notifications[0].is_inside = false;
    notifications[1].kind = Kind::Scan;
    notifications[2].host = "10.0.2.0/24".parse().unwrap();
    notifications[3].direction = Direction::FanOut;
    // Port 1 is not in use, so an announcement would fail.
    let sinks = Delivery::new(&sink(state.path(), "blackhole", 1));
    sinks.send(&notifications);
    let overview = sinks.wait(|overview| overview.sent + overview.dropped == 4);
    assert_eq!((overview.sent, overview.failed), (4, 0));
}
