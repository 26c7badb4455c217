//! Traffic models beside model A, each of a given load.
//!
//! Every [`Model`] is made of [`Source`]s of flows, most of them model A at a part of the load with something
//! on top. A window of [`PERIOD`] slices holds the load's distinct pairs
//! within 5 %; equal arguments give equal packets on every machine.

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

/// Slices of one second in a period.
const PERIOD: u32 = 300;

/// Mean packets of a pair of models A and B: few, so that most packets are of new pairs.
const PACKETS_PER_PAIR: u32 = 2;

/// What traffic looks like.
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
    /// Model A: [`Backbone`] with two packets per pair.
    Backbone,
    /// Model B, a metro network: lognormal clients, servers, NAT gateways, peer-to-peer
    /// hosts and scanners, the last two on and off; 100 super points per million pairs.
    Metro,
    /// Model A at 80 % of the load; four victims of spoofed sources, each sending one
    /// packet, make the rest.
    Flood,
    /// Model A at 90 % of the load; scanners at a constant rate, with 800 to 1600 targets
    /// per window, each touched once, make the rest.
    SlowScan,
    /// Model A at 80 % of the load; servers that 1000 to 3000 clients rush to within five
    /// slices, and come back to for half a minute, make the rest.
    FlashCrowd,
    /// The pairs of model A, every one of them in every slice: nothing ever ages.
    Persistent,
}

/// A name that no traffic model has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no traffic model is called {0:?}: take one of {names}", names = names())]
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

    /// Name in commands, tables and plots.
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

    /// The packets of each slice, in random order, with about `load` distinct pairs in
    /// every 300 consecutive slices.
    ///
    /// Memory is that of the flows of 300 slices: 24 bytes for each of `load` pairs, and
    /// as much again while they are put in order.
    ///
    /// # Panics
    /// When the stream is longer than 2^23 slices with two periods of 300.
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
            // Nothing is carried over from one window to the next: all of it is.
            Self::Persistent => vec![Box::new(Persistent(background(load)))],
        }
    }
}

/// A source that is on top of model A.
trait Extra: Source {
    /// Distinct pairs of a window.
    fn pairs(&self) -> u32;

    /// The hosts of these pairs, of which model A has none.
    fn hosts(&self) -> Vec<Address>;
}

/// Model A with the rest of the load, and `extra`.
fn on_top(frame: &Backbone, extra: impl Extra + 'static) -> Vec<Box<dyn Source>> {
    let begun = begun_per_period(frame.pairs.saturating_sub(extra.pairs()));
    let background = Background::new(frame, begun, &extra.hosts());
    vec![Box::new(background), Box::new(extra)]
}

/// Inside hosts that a source keeps for itself: those of the highest indices.
fn own_hosts(count: u32) -> Vec<Address> {
    (INSIDE_HOSTS - count..INSIDE_HOSTS).map(inside_host).collect()
}

/// The ticks of the period `number`.
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
