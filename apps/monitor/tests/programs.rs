//! The monitor as a process.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_srlg-monitor")).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    (output, printed, told)
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn attacks_over_loopback_are_told_once_from_start_to_end() {
    let alerts = file("demo.ndjson");
    let (output, printed, told) = run(&["demo", "--alerts", alerts.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{printed}{told}");
    let alerts = lines(&std::fs::read_to_string(alerts).unwrap());
    let of = |status: &str| alerts.iter().filter(|alert| alert["status"] == status).count();
    assert_eq!((of("start"), of("end")), (4, 4));
    for (kind, view, count) in [("flood", "fan-in", 3), ("scan", "outside", 1)] {
        let is_it =
            |it: &&Value| it["status"] == "start" && it["kind"] == kind && it["view"] == view;
        assert_eq!(alerts.iter().filter(is_it).count(), count, "{kind}");
    }
}

/// A minute in which 2,000 hosts talk to 10.0.0.1 for 20 seconds, and what else goes on until `seconds`.
fn attack(seconds: u64) -> String {
    let mut list = "time_ms,src,dst\n".to_owned();
    for second in 0..seconds {
        if (10..30).contains(&second) {
            for peer in 0..2_000 {
                let ms = (1_750_000_000 + second) * 1_000 + peer % 1_000;
                writeln!(list, "{ms},192.168.{}.{},10.0.0.1", peer / 250, peer % 250).unwrap();
            }
        }
        writeln!(list, "{},10.0.0.2,192.0.2.1", (1_750_000_000 + second) * 1_000 + 999).unwrap();
    }
    list
}

#[test]
fn a_replay_tells_what_a_monitor_would_have_told_at_the_time() {
    let list = file("attack.csv");
    std::fs::write(&list, attack(200)).unwrap();
    let options = ["--inside", "10.0.0.0/8", "--window", "30s", "--threshold", "1000"];
    let args = [&["run", "--input", list.to_str().unwrap()], &options[..]].concat();
    let (output, printed, told) = run(&args);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let [start, end] = &lines(&printed)[..] else { panic!("{printed}") };
    let ms = |second: u64| (1_750_000_000 + second) * 1_000;
    assert_eq!((&start["status"], start["start_ms"].as_u64()), (&"start".into(), Some(ms(13))));
    assert_eq!((&start["subject"]["host"], &start["kind"]), (&"10.0.0.1".into(), &"flood".into()));
    let count = start["cardinality"].as_f64().unwrap();
    assert!((count / 2_000.0 - 1.0).abs() < 0.03, "{start}");
    assert_eq!(
        (start["peers"].as_array().unwrap().len(), &start["sampling"]),
        (32, &"none".into())
    );
    let text = start["text"].as_str().unwrap();
    assert!(
        text.starts_with("10.0.0.1 was contacted by ")
            && text.ends_with("in the last 30 s (threshold 1000)")
    );
    // In the window until second 60, and below for a minute since.
    assert_eq!((&end["status"], end["now_ms"].as_u64()), (&"end".into(), Some(ms(120))));
    assert_eq!((end["until_ms"].as_u64(), &end["id"]), (Some(ms(60)), &start["id"]));
}

#[test]
fn what_cannot_be_is_one_line_and_exit_code_2() {
    for (args, says) in [
        (&["run", "--input", "/no/such/file"][..], "cannot open /no/such/file"),
        (&["run"], "no input is named"),
        (
            &["run", "--input", "-", "--window", "1500ms"],
            "--window is 1.5s: give a multiple of --slice, 1s",
        ),
        (&["run", "--input", "-", "--slice", "0s"], "--slice is 0ns"),
        (&["run", "--input", "-", "--threshold", "0"], "threshold is 0"),
        (
            &["run", "--input", "-", "--alerts", "/no/such/folder/file"],
            "cannot write to /no/such/folder/file",
        ),
        (&["demo", "--seconds", "5"], "--seconds is 5: give 20 or more"),
    ] {
        let (output, printed, told) = run(args);
        assert_eq!((output.status.code(), printed.as_str()), (Some(2), ""), "{told}");
        assert!(told.starts_with(&format!("srlg-monitor: {says}")), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}
