//! Runs `characterise` at tiny sizes: what it prints and writes, and how it fails.

use crate::program::{assert_fails, fresh, objects, program};
use std::fs;
use std::path::Path;
use std::process::Output;

fn characterise(output: &Path) -> Output {
    let options = ["characterise", "--quick", "--streams", "1", "--seed", "7"];
    program().args(options).arg("--output").arg(output).output().unwrap()
}

#[test]
fn a_second_run_writes_the_same_bytes_and_keeps_prose() {
    let folder = fresh("characterise");
    assert!(characterise(&folder).status.success());
    let names = ["cardinality", "load", "memory", "window", "tags"];
    let readme = folder.join("README.md");
    let text = fs::read_to_string(&readme).unwrap() + "\nA reading.\n";
    fs::write(&readme, &text).unwrap();
    let plots = || {
        let second = |name: &str| if name == "cardinality" { "bias" } else { "tfr" };
        let files =
            names.map(|name| [format!("{name}-rmse.svg"), format!("{name}-{}.svg", second(name))]);
        let read = |file: String| {
            assert!(text.contains(&file), "{file} is shown");
            fs::read_to_string(folder.join(file)).unwrap()
        };
        files.into_iter().flatten().map(read).collect::<Vec<_>>()
    };
    let first = plots();
    let output = characterise(&folder);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(plots() == first && fs::read_to_string(&readme).unwrap() == text);
    for name in names {
        assert!(text.contains(&format!("<!-- table: {name} -->")));
    }
    let tables = |text: &str| text.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(tables(&printed), tables(&text));
    assert!(text.contains("--streams 1 --seed 7 --quick"));
}

#[test]
fn json_has_an_object_for_every_metric_of_every_row() {
    let options = ["characterise", "--quick", "--streams", "1", "--json"];
    let objects = objects(&options);
    let count = |sweep: &str, metric: &str| {
        let wanted = |it: &&serde_json::Value| it["sweep"] == sweep && it["metric"] == metric;
        objects.iter().filter(wanted).count()
    };
    for metric in ["rmse", "bias", "coverage95", "tfr_mean"] {
        // Two presets in ten octaves and at two windows; with the plan at three loads, two memories.
        let counts = ["cardinality", "load", "memory", "window"].map(|name| count(name, metric));
        assert_eq!(counts, [20, 9, 6, 4]);
        assert!(count("tags", metric) >= 4);
    }
}

#[test]
fn a_document_without_its_sections_is_an_error_before_the_work() {
    let folder = fresh("characterise-broken");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("README.md"), "# Prose alone\n").unwrap();
    assert_fails(&characterise(&folder), "README.md has no lines <!-- table: setup -->");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}
