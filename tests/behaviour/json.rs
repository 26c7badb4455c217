//! Tests of configurations and reports as JSON.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use srlg::config::{HashFamily, RsraSizes, Scheme, with_seed};
use srlg::{Config, Device, Ipv4Pair, SlidingDetector};

#[test]
fn a_configuration_is_read_as_it_was_written() {
    let finder = RsraSizes::PAPER;
    let paper = Scheme::Paper { finder, rows: 2, columns: 9, stride: 1 };
    for scheme in [Config::default().scheme, paper] {
        for hash in [HashFamily::Murmur, HashFamily::HalfSip13] {
            let config = Config { scheme, hash, seed: u64::MAX - 5, ..Config::default() };
            let text = serde_json::to_string(&config).unwrap();
            let without_seed = Config { seed: 0, ..config };
            assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), without_seed, "{text}");
            let value = with_seed::serialize(&config, serde_json::value::Serializer).unwrap();
            assert_eq!(value["seed"], json!("fffffffffffffffa"));
            assert_eq!(with_seed::deserialize(&value).unwrap(), config, "{value}");
            for field in value.as_object().unwrap().keys() {
                let mut others = value.clone();
                others.as_object_mut().unwrap().remove(field);
                assert!(with_seed::deserialize(others).is_err(), "{field}");
            }
        }
    }
}

#[test]
fn missing_fields_have_default_values_and_a_seed_is_not_repeated() {
    let text = r#"{"threshold":100,"window":60}"#;
    let expected = Config { threshold: 100, window: 60, ..Config::default() };
    assert_eq!(serde_json::from_str::<Config>(text).unwrap(), expected);
    let config = serde_json::to_value(Config::default()).unwrap();
    assert_eq!((config.get("seed"), &config["hash"]), (None, &json!("murmur")));
    let refused = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        let mut config = config.clone();
        change(config.as_object_mut().unwrap());
        serde_json::from_value::<Config>(config).unwrap_err().to_string()
    };
    assert!(refused(&|fields| drop(fields.insert("sead".into(), json!(1)))).contains("`sead`"));
    let texts = ["5ec2e7", "+00000000000000f", "5ec2e700000000000"].map(|text| json!(text));
    let numbers = [json!(7_654_321), json!(u64::MAX), json!(-7_654_321), json!(76.54)];
    for seed in texts.into_iter().chain(numbers) {
        insta::assert_snapshot!(
            "refused_seed",
            refused(&|fields| drop(fields.insert("seed".into(), seed.clone())))
        );
    }
}

#[test]
fn a_report_is_written_whole() {
    let config = Config { threshold: 100, ..Config::default() };
    let mut detector = SlidingDetector::new(config, Device::Cpu).unwrap();
    let host = Ipv4Addr::new(10, 0, 0, 1);
    let pairs: Vec<Ipv4Pair> = (0..500).map(|peer| Ipv4Pair::new(host, peer.into())).collect();
    detector.ingest(&pairs).unwrap();
    let report = detector.close_slice().unwrap();
    let json = serde_json::to_value(&report).unwrap();
    let point = &json["super_points"][0];
    assert_eq!((&json["slice"], &point["host"]), (&json!(0), &json!("10.0.0.1")));
    assert_eq!(point["cardinality"].as_f64(), Some(report.super_points[0].cardinality));
    assert_eq!(point["range"], json!("within"));
    assert_eq!(point["peers"].as_array().unwrap().len(), report.super_points[0].peers.len());
    let health = json["health"].as_object().unwrap();
    let keys: Vec<&str> = health.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "background",
            "burst_miss_probability",
            "burst_miss_probability_v6",
            "errors_hold",
            "finder",
            "found_from",
            "found_from_v6",
            "load",
            "miss_probability",
            "miss_probability_v6",
            "overload",
            "setting_factors",
            "share",
            "std_error",
        ]
    );
    assert_eq!(health["overload"], Value::Null);
    assert!(health["finder"]["cells"]["c_min"].is_u64(), "{health:?}");
    assert_eq!(json["health"]["load"].as_f64(), Some(report.health.load));
}

#[test]
fn bounds_are_standard_errors_away_or_one_sided() {
    use EstimateRange::{Beyond, ClampedToZero, Within};
    use srlg::report::EstimateRange;
    let (most, error) = (1_000.0, 50.0);
    assert_eq!([2.0, 30.0].map(|sigmas| Within.lower(most, error, sigmas)), [900.0, 0.0]);
    assert_eq!(Within.upper(most, error, 2.0), 1_100.0);
    assert_eq!(Beyond.lower(most, error, 2.0), most);
    assert_eq!(Beyond.upper(most, error, 2.0), f64::INFINITY);
    assert_eq!(ClampedToZero.lower(0.0, 5.0, 2.0), 0.0);
    assert_eq!(ClampedToZero.upper(0.0, 5.0, 2.0), 10.0);
}
