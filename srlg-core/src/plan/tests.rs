use super::*;
use crate::counter::tagged::MOST_POSITIONS;
extern crate std;

fn asked() -> impl Iterator<Item = (u32, u32, u64)> {
    let thresholds = [8, 100, 1024, 100_000];
    let loads = [1, 100_000, 2_000_000, 20_000_000, 300_000_000];
    let windows = [1, 300, 3000];
    let with = move |threshold, window| loads.map(|load| (threshold, window, load));
    thresholds.into_iter().flat_map(move |threshold| {
        windows.into_iter().flat_map(move |window| with(threshold, window))
    })
}

fn least(refusal: ConfigError) -> Option<usize> {
    match refusal {
        ConfigError::Memory { least, .. } => Some(least),
        ConfigError::PlanCells { least, .. }
        | ConfigError::PlanCandidates { least, .. }
        | ConfigError::PlanLoad { least, .. }
        | ConfigError::PlanError { least, .. } => least,
        _ => None,
    }
}

fn error_at(load: u64, memory: usize) -> f64 {
    Config::for_load(1024, 300, load, memory).unwrap().std_error / 1024.0
}

// The table of docs/scaling.md has these loads. Alerts with thresholds of 128, 1024, 4096 and 10,000 need detectors with
// these thresholds.
#[test]
fn the_largest_loads_are_limited_by_candidates_and_need_less_than_two_gigabytes() {
    for (threshold, load, least, memory) in [
        (92, 105_000_000, 260_000_000, 900_000_000),
        (737, 846_000_000, 260_000_000, 1_440_000_000),
        (2949, 3_380_000_000, 260_000_000, 1_720_000_000),
        (7200, 8_340_000_000, 330_000_000, 1_730_000_000),
    ] {
        let error = |memory| {
            let plan = Config::for_load(threshold, 300, load, memory).unwrap();
            plan.std_error / f64::from(threshold)
        };
        assert!(error(least) <= 0.2, "{threshold}: {}", error(least));
        assert!(error(memory) <= 0.05, "{threshold}: {}", error(memory));
        let refused = Config::for_load(threshold, 300, load + load / 50, usize::MAX);
        let Err(ConfigError::PlanCandidates { least: None, .. }) = refused else {
            panic!("{refused:?}")
        };
    }
}

#[test]
fn linear_estimators_are_long_enough_for_the_threshold_and_never_shortened() {
    for threshold in [8, 1024, 32_768, 32_769, 2 * MOST_POSITIONS] {
        let config = Config::default().for_threshold(threshold);
        assert_eq!(
            Config { linear_width: 0, ..config },
            Config { threshold, linear_width: 0, ..Config::default() }
        );
        assert!(config.linear_width >= Config::default().linear_width);
        assert!(2 * config.linear_width >= threshold && config.validate().is_ok(), "{config:?}");
    }
}

#[test]
fn the_least_memory_for_an_error_is_hardly_more_than_too_little() {
    for (threshold, window, load) in asked() {
        let Ok(plan) = Config::for_load(threshold, window, load, 50_000_000) else { continue };
        // In much memory, the error depends on the memory only by rounding.
        let wanted = 1.001 * plan.std_error;
        let found = Config::for_error(threshold, window, load, wanted).unwrap();
        let bytes = found.config.validate().unwrap().recorder_bytes();
        assert!(found.std_error <= wanted && bytes <= 50_400_000, "{plan:?} {found:?}");
        let less = Config::for_load(threshold, window, load, bytes - bytes / 100);
        assert!(less.is_err() || less.unwrap().std_error > wanted, "{found:?}");
    }
    let refused = |std_error| Config::for_error(1024, 300, 2_000_000, std_error).unwrap_err();
    for refusal in [0.01, 0.0, -1.0, f64::NAN].map(refused) {
        let ConfigError::PlanStdError { threshold: 1024, least } = refusal else { panic!() };
        assert!(Config::for_error(1024, 300, 2_000_000, f64::from(least)).is_ok());
    }
    assert!(Config::for_error(1024, 300, 2_000_000, f64::INFINITY).is_ok());
}

#[test]
fn plan_fits_in_its_memory_is_valid_and_keeps_its_rules() {
    let mut count = 0;
    for (threshold, window, load) in asked() {
        for memory in [100_000, 500_000, 2_000_000, 31_700_000, 1_000_000_000] {
            let Ok(plan) = Config::for_load(threshold, window, load, memory) else { continue };
            let bytes = plan.config.validate().unwrap().recorder_bytes();
            assert!(bytes <= memory && bytes > memory - 64, "{memory} {plan:?}");
            assert!(
                plan.std_error > 0.0 && plan.std_error < 0.31 * f64::from(threshold),
                "{plan:?}"
            );
            assert!(plan.miss_probability <= 8e-3, "{plan:?}");
            assert!(plan.double_miss_probability <= 1e-3, "{plan:?}");
            assert!(plan.pairs_per_recorder <= 5.0, "{plan:?}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_least_memory_that_a_refusal_names_is_accepted_and_a_byte_less_is_not() {
    let mut without = 0;
    for (threshold, window, load) in asked() {
        let refusal = Config::for_load(threshold, window, load, 0).unwrap_err();
        let Some(least) = least(refusal) else {
            let all = Config::for_load(threshold, window, load, usize::MAX);
            assert_eq!(all, Err(refusal), "no memory is enough");
            without += 1;
            continue;
        };
        let plan = |memory| Config::for_load(threshold, window, load, memory);
        assert!(plan(least).is_ok(), "{threshold} {window} {load} {least}");
        assert!(plan(least - 1).is_err(), "{threshold} {window} {load} {least}");
        // Errors must state the same minimum for any smaller memory, and larger memory must be accepted.
        for part in [2, 10] {
            let refusal = plan(least / part).unwrap_err();
            assert_eq!(self::least(refusal), Some(least), "{refusal}");
        }
        for more in [1, 3, 5, 7, 10, 14, 20, 50, 100] {
            let memory = least + least / 10 * more;
            assert!(plan(memory).is_ok(), "{threshold} {window} {load} {memory}");
        }
    }
    assert!(without > 5, "{without}");
}

#[test]
fn each_rule_is_named() {
    let refusal = |threshold, window, load, memory| {
        Config::for_load(threshold, window, load, memory).unwrap_err()
    };
    let cells = refusal(64, 300, 2_000_000, 1_000_000);
    // With 2 M pairs, L/θ = 31,250, so 2^16 cells are 2.1 cells for every θ pairs. The counter does not matter.
    assert!(
        matches!(
            cells,
            ConfigError::PlanCells { cell_bits: 16, threshold: 64, missed: 8000.., .. }
        ),
        "{cells}"
    );
    let candidates = refusal(64, 300, 80_000_000, 1_000_000_000);
    let limit = 1 << 20;
    let expected = ConfigError::PlanCandidates {
        distinct_pairs: 80_000_000,
        threshold: 64,
        limit,
        least: None,
    };
    assert_eq!(candidates, expected);
    // With θ below 64, every pair is counted. The cells take 2.1 MB.
    let load = refusal(63, 300, 1_000_000, 2_300_000);
    let ConfigError::PlanLoad { distinct_pairs: 1_000_000, recorders, .. } = load else {
        panic!("{load}")
    };
    assert!((101_000..102_000).contains(&recorders), "{load}");
    let error = refusal(64, 300, 1_000_000, 3_000_000);
    // Twice the threshold must be 3.29 standard errors above the threshold, so the standard error must be at most 30 %
    // of it.
    assert!(
        matches!(
            error,
            ConfigError::PlanError { hosts: 128, percent: 31.., threshold: 64, most: 30, .. }
        ),
        "{error}"
    );
    let half = refusal(8, 300, 1_000_000, 50_000_000);
    assert!(matches!(half, ConfigError::PlanError { hosts: 4, most: 15, .. }), "{half}");
}

#[test]
fn loads_beyond_all_numbers_are_refused_and_no_memory_is_enough() {
    for (threshold, window) in [(8, 1), (1024, 300), (100_000, 60_000)] {
        for load in [1 << 40, u64::MAX] {
            for memory in [0, 31_700_000, usize::MAX] {
                let refusal = Config::for_load(threshold, window, load, memory).unwrap_err();
                assert!(
                    matches!(refusal, ConfigError::PlanCells { cell_bits: 24, least: None, .. }),
                    "{refusal}"
                );
            }
        }
    }
}

#[test]
fn a_plan_states_how_often_the_finder_misses() {
    let miss = |threshold, load, memory| {
        Config::for_load(threshold, 300, load, memory).unwrap().miss_probability
    };
    for load in [500_000, 2_000_000, 5_000_000, 10_000_000] {
        assert!(miss(1024, load, 31_700_000) < 1.31e-4, "{load}");
    }
    // With 13.4 cells for every θ pairs, an IPv4 host needs two or three cells, and an IPv6 host needs four.
    assert!(miss(1024, 20_000_000, 31_700_000) < 5e-3);
    // The plan has 2^19 cells, or 16.8 for every θ pairs. In the table of docs/design.md, 20 M pairs at θ = 1024
    // have 13.4.
    assert!((1e-4..1e-3).contains(&miss(64, 2_000_000, 8_000_000)));
}

// With 8 cells for every θ pairs, an IPv4 host needs two cells, and an IPv6 host needs four.
#[test]
fn plans_have_cells_for_hosts_of_both_families() {
    let refusal = Config::for_load(1024, 1, 1_122_316, 0).unwrap_err();
    let ConfigError::Memory { least, .. } = refusal else { panic!("{refusal}") };
    let plan = Config::for_load(1024, 1, 1_122_316, least).unwrap();
    // The plan has 2^14 cells, or 15 for every θ pairs.
    assert!(matches!(plan.config.scheme, Scheme::Tagged { cell_bits: 14, .. }), "{plan:?}");
    assert!((1e-3..8e-3).contains(&plan.miss_probability), "{plan:?}");
}

#[test]
fn as_many_candidates_as_a_load_may_make_are_looked_at() {
    let limit = |threshold, load, memory| {
        Config::for_load(threshold, 300, load, memory).unwrap().config.candidate_limit
    };
    assert_eq!(limit(1024, 2_000_000, 8_000_000), 1 << 14);
    // At most 19,531 hosts have θ peers. Slightly smaller hosts rarely have as many cells as hosts with 2θ peers.
    assert_eq!(limit(1024, 20_000_000, 31_700_000), 1 << 15);
    let limit = limit(64, 5_000_000, 60_000_000);
    assert!((1 << 16..1 << 18).contains(&limit), "{limit}");
}

#[test]
fn windows_of_one_slice_take_less_memory_than_long_ones() {
    for (threshold, load) in [(64, 1_000_000), (100, 5_000_000)] {
        let least = |window| least(Config::for_load(threshold, window, load, 0).unwrap_err());
        // Ties hide fewer touches than time does. In shorter windows, the cells need slightly more memory, and the
        // counter needs much less.
        assert!(least(1) < least(10) && least(10) < least(300), "{threshold}");
    }
}

#[test]
fn half_a_megabyte_is_enough_for_small_loads() {
    for (threshold, window, load) in
        [(64, 300, 100_000), (1024, 1, 900_000), (1024, 300, 900_000), (10_000, 10, 1_000_000)]
    {
        let plan = Config::for_load(threshold, window, load, 500_000);
        assert!(plan.is_ok(), "{plan:?}");
    }
}

#[test]
fn more_memory_errs_less_and_more_load_errs_more() {
    for load in [500_000, 2_000_000, 20_000_000] {
        assert!(error_at(load, 63_400_000) < error_at(load, 31_700_000), "{load}");
        assert!(error_at(load, 31_700_000) < error_at(load * 2, 31_700_000), "{load}");
    }
}

#[test]
fn what_is_accepted_is_accepted_of_less_load_and_of_a_larger_threshold() {
    for (threshold, window, load) in asked() {
        let least =
            |threshold, load| least(Config::for_load(threshold, window, load, 0).unwrap_err());
        let Some(bytes) = least(threshold, load) else { continue };
        // The minimum is exact to one line, because numbers are rounded.
        assert!(least(threshold, load / 2).unwrap() <= bytes + 64, "{threshold} {window} {load}");
    }
}

#[test]
fn plans_are_nowhere_worse_than_the_default_of_the_same_memory() {
    let default = Config::default().validate().unwrap();
    let memory = default.recorder_bytes();
    for load in [500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 60_000_000] {
        let plan = Config::for_load(1024, 300, load, memory).unwrap().config.validate().unwrap();
        for cardinality in [1024, 2048, 4096, 10_000, 30_000, 100_000, 300_000, 1_000_000] {
            let [plan, default] =
                [&plan, &default].map(|params| params.expected_error(cardinality, load).unwrap());
            // With 2^19 cells, 60 M pairs leave less memory for the counter.
            let most = if load == 60_000_000 { 1.1 } else { 1.03 };
            assert!(plan <= most * default, "{load} {cardinality}: {plan} {default}");
        }
    }
}

#[test]
fn a_share_of_the_pairs_is_counted_where_it_lowers_the_error() {
    let share = |load, memory| {
        let plan = Config::for_load(1024, 300, load, memory).unwrap();
        let error = |share| {
            let params = Config { share, ..plan.config }.validate().unwrap();
            params.expected_error(1024, load).unwrap()
        };
        let share = plan.config.share;
        assert!(
            error((4 * share).min(32)) > plan.std_error
                && error(share.div_ceil(4)) >= plan.std_error
        );
        share
    };
    assert_eq!([1, 8, 20].map(|load| share(load * 1_000_000, 8_000_000)), [1, 2, 4]);
    assert_eq!([1, 2, 5, 8].map(|load| share(load * 1_000_000, 2_000_000)), [1, 2, 4, 16]);
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let plan = |threshold, window, memory| Config::for_load(threshold, window, 1, memory);
    let least = 8 * 4096 + 2 * (4096 + 8192 + 4096);
    let memory = least - 1;
    assert_eq!(plan(1024, 300, memory), Err(ConfigError::Memory { memory, least }));
    assert!(plan(1024, 300, least).is_ok());
    assert_eq!(plan(7, 300, 1 << 20), Err(ConfigError::CellsThreshold { threshold: 7, least: 8 }));
    for memory in [0, 1 << 20] {
        assert_eq!(plan(8, 0, memory), Err(ConfigError::Window { window: 0, max: 65_534 }));
    }
    let (threshold, max) = (1 << 20, 114_688);
    let too_large = plan(threshold, 300, 1 << 30);
    assert_eq!(too_large, Err(ConfigError::TaggedThreshold { threshold, max }));
    assert!(plan(max, 300, 1 << 30).is_ok());
}
