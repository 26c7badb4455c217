//! Sweeps of the command `characterise`, and their configurations: presets, plans, and presets with modified sizes or
//! tags.
//!
//! In each sweep, one parameter varies.

use std::ops::Range;

use anyhow::Result;
use clap::ValueEnum;
use srlg_core::{Config, RsraSizes, Scheme};

use super::{OF_CARDINALITIES, OF_OTHERS};
use crate::options::{Preset, planned};
use crate::results::Details;
use crate::study::Sweep;
use crate::table::short;

/// A step of a sweep: configurations that process the same packets.
pub(super) struct Step {
    pub(super) setting: Setting,
    pub(super) entrants: Vec<Entrant>,
}

/// The traffic, and the hosts for which errors are measured.
#[derive(Clone)]
pub(super) struct Setting {
    /// Number of distinct pairs per window.
    pub(super) load: u32,
    pub(super) window: u32,
    pub(super) threshold: u32,
    /// Bands of true cardinality into which the hosts are grouped.
    pub(super) bands: Vec<Range<u32>>,
    /// Maximum number of hosts whose cardinality is estimated, per band and stream.
    pub(super) most_hosts: usize,
}

/// A configuration and the series to which it belongs.
pub(super) struct Entrant {
    pub(super) series: String,
    /// Position on the x axis. `None` selects the geometric mean of the ends of each band.
    pub(super) x: Option<f64>,
    pub(super) config: Config,
}

/// Returns all sweeps, whose JSON objects contain `details`. If `quick` is set, the traffic is much smaller.
pub(super) fn all(quick: bool, details: &Details) -> Result<Vec<Sweep<Step>>> {
    let sweep = |place: &str, x, setting: &str, steps| {
        let heading = match place {
            "window" | "threshold" => format!("Error against the {place}"),
            "tags" => "Error against the number of tags".to_owned(),
            _ => format!("Error against {place}"),
        };
        let columns = if place == "cardinality" { OF_CARDINALITIES } else { OF_OTHERS };
        Sweep::new(place, &heading, setting, ["series", x], columns, details.clone(), steps)
    };
    let (load, window, threshold, most_hosts) =
        if quick { (20_000, 20, 64, 10) } else { (2_000_000, 300, 1024, 200) };
    let bands = from_threshold(threshold);
    let base = Setting { load, window, threshold, bands, most_hosts };
    let theta = format!("θ = {threshold}");
    let pairs = format!("{} distinct pairs per window", short(load));
    let any_load = format!("{theta}, windows of {window} slices");
    let any_threshold = format!("{pairs} of {window} slices");
    let all_set = format!("{theta}, {any_threshold}");
    let any_window = format!("{theta}, {pairs} of any length");
    let octaves = vec![Step { setting: octaves(&base), entrants: presets_at(None) }];
    let tags = vec![tags(&base, load)?, tags(&base, 4 * load)?];
    Ok(vec![
        sweep("cardinality", "peers n", &all_set, octaves),
        sweep("load", "distinct pairs per window", &any_load, loads(&base, quick)?),
        sweep("memory", "recorders, MB", &all_set, vec![memory(&base, quick)?]),
        sweep("window", "slices k in the window", &any_window, windows(&base, quick)),
        sweep("threshold", "threshold θ", &any_threshold, thresholds(&base, quick)?),
        sweep("tags", "tags", &any_load, tags),
    ])
}

/// Returns a single band, from θ to 4θ peers, in which errors matter most.
fn from_threshold(threshold: u32) -> Vec<Range<u32>> {
    std::iter::once(threshold..4 * threshold).collect()
}

/// Returns `base` with bands from a sixteenth of the threshold upwards. Each band ends at twice its start.
fn octaves(base: &Setting) -> Setting {
    let octaves = (-4..6).map(|octave: i32| {
        let begin = f64::from(base.threshold) * libm::exp2(octave.into());
        begin as u32..2 * begin as u32
    });
    Setting { bands: octaves.collect(), most_hosts: 50, ..base.clone() }
}

fn loads(base: &Setting, quick: bool) -> Result<Vec<Step>> {
    let step = |doublings: i32| {
        let load = (f64::from(base.load) * libm::exp2(doublings.into())) as u32;
        with_plan(Setting { load, ..base.clone() }, load)
    };
    if quick { -1..=1 } else { -3..=3 }.map(step).collect()
}

fn windows(base: &Setting, quick: bool) -> Vec<Step> {
    let windows: &[u32] = if quick { &[5, 20] } else { &[10, 30, 100, 300, 1000, 3000] };
    let step = |&window: &u32| {
        let setting = Setting { window, ..base.clone() };
        Step { setting, entrants: presets_at(Some(window.into())) }
    };
    windows.iter().map(step).collect()
}

fn thresholds(base: &Setting, quick: bool) -> Result<Vec<Step>> {
    let thresholds: &[u32] = if quick { &[32, 64] } else { &[64, 256, 1024, 4096, 16_384] };
    let step = |&threshold: &u32| {
        let bands = from_threshold(threshold);
        with_plan(Setting { threshold, bands, ..base.clone() }, threshold)
    };
    thresholds.iter().map(step).collect()
}

fn presets_at(x: Option<f64>) -> Vec<Entrant> {
    let entrant = |preset: &Preset| Entrant { series: preset.name(), x, config: preset.config() };
    Preset::value_variants().iter().map(entrant).collect()
}

/// Returns a step with the presets, and with a plan that uses at most as much memory as the default preset.
fn with_plan(setting: Setting, x: u32) -> Result<Step> {
    let bytes = Config::default().validate()?.recorder_bytes();
    let mut entrants = presets_at(Some(x.into()));
    entrants.push(plan(&setting, bytes, x.into())?);
    Ok(Step { setting, entrants })
}

fn plan(setting: &Setting, bytes: usize, x: f64) -> Result<Entrant> {
    let Setting { threshold, window, load, .. } = *setting;
    let base = Config { threshold, window, ..Config::default() };
    let config = planned(base, load.into(), bytes as u64)?;
    Ok(Entrant { series: "planned".to_owned(), x: Some(x), config })
}

/// Returns a step with several sizes of each preset, and with a plan for each size of the default preset.
fn memory(base: &Setting, quick: bool) -> Result<Step> {
    let doublings = if quick { -1..=0 } else { -3..=2 };
    let mut entrants = Vec::new();
    for preset in Preset::value_variants() {
        for doublings in doublings.clone() {
            let config = resized(preset.config(), doublings);
            let bytes = config.validate()?.recorder_bytes();
            entrants.push(Entrant { series: preset.name(), x: Some(bytes as f64 / 1e6), config });
        }
    }
    for doublings in doublings {
        let bytes = resized(Config::default(), doublings).validate()?.recorder_bytes();
        entrants.push(plan(base, bytes, bytes as f64 / 1e6)?);
    }
    Ok(Step { setting: base.clone(), entrants })
}

/// Returns `config` with both arrays doubled `doublings` times, or halved if `doublings` is negative.
fn resized(config: Config, doublings: i32) -> Config {
    let scaled = |size: u32| (f64::from(size) * libm::exp2(doublings.into())) as u32;
    let more_bits = |bits: u32| bits.saturating_add_signed(doublings);
    let scheme = match config.scheme {
        Scheme::Paper { finder, rows, columns, stride } => {
            let column_bits = more_bits(finder.column_bits);
            // The stride is the smallest one at which the rows cover the whole address.
            let uncovered = 32_u32.saturating_sub(column_bits);
            let bit_stride = uncovered.div_ceil(finder.rows - 2);
            let finder = RsraSizes { column_bits, bit_stride, ..finder };
            Scheme::Paper { finder, rows, columns: scaled(columns), stride }
        }
        Scheme::Tagged { cell_bits, lines, tags } => {
            Scheme::Tagged { cell_bits: more_bits(cell_bits), lines: scaled(lines), tags }
        }
        other => unreachable!("unknown sizes of {other:?}"),
    };
    Config { scheme, ..config }
}

/// Returns a step with several numbers of tags for the default preset. If there are more tags, a recorder has room for
/// fewer ages, so an epoch has more slices.
fn tags(base: &Setting, load: u32) -> Result<Step> {
    let preset = Config { window: base.window, ..Config::default() };
    let mut entrants = Vec::new();
    // The first value is below the smallest valid number of tags.
    for least in [64, 128, 256, 512, 1024, 2048, 4096] {
        let mut config = preset;
        if let Scheme::Tagged { tags, .. } = &mut config.scheme {
            *tags = least;
        }
        // Validation may raise the number of tags, because the ages may leave room for more.
        let x = config.validate()?.counter_sizes().tags.into();
        entrants.push(Entrant { series: format!("{} pairs", short(load)), x: Some(x), config });
    }
    entrants.dedup_by_key(|entrant| entrant.x);
    Ok(Step { setting: Setting { load, ..base.clone() }, entrants })
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    #[test]
    fn every_configuration_of_every_sweep_is_valid() {
        for sweep in [true, false].into_iter().flat_map(|quick| all(quick, &vec![]).unwrap()) {
            for step in &sweep.steps {
                for Entrant { config, .. } in &step.entrants {
                    let Setting { window, threshold, .. } = step.setting;
                    let config = Config { window, threshold, ..*config };
                    assert!(config.validate().is_ok(), "{} {config:?}", sweep.results.place);
                }
            }
        }
    }

    #[test]
    fn doubling_both_arrays_doubles_the_memory() {
        for preset in Preset::value_variants() {
            let preset = preset.config();
            let bytes =
                |doublings| resized(preset, doublings).validate().unwrap().recorder_bytes() as f64;
            for doublings in -3..2 {
                // The paper's rows end with a whole estimator, whose size does not grow.
                let ratio = bytes(doublings + 1) / bytes(doublings);
                assert_abs_diff_eq!(ratio, 2.0, epsilon = 0.08);
            }
            assert_eq!(resized(preset, 0), preset);
        }
    }

    #[test]
    fn every_split_has_more_tags_than_the_one_before() {
        for window in [20, 300, 3000] {
            let (bands, most_hosts) = (Vec::new(), 0);
            let setting = Setting { load: 0, window, threshold: 64, bands, most_hosts };
            let splits = tags(&setting, 1).unwrap().entrants;
            assert!(splits.len() >= 3 && splits.is_sorted_by(|one, next| one.x < next.x));
            // The first entrant is the preset itself.
            assert_eq!(splits[0].config.scheme, Config::default().scheme);
        }
    }
}
