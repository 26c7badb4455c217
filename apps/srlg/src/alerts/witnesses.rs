//! The sources that tell of a host, and whether they can confirm the end of its alert.
//!
//! Shape: [`Exporters`] takes the time of the last datagram of each exporter, about once a second, and returns the
//! [`Witnesses`] of a host: the exporters that told of it, or where these are not known, all that sent records in its window.
//! Those of several sites merge.
//! Invariant: an exporter that falls silent is remembered for a day, and at most 16,384 are.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use srlg_input::Status;
use srlg_input::contact::{IpNet, Networks};
use tracing::{info, warn};

use crate::alerts::top::at_most;
use crate::show::troubles::EXPORTERS;

/// How often exporters are looked at.
pub(crate) const HEAR: Duration = Duration::from_secs(1);

/// An exporter is silent after so long at the least.
const LEAST_SILENCE_MS: u64 = 15_000;

/// An exporter is silent after so many times its longest pause of the last hour.
const PAUSES: u64 = 3;

/// Pauses of more than an hour are no habit.
const HOUR_MS: u64 = 3_600_000;

/// An exporter is remembered for so long after its last datagram.
const DAY_MS: u64 = 24 * HOUR_MS;

/// An exporter that fell silent so long before the witnesses of a host were looked at may have been one.
const BEFORE_MS: u64 = 60_000;

/// The most silent sources that are named.
const NAMED: usize = 8;

/// An exporter or a site that is silent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentSource {
    /// The address of an exporter, the name of a site, or both.
    pub source: String,
    /// When it was heard of last, milliseconds since the Unix epoch.
    pub since_ms: u64,
}

impl fmt::Display for SilentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = std::time::UNIX_EPOCH + Duration::from_millis(self.since_ms);
        write!(f, "{} silent since {}", self.source, humantime::format_rfc3339_seconds(since))
    }
}

/// The sources that tell of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witnesses {
    /// The time until which all of them were heard of, milliseconds since the Unix epoch.
    pub heard_ms: u64,
    /// Number of the last slices in which none of them was silent.
    pub whole_slices: u32,
    /// Up to 8 of them that are silent, those that were heard of last first.
    #[serde(deserialize_with = "at_most::<NAMED, _, _>")]
    pub silent: Vec<SilentSource>,
}

impl Default for Witnesses {
    /// There are none, and nothing is missing.
    fn default() -> Self {
        Self { heard_ms: u64::MAX, whole_slices: u32::MAX, silent: Vec::new() }
    }
}

impl Witnesses {
    /// Returns the witness `source`, which was heard of at `since_ms` for the last time.
    #[must_use]
    pub fn silent(source: impl Into<String>, since_ms: u64) -> Self {
        let silent = vec![SilentSource { source: source.into(), since_ms }];
        Self { heard_ms: since_ms, whole_slices: 0, silent }
    }

    /// Adds the witnesses of another site.
    pub fn merge(&mut self, other: Self) {
        self.heard_ms = self.heard_ms.min(other.heard_ms);
        self.whole_slices = self.whole_slices.min(other.whole_slices);
        self.silent.extend(other.silent);
        self.silent.sort_by(|a, b| (b.since_ms, &a.source).cmp(&(a.since_ms, &b.source)));
        self.silent.dedup();
        self.silent.truncate(NAMED);
    }
}

/// The exporters that told of a host, since a time from which on they are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownExporters<'a> {
    pub(crate) exporters: &'a [IpAddr],
    /// Milliseconds since the Unix epoch.
    pub(crate) since_ms: u64,
}

/// The exporters of one machine, by when they were heard of.
#[derive(Clone, Debug)]
pub(crate) struct Exporters {
    /// Those that are waited for.
    permitted: Networks<()>,
    /// The time after which any exporter is silent, instead of one by its pauses.
    silent_after: Option<Duration>,
    slice_ms: u64,
    started_ms: u64,
    now_ms: u64,
    by_address: HashMap<IpAddr, LastWord>,
    /// Times of the last words, ascending.
    heard: Vec<u64>,
    /// The same of silent exporters, with these.
    silent: Vec<(u64, IpAddr)>,
    /// When an exporter was heard of again after a silence, the last time.
    returned_ms: u64,
}

/// What is known of the datagrams of an exporter.
#[derive(Clone, Copy, Debug, Default)]
struct LastWord {
    /// The time of the last one, milliseconds since the Unix epoch.
    ms: u64,
    /// The same of the first one after the last silence; 0 if there was none.
    returned_ms: u64,
    pauses: Pauses,
}

/// The longest pauses between datagrams, by ten minutes, the newest first.
#[derive(Clone, Copy, Debug, Default)]
struct Pauses {
    longest_ms: [u64; 7],
    /// Number of the newest ten minutes.
    newest: u64,
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

    fn longest_ms(&self) -> u64 {
        self.longest_ms.into_iter().max().unwrap_or(0)
    }
}

impl LastWord {
    /// Takes the time of the newest datagram. A silence that it ends began before.
    fn hear(&mut self, ms: u64, silent_after: Option<Duration>) {
        if self.ms == 0 {
            self.ms = ms;
        }
        if ms <= self.ms {
            // The clock may be set back.
            self.ms = ms;
            return;
        }
        let pause_ms = ms - self.ms;
        if pause_ms >= self.limit_ms(silent_after) {
            self.returned_ms = ms;
        }
        self.pauses.add(ms, pause_ms);
        self.ms = ms;
    }

    /// Returns the time without a datagram after which the exporter is silent.
    fn limit_ms(&self, silent_after: Option<Duration>) -> u64 {
        let by_pauses = (PAUSES * self.pauses.longest_ms()).max(LEAST_SILENCE_MS);
        silent_after.map_or(by_pauses, |after| after.as_millis() as u64)
    }
}

/// The most sources that a line of the log names.
const IN_LINE: usize = 3;

/// Returns the names of the first sources, and how many there are besides, if there is any.
pub(crate) fn named<T: fmt::Display + Ord>(sources: impl IntoIterator<Item = T>) -> Option<String> {
    let mut sources: Vec<T> = sources.into_iter().collect();
    sources.sort();
    let names: Vec<_> = sources.iter().take(IN_LINE).map(T::to_string).collect();
    let more = sources.len().saturating_sub(IN_LINE);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| names.join(", ") + &more)
}

/// Returns the exporters of `input` that have sent records, with the times of their last datagrams in milliseconds since the
/// Unix epoch.
pub(crate) fn last_words(input: &Status) -> impl Iterator<Item = (IpAddr, u64)> {
    let exporters = input.exporters.iter().filter(|exporter| exporter.counts.records > 0);
    exporters.map(|exporter| (exporter.address.ip(), exporter.last_seen_ns / 1_000_000))
}

impl Exporters {
    /// Makes the exporters within the networks `permitted`, of which none was heard of until `started_ms`.
    pub(crate) fn new(
        permitted: &[IpNet],
        silent_after: Option<Duration>,
        slice_ms: u64,
        started_ms: u64,
    ) -> Self {
        Self {
            permitted: Networks::new(permitted.iter().map(|network| (*network, ()))),
            silent_after,
            slice_ms,
            started_ms,
            now_ms: started_ms,
            by_address: HashMap::new(),
            heard: Vec::new(),
            silent: Vec::new(),
            returned_ms: 0,
        }
    }

    /// Counts in slices of `slice_ms` milliseconds from now on.
    pub(crate) fn with_slices_of(self, slice_ms: u64) -> Self {
        Self { slice_ms, ..self }
    }

    /// Takes the times of the last datagrams of exporters that have sent records, as they are known at `now_ms`, and logs
    /// which have fallen silent, or are heard again. Exporters that are missing are remembered.
    pub(crate) fn hear(&mut self, now_ms: u64, words: impl IntoIterator<Item = (IpAddr, u64)>) {
        self.now_ms = now_ms;
        let before: HashSet<_> = self.silent.iter().map(|(_, address)| *address).collect();
        for (address, ms) in words {
            self.by_address.entry(address).or_default().hear(ms, self.silent_after);
        }
        let mut by_time: Vec<_> =
            self.by_address.iter().map(|(address, word)| (word.ms, *address)).collect();
        by_time.sort_unstable();
        let oldest = by_time.partition_point(|(ms, _)| now_ms.saturating_sub(*ms) > DAY_MS);
        for (_, address) in by_time.drain(..oldest.max(by_time.len().saturating_sub(EXPORTERS))) {
            self.by_address.remove(&address);
        }
        self.heard = by_time.iter().map(|(ms, _)| *ms).collect();
        by_time.retain(|(_, address)| self.silent_since(*address).is_some());
        self.silent = by_time;
        let returned = self.by_address.values().map(|word| word.returned_ms);
        self.returned_ms = returned.max().unwrap_or(0);
        let now: HashSet<_> = self.silent.iter().map(|(_, address)| *address).collect();
        if let Some(names) = named(now.difference(&before)) {
            warn!(
                "nothing comes from {names}: alerts that need an exporter as a witness do not end"
            );
        }
        let heard = before.difference(&now).filter(|it| self.by_address.contains_key(it));
        if let Some(names) = named(heard) {
            info!("exports come again from {names}");
        }
    }

    /// Returns when an exporter was heard of last, if it is silent.
    pub(crate) fn silent_since(&self, address: IpAddr) -> Option<u64> {
        let never = LastWord { ms: self.started_ms, ..LastWord::default() };
        let word = self.by_address.get(&address).unwrap_or(&never);
        let is_silent = self.now_ms.saturating_sub(word.ms) >= word.limit_ms(self.silent_after);
        is_silent.then_some(word.ms)
    }

    /// Returns the witnesses of a host whose window began at `since_ms`: the exporters that are `known` to have told of it,
    /// and those that were heard of last in the minute before these were known.
    pub(crate) fn witnesses(&self, known: Option<KnownExporters<'_>>, since_ms: u64) -> Witnesses {
        let mut witnesses = Witnesses::default();
        // Of those that were heard later it is known that they told nothing.
        let until_ms = known.map_or(u64::MAX, |known| known.since_ms);
        let since_ms = match known {
            Some(known) => since_ms.max(known.since_ms.saturating_sub(BEFORE_MS)),
            None => since_ms,
        };
        let heard = self.heard.partition_point(|ms| *ms < since_ms);
        if let Some(&ms) = self.heard.get(heard).filter(|ms| **ms < until_ms) {
            witnesses.heard_ms = ms;
        }
        if known.is_none() {
            witnesses.whole_slices = self.slices_since(self.returned_ms);
        }
        let silent = self.silent.iter().rev();
        let silent = silent.skip_while(|(ms, _)| *ms >= until_ms);
        let silent = silent.take_while(|(ms, _)| *ms >= since_ms).take(NAMED);
        let silent: Vec<_> = silent.collect();
        for (ms, address) in silent {
            witnesses.merge(Witnesses::silent(address.to_string(), *ms));
        }
        let known = known.iter().flat_map(|known| known.exporters);
        for address in known.filter(|address| self.permitted.get(**address).is_some()) {
            witnesses.merge(self.witness(*address));
        }
        witnesses
    }

    fn witness(&self, address: IpAddr) -> Witnesses {
        if let Some(since_ms) = self.silent_since(address) {
            return Witnesses::silent(address.to_string(), since_ms);
        }
        let word = self.by_address.get(&address).copied().unwrap_or_default();
        let whole_slices = self.slices_since(word.returned_ms);
        Witnesses { heard_ms: word.ms, whole_slices, silent: Vec::new() }
    }

    /// Returns the number of whole slices since `ms`.
    fn slices_since(&self, ms: u64) -> u32 {
        if ms == 0 {
            return u32::MAX;
        }
        let slices = (self.now_ms / self.slice_ms).saturating_sub(ms / self.slice_ms + 1);
        u32::try_from(slices).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
