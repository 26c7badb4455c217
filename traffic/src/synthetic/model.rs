//! Traffic models with a given load, including model A.
//!
//! Every [`Model`] consists of [`Source`]s of flows. Some models combine model A, which generates most of the load,
//! with a second source. The number of distinct pairs in a window of [`PERIOD`] slices is within 5 % of the load. Equal
//! arguments produce the same packets on every machine.

mod extras;
mod metro;

use super::calendar::{Slices, Source};
use super::flow::TICKS;
use super::hosts::{Background, begun_per_period};
use super::network::{INSIDE_HOSTS, inside_host};
use super::{Address, Backbone};
use extras::{FlashCrowd, Flood, Persistent, SlowScan};
use metro::Metro;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Length of a period, in slices of one second.
const PERIOD: u32 = 300;

/// Mean number of packets per pair. It is smaller than in model A, which has 46, so that many packets belong to new
/// pairs.
const PACKETS_PER_PAIR: u32 = 2;

/// A traffic model.
///
/// ```
/// use srlg_traffic::synthetic::Model;
/// let model: Model = "slow-scan".parse()?;
/// let packets: usize = model.slices(1, 300, 20_000).map(|slice| slice.len()).sum();
/// assert!(packets > 20_000);
/// # Ok::<(), srlg_traffic::synthetic::UnknownModel>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// Model A ([`Backbone`]), but with two packets per pair on average.
    Backbone,
    /// Model B, a metro network of clients, servers, NAT gateways, peer-to-peer hosts and scanners. The cardinalities
    /// of hosts are lognormal. Peer-to-peer hosts and scanners are active only part of the time. At a threshold of
    /// 1024, there are 100 super points per million pairs.
    Metro,
    /// Model A at 80 % of the load, and a flood from spoofed sources to four victims. Each source sends one packet.
    Flood,
    /// Model A at 90 % of the load, and scanners with constant rates. Each scanner sends one packet to each of 800 to
    /// 1600 targets per window.
    SlowScan,
    /// Model A at 80 % of the load, and flash crowds of 1000 to 3000 clients each. The clients of a crowd arrive within
    /// five slices and send packets for half a minute.
    FlashCrowd,
    /// Pairs of model A. All of them occur in every slice, so recorders do not age.
    Persistent,
}

/// An error for an unknown name of a traffic model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown traffic model {0:?}: must be one of {names}", names = names())]
pub struct UnknownModel(pub String);

fn names() -> String {
    Model::ALL.map(Model::name).join(", ")
}

impl Model {
    /// All models.
    pub const ALL: [Self; 6] = [
        Self::Backbone,
        Self::Metro,
        Self::Flood,
        Self::SlowScan,
        Self::FlashCrowd,
        Self::Persistent,
    ];

    /// Returns the name that commands, tables and plots use for the model.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backbone => "backbone",
            Self::Metro => "metro",
            Self::Flood => "flood",
            Self::SlowScan => "slow-scan",
            Self::FlashCrowd => "flash-crowd",
            Self::Persistent => "persistent",
        }
    }

    /// Returns the packets of each slice, in random order. Any 300 consecutive slices have about `load` distinct pairs.
    ///
    /// The flows of 300 slices are kept in memory. They need 24 bytes for each of `load` pairs, and up to twice that
    /// while they are put into buckets.
    ///
    /// # Panics
    /// Panics if `slices + 300`, rounded up to a multiple of 300, is more than 2^23.
    #[must_use]
    pub fn slices(self, seed: u64, slices: u32, load: u32) -> Slices {
        let frame = Backbone {
            seed,
            slices,
            period: PERIOD,
            pairs: load,
            packets_per_pair: PACKETS_PER_PAIR,
            planted: Vec::new(),
        };
        Slices::of(&frame, self.sources(&frame))
    }

    fn sources(self, frame: &Backbone) -> Vec<Box<dyn Source>> {
        let (seed, load) = (frame.seed, frame.pairs);
        let background = |begun| Background::new(frame, begun, &[]);
        match self {
            Self::Backbone => vec![Box::new(background(begun_per_period(load)))],
            Self::Metro => vec![Box::new(Metro::new(seed, begun_per_period(load)))],
            Self::Flood => on_top(frame, Flood::new(seed, load / 5)),
            Self::SlowScan => on_top(frame, SlowScan::new(seed, load / 10)),
            Self::FlashCrowd => on_top(frame, FlashCrowd::new(seed, load / 5)),
            // All pairs are carried over to the next window, so no flows are subtracted for them.
            Self::Persistent => vec![Box::new(Persistent(background(load)))],
        }
    }
}

/// A source of flows that is added to model A.
trait Extra: Source {
    /// Returns the number of distinct pairs that this source adds to a window.
    fn pairs(&self) -> u32;

    /// Returns the inside hosts of this source, which model A must not use.
    fn hosts(&self) -> Vec<Address>;
}

/// Combines `extra` with model A, which gets the remaining load.
fn on_top(frame: &Backbone, extra: impl Extra + 'static) -> Vec<Box<dyn Source>> {
    let begun = begun_per_period(frame.pairs.saturating_sub(extra.pairs()));
    let background = Background::new(frame, begun, &extra.hosts());
    vec![Box::new(background), Box::new(extra)]
}

/// Returns the `count` inside hosts with the highest indices, which an [`Extra`] source reserves for itself.
fn own_hosts(count: u32) -> Vec<Address> {
    (INSIDE_HOSTS - count..INSIDE_HOSTS).map(inside_host).collect()
}

const fn ticks_of(number: u32) -> Range<u32> {
    number * PERIOD * TICKS..(number + 1) * PERIOD * TICKS
}

impl fmt::Display for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(name: &str) -> Result<Self, UnknownModel> {
        let known = Self::ALL.into_iter().find(|model| model.name() == name);
        known.ok_or_else(|| UnknownModel(name.to_owned()))
    }
}

#[cfg(test)]
mod tests;
