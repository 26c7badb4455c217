//! `speed`, at sizes that take no time.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{assert_fails, objects, run};

const SMALL: [&str; 11] = [
    "speed",
    "--device",
    "cpu",
    "--pairs",
    "20k",
    "--loads",
    "30k",
    "--capture",
    "100k",
    "--repeat",
    "2",
];

fn number(object: &Value, field: &str) -> f64 {
    object[field].as_f64().unwrap_or_else(|| panic!("no {field} in {object}"))
}

#[test]
fn every_metric_has_a_middle_between_its_extremes_and_a_name_of_its_own() {
    let objects = objects(&[&SMALL[..], &["--json"]].concat());
    for object in &objects {
        let [min, value, max] = ["min", "value", "max"].map(|field| number(object, field));
        assert!(0.0 <= min && min <= value && value <= max, "{object}");
        assert_eq!((&object["device"], &object["seed"]), (&"cpu".into(), &1.into()));
    }
    let names: Vec<_> = objects
        .iter()
        .map(|object| format!("{} {} {}", object["metric"], object["threads"], object["load"]))
        .collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    for name in ["random_stores", "ingest_pinned_packets", "capture_bytes", "close_search"] {
        assert!(names.iter().any(|metric| metric.contains(name)), "no {name} in {names:?}");
    }
}

#[test]
fn stages_of_a_close_are_no_longer_than_the_close() {
    for preset in ["default", "paper"] {
        let objects = objects(&[&SMALL[..], &["--preset", preset, "--json"]].concat());
        let least = |metric: &str| {
            let object = objects.iter().find(|object| object["metric"] == metric).unwrap();
            assert_eq!(object["load"], 30_000);
            number(object, "min")
        };
        let stages: f64 =
            ["close_survey", "close_search", "close_estimate"].map(least).iter().sum();
        let whole = objects.iter().find(|object| object["metric"] == "close_whole").unwrap();
        assert!(stages > 0.0 && stages <= number(whole, "max"), "{stages} of {whole}");
    }
}

#[test]
fn table_has_a_row_per_metric_and_names_the_machine() {
    let rows = objects(&[&SMALL[..], &["--json"]].concat()).len();
    let output = run(&SMALL);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(" cores of "), "{text}");
    // Two more for the headings and the line under them.
    assert_eq!(text.lines().filter(|line| line.starts_with('|')).count(), rows + 2, "{text}");
}

#[test]
fn sizes_that_are_too_large_are_errors_of_one_line() {
    let with = |more: &[&str]| run(&[&["speed", "--device", "cpu"], more].concat());
    assert_fails(&with(&["--loads", "1M,51M"]), "--loads must be at most 50000000");
    assert_fails(&with(&["--pairs", "2G"]), "--pairs must be at most 1073741824");
    assert_fails(&with(&["--repeat", "10001"]), "--repeat must be at most 10000");
}

#[test]
fn devices_that_are_not_there_are_errors_of_one_line() {
    let output = run(&[&SMALL[..1], &["--device", "cuda"], &SMALL[3..]].concat());
    // Where there is a GPU the command succeeds.
    if !output.status.success() {
        assert_fails(&output, "use device `cpu`");
    }
}
