//! What is measured: the sweeps, and the configurations on them.
//!
//! Shape: a [`Sweep`] has [`Step`]s, each one stream of traffic; an [`Entrant`] is a
//! configuration with its place on the x axis. What varies between configurations is in
//! [`variations`].

use super::variations;
use crate::number::short;
use crate::preset::Preset;
use anyhow::Result;
use clap::ValueEnum;
use srlg_core::Config;
use std::ops::{Range, RangeInclusive};

/// Errors as one thing varies.
pub(super) struct Sweep {
    /// Name of its section, and in those of its files.
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    /// What all steps have in common.
    pub(super) setting: String,
    /// What the x axis shows, which is logarithmic.
    pub(super) x: &'static str,
    pub(super) steps: Vec<Step>,
}

/// Configurations that see the same packets.
pub(super) struct Step {
    pub(super) setting: Setting,
    pub(super) entrants: Vec<Entrant>,
}

/// The traffic, and whose errors count.
#[derive(Clone)]
pub(super) struct Setting {
    /// Distinct pairs per window.
    pub(super) load: u32,
    /// Slices per window; how long a slice is does not matter, a window has all of the load.
    pub(super) window: u32,
    pub(super) threshold: u32,
    /// Hosts by their true cardinality.
    pub(super) bands: Vec<Range<u32>>,
    /// Hosts of a band and a stream at most.
    pub(super) most_hosts: usize,
}

/// A point of a series, or with `x: None` one for every band, in the middle of it.
pub(super) struct Entrant {
    pub(super) series: String,
    pub(super) x: Option<f64>,
    pub(super) config: Config,
}

/// All sweeps; `quick` ones have a hundredth of the load.
pub(super) fn all(quick: bool) -> Result<Vec<Sweep>> {
    let base = if quick { quick_setting() } else { full_setting() };
    let (loads, memories) = if quick { (-1..=1, -1..=0) } else { (-3..=3, -3..=2) };
    Ok(vec![
        cardinality(&base),
        load(&base, loads)?,
        memory(&base, memories)?,
        window(&base, quick),
        threshold(&base, quick)?,
        tags(&base)?,
    ])
}

fn full_setting() -> Setting {
    Setting {
        load: 2_000_000,
        window: 300,
        threshold: 1024,
        bands: from_threshold(1024),
        most_hosts: 200,
    }
}

fn quick_setting() -> Setting {
    Setting { load: 20_000, window: 20, threshold: 64, bands: from_threshold(64), most_hosts: 10 }
}

/// One band, of the hosts for which it matters most: up to four times the threshold.
fn from_threshold(threshold: u32) -> Vec<Range<u32>> {
    std::iter::once(threshold..4 * threshold).collect()
}

/// The presets at one place of the x axis.
fn presets_at(x: Option<f64>) -> Vec<Entrant> {
    let entrant = |preset: &Preset| Entrant { series: preset.name(), x, config: preset.config() };
    Preset::value_variants().iter().map(entrant).collect()
}

/// What the planner makes of `bytes` for the load of `setting`.
fn planned(setting: &Setting, bytes: usize, x: f64) -> Result<Entrant> {
    let Setting { load, window, threshold, .. } = *setting;
    let plan = Config::for_load(threshold, window, load.into(), bytes)?;
    Ok(Entrant { series: "planned".into(), x: Some(x), config: plan.config })
}

fn cardinality(base: &Setting) -> Sweep {
    let octaves = (-4..6).map(|octave: i32| {
        let begin = f64::from(base.threshold) * libm::exp2(octave.into());
        begin as u32..2 * begin as u32
    });
    let setting = Setting { bands: octaves.collect(), most_hosts: 50, ..base.clone() };
    Sweep {
        name: "cardinality",
        heading: "Error against cardinality",
        setting: whole_setting(base),
        x: "opposite hosts n",
        steps: vec![Step { setting, entrants: presets_at(None) }],
    }
}

fn load(base: &Setting, doublings: RangeInclusive<i32>) -> Result<Sweep> {
    let bytes = Config::default().validate()?.recorder_bytes();
    let step = |doublings: i32| {
        let load = (f64::from(base.load) * libm::exp2(doublings.into())) as u32;
        let setting = Setting { load, ..base.clone() };
        let mut entrants = presets_at(Some(load.into()));
        entrants.push(planned(&setting, bytes, load.into())?);
        Ok(Step { setting, entrants })
    };
    Ok(Sweep {
        name: "load",
        heading: "Error against load",
        setting: setting_without_load(base),
        x: "distinct pairs per window",
        steps: doublings.map(step).collect::<Result<_>>()?,
    })
}

fn memory(base: &Setting, doublings: RangeInclusive<i32>) -> Result<Sweep> {
    let mut entrants = Vec::new();
    for preset in Preset::value_variants() {
        for doublings in doublings.clone() {
            let config = variations::resized(preset.config(), doublings);
            let bytes = config.validate()?.recorder_bytes();
            entrants.push(Entrant { series: preset.name(), x: Some(bytes as f64 / 1e6), config });
        }
    }
    for doublings in doublings {
        let bytes = variations::resized(Config::default(), doublings).validate()?.recorder_bytes();
        entrants.push(planned(base, bytes, bytes as f64 / 1e6)?);
    }
    Ok(Sweep {
        name: "memory",
        heading: "Error against memory",
        setting: whole_setting(base),
        x: "recorders, MB",
        steps: vec![Step { setting: base.clone(), entrants }],
    })
}

fn window(base: &Setting, quick: bool) -> Sweep {
    let windows: &[u32] = if quick { &[5, 20] } else { &[10, 30, 100, 300, 1000, 3000] };
    let step = |&window: &u32| {
        let setting = Setting { window, ..base.clone() };
        Step { setting, entrants: presets_at(Some(window.into())) }
    };
    Sweep {
        name: "window",
        heading: "Error against the window",
        setting: format!("{}, however many slices that is", load_setting(base)),
        x: "slices k in the window",
        steps: windows.iter().map(step).collect(),
    }
}

/// Hosts of other thresholds, each with the plan for them; the default for all.
fn threshold(base: &Setting, quick: bool) -> Result<Sweep> {
    let bytes = Config::default().validate()?.recorder_bytes();
    let thresholds: &[u32] = if quick { &[32, 64] } else { &[64, 256, 1024, 4096, 16_384] };
    let step = |&threshold: &u32| {
        let setting = Setting { threshold, bands: from_threshold(threshold), ..base.clone() };
        let mut entrants = presets_at(Some(threshold.into()));
        entrants.push(planned(&setting, bytes, threshold.into())?);
        Ok(Step { setting, entrants })
    };
    let Setting { load, window, .. } = *base;
    Ok(Sweep {
        name: "threshold",
        heading: "Error against the threshold",
        setting: format!("{} distinct pairs per window of {window} slices", short(load)),
        x: "threshold θ",
        steps: thresholds.iter().map(step).collect::<Result<_>>()?,
    })
}

/// More tags leave fewer ages: epochs of more slices.
fn tags(base: &Setting) -> Result<Sweep> {
    let splits = variations::tag_splits(base.window)?;
    let step = |load: u32| {
        let series = format!("{} pairs", short(load));
        let entrant = |&(tags, config): &(u32, Config)| Entrant {
            series: series.clone(),
            x: Some(tags.into()),
            config,
        };
        let setting = Setting { load, ..base.clone() };
        Step { setting, entrants: splits.iter().map(entrant).collect() }
    };
    let steps = vec![step(base.load), step(4 * base.load)];
    Ok(Sweep {
        name: "tags",
        heading: "Error against tags told apart",
        setting: setting_without_load(base),
        x: "tags",
        steps,
    })
}

fn load_setting(base: &Setting) -> String {
    format!("θ = {}, {} distinct pairs per window", base.threshold, short(base.load))
}

fn whole_setting(base: &Setting) -> String {
    format!("{} of {} slices", load_setting(base), base.window)
}

fn setting_without_load(base: &Setting) -> String {
    format!("θ = {}, windows of {} slices", base.threshold, base.window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_of_every_sweep_is_valid() {
        for sweep in [true, false].into_iter().flat_map(|quick| all(quick).unwrap()) {
            for step in &sweep.steps {
                for Entrant { config, .. } in &step.entrants {
                    let Setting { window, threshold, .. } = step.setting;
                    let config = Config { window, threshold, ..*config };
                    assert!(config.validate().is_ok(), "{} {config:?}", sweep.name);
                }
            }
        }
    }
}
