//! `srlg contacts`: the list of contacts, the summary and the errors.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::srlg;

const LIST: &str =
    "time_ms,src,dst\n1500,192.0.2.1,198.51.100.7\n1501.25,2001:db8::1,[2001:db8::2]\n";
const LOG: &str =
    "srcaddr dstaddr end packets\n10.0.0.1 10.0.0.2 7 1\n- - 8 -\n10.0.0.3 10.0.0.4 9 0\n";

/// Runs `srlg contacts` on `input`. Returns its exit code, its standard output and its standard error.
fn contacts(input: &str) -> (Option<i32>, String, String) {
    read("contacts", input.as_bytes())
}

/// Runs a command on `input`. Returns its exit code, its standard output and its standard error.
fn read(command: &str, input: &[u8]) -> (Option<i32>, String, String) {
    let mut command = srlg(command);
    command.args(["--input", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_list_comes_out_as_it_went_in() {
    let (_, printed, logged) = contacts(LIST);
    let expected =
        "time_ms,src,dst\n1500,192.0.2.1,198.51.100.7\n1501.250000,2001:db8::1,2001:db8::2\n";
    assert_eq!(printed, expected);
    insta::assert_snapshot!(logged);
    assert_eq!(contacts(&printed).1, printed);
}

#[test]
fn rows_of_a_log_are_contacts_or_counted() {
    let (_, printed, logged) = contacts(LOG);
    assert_eq!(printed, "time_ms,src,dst\n7000,10.0.0.1,10.0.0.2\n");
    insta::assert_snapshot!(logged);
}

#[test]
fn invalid_input_is_one_line_and_a_failure() {
    let output = srlg("contacts").args(["--input", "/no/such/file"]).output().unwrap();
    let no_file = (output.status.code(), String::new(), String::from_utf8(output.stderr).unwrap());
    let texts = [contacts(""), contacts("hello\n"), no_file].map(|(code, _, logged)| {
        assert_eq!((code, logged.lines().count()), (Some(2), 1), "{logged}");
        logged
    });
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn json_of_no_known_log_is_a_failure() {
    let log = "{\"ts\":1,\"src\":\"192.0.2.1\",\"dst\":\"192.0.2.2\"}\n".repeat(200);
    for command in ["contacts", "detect"] {
        let (code, _, logged) = read(command, log.as_bytes());
        assert_eq!(code, Some(2), "exit code of {command}");
        let error = logged.lines().last().unwrap();
        insta::allow_duplicates!(insta::assert_snapshot!(error));
    }
}

#[test]
fn an_input_without_usable_data_causes_one_warning_and_exit_code_2() {
    // This is a capture of link type 195, IEEE 802.15.4, with one frame of four bytes.
    let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 195, 1, 0, 4, 4, 0];
    let capture: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    for command in ["contacts", "detect"] {
        let (code, _, logged) = read(command, &capture);
        let warnings: Vec<_> = logged.lines().filter(|line| line.contains("warning: ")).collect();
        let [warning] = warnings[..] else { panic!("{logged}") };
        assert_eq!(code, Some(2), "{logged}");
        insta::allow_duplicates!(insta::assert_snapshot!(warning));
    }
}
