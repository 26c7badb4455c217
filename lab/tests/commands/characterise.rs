//! Tests of the output and the files of `characterise`. Sizes are tiny.

use crate::program::{fresh, objects, page, program};
use std::collections::BTreeMap;
use std::fs;

const QUICK: &str = "characterise --quick --streams 1 --seed 7";

#[test]
fn a_second_run_writes_the_same_bytes_and_keeps_prose() {
    let folder = fresh("characterise");
    let of_others = ["rmse", "tfr"];
    let sweeps = ["load", "memory", "window", "tags"].map(|name| (name, &of_others[..]));
    let sweeps = [&[("cardinality", &["rmse", "bias"][..])][..], &sweeps].concat();
    let files = || {
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        files
            .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
            .collect::<BTreeMap<_, _>>()
    };
    let text = page(QUICK, &folder, &sweeps) + "\nA reading.\n";
    fs::write(folder.join("README.md"), &text).unwrap();
    let first = files();
    page(QUICK, &folder, &sweeps);
    assert!(files() == first);
}

#[test]
fn json_has_an_object_for_every_metric_of_every_row() {
    let objects = objects(&mut program("characterise --quick --streams 1"));
    let count = |sweep: &str, metric: &str| {
        let wanted = |it: &&serde_json::Value| it["sweep"] == sweep && it["metric"] == metric;
        objects.iter().filter(wanted).count()
    };
    for metric in ["rmse", "bias", "coverage95", "tfr_mean"] {
        // Two presets have ten octaves and two windows. The presets and the plan have three loads and two memory sizes.
        let counts = ["cardinality", "load", "memory", "window"].map(|name| count(name, metric));
        assert_eq!(counts, [20, 9, 6, 4]);
        assert!(count("tags", metric) >= 4);
    }
}
