//! Tests of the output, the files and the error messages of `paper`, which is run with tiny sizes.

use crate::program::{failure, fresh, objects, program};
use std::fs;
use std::path::Path;
use std::process::Output;

/// Command line of a run that takes one or two seconds.
const SMALL: &str = "paper --load 100k,200k --windows 2 --sliding-windows 3 --window 20 \
                     --threshold 64 --rival-memory 400k,1M --seed=5";

fn paper(line: &str, output: &Path) -> Output {
    program(line).arg("--output").arg(output).output().unwrap()
}

/// Returns the lines of `text`, without the last cell of each table line, which contains times.
fn without_times(text: &str) -> Vec<&str> {
    let end = |line: &str| if line.starts_with('|') { last_cell(line) } else { line.len() };
    text.lines().map(|line| &line[..end(line)]).collect()
}

/// Returns the byte index at which the last cell of a table line starts.
fn last_cell(line: &str) -> usize {
    line.trim_end_matches('|').rfind('|').unwrap_or(0)
}

#[test]
fn a_second_run_writes_the_same_but_for_times_and_keeps_prose() {
    let [one, two] = ["paper-one", "paper-two"].map(fresh);
    for folder in [&one, &two] {
        let output = paper(SMALL, folder);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut files: Vec<_> = fs::read_dir(&one).unwrap().map(|it| it.unwrap().file_name()).collect();
    files.sort_unstable();
    assert_eq!(files.len(), 7, "a text, three plots for each load: {files:?}");
    for name in &files {
        let [one, two] = [&one, &two].map(|folder| fs::read_to_string(folder.join(name)).unwrap());
        assert!(without_times(&one) == without_times(&two), "{name:?}");
    }
    let readme = one.join("README.md");
    let text = fs::read_to_string(&readme).unwrap() + "\nA reading.\n";
    fs::write(&readme, &text).unwrap();
    assert!(paper(SMALL, &one).status.success());
    let again = fs::read_to_string(&readme).unwrap();
    assert_eq!(without_times(&again), without_times(&text));
    for name in files.iter().filter_map(|name| name.to_str()).filter(|name| name.ends_with("svg")) {
        assert!(text.contains(name), "{name} is shown");
    }
}

#[test]
fn json_has_an_object_for_every_cell() {
    let cells = objects(&mut program(SMALL));
    let count = |experiment: &str, metric: &str| {
        let wanted = |cell: &&serde_json::Value| {
            cell["experiment"] == experiment && cell["metric"] == metric && cell["seed"] == 5
        };
        cells.iter().filter(wanted).count()
    };
    for metric in ["fpr_mean", "fnr_mean", "tfr_mean", "memory_bytes", "seconds_per_window"] {
        // There are two loads with two presets of srlg. Discrete windows add three systems and the paper's scheme as
        // bits, with two memory sizes each.
        assert_eq!((count("discrete", metric), count("sliding", metric)), (2 * 10, 2 * 2));
    }
    // The sweep over strides has twelve sizes at the first load, with six figures each.
    assert_eq!(count("strides", "rmse"), 12);
    assert_eq!(cells.len(), 5 * (20 + 4) + 6 * 12);
    assert!(cells.iter().all(|cell| cell["value"].is_number() && cell["unit"].is_string()));
    assert!(cells.iter().any(|cell| cell["system"] == "DCDS" && cell["slice_seconds"] == 20));
}

#[test]
fn wrong_sizes_and_broken_documents_are_errors_of_one_line() {
    let folder = fresh("paper-broken");
    let sizes = [
        (" 400k,1M", " 300k"),
        ("--window 20", "--window 8M"),
        (" 100k,200k", " 60M"),
        ("--threshold 64", "--threshold 4"),
    ];
    let failed = |(from, to)| failure(&paper(&SMALL.replace(from, to), &folder));
    let mut failures = sizes.map(failed).to_vec();
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("README.md"), "# Prose alone\n").unwrap();
    failures.push(failure(&paper(SMALL, &folder)));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is there");
    let file = fresh("paper-file");
    fs::write(&file, "").unwrap();
    failures.push(failure(&paper(SMALL, &file)));
    insta::assert_snapshot!(failures.concat());
}
