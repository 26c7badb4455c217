//! Usual counts of a server: its largest counts of past weeks at the same hour.

use std::net::Ipv4Addr;
use std::num::NonZeroU8;
use std::ops::Range;

use srlg_alerts::notification::{Kind, Notification};
use srlg_alerts::{Severity, Status};
use srlg_cli::config::Config;
use srlg_cli::measure::checkpoints::Continued;
use srlg_cli::measure::monitor::Monitor;
use srlg_input::Contact;
use srlg_input::contact::{TCP, TCP_ACK, TCP_SYN};

const VIEWS: &str = "
slice = '10s'
[input]
input = ['-']
[[view]]
name = 'in'
role = 'destination'
only = 'no-replies'
pairs = 100_000
memory = 8_000_000
[[view]]
name = 'replies'
role = 'source'
only = 'replies'
pairs = 100_000
memory = 8_000_000
";

const RULE: &str = "[[rule]]\nname = 'all'\nthresholds = { 60s = 1000 }\nhold = '60s'\n";

const WEEK_MS: u64 = 7 * 86_400_000;

/// Start of the first week, at the start of an hour.
const START_MS: u64 = 1_750_003_200_000;

/// A monitor with a state folder, and the notifications about its server.
struct Weeks {
    monitor: Monitor,
    notified: Vec<Notification>,
    _folder: tempfile::TempDir,
}

impl Weeks {
    fn new(rule: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!("state = '{}'\n{VIEWS}{rule}", folder.path().display());
        let config = Config::parse(&config).unwrap();
        let Continued { monitor, .. } = Continued::open(&config).unwrap();
        Self { monitor, notified: Vec::new(), _folder: folder }
    }

    /// Lets 40 minutes of the week pass, from the start of an hour. In the minutes `busy`, the server answers `clients`
    /// clients per minute, and otherwise 10.
    fn pass(&mut self, week: u64, busy: Range<u64>, clients: u32) {
        for step in 0..240 {
            let time_ms = START_MS + week * WEEK_MS + step * 10_000;
            self.monitor.advance(time_ms * 1_000_000).unwrap();
            let clients = if busy.contains(&(step / 6)) { clients / 6 } else { 10 };
            for client in 0..clients {
                let client =
                    Ipv4Addr::from_bits(0xc612_0000 + (step % 6) as u32 * 100_000 + client);
                let server = Ipv4Addr::new(10, 0, 0, 80);
                let [request, reply] = [[client, server], [server, client]]
                    .map(|[from, to]| Contact::new(time_ms * 1_000_000, from.into(), to.into()));
                let (flags, ports) = (TCP_SYN | TCP_ACK, [Some(40_000), Some(443)]);
                for (mut contact, flags, [from, to]) in
                    [(request, TCP_ACK, ports), (reply, flags, [ports[1], ports[0]])]
                {
                    (contact.protocol, contact.tcp_flags) = (Some(TCP), NonZeroU8::new(flags));
                    (contact.source_port, contact.destination_port) = (from, to);
                    self.monitor.ingest(&contact).unwrap();
                }
            }
            self.notified.extend(self.monitor.notifications().unwrap());
        }
    }

    /// Returns the starts of incidents since the last call.
    fn starts(&mut self) -> Vec<Notification> {
        let starts = std::mem::take(&mut self.notified).into_iter();
        starts.filter(|it| it.status == Status::Start).collect()
    }
}

#[test]
fn a_busy_server_is_flooded_if_it_has_far_more_clients_than_in_past_weeks() {
    let mut weeks = Weeks::new(RULE);
    for week in 0..2 {
        weeks.pass(week, 10..14, 1_500);
        let [start] = &weeks.starts()[..] else { panic!("{week}") };
        assert_eq!((start.kind, start.severity), (Kind::Server, Severity::Info));
        assert_eq!(start.main.usual.map(|usual| usual.weeks), Some(week).filter(|it| *it > 0));
    }
    weeks.pass(2, 10..14, 3_000);
    assert_eq!(weeks.starts().iter().map(|it| it.kind).collect::<Vec<_>>(), [Kind::Server]);
    weeks.pass(3, 20..24, 12_000);
    let starts = weeks.starts();
    assert_eq!(starts.iter().map(|it| it.kind).collect::<Vec<_>>(), [Kind::Server, Kind::Flood]);
    let last = &starts[1];
    let usual = last.main.usual.unwrap();
    assert_eq!((last.kind, last.is_unusual, usual.weeks), (Kind::Flood, true, 3));
    assert!((2_900..3_100).contains(&usual.most), "{usual:?}");
    assert!(last.severity > Severity::Info && last.text.contains("usual at this time: up to"));
    // The flood is no reason to expect another one.
    weeks.pass(4, 20..24, 36_000);
    assert_eq!(weeks.starts().last().map(|it| it.kind), Some(Kind::Flood));
}

#[test]
fn a_rule_may_ask_for_a_multiple_of_what_is_usual() {
    let mut weeks = Weeks::new(&format!("{RULE}above-usual = 2\n"));
    weeks.pass(0, 10..14, 1_500);
    assert_eq!(weeks.starts().len(), 1, "nothing is known yet");
    weeks.pass(1, 10..14, 2_500);
    assert_eq!(weeks.starts(), [], "less than twice as many");
    weeks.pass(2, 10..14, 6_000);
    let [start] = &weeks.starts()[..] else { panic!() };
    assert!(start.main.threshold > 4_800.0, "{}", start.main.threshold);
}
