//! Tests of `generate` and `convert`. The submodules test `peers`, `traces` and `speed`.

use crate::program::{failure, fresh, objects, program, run};
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

mod measuring;
mod speed;

fn generate(options: &str, output: &Path) -> Output {
    program(&format!("generate {options}")).arg("--output").arg(output).output().unwrap()
}

const SMALL: &str = "--slices 5 --pairs 2k --format";

#[test]
fn csv_has_a_header_and_the_wanted_pairs_in_order_of_time() {
    let path = fresh("small.csv");
    assert!(generate(&format!("{SMALL} csv --start-ms 7000"), &path).status.success());
    let text = fs::read_to_string(path).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();
    assert_eq!(header, "time_ms,src,dst");
    let lines: Vec<_> = lines.lines().map(|line| line.split_once(',').unwrap()).collect();
    let times: Vec<u64> = lines.iter().map(|(time, _)| time.parse().unwrap()).collect();
    assert!(
        times.is_sorted() && times[0] == 7000 && (11_000..12_000).contains(times.last().unwrap())
    );
    let pairs: HashSet<_> = lines.iter().map(|(_, pair)| pair).collect();
    // The test of the generator allows 5 %, with more pairs than here.
    assert!((1800..=2200).contains(&pairs.len()), "{}", pairs.len());
}

#[test]
fn pcap_records_fill_the_file_exactly() {
    let path = fresh("small.pcap");
    assert!(generate(&format!("{SMALL} pcap"), &path).status.success());
    let bytes = fs::read(path).unwrap();
    assert_eq!(bytes[..8], [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0]);
    let (mut at, mut records) = (24, 0);
    while at < bytes.len() {
        let captured = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        assert!((60..=90).contains(&captured));
        assert_eq!(bytes[at + 16 + 12..][..3], [8, 0, 0x45]);
        at += 16 + captured;
        records += 1;
    }
    assert_eq!(at, bytes.len());
    assert!((10_000..40_000).contains(&records), "{records}");
}

#[test]
fn bytes_set_the_size_of_the_file() {
    for (format, wanted) in [("pcap", 3_000_000), ("csv", 100_000)] {
        let path = fresh(&format!("sized.{format}"));
        let options = format!("{SMALL} {format} --bytes {wanted}");
        assert!(generate(&options, &path).status.success());
        let size = fs::metadata(path).unwrap().len();
        // The packet that reaches the size is the last one, so the file has at most 16 + 90 bytes more.
        assert!((wanted..wanted + 106).contains(&size), "{size} of {wanted}");
    }
}

#[test]
fn standard_output_gets_the_bytes_of_the_file() {
    let path = fresh("same.pcap");
    let options = format!("{SMALL} pcap --seed 3");
    assert!(generate(&options, &path).status.success());
    assert!(generate(&options, Path::new("-")).stdout == fs::read(path).unwrap());
}

#[test]
fn wrong_usage_exits_with_2() {
    for options in
        ["--format text", "--format csv --pairs many", "--format csv --slices 0", "--seed 1"]
    {
        let output = generate(options, Path::new("-"));
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    let too_many = generate("--format csv --pairs 4G", Path::new("-"));
    insta::assert_snapshot!(failure(&too_many));
}

#[test]
fn failures_leave_no_file_behind() {
    let path = fresh("late.pcap");
    let year_2200 = "--format pcap --start-ms 7258118400000";
    let mut failures = vec![failure(&generate(year_2200, &path))];
    assert!(!path.exists() && !path.with_extension("pcap.partial").exists());
    let nowhere = fresh("no-such-folder").join("x.csv");
    failures.push(failure(&generate("--format csv", &nowhere)));
    let convert = |trace: &Path| program("convert").arg(trace).args(["--output", "-"]).output();
    failures.push(failure(&convert(&nowhere).unwrap()));
    let text = fresh("text.spt.zst");
    fs::write(&text, "no zstd frame").unwrap();
    failures.push(failure(&convert(&text).unwrap()));
    insta::assert_snapshot!(failures.concat());
}

#[test]
#[cfg(target_os = "linux")]
fn full_disks_and_broken_pipes_are_errors_of_one_line() {
    let full = generate("--format csv --pairs 1k", Path::new("/dev/full"));
    let mut child = program("generate --format csv --output -")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let failures = [full, child.wait_with_output().unwrap()].each_ref().map(failure);
    insta::assert_snapshot!(failures.concat());
}
