//! An office whose resolver and web server are busy, with and without attacks.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::LazyLock;

use srlg_alerts::Status;
use srlg_alerts::notification::{Kind, Notification};
use srlg_cli::traffic::{Actor, Reflector, inside};

use crate::incidents::{Notified, Played};

/// Duration without attacks, in seconds.
const BENIGN: u64 = 40 * 60;

/// Length of a slice without attacks. With the default slices of 1 s, the closes of 40 minutes would take most of a
/// minute, and counts of the last 60 s hardly differ between the seconds.
const BENIGN_SLICE: &str = "5s";

/// Time before the first attack, in seconds.
const LEAD: u64 = 3 * 60;

/// Time from the start of an attack to that of the next one, in seconds.
const PAUSE: u64 = 3 * 60;

/// Length of the simulation with attacks, in seconds.
const LENGTH: u64 = LEAD + 6 * PAUSE;

/// Duration of an attack, in seconds.
const LASTING: u64 = 100;

/// Time within which all notifications are sent in one mail, in seconds.
const DIGEST: u64 = 60;

/// Number of clients with IPv4 addresses and with IPv6 addresses.
const CLIENTS: [u64; 2] = [40, 20];

const RESOLVER: &str = "10.20.0.53";
const WEB_SERVER: &str = "10.20.0.80";

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Returns the inside addresses of IPv4 and IPv6, of which only the version matters.
fn versions() -> [IpAddr; 2] {
    ["10.20.0.0", "2001:db8:20::"].map(address)
}

/// Returns the busy hosts and the clients of the office. Each server has an address of both families, and one fifth of
/// its contacts use IPv6.
fn office() -> Vec<Actor> {
    let clients = CLIENTS.iter().sum();
    let mut actors = vec![
        Actor::Resolver { resolver: address(RESOLVER), clients, rate: 48.0 },
        Actor::Resolver { resolver: address("2001:db8:20::53"), clients, rate: 12.0 },
        Actor::WebServer { server: address(WEB_SERVER), rate: 32.0 },
        Actor::WebServer { server: address("2001:db8:20::80"), rate: 8.0 },
    ];
    for (version, clients) in versions().into_iter().zip(CLIENTS) {
        let client = |index| Actor::Gateway { gateway: inside(version, index), rate: 0.2 };
        actors.extend((0..clients).map(client));
    }
    actors
}

/// An attack on the office.
struct Attack {
    actor: Actor,
    seconds: Range<u64>,
    /// Probable cause.
    kind: Kind,
    /// Views and hosts of its incidents.
    subjects: BTreeSet<(&'static str, String)>,
}

impl Attack {
    fn new<const N: usize>(
        index: u64,
        actor: Actor,
        kind: Kind,
        subjects: [(&'static str, IpAddr); N],
    ) -> Self {
        let subjects = subjects.map(|(view, host)| (view, host.to_string())).into();
        let from = LEAD + index * PAUSE;
        Self { actor, seconds: from..from + LASTING, kind, subjects }
    }

    fn with_network(mut self, network: &str) -> Self {
        self.subjects.insert(("networks-in", network.to_owned()));
        self
    }

    /// Returns whether `notification` is about this attack.
    fn is_of(&self, notification: &Notification) -> bool {
        self.subjects.contains(&(notification.view.as_str(), notification.host.to_string()))
    }
}

/// Returns the attacks, one after the other.
fn attacks() -> Vec<Attack> {
    let client = |index| inside(versions()[0], index);
    let (web_server, outsider) = (address(WEB_SERVER), address("192.0.2.66"));
    let flood = Actor::SynFlood { victim: web_server, rate: 1_500.0 };
    let (protocol, victim) = (Reflector::Ntp, client(7));
    let reflection = Actor::Reflection { protocol, victim, servers: 3_000, rate: 3_000.0 };
    let scan = |scanner, network: &str, rate| Actor::Scan {
        scanner,
        network: network.parse().unwrap(),
        port: 22,
        rate,
    };
    let inside_scan = scan(client(20), "198.18.0.0/16", 100.0);
    // The whole network within an hour.
    let outside_scan = scan(outsider, "10.20.0.0/16", 19.0);
    let worm = Actor::Worm { port: 445, rate: 40.0 };
    let infected = std::array::from_fn::<_, 10, _>(|index| ("fan-out", client(index as u64)));
    let carpet = "10.20.7.0/24";
    let bombing = Actor::CarpetBombing { network: carpet.parse().unwrap(), rate: 1_500.0 };
    vec![
        // The network of a flooded host has an incident of its own.
        Attack::new(0, flood, Kind::Flood, [("fan-in", web_server)]).with_network("10.20.0.0/24"),
        Attack::new(1, reflection, Kind::Reflection, [("fan-in", victim)]),
        Attack::new(2, inside_scan, Kind::Scan, [("fan-out", client(20))]),
        Attack::new(3, worm, Kind::Worm, infected),
        Attack::new(4, bombing, Kind::Flood, []).with_network(carpet),
        Attack::new(5, outside_scan, Kind::Scan, [("outside", outsider)]),
    ]
}

const INSIDE: &str = "'10.20.0.0/16', '2001:db8:20::/48'";

/// The notifications about the office with attacks.
static NOTIFIED: LazyLock<Vec<Notified>> = LazyLock::new(|| {
    let (actors, attacks) = (office(), attacks());
    let mut played = Played::new(INSIDE, "");
    played.pass(LENGTH, |traffic, second| {
        actors.iter().for_each(|actor| actor.act(traffic, second));
        for Attack { actor, seconds, .. } in &attacks {
            if seconds.contains(&second) {
                actor.act(traffic, second - seconds.start);
            }
        }
    });
    played.notified().collect()
});

/// Returns the notifications in `seconds`.
fn notified_in(seconds: Range<u64>) -> impl Iterator<Item = &'static Notified> {
    NOTIFIED.iter().filter(move |it| seconds.contains(&it.after))
}

#[test]
fn each_attack_on_an_office_is_found_with_its_kind_in_one_mail() {
    for attack in attacks() {
        let Attack { seconds, kind, subjects, .. } = &attack;
        let of_attack = notified_in(seconds.clone()).filter(|it| it.notification.kind == *kind);
        let of_attack: Vec<_> = of_attack.filter(|it| attack.is_of(&it.notification)).collect();
        let first = of_attack.first().map(|it| it.after);
        assert!(first.is_some_and(|it| it < seconds.start + DIGEST), "{kind} {subjects:?}");
        let in_mail = of_attack.iter().filter(|it| Some(it.after) < first.map(|it| it + DIGEST));
        let found: BTreeSet<_> = in_mail.map(|it| it.subject()).collect();
        assert_eq!(found, *subjects, "{kind}");
    }
}

#[test]
fn nothing_else_than_the_attacks_starts_an_incident() {
    let attacks = attacks();
    for Notified { notification, .. } in notified_in(LEAD..LENGTH) {
        let is_of_attack = attacks.iter().any(|attack| attack.is_of(notification));
        assert!(is_of_attack || notification.status != Status::Start, "{notification:?}");
    }
}

#[test]
fn of_an_office_without_attacks_nothing_is_sent() {
    let actors = office();
    let mut played = Played::with_slice(BENIGN_SLICE, INSIDE, "");
    played.pass(BENIGN, |traffic, second| actors.iter().for_each(|it| it.act(traffic, second)));
    assert_eq!(played.notified().filter(Notified::is_sent).count(), 0);
    let incidents = played.incidents().into_iter();
    let kinds: Vec<_> = incidents.map(|it| (it.host, it.kind)).collect();
    let expected = [(RESOLVER, Kind::Resolver), (WEB_SERVER, Kind::Server)];
    assert_eq!(kinds, expected.map(|(host, kind)| (host.to_owned(), kind)));
}

#[test]
fn of_an_office_with_attacks_only_the_attacks_are_sent() {
    let attacks = attacks();
    for it in notified_in(LEAD..LENGTH).filter(|it| it.is_sent()) {
        let of = attacks.iter().rfind(|attack| attack.is_of(&it.notification)).expect("an attack");
        // When the flood of a server is over, the server is only busy.
        let is_over = it.after >= of.seconds.end;
        let expected =
            if is_over && it.notification.kind.is_benign() { Kind::Server } else { of.kind };
        assert_eq!(it.notification.kind, expected, "{it:?}");
    }
}
