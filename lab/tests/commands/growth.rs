//! Tests of the output, the files and the error messages of `growth`, which is run with tiny sizes.

use crate::program::{failure, fresh, objects, page, program, run};
use serde_json::Value;
use std::fs;

const QUICK: &str = "growth --quick --closes 1";

#[test]
fn a_page_has_a_table_and_plots_of_every_sweep_and_keeps_prose() {
    let folder = fresh("growth");
    let of_closes = ["ingest", "close", "memory", "stages"];
    let sweeps = [("load", &of_closes[..]), ("window", &of_closes), ("threads", &of_closes[..1])];
    let text = page(QUICK, &folder, &sweeps) + "\nA reading.\n";
    fs::write(folder.join("README.md"), &text).unwrap();
    assert!(page(QUICK, &folder, &sweeps).ends_with("\nA reading.\n"));
}

#[test]
fn maps_grow_with_pairs_and_are_left_out_where_they_are_too_large() {
    let objects = objects(program(QUICK).args(["--most-sets", "20k"]));
    let values = |sweep: &str, metric: &str, system: &str| {
        let of =
            |it: &&Value| it["sweep"] == sweep && it["metric"] == metric && it["system"] == system;
        objects.iter().filter(of).map(|it| it["value"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    // The loads are 10 k and 30 k.
    let [own, pairs, sets] = ["srlg", "hash map of pairs", "hash map of hash maps"]
        .map(|system| values("load", "memory_bytes", system));
    assert!(own.len() == 2 && own[0] == own[1], "{own:?}");
    assert!(pairs.len() == 2 && pairs[1] > 2.0 * pairs[0], "{pairs:?}");
    assert_eq!(sets.len(), 1);
    assert_eq!(values("threads", "ingest_ns_per_pair", "srlg").len(), 3);
    for close in objects.iter().filter(|it| it["metric"] == "close_slice_ms") {
        let stages = close["stages"].as_object().unwrap();
        let sum: f64 = stages.values().map(|stage| stage.as_f64().unwrap()).sum();
        assert!(sum <= close["value"].as_f64().unwrap(), "{close}");
    }
}

#[test]
fn sizes_that_are_too_large_are_errors_of_one_line() {
    let failures = ["growth --json --most 2G", "growth --json --closes 1001"].map(run);
    let failures = failures.each_ref().map(failure);
    insta::assert_snapshot!(failures.concat());
}
