//! Accounts of datagrams and records. If the exporters of a program are paused before it is killed, the account of its
//! life is exact. Otherwise, the datagrams that it read since its last metrics are missing.

use crate::programs::PROBES;
use crate::traffic::{RECORDS, Receiver, Sent};

/// Maximum number of missing datagrams of a program that is killed while it receives: those of 3 s at the highest rate.
const MOST_UNREAD: u64 = 3 * 35_000 / RECORDS;

/// Maximum number of records that each set clock makes too late, and that each restart of a program or exporter leaves
/// without a template: those of two template intervals at the highest rate.
const MOST_UNUSED: u64 = 10 * 35_000;

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

    /// Returns the sum of all series of the metric `name` whose labels contain `label`, or `None` if there is none.
    pub(crate) fn get(&self, name: &str, label: &str) -> Option<u64> {
        let is_of = |series: &&(String, f64)| {
            let labels = series.0.strip_prefix(name);
            labels.is_some_and(|labels| {
                (labels.is_empty() || labels.starts_with('{')) && labels.contains(label)
            })
        };
        self.0.iter().filter(is_of).map(|(_, value)| *value as u64).reduce(|all, value| all + value)
    }

    /// Returns the same sum as [`get`](Self::get). The series must exist.
    pub(crate) fn sum(&self, name: &str, label: &str) -> u64 {
        self.get(name, label).unwrap_or_else(|| panic!("no metric {name} {label}"))
    }

    /// Returns the same sum as [`get`](Self::get), for a metric whose series appear with the first count.
    fn count(&self, name: &str, label: &str) -> u64 {
        self.get(name, label).unwrap_or(0)
    }

    /// Returns the largest of these values.
    fn most(&self, name: &str) -> u64 {
        let views = ["fan-in", "fan-out", "outside"].map(|view| format!("\"{view}\""));
        views.iter().map(|view| self.sum(name, view)).max().unwrap_or(0)
    }
}

/// Datagrams that a receiver has counted in its current life.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Datagrams {
    pub(crate) received: u64,
    /// Datagrams that the kernel dropped.
    pub(crate) dropped: u64,
}

impl Datagrams {
    /// Reads the counts from the metrics of the monitor, or from those of the collector for a probe. Returns `None` if
    /// a probe has not reported to this collector yet.
    pub(crate) fn of(receiver: Receiver, metrics: &Metrics) -> Option<Self> {
        let (received, dropped) = match receiver {
            Receiver::Monitor => (
                metrics.get("srlg_datagrams_total", ""),
                metrics.get("srlg_dropped_total", "\"kernel\""),
            ),
            Receiver::Probe(probe) => {
                let of = format!("probe=\"{}\"", PROBES[probe]);
                (
                    metrics.get("srlg_probe_datagrams_total", &of),
                    metrics.get("srlg_probe_dropped_total", &format!("{of},reason=\"kernel\"")),
                )
            }
        };
        Some(Self { received: received?, dropped: dropped? })
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
    /// Datagrams that a killed program may have received after its last metrics.
    pub(crate) unread: u64,
    /// Faults of this life that may make records late or take their templates away.
    pub(crate) disturbed: u64,
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

    /// Returns whether the receiver has counted everything that was sent in this life.
    pub(crate) fn is_read(&self, sent: Sent, counted: Datagrams) -> bool {
        counted.received + counted.dropped == self.life(sent).datagrams
    }

    /// Closes a life in which the receiver has counted everything that was sent.
    pub(crate) fn close(&mut self, sent: Sent, counted: Datagrams) {
        assert!(self.is_read(sent, counted), "{counted:?}, {:?}", self.life(sent));
        self.end_life(sent, counted);
    }

    /// Closes the life of a receiver that is killed while it receives. `counted` was read just before.
    pub(crate) fn close_killed(&mut self, sent: Sent, counted: Datagrams) {
        let life = self.life(sent);
        let unread = life.datagrams.checked_sub(counted.received + counted.dropped);
        let unread = unread.unwrap_or_else(|| panic!("{counted:?} exceed {life:?}"));
        assert!(unread <= MOST_UNREAD, "{counted:?}, {life:?}");
        self.unread += unread;
        self.end_life(sent, counted);
    }

    /// Asserts that the monitor has used or counted each record of a life, and adds these counts to the totals.
    pub(crate) fn check_records(&mut self, sent: Sent, counted: Datagrams, metrics: &Metrics) {
        let life = self.life(sent);
        let sum = |name: &str, label: &str| metrics.sum(name, label);
        let problems =
            |reason: &str| metrics.count("srlg_exporter_problems_total", &format!("\"{reason}\""));
        let Datagrams { received, dropped } = counted;
        assert_eq!(sum("srlg_exporter_datagrams_total", ""), received, "of exporters: {life:?}");
        assert_eq!(sum("srlg_dropped_total", "\"sender\""), life.strange, "strangers: {life:?}");
        assert_eq!(sum("srlg_lost_total", ""), dropped, "by sequence numbers: {life:?}");
        let (records, contacts) = (sum("srlg_records_total", ""), sum("srlg_contacts_total", ""));
        let without_template = RECORDS * problems("dropped");
        let malformed = problems("version") + problems("cut") + problems("malformed");
        let unread = life.records - records - without_template;
        if dropped == 0 {
            assert_eq!((unread, malformed), (0, life.malformed), "records: {life:?}");
        } else {
            assert!(unread <= RECORDS * dropped && malformed <= life.malformed, "{life:?}");
        }
        let too_late = metrics.most("srlg_too_late_total");
        let most = MOST_UNUSED * (1 + self.disturbed);
        assert!(
            too_late <= most && without_template <= most,
            "{too_late} {without_template} {self:?}"
        );
        assert_eq!(contacts, records, "each record is one contact: {life:?}");
        for reason in ["undecodable", "bad-clock", "shared-address", "future", "without-port"] {
            assert_eq!(problems(reason), 0, "{reason}: {life:?}");
        }
        assert_eq!(sum("srlg_allowed_total", "") + sum("srlg_overloads_total", ""), 0, "{life:?}");
        self.malformed += malformed;
        self.without_template += without_template;
        self.used += records - too_late;
        self.too_late += too_late;
    }

    fn end_life(&mut self, sent: Sent, Datagrams { received, dropped }: Datagrams) {
        self.received += received;
        self.dropped += dropped;
        self.lives += 1;
        self.disturbed = 0;
        self.before = sent;
    }

    /// Asserts that each datagram to a running receiver was received, dropped by the kernel, or sent just before a
    /// kill.
    pub(crate) fn assert_complete(&self, sent: Sent) {
        assert_eq!(self.before, sent, "the last life is open");
        assert_eq!(sent.datagrams, self.received + self.dropped + self.unread, "{self:?}");
    }
}
