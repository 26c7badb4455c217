//! Extreme values, damaged files and invalid options.

use std::fs;
use std::process::Stdio;

use super::*;

#[test]
fn late_packets_land_in_their_slice_and_broken_times_are_counted() {
    let mut csv = contacts();
    csv = csv.replacen("time_ms,src,dst\n", "time_ms,src,dst\n65000,1.1.1.1,2.2.2.2\n", 1);
    csv.push_str("4102444800000,1.1.1.1,2.2.2.2\n"); // the year 2100
    let of = |options: &[&str]| ndjson("late.csv", &csv, options);
    let output = of(&["--window", "6"]);
    assert_eq!(points(&output).iter().map(|point| point.0).collect::<Vec<_>>(), [65]);
    insta::assert_snapshot!("one_from_the_future", steady(&stderr(&output)));
    let narrow = of(&["--max-gap", "1s"]);
    insta::assert_snapshot!("one_beyond_the_gap", steady(&stderr(&narrow)));
    let strict = of(&["--window", "6", "--late", "3"]);
    assert_eq!(points(&strict).len(), 0);
    insta::assert_snapshot!("all_but_one_too_late", steady(&stderr(&strict)));
}

#[test]
fn a_gap_of_months_is_a_reset_and_loses_no_later_pair() {
    let csv = contacts() + &fan_out(1_700_000_000_000, "10.0.0.9", 2000);
    let output = ndjson("silence.csv", csv, &["--window", "5"]);
    let last = points(&output).pop().unwrap();
    assert_eq!((last.0, last.3.as_str()), (1_700_000_000, "10.0.0.9"));
    insta::assert_snapshot!(steady(&stderr(&output)));
}

#[test]
fn thresholds_beyond_the_presets_lengthen_the_estimators() {
    let csv = format!("time_ms,src,dst\n{}", fan_out(0, "10.0.0.1", 60_000));
    let output = ndjson("large.csv", csv, &["--threshold", "50000"]);
    assert_abs_diff_eq!(points(&output)[0].4 / 60_000.0, 1.0, epsilon = 0.05);
}

#[test]
fn beyond_what_an_estimator_can_tell_is_a_lower_bound_and_the_default_tells_it() {
    let csv = format!("time_ms,src,dst\n{}", fan_out(0, "10.0.0.1", 400_000));
    let of = |preset| ndjson("giant.csv", &csv, &["--role", "source", "--preset", preset]);
    // The 16,384 positions of the paper can count up to about 159,000.
    let output = of("paper");
    assert!(stdout(&output).trim_end().ends_with(r#""range":"beyond"}"#), "{}", stdout(&output));
    let output = of("default");
    assert!(!stdout(&output).contains("beyond"), "{}", stdout(&output));
    // The standard error is 3.7 % if all contacts are in one slice.
    assert_abs_diff_eq!(points(&output)[0].4 / 400_000.0, 1.0, epsilon = 0.15);
}

#[test]
fn of_a_lower_bound_the_count_without_sampling_has_no_upper_one() {
    // These are IPFIX messages with source and destination, a sampling of 1 in 10, and the template.
    let message = |peers: std::ops::Range<u32>| {
        let bytes = 4 + peers.len() as u16 * 12;
        let header = [10, 16 + 20 + bytes, 0, 1, 0, 0, 0, 0];
        let head = [&header[..], &[2, 20, 256, 3, 8, 4, 12, 4, 34, 4], &[256, bytes]].concat();
        let records = peers.flat_map(|peer| [0x4000_0000 + peer, 0x0a00_0001, 10]);
        let records = records.flat_map(u32::to_be_bytes);
        head.into_iter().flat_map(u16::to_be_bytes).chain(records).collect::<Vec<_>>()
    };
    let messages = (0..200).flat_map(|number| message(number * 2_000..(number + 1) * 2_000));
    let input = file("giant.ipfix", messages.collect::<Vec<u8>>());
    let options = ["--input", &input, "--exports", "--role", "destination", "--output"];
    let of = |more: &[&str]| stdout(&run(&[&options[..], more].concat()));
    let paper = of(&["ndjson", "--preset", "paper"]);
    assert!(paper.contains(r#""most":10"#) && paper.contains(r#""range":"beyond""#), "{paper}");
    assert!(paper.trim_end().ends_with(",null]}"), "{paper}");
    insta::assert_snapshot!(of(&["table", "--preset", "paper"]));
    let default = of(&["ndjson"]);
    assert!(default.contains(r#""unsampled":["#) && !default.contains("null"), "{default}");
}

#[test]
fn input_that_cannot_be_read_is_one_line_and_exit_2() {
    let unknown = file("unknown.bin", b"\x7fELF and so on");
    let empty = file("empty.csv", b"");
    let header = file("header.csv", b"when,who,whom\n1,1.1.1.1,2.2.2.2\n");
    let mut texts = String::new();
    for input in [unknown.as_str(), &empty, &header, "no/such/file", env!("CARGO_TARGET_TMPDIR")] {
        let output = run(&["--input", input]);
        assert_one_line_and_exit_2(&output);
        texts += &steady(&stderr(&output));
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn impossible_options_exit_2_with_a_reason() {
    let input = file("options.csv", contacts());
    let mut texts = String::new();
    for (option, value) in [
        ("--threshold", "0"),
        ("--window", "0"),
        ("--window", "65535"),
        ("--slice", "0s"),
        ("--slice", "10us"),
        ("--inside", "10.0.0.0/33"),
        ("--inside", "2001:db8::/129"),
        ("--role", "both"),
        ("--peer-prefix6", "129"),
        ("--host-prefix4", "0"),
        ("--peer-prefix4", "33"),
        ("--device", "gpu"),
        ("--device", "cuda:999"),
        ("--colour", "red"),
    ] {
        let output = run(&["--input", &input, option, value]);
        assert_one_line_and_exit_2(&output);
        assert!(stdout(&output).is_empty());
        // The reason for the error depends on the machine.
        if value != "cuda:999" {
            texts += &stderr(&output);
        }
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn cut_capture_gives_its_whole_packets_and_a_warning() {
    // The file has a pcap header, a record with an IPv4 header, and half of another record.
    let mut pcap = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 101, 0, 0, 0,
    ];
    let record =
        [&[1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 20, 0, 0, 0, 0x45, 0, 0, 20][..], &[0; 16]]
            .concat();
    pcap.extend_from_slice(&record);
    pcap.extend_from_slice(&record[..25]);
    let output = run(&["--input", &file("cut.pcap", pcap)]);
    assert!(output.status.success());
    // The first 60 bytes are readable: the header of the file and one packet.
    insta::assert_snapshot!(steady(&stderr(&output)));
}

#[test]
fn full_disk_is_an_error_and_a_closed_pipe_is_not() {
    let input = file("disk.csv", contacts());
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let args = ["--input", &input, "--output", "ndjson"];
    let output = detect().args(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_one_line_and_exit_2(&output);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = detect().args(args).stdout(writer).stderr(Stdio::null()).status().unwrap();
    assert!(status.success());
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = detect().args(args).stderr(full).output().unwrap();
    assert_eq!((output.status.code(), points(&output).len()), (Some(0), 1));
}

#[test]
fn every_capture_of_real_tools_is_read_without_a_panic() {
    let Some(captures) = srlg_traffic::trace::recorded("captures") else { return };
    for entry in fs::read_dir(captures).unwrap() {
        let path = entry.unwrap().path();
        let output =
            run(&["--input", &path.to_string_lossy(), "--output", "ndjson", "--threshold", "100"]);
        let expected =
            if path.extension().is_some_and(|e| e == "dat" || e == "md") { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{}: {}", path.display(), stderr(&output));
        if path.ends_with("pcap_usec_ddos_synack.pcap") {
            assert_abs_diff_eq!(points(&output)[0].4 / 7055.0, 1.0, epsilon = 0.05);
        }
    }
}
