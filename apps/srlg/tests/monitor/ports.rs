//! Views of ports and services: their alerts, their rules and their overviews.

use std::collections::BTreeSet;

use srlg_alerts::Status;
use srlg_alerts::notification::{Kind, Notification, Unit};
use srlg_alerts::status::problems::ProblemKind;
use srlg_cli::config::Config;
use srlg_cli::measure::checkpoints::Continued;
use srlg_cli::measure::monitor::Monitor;
use srlg_input::contact::{Name, Port, TCP};
use srlg_input::{Contact, Status as InputStatus};
use srlg_system::now_ms;

use super::end;

const VIEWS: &str = "
[[view]]
name = 'ports'
role = 'destination'
peer = 'port'
only = 'initiated'
pairs = 10_000
memory = 1_000_000

[[view]]
name = 'services'
role = 'destination'
host = 'address+port'
host-prefix6 = 64
only = 'initiated'
pairs = 10_000
memory = 1_000_000

[[rule]]
name = 'all'
thresholds = { 5s = 50 }
hold = '5s'

[[rule]]
name = 'busy'
views = ['services']
networks = ['10.0.1.0/24']
thresholds = { 5s = 500 }

[[allow]]
why = 'a web server'
hosts = ['10.0.0.9']

[[label]]
name = 'servers'
networks = ['10.0.0.0/16']
";

fn config(state: &str) -> Config {
    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/24']\n";
    Config::parse(&format!("{state}\n{input}{VIEWS}")).unwrap()
}

fn contact(time_ns: u64, source: [u8; 4], destination: [u8; 4], port: u16) -> Contact {
    let mut contact = Contact::new(time_ns, source.into(), destination.into());
    (contact.protocol, contact.destination_port) = (Some(TCP), Some(port));
    contact.initiated = Some(true);
    contact
}

/// Returns the contacts of a second: a scan of 100 ports of 10.0.0.1, 100 clients for each of `services`, and a ping.
fn second(time_ns: u64, services: &[([u8; 4], u16)]) -> Vec<Contact> {
    let scan = (1..=100).map(|port| contact(time_ns, [198, 51, 100, 9], [10, 0, 0, 1], port));
    let clients = services.iter().flat_map(|(host, port)| {
        (0..100).map(|client| contact(time_ns, [172, 16, 0, client], *host, *port))
    });
    let mut ping = contact(time_ns, [172, 16, 0, 1], [10, 0, 0, 1], 0);
    ping.protocol = Some(1);
    scan.chain(clients).chain([ping]).collect()
}

fn feed(
    monitor: &mut Monitor,
    start_ms: u64,
    seconds: u64,
    contacts: impl Fn(u64) -> Vec<Contact>,
) -> Vec<Notification> {
    let mut notified = Vec::new();
    for second in 0..seconds {
        let time_ns = (start_ms + second * 1_000) * 1_000_000;
        monitor.advance(time_ns).unwrap();
        contacts(time_ns).iter().for_each(|contact| monitor.ingest(contact).unwrap());
        notified.extend(monitor.notifications().unwrap());
    }
    notified
}

fn names(names: &[Name]) -> Vec<String> {
    names.iter().map(Name::to_string).collect()
}

#[test]
fn alerts_of_ports_and_services_are_about_them() {
    let mut monitor = Monitor::new(&config(""), 1).unwrap();
    // The last two services raise no alert. An allow list ignores the first of them, and a rule has a higher threshold
    // for the second.
    let services =
        [([192, 0, 2, 7], 53), ([10, 0, 0, 2], 443), ([10, 0, 0, 9], 80), ([10, 0, 1, 1], 443)];
    let notified = feed(&mut monitor, 1_750_000_000_000, 20, |time_ns| second(time_ns, &services));
    let of = |notification: &Notification| {
        let Notification { ref view, status, kind, unit, ref label, .. } = *notification;
        (view.clone(), status, notification.host.to_string(), kind, unit, label.clone())
    };
    let start = |view: &str, subject: &str, kind, unit, label: Option<&str>| {
        (view.to_owned(), Status::Start, subject.to_owned(), kind, unit, label.map(str::to_owned))
    };
    let mut found: Vec<_> = notified.iter().map(of).collect();
    found.sort_by(|a, b| (&a.0, &a.2).cmp(&(&b.0, &b.2)));
    let expected = [
        start("ports", "10.0.0.1", Kind::PortScan, Unit::Ports, Some("servers")),
        start("services", "10.0.0.2 tcp/443", Kind::ServiceFlood, Unit::Hosts, Some("servers")),
        start("services", "192.0.2.7 tcp/53", Kind::ServiceFlood, Unit::Hosts, None),
    ];
    assert_eq!(found, expected);
    let ports_in = |view| {
        let of_view = notified.iter().filter(move |notification| notification.view == view);
        of_view.map(|notification| notification.port).collect::<BTreeSet<_>>()
    };
    let port = |number| Some(Port { protocol: TCP, number });
    assert_eq!(ports_in("ports"), BTreeSet::from([None]));
    assert_eq!(ports_in("services"), BTreeSet::from([port(53), port(443)]));
    let scan = notified.iter().find(|notification| notification.view == "ports").unwrap();
    assert!(names(&scan.peers).iter().all(|peer| peer.starts_with("tcp/")), "{:?}", scan.peers);

    let overview = monitor.overview(&InputStatus::default());
    let [ports, services] = &overview.views[..] else { panic!("two views") };
    assert_eq!((ports.unit, services.unit), (Unit::Ports, Unit::Hosts));
    assert_eq!((ports.without_port, services.without_port), (20, 20));
    let shown = services.top.iter().map(|host| host.host);
    assert!(names(&shown.collect::<Vec<_>>()).contains(&"192.0.2.7 tcp/53".to_owned()));
}

#[test]
fn details_of_a_port_scan_name_its_ports_and_the_network_of_the_scanner() {
    let text = VIEWS.replace("hold = '5s'", "hold = '5s'\nrepeat = '5s'");
    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/24']\n";
    let mut monitor = Monitor::new(&Config::parse(&format!("{input}{text}")).unwrap(), 1).unwrap();
    let notified = feed(&mut monitor, 1_750_000_000_000, 20, |time_ns| second(time_ns, &[]));
    let last = notified.last().unwrap();
    assert_eq!(last.status, Status::Update);
    assert_eq!((last.peers.len(), last.top_prefixes.len()), (32, 1));
    assert!(names(&last.peers).iter().all(|peer| peer.starts_with("tcp/")));
    assert_eq!(last.top_prefixes[0].0, "198.51.100.0/24".parse().unwrap());
    assert!(last.text.contains("was contacted on") && last.text.contains(" ports in "));
}

#[test]
fn an_alert_of_a_service_outlives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&format!("state = '{}'", folder.path().display()));
    let start_ms = (now_ms() / 1_000 - 200) * 1_000;
    let services = [([10, 0, 0, 2], 443)];
    let mut first = Continued::open(&config).unwrap();
    let notified = feed(&mut first.monitor, start_ms, 20, |time_ns| second(time_ns, &services));
    end(first, &notified);
    let is_of_service = |notification: &&Notification| notification.view == "services";
    let start = notified.iter().find(is_of_service).unwrap().clone();

    let mut second_run = Continued::open(&config).unwrap();
    let notified =
        feed(&mut second_run.monitor, start_ms + 22_000, 60, |time_ns| second(time_ns, &[]));
    let notified: Vec<_> = notified.iter().filter(is_of_service).collect();
    let [over] = &notified[..] else { panic!("{notified:?}") };
    assert_eq!((over.id, over.status), (start.id, Status::End));
    assert_eq!((over.host, over.host.to_string()), (start.host, "10.0.0.2 tcp/443".to_owned()));
    assert_eq!(over.kind, Kind::ServiceFlood);
}

#[test]
fn an_alert_keeps_its_name_when_the_prefix_length_of_its_view_changes() {
    let folder = tempfile::tempdir().unwrap();
    let state = format!("state = '{}'", folder.path().display());
    let start_ms = (now_ms() / 1_000 - 200) * 1_000;
    let mut first = Continued::open(&config(&state)).unwrap();
    let notified =
        feed(&mut first.monitor, start_ms, 20, |time_ns| second(time_ns, &[([10, 0, 0, 2], 443)]));
    end(first, &notified);
    let start = notified.iter().find(|notification| notification.view == "services").unwrap();

    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/24']\n";
    let views = VIEWS.replace("host-prefix6 = 64", "host-prefix6 = 64\nhost-prefix4 = 24");
    let changed = Config::parse(&format!("{state}\n{input}{views}")).unwrap();
    let mut next = Continued::open(&changed).unwrap();
    let notified = feed(&mut next.monitor, start_ms + 22_000, 60, |time_ns| second(time_ns, &[]));
    let over = notified.iter().find(|notification| notification.id == start.id).unwrap();
    assert_eq!((over.status, over.host), (Status::End, start.host));
}

#[test]
fn an_input_that_never_has_ports_is_a_problem() {
    let mut monitor = Monitor::new(&config(""), 1).unwrap();
    let start_ms = 1_750_000_000_000;
    let portless = |count: u8| {
        move |time_ns| {
            let address = |host| [172, 16, 0, host].into();
            let contact = |host| Contact::new(time_ns, address(host), [10, 0, 0, 1].into());
            (0..count).map(contact).collect()
        }
    };
    let mut count = |start_ms, contacts: &dyn Fn(u64) -> Vec<Contact>| {
        feed(&mut monitor, start_ms, 10, contacts);
        monitor.overview(&InputStatus::default()).input.problems.of(ProblemKind::WithoutPort)
    };
    // A few pings are usual and do not count as a problem.
    assert_eq!(count(start_ms, &|time_ns| second(time_ns, &[])), 0);
    assert_eq!(count(start_ms + 10_000, &portless(99)), 0);
    assert_eq!(count(start_ms + 20_000, &portless(200)), 1_992);
    assert_eq!(count(start_ms + 30_000, &|time_ns| second(time_ns, &[])), 1_992);
}

#[test]
fn alerts_of_a_view_that_counts_something_else_after_a_restart_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let state = format!("state = '{}'", folder.path().display());
    let start_ms = (now_ms() / 1_000 - 200) * 1_000;
    let services = [([10, 0, 0, 2], 443)];
    let mut first = Continued::open(&config(&state)).unwrap();
    let notified = feed(&mut first.monitor, start_ms, 20, |time_ns| second(time_ns, &services));
    end(first, &notified);

    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.0/24']\n";
    let views = VIEWS.replace("host = 'address+port'\nhost-prefix6 = 64\n", "");
    let changed = Config::parse(&format!("{state}\n{input}{views}")).unwrap();
    let mut next = Continued::open(&changed).unwrap();
    let [over] = &next.ended.clone()[..] else { panic!("{:?}", next.ended) };
    assert_eq!(
        (over.view.as_str(), over.host.to_string()),
        ("services", "10.0.0.2 tcp/443".to_owned())
    );
    assert_eq!(over.status, Status::End);
    let notified = feed(&mut next.monitor, start_ms + 22_000, 5, |time_ns| second(time_ns, &[]));
    assert!(notified.iter().all(|notification| notification.view != "services"), "{notified:?}");
    // The alert of the other view stays active.
    assert_eq!(next.monitor.overview(&InputStatus::default()).alerts.len(), 1);
    let ended = next.ended.clone();
    end(next, &ended);
    assert_eq!(Continued::open(&changed).unwrap().ended, []);
}
