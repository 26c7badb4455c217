//! Tests of the option `--family`. Results for IPv6 and mixed traffic must be as accurate as those for IPv4.

use crate::program::{failure, objects, program, run};
use approx::assert_abs_diff_eq;
use serde_json::Value;

const FAMILIES: [&str; 3] = ["4", "6", "mixed"];

fn of_families(line: &str) -> [Vec<Value>; 3] {
    FAMILIES.map(|family| {
        let objects = objects(program(line).args(["--family", family]));
        assert!(!objects.is_empty() && objects.iter().all(|it| it["family"] == family));
        objects
    })
}

fn value(objects: &[Value], metric: &str) -> f64 {
    let of_metric = objects.iter().find(|it| it["metric"] == metric);
    of_metric.and_then(|it| it["value"].as_f64()).unwrap_or_else(|| panic!("no {metric}"))
}

/// Asserts that the values of the three families differ, because hosts of different families have different hashes.
fn assert_distinct([v4, v6, mixed]: [f64; 3]) {
    assert!(v4 != v6 && v6 != mixed && mixed != v4, "{v4} {v6} {mixed}");
}

// The 49 super points have errors of up to 0.8 %. The difference between 29 and 30 peers is four of these errors. One
// or two of the hosts have more than 120 peers, and an error of 1.6 % is two peers of those.
#[test]
fn accuracy_finds_the_super_points_of_either_family_with_errors_like_those_of_ipv4() {
    let runs = of_families("accuracy --load 50k --window 9 --threshold 30");
    for objects in &runs {
        assert!(objects.iter().all(|it| it["super_points"] == 49));
        for rate in ["tfr_mean", "fpr_mean", "fnr_mean", "finder_miss"] {
            assert_eq!(value(objects, rate), 0.0, "{rate}");
        }
        assert!(value(objects, "rmse_low") < 1.6 && value(objects, "rmse_high") < 1.6);
    }
    assert_distinct(runs.map(|objects| value(&objects, "rmse_low")));
}

// Half of the 40 hosts with θ peers have an estimate of θ or more, with a standard deviation of 3.2 hosts. The bounds
// allow four standard deviations.
#[test]
fn planted_hosts_of_either_family_are_reported_among_hosts_that_are_all_alike() {
    let line = "alike --repeat 1 --hosts 1k --loads 20k --planted 40 --memory 1M";
    let runs = of_families(line);
    for [row] in runs.each_ref().map(|objects| <&[Value; 1]>::try_from(&objects[..]).unwrap()) {
        let high = row["high"].as_u64().unwrap();
        assert!((8..=32).contains(&high), "{row}");
        assert_eq!((&row["missed"], &row["candidates"]), (&0.into(), &40.into()));
    }
    assert_distinct(runs.map(|objects| objects[0]["in_use"].as_f64().unwrap()));
}

#[test]
fn deltas_of_either_family_have_as_many_recorders_as_those_of_ipv4() {
    let line = "scale --quick --repeat 1 --pairs 500 --load 100k --memory 4M";
    let recorders = of_families(line).map(|objects| {
        let of_metric = objects.iter().filter(|it| it["metric"] == "recorders");
        of_metric.map(|it| it["value"].as_f64().unwrap()).sum::<f64>()
    });
    // The pairs touch some 8,000 recorders, and 1 or 2 in 100 of them twice. These recorders differ between families.
    for it in recorders {
        assert_abs_diff_eq!(it / recorders[0], 1.0, epsilon = 0.01);
    }
    assert_distinct(recorders);
}

#[test]
fn memory_of_either_family_does_not_grow_and_maps_are_of_ipv4_alone() {
    let runs = of_families("growth --quick --closes 1");
    let memories = runs.each_ref().map(|objects| {
        let of_memory = objects.iter().filter(|it| it["metric"] == "memory_bytes");
        let own: Vec<_> =
            of_memory.filter(|it| it["system"] == "srlg").map(|it| &it["value"]).collect();
        assert!(own.len() > 2 && own.iter().all(|bytes| *bytes == own[0]), "{own:?}");
        own[0]
    });
    assert_eq!(memories, [memories[0]; 3]);
    let systems = runs.each_ref().map(|objects| objects.iter().any(|it| it["system"] != "srlg"));
    assert_eq!(systems, [true, false, false]);
}

#[test]
fn unknown_families_are_refused() {
    for command in ["accuracy", "alike", "giants", "scale", "speed", "growth"] {
        let output = run(&format!("{command} --family 5"));
        assert_eq!(output.status.code(), Some(2));
        insta::assert_snapshot!("no_family", String::from_utf8_lossy(&output.stderr));
    }
    let paper = "accuracy --load 1k --window 2 --preset paper --family 6";
    insta::assert_snapshot!(failure(&run(paper)));
}
