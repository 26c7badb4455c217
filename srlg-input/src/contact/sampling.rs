//! Sampling rates of the contacts in a window, and bounds on the number of peers without sampling.
//!
//! Invariant: contacts that no exporter reported, such as captured packets, are unsampled and do not change a summary.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use crate::contact::Contact;

/// A summary of sampling rates: the lowest, the highest, and whether some are unknown.
///
/// If one packet in N is sampled and n peers are seen, there are at least n peers, and about N × n if only one packet
/// was exchanged with each peer. [`unsampled_most`](Self::unsampled_most) adds twice the standard deviation.
///
/// ```
/// use std::num::NonZeroU32;
/// use srlg_input::contact::{Contact, Sampling};
///
/// let mut contact = Contact::new(0, "192.0.2.1".parse()?, "192.0.2.2".parse()?);
/// contact.exporter = Some("198.51.100.1".parse()?);
/// contact.sampling = NonZeroU32::new(10);
/// let mut sampling = Sampling::default();
/// sampling.add(&contact);
/// assert_eq!(sampling.to_string(), "1:10");
/// assert_eq!(sampling.unsampled_most(773.0, 5.0).map(f64::round), Some(8285.0));
/// contact.sampling = None;
/// sampling.add(&contact);
/// assert_eq!(sampling.to_string(), "1:10, some unknown");
/// assert_eq!(sampling.unsampled_most(773.0, 5.0), None);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sampling {
    /// Lowest known rate. It is `Some` if and only if `most` is `Some`.
    least: Option<NonZeroU32>,
    most: Option<NonZeroU32>,
    #[cfg_attr(feature = "serde", serde(rename = "unknown"))]
    is_unknown: bool,
}

impl Sampling {
    /// Adds the sampling rate of `contact`, if an exporter reported the contact.
    #[inline]
    pub fn add(&mut self, contact: &Contact) {
        if contact.exporter.is_none() {
            return;
        }
        match contact.sampling {
            Some(rate) => self.add_rates(rate, rate),
            None => self.is_unknown = true,
        }
    }

    /// Merges `other`, the summary of a different group of contacts, into this summary.
    pub fn merge(&mut self, other: Self) {
        if let Some((least, most)) = other.rates() {
            self.add_rates(least, most);
        }
        self.is_unknown |= other.is_unknown;
    }

    fn add_rates(&mut self, least: NonZeroU32, most: NonZeroU32) {
        let (before, after) = self.rates().unwrap_or((least, most));
        (self.least, self.most) = (Some(before.min(least)), Some(after.max(most)));
    }

    /// Returns whether none of the contacts was reported by an exporter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.most.is_none() && !self.is_unknown
    }

    /// Returns the lowest and the highest rate, as N for one packet in N, if any rate is known.
    #[must_use]
    pub fn rates(&self) -> Option<(NonZeroU32, NonZeroU32)> {
        self.least.zip(self.most)
    }

    /// Returns whether any contact that an exporter reported has an unknown sampling rate.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Returns an upper bound of the number of peers without sampling if `sampled` peers were counted with the standard
    /// error `std_error`. Returns `None` if any sampling rate is unknown.
    ///
    /// If one packet was exchanged with each peer, the number is at most this bound in 97 % of cases. If more packets
    /// were exchanged, it is lower. Without sampling, the bound is `sampled`.
    #[must_use]
    pub fn unsampled_most(&self, sampled: f64, std_error: f64) -> Option<f64> {
        if self.is_unknown {
            return None;
        }
        let rate = f64::from(self.most.map_or(1, NonZeroU32::get));
        if rate <= 1.0 {
            return Some(sampled);
        }
        // Of m peers with one packet each, a binomial number is sampled, and N times this number has the variance
        // m (N - 1). The counter adds the variance (N × std_error)². The bound is the largest m that exceeds
        // N × sampled by at most `DEVIATIONS` standard deviations.
        let (estimate, square) = (rate * sampled, DEVIATIONS * DEVIATIONS);
        let middle = estimate + square * (rate - 1.0) / 2.0;
        let below = estimate * estimate - square * (rate * std_error).powi(2);
        Some(middle + (middle * middle - below).sqrt())
    }
}

/// Number of standard deviations between the expected number of peers and its bound. A normal distribution is below
/// this bound in 97.7 % of cases.
const DEVIATIONS: f64 = 2.0;

/// Writes the rate or the range of rates, and whether some rates are unknown. If no exporter reported a contact, writes
/// "none".
impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rates() {
            Some((least, most)) if least == most => write!(f, "1:{most}")?,
            Some((least, most)) => write!(f, "1:{least} to 1:{most}")?,
            None if self.is_unknown => return f.write_str("unknown"),
            None => return f.write_str("none"),
        }
        if self.is_unknown { f.write_str(", some unknown") } else { Ok(()) }
    }
}

/// The sampling rates of the contacts in a sliding window.
#[derive(Clone, Debug)]
pub struct SamplingWindow {
    window: u32,
    /// Summaries by slice number. Slices without exports are absent.
    slices: BTreeMap<u64, Sampling>,
}

impl SamplingWindow {
    /// Creates an empty window of `window` slices.
    #[must_use]
    pub const fn new(window: u32) -> Self {
        Self { window, slices: BTreeMap::new() }
    }

    /// Adds the sampling rate of `contact`, which belongs to slice number `slice`.
    #[inline]
    pub fn add(&mut self, slice: u64, contact: &Contact) {
        if contact.exporter.is_some() {
            self.slices.entry(slice).or_default().add(contact);
        }
    }

    /// Adds `sampling`, the summary of contacts that belong to slice number `slice`.
    pub fn merge(&mut self, slice: u64, sampling: Sampling) {
        if !sampling.is_empty() {
            self.slices.entry(slice).or_default().merge(sampling);
        }
    }

    /// Returns the number and the summary of each slice that has exports.
    pub fn slices(&self) -> impl Iterator<Item = (u64, Sampling)> {
        self.slices.iter().map(|(slice, sampling)| (*slice, *sampling))
    }

    /// Returns the summary of the window that ends with `slice`, and drops all slices before that window.
    pub fn at(&mut self, slice: u64) -> Sampling {
        let first = (slice + 1).saturating_sub(u64::from(self.window));
        self.slices = self.slices.split_off(&first);
        let mut sampling = Sampling::default();
        self.slices.range(..=slice).for_each(|(_, of)| sampling.merge(*of));
        sampling
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Host;

    fn contact(rate: u32) -> Contact {
        let host = Host::from([192, 0, 2, 1]);
        let mut contact = Contact::new(0, host, host);
        (contact.exporter, contact.sampling) = (Some(host), NonZeroU32::new(rate));
        contact
    }

    fn text(rates: &[u32]) -> String {
        let mut sampling = Sampling::default();
        rates.iter().for_each(|rate| sampling.add(&contact(*rate)));
        sampling.to_string()
    }

    #[test]
    fn rates_are_shown_as_one_value_as_a_range_or_as_unknown() {
        assert_eq!(text(&[]), "none");
        assert_eq!(text(&[1, 1]), "1:1");
        assert_eq!(text(&[2000, 4000, 3000]), "1:2000 to 1:4000");
        assert_eq!(text(&[0]), "unknown");
        assert_eq!(text(&[0, 10]), "1:10, some unknown");
        let mut sampling = Sampling::default();
        sampling.add(&Contact { exporter: None, ..contact(0) });
        assert!(sampling.is_empty() && sampling.unsampled_most(7.0, 1.0) == Some(7.0));
    }

    /// Returns a sequence of random numbers between 0 and 1, both exclusive (SplitMix64).
    fn random(mut seed: u64) -> impl FnMut() -> f64 {
        move || {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((x ^ (x >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }
    }

    /// Returns the share of simulated floods whose number of peers is at most the bound. Each of `peers` peers sends
    /// one packet, and one packet in `rate` is sampled. The count of the sampled peers has the relative error `error`.
    fn coverage(rate: u32, peers: u32, error: f64) -> f64 {
        const FLOODS: u32 = 20_000;
        let mut sampling = Sampling::default();
        sampling.add(&contact(rate));
        let mut random = random(u64::from(rate) << 32 | u64::from(peers));
        let skip = (1.0 - 1.0 / f64::from(rate)).ln();
        let covered = (0..FLOODS).filter(|_| {
            let (mut at, mut sampled) = (0.0, 0);
            loop {
                // The number of packets up to the next sampled one has a geometric distribution.
                at += (random().ln() / skip).floor() + 1.0;
                if at > f64::from(peers) {
                    break;
                }
                sampled += 1;
            }
            let sampled = f64::from(sampled);
            let normal = (-2.0 * random().ln()).sqrt() * (std::f64::consts::TAU * random()).cos();
            let counted = sampled * (1.0 + error * normal);
            sampling.unsampled_most(counted, sampled * error).unwrap() >= f64::from(peers)
        });
        covered.count() as f64 / f64::from(FLOODS)
    }

    #[test]
    fn the_bound_holds_in_97_percent_of_floods_with_one_packet_per_peer() {
        for (rate, peers, error) in [
            (2, 200, 0.0),
            (10, 1_000, 0.01),
            (10, 3_000, 0.0),
            (100, 10_000, 0.005),
            (100, 10_000, 0.03),
            (1_000, 20_000, 0.0),
            (1_000, 100_000, 0.02),
            (1_000, 1_024_000, 0.01),
        ] {
            let coverage = coverage(rate, peers, error);
            assert!((0.97..0.99).contains(&coverage), "1:{rate}, {peers}, {error}: {coverage}");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn rates_are_read_as_they_are_written() {
        for rates in [&[][..], &[1], &[10, 20], &[0], &[10, 0], &[7, 0, 9]] {
            let mut sampling = Sampling::default();
            rates.iter().for_each(|rate| sampling.add(&contact(*rate)));
            let text = serde_json::to_string(&sampling).unwrap();
            assert_eq!(serde_json::from_str::<Sampling>(&text).unwrap(), sampling);
        }
    }

    #[test]
    fn a_window_knows_what_counts_in_it_and_forgets_the_rest() {
        let mut window = SamplingWindow::new(3);
        window.add(10, &contact(10));
        window.add(12, &contact(12));
        window.add(11, &contact(0));
        window.add(13, &contact(13));
        for (slice, expected) in [
            (12, "1:10 to 1:12, some unknown"),
            (13, "1:12 to 1:13, some unknown"),
            (14, "1:12 to 1:13"),
            (15, "1:13"),
            (16, "none"),
        ] {
            assert_eq!(window.at(slice).to_string(), expected, "{slice}");
        }
        assert!(window.slices.is_empty());
    }
}
