//! The example `contacts`: what comes out of files of every kind, and what it says of the rest.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::example;

const LIST: &str =
    "time_ms,src,dst\n1500,192.0.2.1,198.51.100.7\n1501.25,2001:db8::1,[2001:db8::2]\n";
const LOG: &str =
    "srcaddr dstaddr end packets\n10.0.0.1 10.0.0.2 7 1\n- - 8 -\n10.0.0.3 10.0.0.4 9 0\n";

/// What the example makes of `input` on its standard input.
fn contacts(input: &str) -> (bool, String, String) {
    let mut command = example("contacts");
    command.args(["--input", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

#[test]
fn a_list_comes_out_as_it_went_in() {
    let (_, printed, told) = contacts(LIST);
    let expected =
        "time_ms,src,dst\n1500,192.0.2.1,198.51.100.7\n1501.250000,2001:db8::1,2001:db8::2\n";
    assert_eq!(printed, expected);
    assert_eq!(told, "contacts: 2 packets, 2 contacts, 0 skipped\n");
    assert_eq!(contacts(&printed).1, printed);
}

#[test]
fn rows_of_a_log_are_contacts_or_counted() {
    let (_, printed, told) = contacts(LOG);
    assert_eq!(printed, "time_ms,src,dst\n7000,10.0.0.1,10.0.0.2\n");
    assert_eq!(told, "contacts: 3 packets, 1 contacts, 2 skipped (no-packets 1, no-hosts 1)\n");
}

#[test]
fn what_is_no_input_is_one_line_and_a_failure() {
    for (input, says) in [("", "the input is empty"), ("hello\n", "first line is \"hello\"")] {
        let (succeeds, _, told) = contacts(input);
        assert!(!succeeds && told.lines().count() == 1 && told.contains(says), "{told}");
    }
    let output = example("contacts").args(["--input", "/no/such/file"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && told.contains("cannot open /no/such/file"), "{told}");
}
