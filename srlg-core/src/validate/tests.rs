extern crate std;
use std::format;

use super::*;
use crate::ArrayParams;
use crate::config::{RsraSizes, Scheme};

fn error(change: impl FnOnce(&mut Config)) -> ConfigError {
    let mut config = Config::paper();
    change(&mut config);
    config.validate().expect_err("the rule must be checked")
}

fn rsra_error(change: impl FnOnce(&mut RsraSizes)) -> ConfigError {
    let mut sizes = RsraSizes::PAPER;
    change(&mut sizes);
    Config::paper_with(sizes).validate().expect_err("the rule must be checked")
}

#[test]
fn paper_config_has_the_sizes_of_section_5() {
    let params = Config::paper().validate().unwrap();
    let counter = params.counter_sizes();
    assert_eq!((counter.tags, counter.epoch_slices, counter.echo_delay), (1, 1, 0));
    assert_eq!(
        (
            params.finder().rsra().unwrap().lsb_threshold(),
            params.finder().rsra().unwrap().hot_weight()
        ),
        (7, 3)
    );
    assert_eq!(params.finder().rsra().unwrap().recorders() * 2, 10_485_760);
    assert_eq!(params.counter().rows().unwrap().recorders() * 2, 21_135_200);
}

#[test]
fn default_config_fits_in_31_7_megabytes_samples_32_of_a_super_point_and_is_exact_to_the_slice() {
    let params = Config::default().validate().unwrap();
    let cells = params.finder().cells().unwrap();
    assert_eq!((cells.lsb_threshold(), cells.epoch_slices(), cells.most_ages()), (5, 1, 2047));
    let counter = params.counter_sizes();
    assert_eq!((counter.tags, counter.epoch_slices, counter.echo_delay), (109, 1, 300));
    assert_eq!(params.recorder_bytes(), 2_097_152 + 29_542_400);
}

#[test]
fn sampling_threshold_is_the_rounded_up_logarithm_of_equation_1() {
    for (threshold, tau) in [(8, 0), (9, 1), (16, 1), (17, 2), (1000, 7), (1024, 7), (1025, 8)] {
        let params = Config { threshold, ..Config::paper() }.validate().unwrap();
        assert_eq!(params.finder().rsra().unwrap().lsb_threshold(), tau, "threshold {threshold}");
    }
    let cells = [(8, 0), (63, 0), (64, 1), (1023, 4), (1024, 5), (65_536, 11), (114_688, 11)];
    for (threshold, tau) in cells {
        let linear_width = 57_344;
        let params = Config { threshold, linear_width, ..Config::default() }.validate().unwrap();
        assert_eq!(params.finder().cells().unwrap().lsb_threshold(), tau, "threshold {threshold}");
    }
}

#[test]
fn every_rule_names_what_it_refuses() {
    assert_eq!(error(|c| c.threshold = 7), ConfigError::Threshold { threshold: 7, width: 8 });
    assert_eq!(error(|c| c.window = 0), ConfigError::Window { window: 0, max: 65_534 });
    assert_eq!(error(|c| c.window = 65_535), ConfigError::Window { window: 65_535, max: 65_534 });
    assert_eq!(rsra_error(|c| c.column_bits = 11), ConfigError::RoughColumnBits { bits: 11 });
    assert_eq!(rsra_error(|c| c.column_bits = 25), ConfigError::RoughColumnBits { bits: 25 });
    assert_eq!(rsra_error(|c| c.rows = 2), ConfigError::RoughRows { rows: 2 });
    assert_eq!(rsra_error(|c| c.rows = 17), ConfigError::RoughRows { rows: 17 });
    assert_eq!(rsra_error(|c| c.width = 16), ConfigError::RoughWidth { width: 16 });
    assert_eq!(rsra_error(|c| c.bit_stride = 0), ConfigError::BitStride { stride: 0, bits: 17 });
    assert_eq!(rsra_error(|c| c.bit_stride = 17), ConfigError::BitStride { stride: 17, bits: 17 });
    assert_eq!(rsra_error(|c| c.bit_stride = 4), ConfigError::UncoveredBits { covered: 29 });
    let paper =
        |rows, columns, stride| Scheme::Paper { finder: RsraSizes::PAPER, rows, columns, stride };
    assert_eq!(error(|c| c.scheme = paper(0, 1, 1)), ConfigError::LinearRows { rows: 0 });
    assert_eq!(error(|c| c.scheme = paper(9, 1, 1)), ConfigError::LinearRows { rows: 9 });
    assert_eq!(error(|c| c.scheme = paper(5, 0, 1)), ConfigError::LinearColumns);
    for stride in [0, (1 << 14) + 1] {
        assert_eq!(
            error(|c| c.scheme = paper(5, 1, stride)),
            ConfigError::LinearStride { stride, width: 1 << 14 }
        );
    }
    assert_eq!(
        error(|c| c.threshold = 32_769),
        ConfigError::LinearWidth { width: 16_384, threshold: 32_769 }
    );
    assert_eq!(
        error(|c| (c.threshold, c.linear_width, c.scheme) = (8, 7, paper(5, 1, 1))),
        ConfigError::LinearWidth { width: 7, threshold: 8 }
    );
    let tagged = |lines, tags| Scheme::Tagged { cell_bits: 12, lines, tags };
    for tags in [63, 16_384] {
        assert_eq!(error(|c| c.scheme = tagged(1792, tags)), ConfigError::Tags { tags });
    }
    assert_eq!(
        error(|c| c.scheme = tagged(1791, 64)),
        ConfigError::Lines { lines: 1791, least: 1792 }
    );
    for width in [16_400, 65_568] {
        assert_eq!(
            error(|c| (c.scheme, c.linear_width) = (tagged(9999, 64), width)),
            ConfigError::TaggedWidth { width, max: 57_344 }
        );
    }
    for (width, threshold, least) in [(32, 8, 64), (32, 64, 64), (64, 66, 96), (96, 192, 128)] {
        let sizes = |c: &mut Config| {
            (c.scheme, c.linear_width, c.threshold) = (tagged(9999, 64), width, threshold);
        };
        assert_eq!(error(sizes), ConfigError::FullEstimator { width, threshold, least });
    }
    for (share, threshold, max) in [(0, 1024, 32), (3, 1024, 32), (64, 1024, 32), (2, 63, 1)] {
        assert_eq!(
            error(|c| (c.scheme, c.share, c.threshold) = (tagged(9999, 64), share, threshold)),
            ConfigError::Share { share, max }
        );
    }
    assert_eq!(error(|c| c.share = 2), ConfigError::Share { share: 2, max: 1 });
    for scheme in [paper(5, u32::MAX, 16), paper(8, u32::MAX, 1 << 14), tagged(1 << 27, 64)] {
        assert!(matches!(error(|c| c.scheme = scheme), ConfigError::TooManyRecorders { .. }));
    }
    for bits in [11, 25] {
        let scheme = Scheme::Tagged { cell_bits: bits, lines: 768, tags: 64 };
        assert_eq!(error(|c| c.scheme = scheme), ConfigError::CellBits { bits });
    }
    assert_eq!(
        error(|c| (c.scheme, c.threshold) = (tagged(512, 64), 7)),
        ConfigError::CellsThreshold { threshold: 7, least: 8 }
    );
    assert_eq!(rsra_error(|c| c.hot_limit = 0), ConfigError::HotLimit);
    for limit in [0, MOST_CANDIDATES + 1] {
        let expected = ConfigError::CandidateLimit { limit, max: MOST_CANDIDATES };
        assert_eq!(error(|c| c.candidate_limit = limit), expected);
    }
}

#[test]
fn sampling_never_reaches_the_bits_of_the_slot() {
    for width in [2, 4, 8] {
        let finder = RsraSizes { width, ..RsraSizes::PAPER };
        let config = Config {
            threshold: u32::MAX,
            linear_width: u32::MAX,
            scheme: Scheme::Paper { finder, rows: 1, columns: 1, stride: 1 },
            ..Config::paper()
        };
        let tau = config.validate().unwrap().finder().rsra().unwrap().lsb_threshold();
        assert_eq!(tau + width.trailing_zeros(), 32);
    }
}

#[test]
fn neither_a_config_nor_params_tell_the_seed_or_a_key() {
    let config = Config { seed: 0x0123_4567_89ab_cdef, ..Config::default() };
    let params = config.validate().unwrap();
    for text in [format!("{config:?}"), format!("{params:?}")] {
        assert!(!text.contains("81985529216486895") && text.contains("300"), "{text}");
    }
    let text = format!("{params:?}");
    assert!(text.contains("Key(..)") && !text.contains("words"), "{text}");
}

#[test]
fn recorders_that_a_process_cannot_address_are_refused() {
    // The finder has 16 * 2^24 * 8 recorders of 2 bytes.
    let finder = RsraSizes { rows: 16, column_bits: 24, width: 8, ..RsraSizes::PAPER };
    let scheme = Scheme::Paper { finder, rows: 1, columns: 1, stride: 1 };
    let params = Config { scheme, ..Config::paper() }.validate();
    if usize::BITS == 32 {
        assert!(
            matches!(params, Err(ConfigError::AddressSpace { bytes: 0x1_0000_0000.. })),
            "{params:?}"
        );
    } else {
        assert!(params.unwrap().recorder_bytes() as u64 >= 1 << 32);
    }
}
