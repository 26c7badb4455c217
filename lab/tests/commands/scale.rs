//! Tests of the output, the files and the error messages of `scale`, which is run with tiny sizes.

use crate::program::{failure, fresh, objects, page, program, run};
use serde_json::Value;

const QUICK: &str = "scale --quick --repeat 1 --pairs 500 --load 100k --memory 4M";

fn values(metrics: &[Value], metric: &str, series: &str) -> Vec<f64> {
    let of = |it: &&Value| it["metric"] == metric && it["series"] == series;
    metrics.iter().filter(of).map(|it| it["value"].as_f64().unwrap()).collect()
}

#[test]
fn a_page_has_a_table_and_plots_of_every_sweep() {
    let sweeps: [(&str, &[&str]); 3] = [
        ("traffic", &["delta-bytes", "delta-make-ms", "delta-merge-ms"]),
        ("nodes", &["collector-bytes", "collector-merge-ms"]),
        ("tree", &["tree-root-bytes", "tree-latency-ms"]),
    ];
    page(QUICK, &fresh("scale"), &sweeps);
}

#[test]
fn bytes_grow_with_traffic_and_nodes_and_less_than_either_where_nodes_share_recorders() {
    let metrics = objects(&mut program(QUICK));
    // Sizes are planned for a load and an amount of memory.
    assert!(metrics.iter().all(|it| it["load"] == 100_000 && it["memory"] == 4_000_000));
    let bytes = values(&metrics, "delta_bytes", "a node");
    assert!(bytes.len() == 2 && bytes[0] < bytes[1], "{bytes:?}");
    let own = values(&metrics, "collector_bytes", "separate traffic");
    assert!(own.len() == 2 && own[0] < own[1], "{own:?}");
    // A single delta of all pairs is not larger than the deltas of their parts together.
    let shared = values(&metrics, "collector_bytes", "shared traffic");
    assert!(shared.len() == 2 && shared[0] <= shared[1], "{shared:?}");
    // Trees over 8 nodes with two children per collector have 4 + 2 + 1 collectors. With eight children per collector,
    // there is one.
    assert_eq!(values(&metrics, "tree_collectors", "tree"), [7.0, 4.0, 1.0]);
    assert_eq!(values(&metrics, "tree_levels", "tree"), [3.0, 2.0, 1.0]);
}

#[test]
fn what_is_sent_follows_from_the_seed_alone() {
    let metrics = |seed| objects(program(QUICK).args(["--seed", seed]));
    let sent = |seed| values(&metrics(seed), "delta_bytes", "a node");
    assert_eq!(sent("5"), sent("5"));
    assert_ne!(sent("5"), sent("6"));
}

#[test]
fn impossible_simulations_are_one_clear_line() {
    let failures = [
        "--nodes 1G",
        "--nodes 1k --pairs 1M",
        "--most 1G",
        "--load 1M --memory 1k",
        "--repeat 1001",
    ]
    .map(|sizes| failure(&run(&format!("scale --json {sizes}"))));
    insta::assert_snapshot!(failures.concat());
}
