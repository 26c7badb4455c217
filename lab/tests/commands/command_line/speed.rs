//! Tests of `speed`. Sizes are small, so that the tests take little time.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::{failure, objects, program, run};

const SMALL: &str = "speed --pairs 20k --loads 30k --capture 100k --repeat 2 --device cpu";

static OBJECTS: LazyLock<Vec<Value>> = LazyLock::new(|| objects(&mut program(SMALL)));

const FAMILIES: [&str; 4] = [
    "ingest_ip6_distinct",
    "ingest_ip6_flood_ratio",
    "ingest_mixed_packets",
    "ingest_mixed_packets_ratio",
];

fn number(object: &Value, field: &str) -> f64 {
    object[field].as_f64().unwrap_or_else(|| panic!("no {field} in {object}"))
}

#[test]
fn every_metric_has_a_median_between_its_extremes_and_a_unique_name() {
    for object in &*OBJECTS {
        let [min, value, max] = ["min", "value", "max"].map(|field| number(object, field));
        assert!(0.0 <= min && min <= value && value <= max, "{object}");
        assert_eq!((&object["device"], &object["seed"]), (&"cpu".into(), &1.into()));
    }
    let name = |object: &Value| {
        let parts = ["metric", "system", "threads", "load", "kind", "of", "traffic"];
        parts.map(|part| object[part].to_string()).join(" ")
    };
    let names: BTreeSet<_> = OBJECTS.iter().map(name).collect();
    assert_eq!(names.len(), OBJECTS.len(), "{names:?}");
    let some = ["read_bandwidth", "ingest_pinned_packets", "capture_bytes", "close_slice_ms"];
    for name in some.into_iter().chain(FAMILIES) {
        assert!(names.iter().any(|metric| metric.contains(name)), "no {name} in {names:?}");
    }
}

fn all(metric: &str, threads: u32, field: &str) -> Vec<&'static Value> {
    let of = |object: &&Value| object["metric"] == metric && object["threads"] == threads;
    OBJECTS.iter().filter(of).map(|object| &object[field]).collect()
}

#[test]
fn every_traffic_goes_into_every_system_and_ratios_lie_between_those_of_the_extreme_rates() {
    for (traffic, threads) in
        ["distinct", "packets", "flood"].into_iter().flat_map(|it| [(it, 1), (it, 2)])
    {
        let ingest = format!("ingest_{traffic}");
        let systems = all(&ingest, threads, "system");
        assert_eq!((systems.len(), systems[0]), (10, &"srlg".into()));
        let ratio = format!("ingest_{traffic}_ratio");
        let mut compared = all(&ratio, threads, "of");
        assert_eq!(compared.remove(0), "best exact map");
        assert_eq!(compared, systems[1..]);
        for family in ["", "ip6_"] {
            let ratio = format!("ingest_{family}{traffic}_threads_ratio");
            assert_eq!(all(&ratio, 2, "of"), ["srlg, one thread"]);
            // `--repeat` sets fewer rounds.
            assert_eq!(all(&ratio, 2, "repeat"), [8]);
        }
        let bound = |field| all(&ingest, threads, field);
        let (least, most) = (bound("min"), bound("max"));
        let ratios = [all(&ratio, threads, "min"), all(&ratio, threads, "max")];
        // The first ratio compares with the best exact table, and the second with the first of all tables.
        let [low, high] = [0, 1].map(|end| ratios[end][1].as_f64().unwrap());
        let quotient = |own: &Value, other: &Value| own.as_f64().unwrap() / other.as_f64().unwrap();
        assert!(low >= 0.999 * quotient(least[0], most[1]), "{low}");
        assert!(high <= 1.001 * quotient(most[0], least[1]), "{high}");
    }
    for threads in [1, 2] {
        let kinds = all("random_store_limit", threads, "kind");
        assert_eq!(kinds, ["store", "minimum"]);
        assert_eq!(all("ingest_distinct_share", threads, "unit"), ["%"]);
    }
}

#[test]
fn exact_maps_hold_the_window_of_the_link_before_its_packets_come() {
    let bytes = |traffic: &str, system: &str| {
        let of = |object: &&Value| {
            object["metric"] == "memory_bytes"
                && object["traffic"] == traffic
                && object["system"] == system
        };
        number(OBJECTS.iter().find(of).unwrap(), "value")
    };
    // 20 k packets per second, with 46 packets per pair, are 130 k pairs in five minutes. The traffic `distinct` has 20
    // k pairs.
    assert!(bytes("packets", "hash map of pairs") > 4.0 * bytes("distinct", "hash map of pairs"));
    assert_eq!(bytes("packets", "srlg"), bytes("distinct", "srlg"));
}

#[test]
fn stages_of_a_close_are_no_longer_than_the_close() {
    for preset in ["default", "paper"] {
        let objects = objects(program(SMALL).args(["--preset", preset]));
        let close = objects.iter().find(|object| object["metric"] == "close_slice_ms").unwrap();
        assert_eq!((&close["load"], &close["threads"]), (&30_000.into(), &1.into()));
        let stages = close["stages"].as_object().unwrap();
        assert!(["search", "estimate", "age"].iter().all(|name| stages.contains_key(*name)));
        let sum: f64 = stages.values().map(|stage| stage.as_f64().unwrap()).sum();
        assert!(sum > 0.0 && sum <= number(close, "max"), "{close}");
    }
}

#[test]
fn table_has_a_row_per_metric_and_names_the_machine() {
    let output = run(SMALL);
    let text = String::from_utf8(output.stdout).unwrap();
    let cores = std::thread::available_parallelism().unwrap().to_string();
    assert!(text.split_whitespace().any(|word| word == cores), "{cores} cores: {text}");
    // The headings and the line below them are two more lines.
    assert_eq!(
        text.lines().filter(|line| line.starts_with('|')).count(),
        OBJECTS.len() + 2,
        "{text}"
    );
}

#[test]
fn sizes_that_are_too_large_are_errors_of_one_line() {
    let sizes = ["--loads 1M,51M", "--pairs 2G", "--repeat 10001"];
    let with = |size| run(&format!("speed --device cpu {size}"));
    insta::assert_snapshot!(sizes.map(|size| failure(&with(size))).concat());
}

#[test]
fn devices_that_are_not_there_are_errors_of_one_line() {
    let output = run(&SMALL.replace(" cpu", " cuda"));
    // On a machine with a GPU, the command succeeds.
    if !output.status.success() {
        failure(&output);
    }
}
