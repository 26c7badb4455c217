//! Accounts of datagrams and records. Before a program is killed, its exporters are paused, so the account of each life
//! of a program is exact.

use std::fs;

use crate::traffic::{RECORDS, Sent};

/// Metrics in the Prometheus text format.
pub(crate) struct Metrics(Vec<(String, f64)>);

impl Metrics {
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let metric = |line: &str| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().unwrap()))
        };
        Self(lines.filter_map(metric).collect())
    }

    /// Returns the sum of all series of the metric `name` whose labels contain `label`.
    pub(crate) fn sum(&self, name: &str, label: &str) -> u64 {
        let is_of = |series: &&(String, f64)| {
            let labels = series.0.strip_prefix(name);
            labels.is_some_and(|labels| {
                (labels.is_empty() || labels.starts_with('{')) && labels.contains(label)
            })
        };
        self.0.iter().filter(is_of).map(|(_, value)| *value as u64).sum()
    }

    /// Returns the largest of these values.
    fn most(&self, name: &str) -> u64 {
        let views = ["fan-in", "fan-out", "outside"].map(|view| format!("\"{view}\""));
        views.iter().map(|view| self.sum(name, view)).max().unwrap_or(0)
    }
}

/// Totals of one receiver over all of its lives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    /// Everything that was sent before the current life.
    pub(crate) before: Sent,
    pub(crate) lives: u64,
    pub(crate) received: u64,
    /// Datagrams that the kernel dropped.
    pub(crate) dropped: u64,
    /// Datagrams that could not be decoded.
    pub(crate) malformed: u64,
    /// Records whose template was missing for too long.
    pub(crate) without_template: u64,
    /// Records that were counted.
    pub(crate) used: u64,
    /// Records that were older than the window when the clock was set.
    pub(crate) too_late: u64,
}

impl Account {
    /// Returns what was sent in the current life.
    fn life(&self, sent: Sent) -> Sent {
        let Sent { datagrams, records, malformed, strange, unheard } = self.before;
        Sent {
            datagrams: sent.datagrams - datagrams,
            records: sent.records - records,
            malformed: sent.malformed - malformed,
            strange: sent.strange - strange,
            unheard: sent.unheard - unheard,
        }
    }

    /// Returns whether a monitor has read everything that was sent in this life.
    pub(crate) fn is_read(&self, sent: Sent, metrics: &Metrics) -> bool {
        let read = metrics.sum("srlg_datagrams_total", "") + kernel(metrics);
        read == self.life(sent).datagrams
    }

    /// Asserts the account of a life of the monitor, and adds it to the totals. No record may be lost without a count.
    pub(crate) fn close(&mut self, sent: Sent, metrics: &Metrics) {
        let life = self.life(sent);
        let sum = |name: &str, label: &str| metrics.sum(name, label);
        let troubles = |reason: &str| sum("srlg_exporter_troubles_total", &format!("\"{reason}\""));
        let (received, dropped) = (sum("srlg_datagrams_total", ""), kernel(metrics));
        assert_eq!(received + dropped, life.datagrams, "datagrams: {life:?}");
        assert_eq!(sum("srlg_exporter_datagrams_total", ""), received, "of exporters: {life:?}");
        assert_eq!(sum("srlg_dropped_total", "\"sender\""), life.strange, "strangers: {life:?}");
        assert_eq!(sum("srlg_lost_total", ""), dropped, "by sequence numbers: {life:?}");
        let (records, contacts) = (sum("srlg_records_total", ""), sum("srlg_contacts_total", ""));
        let without_template = RECORDS * troubles("dropped");
        let malformed = troubles("version") + troubles("malformed");
        let unread = life.records - records - without_template;
        if dropped == 0 {
            assert_eq!((unread, malformed), (0, life.malformed), "records: {life:?}");
        } else {
            assert!(unread <= RECORDS * dropped && malformed <= life.malformed, "{life:?}");
        }
        let too_late = metrics.most("srlg_too_late_total");
        assert_eq!(contacts, records, "each record is one contact: {life:?}");
        for reason in ["undecodable", "bad-clock", "future", "without-port"] {
            assert_eq!(troubles(reason), 0, "{reason}: {life:?}");
        }
        assert_eq!(sum("srlg_allowed_total", "") + sum("srlg_overloads_total", ""), 0, "{life:?}");
        self.received += received;
        self.malformed += malformed;
        self.without_template += without_template;
        self.used += records - too_late;
        self.too_late += too_late;
        self.end_life(sent, dropped);
    }

    /// Adds a life of a probe, whose socket has read all datagrams except those that the kernel `dropped`.
    pub(crate) fn close_probe(&mut self, sent: Sent, dropped: u64) {
        self.received += self.life(sent).datagrams - dropped;
        self.end_life(sent, dropped);
    }

    fn end_life(&mut self, sent: Sent, dropped: u64) {
        self.dropped += dropped;
        self.lives += 1;
        self.before = sent;
    }

    /// Asserts that each sent datagram was received, dropped by the kernel, or sent while the receiver was dead.
    pub(crate) fn assert_complete(&self, sent: Sent) {
        assert_eq!(self.before, sent, "the last life is open");
        assert_eq!(sent.datagrams, self.received + self.dropped, "{self:?}");
    }
}

fn kernel(metrics: &Metrics) -> u64 {
    metrics.sum("srlg_dropped_total", "\"kernel\"")
}

/// State of a UDP socket in the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Socket {
    /// Bytes that the program has not read yet.
    pub(crate) waiting: u64,
    /// Datagrams that the kernel dropped.
    pub(crate) dropped: u64,
}

impl Socket {
    /// Returns the socket that is bound to `port`.
    pub(crate) fn of(port: u16) -> Option<Self> {
        let table = fs::read_to_string("/proc/net/udp").unwrap();
        let end = format!(":{port:04X}");
        let sockets = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let fields = sockets.into_iter().find(|fields| fields[1].ends_with(&end))?;
        let (_, waiting) = fields[4].split_once(':').unwrap();
        let waiting = u64::from_str_radix(waiting, 16).unwrap();
        Some(Self { waiting, dropped: fields[12].parse().unwrap() })
    }
}
