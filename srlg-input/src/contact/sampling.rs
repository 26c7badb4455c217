//! Sampling rates of the contacts in a window, and bounds on the expected number of peers without sampling.
//!
//! Invariant: contacts that no exporter reported, such as captured packets, are unsampled and do not change a summary.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use crate::contact::Contact;

/// A summary of sampling rates: the lowest, the highest, and whether some are unknown.
///
/// If one packet in N is sampled and n peers are seen, the expected number of peers without sampling is between n and
/// N × n. It is N × n if only one packet was exchanged with each peer, so the upper bound cannot be lower.
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
/// assert_eq!((sampling.to_string().as_str(), sampling.unsampled_most(773.0)), ("1:10", Some(7730.0)));
/// contact.sampling = None;
/// sampling.add(&contact);
/// assert_eq!(sampling.to_string(), "1:10, some unknown");
/// assert_eq!(sampling.unsampled_most(773.0), None);
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

    /// Returns the largest expected number of peers without sampling if `sampled` peers were seen. Returns `None` if
    /// any sampling rate is unknown.
    #[must_use]
    pub fn unsampled_most(&self, sampled: f64) -> Option<f64> {
        let most = self.most.map_or(1, NonZeroU32::get);
        (!self.is_unknown).then(|| sampled * f64::from(most))
    }
}

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
        assert!(sampling.is_empty() && sampling.unsampled_most(7.0) == Some(7.0));
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
