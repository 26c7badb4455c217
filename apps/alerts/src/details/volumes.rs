//! Packets and bytes of a host within the last minute, by exporter.
//!
//! Several exporters on the path of a packet report it several times, so their counts must not be added. The rates of a
//! host are those of the exporter that reports most of its traffic. If several exporters report the host, each of them
//! may see packets that the others do not see, and the rates are lower bounds.
//!
//! Invariant: at most [`EXPORTERS`] volumes are stored.

use serde::{Deserialize, Serialize};
use srlg_input::contact::{Contact, Host};

use super::EXPORTERS;
use super::volume::{MOST_LATE_MS, Volume};
use crate::notification::Rates;

/// Volumes of a host, by exporter. In reports of sites, they are replaced by the largest volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Volume", into = "Volume")]
pub struct Volumes {
    /// Time from which contacts are counted, in milliseconds since the Unix epoch.
    since_ms: Option<u64>,
    by_exporter: Vec<ExporterVolume>,
    /// Time of the last contact that no volume contains because there are too many exporters, in milliseconds since
    /// the Unix epoch.
    left_out_ms: u64,
}

/// The volume that an exporter reported.
#[derive(Clone, Debug, PartialEq)]
struct ExporterVolume {
    /// Address of the exporter, or `None` if the contacts were captured or come from the report of a site.
    exporter: Option<Host>,
    volume: Volume,
}

impl Volumes {
    pub(crate) fn new(since_ms: u64) -> Self {
        Self { since_ms: Some(since_ms), ..Self::default() }
    }

    /// Returns empty volumes for later contacts, with the start times of these volumes.
    pub(crate) fn rest(&self) -> Self {
        let of = |it: &ExporterVolume| ExporterVolume { volume: it.volume.rest(), ..*it };
        let by_exporter = self.by_exporter.iter().map(of).collect();
        Self { since_ms: self.since_ms, by_exporter, left_out_ms: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_exporter.iter().all(|it| it.volume.is_empty())
    }

    /// Adds a contact; `closed_ms` is the end of the last closed slice.
    pub(crate) fn add(&mut self, contact: &Contact, closed_ms: u64) {
        let now_ms = closed_ms.max(contact.time_ns / 1_000_000);
        match self.of(contact.exporter, now_ms) {
            Some(volume) => volume.add(contact, closed_ms),
            None => self.left_out_ms = self.left_out_ms.max(now_ms),
        }
    }

    /// Merges `other`, which comes from another thread or site.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.since_ms = self.since_ms.into_iter().chain(other.since_ms).min();
        self.left_out_ms = self.left_out_ms.max(other.left_out_ms);
        for ExporterVolume { exporter, volume } in &other.by_exporter {
            let last_ms = volume.last_ms();
            match self.of(*exporter, last_ms) {
                Some(own) => own.merge(volume),
                None => self.left_out_ms = self.left_out_ms.max(last_ms),
            }
        }
    }

    /// Returns the volume of `exporter`, which reports a contact at `now_ms`. An exporter that has not reported the
    /// host within the last minute makes room for a new one. Returns `None` if there is no room.
    fn of(&mut self, exporter: Option<Host>, now_ms: u64) -> Option<&mut Volume> {
        let known = self.by_exporter.iter().position(|it| it.exporter == exporter);
        let at = known.or_else(|| {
            let volume = self.since_ms.map(Volume::new).unwrap_or_default();
            let new = ExporterVolume { exporter, volume };
            if self.by_exporter.len() < EXPORTERS {
                self.by_exporter.push(new);
                return Some(self.by_exporter.len() - 1);
            }
            let is_over =
                |it: &ExporterVolume| now_ms.saturating_sub(it.volume.last_ms()) > MOST_LATE_MS;
            let at = self.by_exporter.iter().position(is_over)?;
            self.by_exporter[at] = new;
            Some(at)
        })?;
        Some(&mut self.by_exporter[at].volume)
    }

    /// Returns the mean rates in the minute before `now_ms`, according to the exporter that reports most of the
    /// traffic.
    pub fn rates(&self, now_ms: u64) -> Rates {
        self.largest(now_ms).rates(now_ms)
    }

    /// Returns the volume of the exporter with the highest rates in the minute before `now_ms`. It is partial if other
    /// exporters reported the host in this minute.
    fn largest(&self, now_ms: u64) -> Volume {
        let is_recent =
            |last_ms: u64| last_ms > 0 && now_ms.saturating_sub(last_ms) <= MOST_LATE_MS;
        let volumes = self.by_exporter.iter().map(|it| &it.volume);
        let largest = volumes.clone().max_by_key(|volume| volume.rates(now_ms).size());
        let recent = volumes.filter(|volume| is_recent(volume.last_ms())).count();
        let is_partial = recent > 1 || is_recent(self.left_out_ms);
        let none = || self.since_ms.map(Volume::new).unwrap_or_default();
        let largest = largest.cloned().unwrap_or_else(none);
        if is_partial { largest.into_partial() } else { largest }
    }
}

impl From<Volume> for Volumes {
    fn from(volume: Volume) -> Self {
        Self { by_exporter: vec![ExporterVolume { exporter: None, volume }], ..Self::default() }
    }
}

impl From<Volumes> for Volume {
    fn from(volumes: Volumes) -> Self {
        let last_ms = volumes.by_exporter.iter().map(|it| it.volume.last_ms()).max();
        volumes.largest(last_ms.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroU64};

    use super::*;

    fn exporter(number: u8) -> Option<Host> {
        (number > 0).then(|| Host::from([192, 0, 2, number]))
    }

    /// Returns the contacts of a host from 60 s to `end_s`: `packets` per second of 125 bytes, reported by `number`, or
    /// captured if it is 0.
    fn flood(number: u8, packets: u64, end_s: u64) -> impl Iterator<Item = Contact> {
        (60_000..1_000 * end_s).step_by(1_000 / packets as usize).map(move |time_ms| {
            let host = Host::from([198, 51, 100, 1]);
            let mut contact = Contact::new(time_ms * 1_000_000, host, host);
            (contact.packets, contact.octets) = (NonZeroU64::new(1), NonZeroU64::new(125));
            (contact.exporter, contact.sampling) = (exporter(number), NonZeroU32::new(1));
            contact
        })
    }

    fn volumes(contacts: impl Iterator<Item = Contact>) -> Volumes {
        let mut volumes = Volumes::new(0);
        contacts.for_each(|contact| volumes.add(&contact, 0));
        volumes
    }

    fn rates(packets: u64, is_rate_lower_bound: bool) -> Rates {
        Rates {
            packets_per_second: Some(packets),
            bits_per_second: Some(1_000 * packets),
            is_rate_lower_bound,
            ..Rates::default()
        }
    }

    #[test]
    fn the_rate_of_one_exporter_is_exact_and_that_of_several_is_the_largest() {
        for (contacts, expected) in [
            (volumes(flood(0, 100, 120)), rates(100, false)),
            (volumes(flood(1, 100, 120)), rates(100, false)),
            // Both exporters report each packet.
            (volumes(flood(1, 100, 120).chain(flood(2, 100, 120))), rates(100, true)),
            // Each exporter reports a part of the packets.
            (volumes(flood(1, 100, 120).chain(flood(2, 50, 120))), rates(100, true)),
            (volumes(flood(1, 50, 120).chain(flood(0, 100, 120))), rates(100, true)),
            (Volumes::new(0), Rates::default()),
        ] {
            assert_eq!(contacts.rates(120_000).if_known(), expected);
            // The report of a site has the same rates.
            let text = serde_json::to_string(&contacts).unwrap();
            let sent: Volumes = serde_json::from_str(&text).unwrap();
            assert_eq!(sent.rates(120_000).if_known(), expected);
            assert_eq!(sent.is_empty(), contacts.is_empty());
        }
    }

    #[test]
    fn a_rate_is_exact_again_a_minute_after_the_last_report_of_another_exporter() {
        let both = |end_s| volumes(flood(1, 100, end_s).chain(flood(2, 50, 120)));
        assert_eq!(both(150).rates(150_000), rates(100, true));
        assert_eq!(both(240).rates(240_000), rates(100, false));
    }

    #[test]
    fn threads_are_summed_by_exporter() {
        let all: Vec<_> = flood(1, 100, 120).chain(flood(2, 50, 120)).collect();
        let parts = [0, 1].map(|part| volumes(all.iter().skip(part).step_by(2).copied()));
        let mut sum = parts[0].rest();
        assert!(sum.is_empty() && !parts[0].is_empty());
        parts.iter().for_each(|part| sum.merge(part));
        assert_eq!(sum.rates(120_000), rates(100, true));
    }

    #[test]
    fn more_exporters_than_there_is_room_for_give_a_lower_bound() {
        let most = EXPORTERS as u8;
        let of = |numbers: std::ops::RangeInclusive<u8>| {
            volumes(
                numbers.flat_map(|number| flood(number, if number > most { 100 } else { 10 }, 120)),
            )
        };
        let full = of(1..=most + 1);
        assert_eq!((full.by_exporter.len(), full.rates(120_000)), (EXPORTERS, rates(10, true)));
        let mut merged = of(1..=most);
        merged.merge(&of(most + 1..=most + 1));
        assert_eq!(merged, full);
        // The former exporters are no longer in use.
        let mut later = of(1..=most);
        for mut contact in flood(most + 1, 100, 120) {
            contact.time_ns += 200_000_000_000;
            later.add(&contact, 0);
        }
        assert_eq!((later.by_exporter.len(), later.rates(320_000)), (EXPORTERS, rates(100, false)));
    }
}
