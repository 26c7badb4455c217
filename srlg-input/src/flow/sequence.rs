//! Losses of exports, detected by gaps between sequence numbers.
//!
//! Sequence numbers have 32 bits and wrap. The caller chooses the counted unit (flows, datagrams or records).
//!
//! A run is a row of datagrams whose numbers follow each other, apart from short gaps and reordering. If an exporter
//! restarts or exports are lost for a while, a new run starts and the former one never continues. If the numbers
//! return to former runs again and again, several exporters send under the same identity, so gaps between runs are not
//! losses.
//!
//! Invariant: if a unit that was counted as lost arrives within the limits for reordering, it no longer counts as lost.

use crate::flow::clock::SECOND;

/// Limit for reordering: a reordered datagram is fewer than this many datagrams behind the expected one. A datagram
/// that is fewer than this many datagrams ahead continues its run, because the missing datagrams may still arrive.
const REORDERED: u32 = 64;

/// Limit for reordering: the uptime in a reordered datagram is lower than the latest uptime by less than this many
/// milliseconds.
const OVERTAKEN_MS: u32 = 60_000;

/// Maximum silence of an exporter, in milliseconds, after which a wrap of its 32-bit uptime is still recognised.
const DAY_MS: u32 = 86_400_000;

/// Number of runs that are remembered. Their order of arrival is irregular, so a few runs suffice to recognise returns
/// even if more exporters share an identity. More exporters that send strictly in turn are not recognised.
const RUNS: usize = 4;

/// Number of returns to former runs after which several exporters must share an identity. A datagram that is overtaken
/// by a restart or by more than [`REORDERED`] datagrams causes at most two returns: to its run and back.
const RETURNS: u32 = 8;

/// Time after the last return from which a single exporter is assumed again. A problem with the input also ends when
/// it has not occurred for five minutes.
pub(crate) const SETTLED_NS: u64 = 300 * SECOND;

/// Losses of an exporter, in the unit of its protocol: flows in NetFlow v5 and v7, datagrams in NetFlow v9 and
/// sFlow, and records in IPFIX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Number of units that are missing and have not arrived late.
    pub lost: u64,
    /// Number of datagrams that arrived out of order or were duplicates.
    pub reordered: u64,
    /// Number of detected restarts of the exporter, including gaps that are too long for a loss.
    pub resets: u64,
}

impl Losses {
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            lost: self.lost.saturating_add(other.lost),
            reordered: self.reordered + other.reordered,
            resets: self.resets + other.resets,
        }
    }

    /// Applies the change in the losses of one sequence, from `before` to `after`.
    pub(crate) fn change(&mut self, before: Self, after: Self) {
        self.lost = self.lost.saturating_add(after.lost).saturating_sub(before.lost);
        self.reordered += after.reordered - before.reordered;
        self.resets += after.resets - before.resets;
    }
}

/// The number of units in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) all: u32,
    /// Number of units that are not options records, because some exporters do not count options records.
    pub(crate) flows: u32,
}

/// The parts of a datagram that matter for losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    /// Sequence number: the number of units before the datagram. In the IPFIX exports of softflowd, the sequence number
    /// includes the units of the datagram.
    pub(crate) number: u32,
    /// Number of units, or `None` if it is unknown.
    pub(crate) count: Option<Count>,
    /// Uptime of the exporter in milliseconds, if the header states it.
    pub(crate) uptime_ms: Option<u32>,
    pub(crate) received_ns: u64,
    /// Time of the export according to the exporter's clock, in nanoseconds since the Unix epoch; 0 if it is unknown.
    pub(crate) sent_ns: u64,
}

/// The sequence numbers of one identity: an observation domain, source ID, engine or sub-agent of an exporter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    /// Last datagrams of the latest runs, the current run first.
    runs: [Option<Run>; RUNS],
    /// Times of the previous datagram, as in [`Datagram`].
    received_ns: u64,
    sent_ns: u64,
    pace: Pace,
    alternation: Alternation,
    pub(crate) losses: Losses,
}

/// The last datagram of a run.
#[derive(Clone, Copy, Debug)]
struct Run {
    number: u32,
    count: Option<Count>,
    uptime_ms: u32,
}

/// The position of a datagram relative to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Next,
    /// The datagram was overtaken by others, or is a duplicate. `is_repeated` is set for a repetition of the last
    /// datagram.
    Late {
        is_repeated: bool,
    },
    /// The number of missing units, which is within the limit for reordering.
    Gap(u32),
    /// The number of units from the run to a datagram that does not belong to it, or `None` if the exporter must have
    /// restarted in between.
    Jump(Option<u32>),
    /// The run does not tell which number is next.
    Unknown,
}

/// The largest number of units that arrived within a second.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    since_ns: u64,
    units: u64,
    fastest: u64,
}

/// Returns to former runs, each less than [`SETTLED_NS`] after the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Alternation {
    returns: u32,
    last_ns: u64,
    /// Losses that were counted for jumps, before it was known that they are none.
    charged: u64,
}

impl Count {
    /// Returns a count of `all` units, none of which is an options record. The result is always `Some`.
    pub(crate) const fn of(all: u32) -> Option<Self> {
        Some(Self { all, flows: all })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { all: self.all + other.all, flows: self.flows + other.flows }
    }

    /// Returns whether `growth` is this count, with or without options records.
    fn is(self, growth: u32) -> bool {
        growth == self.all || growth == self.flows
    }
}

impl Sequence {
    /// Adds a datagram. Returns whether it shows that several exporters alternate: it returns to a former run, as other
    /// datagrams did shortly before.
    pub(crate) fn add(&mut self, datagram: Datagram) -> bool {
        let now_ns = datagram.received_ns;
        self.alternation.expire(now_ns);
        let steps = self.runs.map(|run| run.map_or(Step::Unknown, |run| run.step(datagram)));
        let continues = |step: &Step| matches!(step, Step::Next | Step::Late { .. } | Step::Gap(_));
        let at = steps.iter().position(continues);
        let is_return = at.is_some_and(|at| at > 0);
        if let Some(at) = at {
            self.runs[..=at].rotate_right(1);
        }
        if is_return {
            self.losses.lost = self.losses.lost.saturating_sub(self.alternation.add(now_ns));
        }
        let units = u64::from(datagram.count.map_or(0, |count| count.all));
        let step = steps[at.unwrap_or(0)];
        match step {
            Step::Next | Step::Unknown => {}
            Step::Gap(gap) => self.losses.lost += u64::from(gap),
            Step::Late { is_repeated } => {
                self.losses.reordered += 1;
                // A repeated datagram does not reduce the losses.
                let late = if is_repeated { 0 } else { units };
                self.losses.lost = self.losses.lost.saturating_sub(late);
            }
            Step::Jump(gap) => {
                self.jump(gap, datagram);
                self.runs.rotate_right(1);
            }
        }
        self.pace.add(now_ns, units);
        (self.received_ns, self.sent_ns) = (now_ns, datagram.sent_ns);
        if !matches!(step, Step::Late { .. }) {
            self.runs[0] = Some(Run::ending(datagram));
        }
        is_return && self.alternation.is_certain()
    }

    /// Counts a restart or, if `gap` can be a loss, `gap` lost units. While several exporters alternate, neither is
    /// counted.
    ///
    /// A gap cannot be a loss if the exporter would have had to send faster than it ever did. The headers of IPFIX
    /// contain nothing that would tell such a gap from a restart, so nothing is claimed about it. The time of sending
    /// counts as well, because a program that was stopped receives what came before and after a gap at the same moment.
    fn jump(&mut self, gap: Option<u32>, datagram: Datagram) {
        if self.alternation.is_certain() {
            return;
        }
        let passed_ns = datagram.received_ns.saturating_sub(self.received_ns);
        let most =
            self.pace.most_within(passed_ns.max(datagram.sent_ns.saturating_sub(self.sent_ns)));
        match gap.map(u64::from).filter(|gap| *gap <= most) {
            Some(gap) => {
                self.losses.lost += gap;
                self.alternation.charge(gap);
            }
            None => self.losses.resets += 1,
        }
    }
}

impl Run {
    fn ending(datagram: Datagram) -> Self {
        let Datagram { number, count, uptime_ms, .. } = datagram;
        Self { number, count, uptime_ms: uptime_ms.unwrap_or(0) }
    }

    fn step(self, datagram: Datagram) -> Step {
        let Datagram { number, count, uptime_ms, .. } = datagram;
        let Some(before) = self.count else { return Step::Unknown };
        let expected = self.number.wrapping_add(before.all);
        let (gap, back) = (number.wrapping_sub(expected), expected.wrapping_sub(number));
        let growth = number.wrapping_sub(self.number);
        let fell = self.fell_by(uptime_ms);
        let units = before.all.max(count.map_or(0, |count| count.all)).max(1);
        let limit = REORDERED.saturating_mul(units);
        if before.is(growth) || count.is_some_and(|count| count.is(growth)) {
            Step::Next
        } else if back < limit && fell < OVERTAKEN_MS {
            Step::Late { is_repeated: growth == 0 }
        } else if fell > 0 || gap > u32::MAX / 2 {
            Step::Jump(None)
        } else if gap < limit {
            Step::Gap(gap)
        } else {
            Step::Jump(Some(gap))
        }
    }

    /// Returns the decrease in uptime, in milliseconds. A wrap of the uptime is not a decrease.
    fn fell_by(self, uptime_ms: Option<u32>) -> u32 {
        let now = uptime_ms.unwrap_or(self.uptime_ms);
        let is_on = now.wrapping_sub(self.uptime_ms) < DAY_MS;
        if is_on { 0 } else { self.uptime_ms.saturating_sub(now) }
    }
}

impl Pace {
    fn add(&mut self, now_ns: u64, units: u64) {
        if now_ns.checked_sub(self.since_ns).is_none_or(|passed| passed >= SECOND) {
            (self.since_ns, self.units) = (now_ns, 0);
        }
        self.units += units;
        self.fastest = self.fastest.max(self.units);
    }

    /// Returns the number of units within `passed_ns` at the fastest pace so far. A time of n seconds overlaps up to
    /// n + 1 of the seconds in which units are counted. Headers cut up to a second off the time of sending.
    fn most_within(self, passed_ns: u64) -> u64 {
        self.fastest.saturating_mul(passed_ns.div_ceil(SECOND) + 2)
    }
}

impl Alternation {
    /// Forgets all returns if the last one is too old, or if the clock was set back.
    fn expire(&mut self, now_ns: u64) {
        if self.returns > 0 && !is_recent(self.last_ns, now_ns) {
            *self = Self::default();
        }
    }

    /// Adds a return. Returns the number of units that were counted as lost although they are not.
    fn add(&mut self, now_ns: u64) -> u64 {
        self.returns = self.returns.saturating_add(1);
        self.last_ns = now_ns;
        if self.is_certain() { std::mem::take(&mut self.charged) } else { 0 }
    }

    /// Adds the losses of a jump. Before the first return, only the last jump can be part of the alternation.
    const fn charge(&mut self, lost: u64) {
        self.charged = if self.returns == 0 { lost } else { self.charged.saturating_add(lost) };
    }

    const fn is_certain(self) -> bool {
        self.returns >= RETURNS
    }
}

/// Returns whether a return at `last_ns` still shows, at `now_ns`, that several exporters alternate.
pub(crate) fn is_recent(last_ns: u64, now_ns: u64) -> bool {
    now_ns.checked_sub(last_ns).is_some_and(|passed| passed < SETTLED_NS)
}

#[cfg(test)]
mod tests;
