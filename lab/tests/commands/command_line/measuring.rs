//! Tests of `peers` and `traces`. Sizes are small, so that the tests take little time.

use super::{failure, fresh, objects, program, run};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn values(objects: &[Value], metric: &str, key: &str) -> Vec<(String, Option<f64>)> {
    let of_metric = objects.iter().filter(|object| object["metric"] == metric);
    of_metric
        .map(|object| (object[key].as_str().unwrap().to_owned(), object["value"].as_f64()))
        .collect()
}

#[test]
fn estimators_without_sliding_are_exact_only_at_the_end_of_a_window() {
    let objects = objects(&mut program("peers --load 20k --window 4 --threshold 20"));
    let whole = values(&objects, "tfr_mean", "system");
    let every = values(&objects, "tfr_every_slice", "system");
    assert!(whole.len() == every.len() && whole.len() >= 8);
    for ((system, whole), (_, every)) in whole.iter().zip(&every) {
        match system {
            name if name.starts_with("hash map")
                || name.starts_with("compact")
                || name == "sampled pairs" =>
            {
                assert_eq!((*whole, *every), (Some(0.0), Some(0.0)));
            }
            // These systems forget all pairs every four slices, so only every fourth report is complete.
            name if name.ends_with("per host") || name.starts_with("RGS-Sketch") => {
                assert!(every.unwrap() > 20.0, "{every:?}");
            }
            name => assert!(
                ["srlg, ", "ring of 4 ", "SpreadSketch of two zones"]
                    .iter()
                    .any(|known| name.starts_with(known))
            ),
        }
    }
    for (system, bytes) in values(&objects, "memory_bytes", "system") {
        assert!(bytes.unwrap() > 1000.0, "{system}: {bytes:?}");
    }
}

#[test]
fn every_system_but_the_exact_table_has_the_same_memory() {
    let line = "regimes --memory 1M --loads 20k --window 1 --hosts 10 --streams 2";
    let objects = objects(&mut program(line));
    let memory: Vec<_> = values(&objects, "memory_bytes", "system");
    let names: Vec<_> = memory.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names[0].starts_with("srlg, λ = "));
    let others = ["sampled pairs", "compact table of pairs", "own counter per host", "GSE"];
    assert_eq!(names[1..], others);
    // The virtual bitmap leaves a fifteenth of the memory to a finder. A table has whole buckets, and a plan whole lines.
    assert!(memory.iter().all(|(name, bytes)| match name.as_str() {
        "compact table of pairs" => bytes < &Some(1e6),
        _ => (0.93e6..=1e6).contains(&bytes.unwrap()),
    }));
    let errors = values(&objects, "rmse_1024", "system");
    assert!(errors.iter().all(|(_, error)| error.unwrap() < 10.0), "{errors:?}");
    assert_eq!([&errors[1].1, &errors[2].1], [&Some(0.0); 2]);
}

#[test]
fn the_table_is_inserted_between_the_markers() {
    let page = fresh("peers.md");
    fs::write(&page, "# A\n<!-- table: load 1k -->\nold\n<!-- end -->\n").unwrap();
    let peers = |load| {
        program("peers --window 1 --load").arg(load).arg("--write").arg(&page).output().unwrap()
    };
    assert!(peers("1k").status.success());
    let text = fs::read_to_string(&page).unwrap();
    assert!(!text.contains("\nold\n"), "{text}");
    let systems: Vec<_> = text.lines().filter_map(|line| line.split('|').nth(1)).collect();
    insta::assert_snapshot!("systems_of_the_page", systems.join("\n"));
    // A page without a table of this load is rejected before the measurement starts.
    insta::assert_snapshot!(failure(&peers("40M")));
}

#[test]
fn sizes_that_are_too_large_are_errors_of_one_line() {
    let sizes =
        ["peers --window 20k", "peers --load 1G", "peers --windows 1G", "regimes --loads 1G"];
    let failures = sizes.map(|line| failure(&run(line)));
    insta::assert_snapshot!(failures.concat());
}

/// Creates a folder that contains one record file, in which a host contacts the same 150 peers in each of ten minutes.
fn record_folder(name: &str) -> PathBuf {
    let folder = fresh(name);
    fs::create_dir_all(&folder).unwrap();
    let fields = |number: u32| [number / 150 * 60_000, 7, 1000 + number % 150];
    let bytes: Vec<u8> = (0..1500).flat_map(fields).flat_map(u32::to_le_bytes).collect();
    let compressed = compress_to_vec(&bytes[..], CompressionLevel::Fastest);
    fs::write(folder.join("scan.spt.zst"), compressed).unwrap();
    folder
}

#[test]
fn every_window_of_a_recording_is_scored() {
    let folder = record_folder("traces");
    let line = "traces --cut 60x5 --threshold 100,256 --preset default --data";
    let objects = objects(program(line).arg(&folder));
    let windows = |object: &Value| (object["windows"].as_u64(), object["super_points"].as_u64());
    // Windows end in minutes 4 to 9.
    assert_eq!(windows(&objects[0]), (Some(6), Some(6)));
    let tfr = [("scan".to_owned(), Some(0.0)), ("scan".to_owned(), None)];
    assert_eq!(values(&objects, "tfr", "trace"), tfr);
    let output = program("traces --cut 60x5,1x800 --data").arg(&folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn folders_without_records_are_errors_of_one_line() {
    let nowhere = fresh("no-traces");
    let traces = |folder: &Path| program("traces --data").arg(folder).output().unwrap();
    let mut failures = vec![failure(&traces(&nowhere))];
    let empty = fresh("empty-traces");
    fs::create_dir_all(&empty).unwrap();
    failures.push(failure(&traces(&empty)));
    let damaged = fresh("damaged-traces");
    fs::create_dir_all(&damaged).unwrap();
    fs::write(damaged.join("a.spt.zst"), "no zstd frame").unwrap();
    failures.push(failure(&traces(&damaged)));
    insta::assert_snapshot!(failures.concat());
}
