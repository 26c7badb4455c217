//! What is measured: sweeps, and the systems at every step of them.
//!
//! Shape: a [`Sweep`] has [`Step`]s, each one system at one place of the x axis. Invariant: along
//! a sweep one of load, window and threads varies.

use super::Growth;
use crate::number::short;
use crate::peers::{ExactPairs, ExactSets};
use crate::system::{Srlg, System as Measured};
use srlg_core::Config;
use srlg_traffic::family::Family;

/// Times and memory as one thing varies.
pub(super) struct Sweep {
    /// Name of its section, and in those of its files.
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    /// What all steps have in common.
    pub(super) setting: String,
    pub(super) x: &'static str,
    /// Whether slices are closed, or pairs ingested alone.
    pub(super) closes: bool,
    pub(super) steps: Vec<Step>,
}

/// A system and its traffic.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) system: System,
    /// Place on the x axis.
    pub(super) x: u32,
    /// Distinct pairs in the window.
    pub(super) load: u32,
    /// Slices in the window.
    pub(super) window: u32,
    /// Threads that ingest.
    pub(super) threads: u32,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Srlg,
    ExactPairs,
    ExactSets,
}

pub(super) const SYSTEMS: [System; 3] = [System::Srlg, System::ExactPairs, System::ExactSets];

impl System {
    /// Name in tables and plots.
    pub(super) fn name(self) -> String {
        match self {
            Self::Srlg => "srlg".to_owned(),
            Self::ExactPairs => ExactPairs::new(1, 1).name(),
            Self::ExactSets => ExactSets::new(1, 1).name(),
        }
    }

    /// An empty one.
    pub(super) fn make(self, config: Config) -> Result<Box<dyn Measured + Send>, srlg_host::Error> {
        let Config { window, threshold, .. } = config;
        Ok(match self {
            Self::Srlg => Box::new(Srlg::new("default", config)?),
            Self::ExactPairs => Box::new(ExactPairs::new(window, threshold)),
            Self::ExactSets => Box::new(ExactSets::new(window, threshold)),
        })
    }
}

/// All sweeps; `quick` ones are tiny.
pub(super) fn all(options: &Growth) -> [Sweep; 3] {
    let (load, window) = if options.quick { (20_000, 10) } else { (2_000_000, 60) };
    let base = Step { system: System::Srlg, x: 0, load, window, threads: 1 };
    [loads(base, options), windows(base, options), threads(base, options)]
}

/// Every system at every place, but for loads that are too large for it, and families that it does not know.
fn steps(places: impl IntoIterator<Item = Step>, options: &Growth) -> Vec<Step> {
    let of_all = |step: Step| SYSTEMS.map(|system| Step { system, ..step });
    let fits = |step: &Step| match step.system {
        System::Srlg => true,
        _ if options.family != Family::V4 => false,
        System::ExactPairs => true,
        System::ExactSets => step.load <= options.most_sets,
    };
    places.into_iter().flat_map(of_all).filter(fits).collect()
}

fn loads(base: Step, options: &Growth) -> Sweep {
    let (least, most) = if options.quick { (10_000, 30_000) } else { (100_000, options.most) };
    let decades = (0..5).map(|decade| least * 10_u64.pow(decade));
    // As even on a logarithmic axis as round numbers are.
    let loads = decades.flat_map(|decade| [decade, 3 * decade]);
    let loads = loads.filter(|&load| load <= most.into()).map(|load| load as u32);
    Sweep {
        name: "load",
        heading: "Growth with distinct pairs",
        setting: format!("{} slices in the window, 1 thread", base.window),
        x: "distinct pairs in the window",
        closes: true,
        steps: steps(loads.map(|load| Step { x: load, load, ..base }), options),
    }
}

fn windows(base: Step, options: &Growth) -> Sweep {
    let all = [1, 10, 60, 300, 1000, 6000, 60_000];
    let windows = if options.quick { &all[..2] } else { &all };
    let step = |&window: &u32| Step { x: window, window, ..base };
    Sweep {
        name: "window",
        heading: "Growth with slices in the window",
        setting: format!("{} distinct pairs in the window, 1 thread", short(base.load)),
        x: "slices in the window",
        closes: true,
        steps: steps(windows.iter().map(step), options),
    }
}

fn threads(base: Step, options: &Growth) -> Sweep {
    let step = |threads| Step { x: threads, threads, ..base };
    Sweep {
        name: "threads",
        heading: "Growth with threads",
        setting: format!("{} distinct pairs in the window, ingest alone", short(base.load)),
        x: "threads",
        closes: false,
        steps: steps([1, 2, 4].map(step), options),
    }
}
