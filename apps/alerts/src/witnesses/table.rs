//! A table that states when each exporter of one machine last sent data, and which exporters are silent.
//!
//! Invariant: a silent exporter is remembered for a day. An exporter with its own entry among the permitted exporters
//! is remembered for as long as the entry exists. At most 16,384 exporters are remembered. Exporters without an entry
//! are forgotten first, starting with exporters that have sent data for less than a minute.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use srlg_input::Status;
use srlg_input::contact::{IpNet, Networks};
use tracing::{info, warn};

use super::{AlertedHost, KnownExporters, NAMED, Witnesses, named};
use crate::exporters::ExporterNames;
use crate::top::at_most;

/// Minimum silence limit of an exporter, in milliseconds, unless a limit is configured.
const LEAST_SILENCE_MS: u64 = 15_000;

/// Ratio of an exporter's silence limit to its longest usual pause in the last hour.
const PAUSES: u64 = 3;

/// Time for which a pause counts, in milliseconds. A gap of this length is always an outage.
const HOUR_MS: u64 = 3_600_000;

/// Time for which an exporter without its own entry is remembered after its last datagram, in milliseconds.
const DAY_MS: u64 = 24 * HOUR_MS;

/// Length of the period before the exporters of a host became known, in milliseconds. An exporter that fell silent in
/// this period may have seen the host.
const BEFORE_MS: u64 = 60_000;

/// Time for which an exporter must send data until it is no longer new, in milliseconds. The address of a new exporter
/// may be forged.
const NEW_MS: u64 = 60_000;

/// Maximum number of exporters that are remembered.
pub const EXPORTERS: usize = 16_384;

/// Maximum number of exporters and of networks in a [`TableState`].
const MOST_ROWS: usize = 1_024;

/// Minimum time between two log lines about silent exporters.
const AGAIN_MS: u64 = 60_000;

/// Times and durations of one exporter, in milliseconds. Times are counted from the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExporterTimes {
    pub exporter: IpAddr,
    /// Time of the last datagram.
    pub last_ms: u64,
    /// Total time for which the exporter has sent data, excluding its silences.
    active_ms: u64,
    /// Time of the first datagram after the last silence; 0 if there was no silence.
    resumed_ms: u64,
    /// Time without a datagram after which the exporter is silent.
    limit_ms: u64,
}

impl ExporterTimes {
    fn is_new(&self) -> bool {
        self.active_ms < NEW_MS
    }
}

/// Contents of a [`WitnessTable`], for a checkpoint or for another machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableState {
    /// Time of the last update, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    #[serde(deserialize_with = "at_most::<MOST_ROWS, _, _>")]
    permitted: Vec<IpNet>,
    /// Times of the exporters, the silent ones first.
    #[serde(deserialize_with = "at_most::<MOST_ROWS, _, _>")]
    exporters: Vec<ExporterTimes>,
}

impl TableState {
    /// Returns whether no exporters are permitted.
    pub fn is_empty(&self) -> bool {
        self.permitted.is_empty()
    }
}

/// The times of all exporters of one machine.
#[derive(Clone, Debug)]
pub struct WitnessTable {
    /// Networks of the permitted exporters.
    permitted: Vec<IpNet>,
    lookup: Networks<()>,
    /// Exporters with their own entry among the permitted networks.
    named: BTreeSet<IpAddr>,
    /// Time without a datagram after which any exporter is silent. If `None`, the limit depends on the pauses of each
    /// exporter.
    silent_after: Option<Duration>,
    slice_ms: u64,
    started_ms: u64,
    now_ms: u64,
    step: Option<Step>,
    by_address: HashMap<IpAddr, Seen>,
    names: ExporterNames,
    /// Time of the last datagram of each exporter, in ascending order.
    last: Vec<u64>,
    /// Time of the last datagram of each silent exporter, in ascending order.
    silent: Vec<(u64, IpAddr)>,
    /// Last time at which an exporter that is not new sent data again after a silence.
    resumed_ms: u64,
    /// Time of the last log lines, in milliseconds since the Unix epoch.
    logged_ms: Option<u64>,
    /// Exporters that were logged as silent or as never heard from.
    logged: HashSet<IpAddr>,
}

/// A forward step of the system clock.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Time before the step, in milliseconds since the Unix epoch.
    before_ms: u64,
    length_ms: u64,
}

impl Step {
    /// Converts the time of a datagram to the clock after the step.
    fn correct(self, ms: u64) -> u64 {
        if ms <= self.before_ms { ms + self.length_ms } else { ms }
    }
}

/// Times of an exporter's datagrams, and the pauses between them.
#[derive(Clone, Copy, Debug)]
struct Seen {
    times: ExporterTimes,
    /// Time of the last datagram according to the input, not corrected for steps of the system clock.
    given_ms: u64,
    pauses: Pauses,
}

/// Longest pause between datagrams in each of the last seven ten-minute intervals, the newest first.
#[derive(Clone, Copy, Debug, Default)]
struct Pauses {
    longest_ms: [u64; 7],
    /// Number of the newest interval, counted from the Unix epoch.
    newest: u64,
    /// The last two silences.
    silences: [Silence; 2],
}

/// A time without a datagram that reached the limit of its exporter.
#[derive(Clone, Copy, Debug, Default)]
struct Silence {
    ended_ms: u64,
    length_ms: u64,
}

impl Pauses {
    fn add(&mut self, now_ms: u64, pause_ms: u64) {
        let newest = now_ms / (HOUR_MS / 6);
        for _ in self.newest..newest.min(self.newest + self.longest_ms.len() as u64) {
            self.longest_ms.rotate_right(1);
            self.longest_ms[0] = 0;
        }
        self.newest = newest;
        if pause_ms < HOUR_MS {
            self.longest_ms[0] = self.longest_ms[0].max(pause_ms);
        }
    }

    /// Adds a silence. A silence is an outage and no pause, unless it is the third one within an hour: in that case, the
    /// shortest of the three is a usual pause.
    fn add_silence(&mut self, ended_ms: u64, length_ms: u64) {
        let all = [Silence { ended_ms, length_ms }, self.silences[0], self.silences[1]];
        let is_usual = all.iter().all(|it| ended_ms.saturating_sub(it.ended_ms) < HOUR_MS);
        if is_usual && let Some(shortest_ms) = all.iter().map(|it| it.length_ms).min() {
            self.add(ended_ms, shortest_ms);
        }
        self.silences = [all[0], all[1]];
    }

    fn longest_ms(&self) -> u64 {
        self.longest_ms.into_iter().max().unwrap_or(0)
    }
}

impl Seen {
    fn new(exporter: IpAddr, ms: u64) -> Self {
        let times = ExporterTimes {
            exporter,
            last_ms: ms,
            active_ms: 0,
            resumed_ms: 0,
            limit_ms: LEAST_SILENCE_MS,
        };
        Self { times, given_ms: ms, pauses: Pauses::default() }
    }

    fn from_times(times: ExporterTimes) -> Self {
        let mut pauses = Pauses::default();
        pauses.add(times.last_ms, times.limit_ms / PAUSES);
        Self { times, given_ms: times.last_ms, pauses }
    }

    /// `given_ms` is the time of the last datagram according to the input. `ms` is the same time, corrected for steps
    /// of the system clock.
    fn update(&mut self, given_ms: u64, ms: u64) {
        let times = &mut self.times;
        if std::mem::replace(&mut self.given_ms, given_ms) == given_ms {
            return;
        }
        if let Some(pause_ms) = ms.checked_sub(times.last_ms) {
            let is_new = times.is_new();
            match pause_ms < times.limit_ms {
                true => times.active_ms += pause_ms,
                false => times.resumed_ms = ms,
            }
            // The limit of a new exporter is not its own yet.
            if pause_ms < times.limit_ms || is_new {
                self.pauses.add(ms, pause_ms);
            } else {
                self.pauses.add_silence(ms, pause_ms);
            }
        }
        // The time may be earlier than before if the system clock was set back.
        times.last_ms = ms;
    }

    fn set_limit(&mut self, silent_after: Option<Duration>) {
        let by_pauses = (PAUSES * self.pauses.longest_ms()).max(LEAST_SILENCE_MS);
        self.times.limit_ms = silent_after.map_or(by_pauses, |after| after.as_millis() as u64);
    }
}

/// Returns the exporters of `input` that have sent records, with the times of their last datagrams in milliseconds
/// since the Unix epoch. While data sets wait for a template, datagrams without a record are ignored, because they may
/// hide contacts.
pub fn last_datagrams(input: &Status) -> impl Iterator<Item = (IpAddr, u64)> {
    let exporters = input.exporters.iter().filter(|exporter| exporter.counts.records > 0);
    exporters.map(|exporter| {
        let last_ns = match exporter.backlog {
            Some(_) => exporter.last_record_ns,
            None => exporter.last_read_ns,
        };
        (exporter.address.ip(), last_ns / 1_000_000)
    })
}

fn single_hosts(networks: &[IpNet]) -> BTreeSet<IpAddr> {
    let hosts = networks.iter().filter(|it| it.prefix_len() == it.max_prefix_len());
    hosts.map(|host| host.addr().to_canonical()).collect()
}

impl WitnessTable {
    /// `started_ms` is the current time, in milliseconds since the Unix epoch.
    pub fn new(
        permitted: &[IpNet],
        silent_after: Option<Duration>,
        slice_ms: u64,
        started_ms: u64,
    ) -> Self {
        Self {
            permitted: permitted.to_vec(),
            lookup: Networks::new(permitted.iter().map(|network| (*network, ()))),
            named: single_hosts(permitted),
            silent_after,
            slice_ms,
            started_ms,
            now_ms: started_ms,
            step: None,
            by_address: HashMap::new(),
            names: ExporterNames::default(),
            last: Vec::new(),
            silent: Vec::new(),
            resumed_ms: 0,
            logged_ms: None,
            logged: HashSet::new(),
        }
    }

    pub fn with_slices_of(self, slice_ms: u64) -> Self {
        Self { slice_ms, ..self }
    }

    pub fn set_names(&mut self, names: ExporterNames) {
        self.names = names;
    }

    pub const fn names(&self) -> &ExporterNames {
        &self.names
    }

    /// Updates the table at `now_ms` with `datagrams`, which contains exporters and the times of their last datagrams.
    /// Logs which exporters have fallen silent or are sending again. Exporters that are not in `datagrams` are still
    /// remembered.
    pub fn update(&mut self, now_ms: u64, datagrams: impl IntoIterator<Item = (IpAddr, u64)>) {
        // If the clock was set back after the step, times before the step are correct.
        self.step = self.step.filter(|step| now_ms >= step.before_ms + step.length_ms);
        for (exporter, given_ms) in datagrams {
            // The clock may have been set after `now_ms` was read.
            let ms = self.step.map_or(given_ms, |step| step.correct(given_ms)).min(now_ms);
            let seen = self.by_address.entry(exporter).or_insert_with(|| Seen::new(exporter, ms));
            seen.update(given_ms, ms);
            seen.set_limit(self.silent_after);
        }
        self.sort(now_ms);
        self.log_changes();
    }

    /// Restores each exporter of `state`, unless the table contains a newer datagram from the same exporter.
    pub fn restore(&mut self, state: &TableState) {
        for times in &state.exporters {
            let known = self.by_address.get(&times.exporter);
            if known.is_none_or(|seen| seen.times.last_ms <= times.last_ms) {
                self.by_address.insert(times.exporter, Seen::from_times(*times));
            }
        }
        self.sort(self.now_ms.max(state.now_ms));
    }

    /// Applies the `state` of another machine's table.
    pub fn follow(&mut self, state: &TableState) {
        if self.permitted != state.permitted {
            self.permitted.clone_from(&state.permitted);
            self.lookup = Networks::new(self.permitted.iter().map(|network| (*network, ())));
            self.named = single_hosts(&self.permitted);
        }
        self.now_ms = state.now_ms;
        self.restore(state);
    }

    /// Returns the contents of the table, silent exporters first.
    pub fn state(&self) -> TableState {
        let is_permitted = |seen: &&Seen| self.lookup.get(seen.times.exporter.into()).is_some();
        let seen = self.by_address.values().filter(is_permitted);
        let mut exporters: Vec<ExporterTimes> = seen.map(|seen| seen.times).collect();
        exporters.sort_by_key(|times| {
            let is_silent = self.silent_since(times.exporter).is_some();
            (!is_silent, u64::MAX - times.last_ms, times.exporter)
        });
        exporters.truncate(MOST_ROWS);
        let permitted = self.permitted.iter().copied().take(MOST_ROWS).collect();
        TableState { now_ms: self.now_ms, permitted, exporters }
    }

    /// Adjusts the times of the last datagrams after the system clock was set forward by `length_ms` to `now_ms`. The
    /// step does not count as a pause.
    pub fn set_forward(&mut self, length_ms: u64, now_ms: u64) {
        self.step = Some(Step { before_ms: now_ms.saturating_sub(length_ms), length_ms });
        self.started_ms += length_ms;
        for seen in self.by_address.values_mut() {
            seen.times.last_ms += length_ms;
        }
        self.sort(self.now_ms + length_ms);
    }

    /// Forgets old and surplus exporters and finds the exporters that are silent at `now_ms`.
    fn sort(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.by_address.retain(|exporter, seen| {
            let is_recent = now_ms.saturating_sub(seen.times.last_ms) <= DAY_MS;
            is_recent || self.named.contains(exporter)
        });
        let times = self.by_address.values().map(|seen| seen.times);
        let by_worth = times.map(|times| {
            let is_named = self.named.contains(&times.exporter);
            (is_named, !times.is_new(), times.last_ms, times.exporter)
        });
        let mut by_worth: Vec<_> = by_worth.collect();
        if by_worth.len() > EXPORTERS {
            by_worth.sort_unstable();
            for (.., exporter) in by_worth.drain(..by_worth.len() - EXPORTERS) {
                self.by_address.remove(&exporter);
            }
        }
        let mut by_time: Vec<_> =
            by_worth.into_iter().map(|(.., ms, exporter)| (ms, exporter)).collect();
        by_time.sort_unstable();
        self.last = by_time.iter().map(|(ms, _)| *ms).collect();
        by_time.retain(|(_, exporter)| self.silent_since(*exporter).is_some());
        self.silent = by_time;
        let known = self.by_address.values().filter(|seen| !seen.times.is_new());
        let resumed = known.map(|seen| seen.times.resumed_ms);
        self.resumed_ms = resumed.max().unwrap_or(0);
    }

    fn log_changes(&mut self) {
        let unheard = self.unheard().filter(|exporter| self.silent_since(*exporter).is_some());
        let silent = self.silent.iter().map(|(_, exporter)| *exporter);
        let silent: HashSet<_> = silent.chain(unheard).collect();
        // If the clock was set back, the last lines are in the future, and new ones are due.
        let is_recent =
            |logged_ms: u64| (logged_ms..logged_ms.saturating_add(AGAIN_MS)).contains(&self.now_ms);
        if silent == self.logged || self.logged_ms.is_some_and(is_recent) {
            return;
        }
        self.logged_ms = Some(self.now_ms);
        let (heard, unheard): (Vec<&IpAddr>, Vec<&IpAddr>) = silent
            .difference(&self.logged)
            .partition(|exporter| self.by_address.contains_key(*exporter));
        let shown = |exporter: &IpAddr| self.names.named(*exporter);
        if let Some(names) = named(heard.into_iter().map(shown)) {
            warn!("silent exporters: {names}; alerts about hosts that they reported stay active");
        }
        if let Some(names) = named(unheard.into_iter().map(shown)) {
            warn!("exporters without a flow record since the start: {names}");
        }
        let sending = self.logged.difference(&silent).filter(|it| self.by_address.contains_key(it));
        if let Some(names) = named(sending.map(shown)) {
            info!("exporters that send again: {names}");
        }
        self.logged = silent;
    }

    /// Returns the silent exporters that are permitted.
    pub fn silent(&self) -> impl Iterator<Item = &ExporterTimes> {
        let permitted =
            self.silent.iter().filter(|(_, it)| self.lookup.get((*it).into()).is_some());
        permitted.filter_map(|(_, exporter)| Some(&self.by_address.get(exporter)?.times))
    }

    /// Returns the exporters with their own entry that have not sent a record. These exporters are not witnesses of any
    /// host.
    pub fn unheard(&self) -> impl Iterator<Item = IpAddr> {
        self.named.iter().copied().filter(|host| !self.by_address.contains_key(host))
    }

    /// Returns the time of the exporter's last datagram, or `None` if the exporter is not silent. If there was no
    /// datagram, the start time of the table is used.
    pub fn silent_since(&self, exporter: IpAddr) -> Option<u64> {
        let times = self.by_address.get(&exporter).map(|seen| seen.times).unwrap_or_else(|| {
            let mut never = Seen::new(exporter, self.started_ms);
            never.set_limit(self.silent_after);
            never.times
        });
        let is_silent = self.now_ms.saturating_sub(times.last_ms) >= times.limit_ms;
        is_silent.then_some(times.last_ms)
    }

    /// Returns the witnesses of `alerted`. If the exporters that saw the host since the start of its alert are `known`,
    /// they are its witnesses. Exporters that fell silent in the minute before `known.since_ms` are also witnesses. If
    /// no exporters are known, the witnesses are all exporters that have sent data since `alerted.since_ms`.
    pub fn witnesses(&self, known: Option<KnownExporters<'_>>, alerted: AlertedHost) -> Witnesses {
        let AlertedHost { start_ms, since_ms, now_ms, .. } = alerted;
        // If a host was forgotten in between, its earlier exporters are not known.
        let known = known.filter(|known| known.since_ms <= start_ms.saturating_add(BEFORE_MS));
        let mut witnesses = Witnesses::default();
        let (from_ms, until_ms) = match known {
            Some(known) => (since_ms.max(known.since_ms.saturating_sub(BEFORE_MS)), known.since_ms),
            None => (since_ms, u64::MAX),
        };
        let first = self.last.partition_point(|ms| *ms < from_ms);
        if let Some(&ms) = self.last.get(first).filter(|ms| **ms < until_ms) {
            witnesses.seen_ms = ms;
        }
        let silent = self.silent.iter().rev().skip_while(|(ms, _)| *ms >= until_ms);
        for (ms, exporter) in silent.take_while(|(ms, _)| *ms >= from_ms).take(NAMED) {
            witnesses.merge(Witnesses::silent(exporter.to_string(), *ms));
        }
        match known {
            Some(KnownExporters { exporters, .. }) => {
                let permitted =
                    exporters.iter().filter(|it| self.lookup.get((**it).into()).is_some());
                permitted.for_each(|it| witnesses.merge(self.witness(*it, now_ms)));
            }
            None => {
                let whole_slices = self.slices_since(self.resumed_ms, now_ms);
                witnesses.merge(Witnesses { whole_slices, ..Witnesses::default() });
            }
        }
        witnesses
    }

    fn witness(&self, exporter: IpAddr, now_ms: u64) -> Witnesses {
        if let Some(since_ms) = self.silent_since(exporter) {
            return Witnesses::silent(exporter.to_string(), since_ms);
        }
        let Some(Seen { times, .. }) = self.by_address.get(&exporter) else {
            return Witnesses::unknown();
        };
        let whole_slices = self.slices_since(times.resumed_ms, now_ms);
        Witnesses { seen_ms: times.last_ms, whole_slices, silent: Vec::new() }
    }

    /// Returns the number of whole slices from `ms` to `now_ms`, or `u32::MAX` if `ms` is 0.
    fn slices_since(&self, ms: u64, now_ms: u64) -> u32 {
        if ms == 0 {
            return u32::MAX;
        }
        let slices = (now_ms / self.slice_ms).saturating_sub(ms / self.slice_ms + 1);
        u32::try_from(slices).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
