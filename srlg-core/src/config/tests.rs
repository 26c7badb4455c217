use super::*;

fn error(change: impl FnOnce(&mut Config)) -> ConfigError {
    let mut config = Config::paper();
    change(&mut config);
    config.validate().expect_err("the rule must be checked")
}

#[test]
fn paper_config_has_the_sizes_of_section_5() {
    let params = Config::paper().validate().unwrap();
    assert_eq!((params.tag_bits(), params.epoch_slices()), (0, 1));
    assert_eq!((params.lsb_threshold(), params.hot_weight()), (7, 3));
    assert_eq!(params.rough_recorders() * 2, 10_485_760);
    assert_eq!(params.linear_recorders() * 2, 21_135_200);
}

#[test]
fn default_config_has_the_paper_s_memory_and_half_its_sampling_threshold() {
    let params = Config::default().validate().unwrap();
    assert_eq!((params.lsb_threshold(), params.hot_weight()), (6, 3));
    assert_eq!((params.tag_bits(), params.epoch_slices()), (0, 1));
    assert_eq!(params.recorder_bytes(), 10_485_760 + 21_135_350);
}

#[test]
fn tagged_config_fits_in_31_7_megabytes_and_samples_twice_as_much() {
    let params = Config::tagged().validate().unwrap();
    assert_eq!((params.lsb_threshold(), params.hot_weight()), (6, 3));
    assert_eq!((params.tag_bits(), params.epoch_slices()), (8, 2));
    assert_eq!(params.recorder_bytes(), 5_242_880 + 26_441_532);
}

#[test]
fn sampling_threshold_is_the_rounded_up_logarithm_of_equation_1() {
    for (threshold, tau) in [(8, 0), (9, 1), (16, 1), (17, 2), (1000, 7), (1024, 7), (1025, 8)] {
        let params = Config { threshold, ..Config::paper() }.validate().unwrap();
        assert_eq!(params.lsb_threshold(), tau, "threshold {threshold}");
    }
    let lowest = Config { threshold: 8, ..Config::default() }.validate().unwrap();
    assert_eq!(lowest.lsb_threshold(), 0);
}

#[test]
fn hot_weight_is_rho_times_the_width_rounded_up() {
    let rho = 0.99 * (1.0 - libm::exp(-1.0 / 3.0));
    for width in [2, 4, 8] {
        assert_eq!(f64::from(hot_weight(width)), libm::ceil(rho * f64::from(width)));
    }
}

#[test]
fn every_rule_names_what_it_refuses() {
    assert_eq!(error(|c| c.threshold = 7), ConfigError::Threshold { threshold: 7, width: 8 });
    assert_eq!(error(|c| c.window = 0), ConfigError::Window { window: 0, max: 65_534 });
    assert_eq!(error(|c| c.window = 65_535), ConfigError::Window { window: 65_535, max: 65_534 });
    assert_eq!(error(|c| c.rough_column_bits = 11), ConfigError::RoughColumnBits { bits: 11 });
    assert_eq!(error(|c| c.rough_column_bits = 25), ConfigError::RoughColumnBits { bits: 25 });
    assert_eq!(error(|c| c.rough_rows = 2), ConfigError::RoughRows { rows: 2 });
    assert_eq!(error(|c| c.rough_rows = 17), ConfigError::RoughRows { rows: 17 });
    assert_eq!(error(|c| c.rough_width = 16), ConfigError::RoughWidth { width: 16 });
    assert_eq!(error(|c| c.bit_stride = 0), ConfigError::BitStride { stride: 0, bits: 17 });
    assert_eq!(error(|c| c.bit_stride = 17), ConfigError::BitStride { stride: 17, bits: 17 });
    assert_eq!(error(|c| c.bit_stride = 4), ConfigError::UncoveredBits { covered: 29 });
    assert_eq!(error(|c| c.linear_rows = 0), ConfigError::LinearRows { rows: 0 });
    assert_eq!(error(|c| c.linear_rows = 9), ConfigError::LinearRows { rows: 9 });
    assert_eq!(error(|c| c.linear_columns = 0), ConfigError::LinearColumns);
    assert_eq!(
        error(|c| c.linear_stride = 1 << 15),
        ConfigError::LinearStride { stride: 1 << 15, width: 1 << 14 }
    );
    assert_eq!(
        error(|c| c.threshold = 32_769),
        ConfigError::LinearWidth { width: 16_384, threshold: 32_769 }
    );
    assert!(matches!(error(|c| c.linear_columns = u32::MAX), ConfigError::TooManyRecorders { .. }));
    assert_eq!(
        error(|c| (c.threshold, c.linear_width, c.linear_stride) = (8, 7, 1)),
        ConfigError::LinearWidth { width: 7, threshold: 8 }
    );
    let tagged = |age_bits| Scheme::Tagged { age_bits };
    assert_eq!(error(|c| c.scheme = tagged(3)), ConfigError::AgeBits { bits: 3 });
    assert_eq!(error(|c| c.scheme = tagged(9)), ConfigError::AgeBits { bits: 9 });
    assert_eq!(
        error(|c| (c.scheme, c.linear_width) = (tagged(8), 65_537)),
        ConfigError::TaggedWidth { width: 65_537 }
    );
    assert_eq!(error(|c| c.hot_limit = 0), ConfigError::Limits);
    assert_eq!(error(|c| c.candidate_limit = 0), ConfigError::Limits);
}

#[test]
fn sampling_never_reaches_the_bits_of_the_slot() {
    for rough_width in [2, 4, 8] {
        let config = Config {
            threshold: u32::MAX,
            rough_width,
            linear_width: u32::MAX,
            linear_stride: 1,
            linear_columns: 1,
            linear_rows: 1,
            ..Config::paper()
        };
        let tau = config.validate().unwrap().lsb_threshold();
        assert_eq!(tau + rough_width.trailing_zeros(), 32);
    }
}
