//! Tests of several input files that are read in order, and of a growing file.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use srlg_input::capture::CaptureError;
use srlg_input::{Event, Input, InputError};

use crate::commands::{Come, capture, data, open, pair, refused, template};
use crate::exports::build::{ipfix, set, template10};

const LIST: &str = "time_ms,src,dst\n1,192.0.2.1,192.0.2.2\n";

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn follow(folder: &Path) -> (String, Input) {
    let pipe = folder.join("pipe").to_str().unwrap().to_owned();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let input = open(&["--input", &pipe, "--live"]).unwrap();
    (pipe, input)
}

#[test]
fn several_files_are_read_in_order_and_a_truncated_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let whole = capture(&[template(0)]);
    let cut = write(folder.path(), "cut.pcap", &whole[..whole.len() - 1]);
    let [a, b] = ["a", "b"].map(|name| write(folder.path(), name, LIST.as_bytes()));
    let mut input = open(&["--input", &a, "--input", &cut, "--input", &b]).unwrap();
    let come = Come::to_end(&mut input);
    assert_eq!(come.pairs.len(), 2, "the list after the cut file is read, too");
    let reported = [come.log, vec![input.status().to_string()]].concat().join("\n");
    insta::assert_snapshot!(reported.replace(folder.path().to_str().unwrap(), "TMP"));
    let progress = input.progress();
    assert!(
        progress.of == 2 * LIST.len() as u64 + whole.len() as u64 - 1
            && progress.read == progress.of
    );
}

#[test]
fn a_missing_file_is_reported_before_any_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(folder.path(), "a", LIST.as_bytes());
    let error = refused(&["--input", &a, "--input", "/no/such/file"]);
    let InputError::Open { path, error } = error else { panic!("{error}") };
    assert_eq!((path.to_str(), error.kind()), (Some("/no/such/file"), ErrorKind::NotFound));
}

#[test]
fn exports_that_are_read_as_packets_are_reported_once_per_capture() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = capture(&[template(0), data(1, 0..3)]);
    // A file header has 24 bytes, a record header 16. A packet names its destination port in bytes 22 and 23.
    let mut record = 24;
    while let Some(length) = bytes.get(record + 8..record + 12) {
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        bytes[record + 16 + 22..][..2].copy_from_slice(&2055_u16.to_be_bytes());
        record += 16 + length;
    }
    let exports = write(folder.path(), "exports.pcap", &bytes);
    let list = write(folder.path(), "list", LIST.as_bytes());
    let mut input = open(&["--input", &exports, "--input", &list]).unwrap();
    let come = Come::to_end(&mut input);
    assert_eq!(come.pairs.len(), 3, "two packets and a row");
    let [line] = &come.log[..] else { panic!("{:?}", come.log) };
    insta::assert_snapshot!(line.replace(folder.path().to_str().unwrap(), "TMP"));
    let mut input = open(&["--input", &exports, "--exports"]).unwrap();
    assert_eq!(Come::to_end(&mut input).log.len(), 0);
}

#[test]
fn several_captures_are_one_export_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let known = write(folder.path(), "known.pcap", &capture(&[template(0)]));
    let records = write(folder.path(), "data.pcap", &capture(&[data(1, 0..3)]));
    let read = |files: [&str; 2]| {
        let mut input = open(&["--exports", "--input", files[0], "--input", files[1]]).unwrap();
        (Come::to_end(&mut input).pairs, input.status())
    };
    let (pairs, status) = read([&known, &records]);
    assert_eq!(pairs, (0..3).map(pair).collect::<Vec<_>>());
    let [exporter] = &status.exporters[..] else { panic!("{status}") };
    // Data that arrives before its template waits for it. Here the files are in reverse order.
    let (pairs, status) = read([&records, &known]);
    assert_eq!(pairs.len(), 3);
    insta::assert_snapshot!(format!("{exporter}\n{}", status.exporters[0]));
}

#[test]
fn exports_in_an_ipfix_file_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let template = template10(256, &[(8, 4), (12, 4), (2, 4)]);
    let records = set(256, &[11, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 1]);
    let messages = [template, records].map(|set| ipfix(0, 7, &[set])).concat();
    let path = write(folder.path(), "flows.ipfix", &messages);
    let error = open(&["--input", &path]).unwrap().next_event().unwrap_err();
    assert!(matches!(&error, InputError::Exports { name } if *name == path), "{error}");
    let mut input = open(&["--input", &path, "--exports"]).unwrap();
    assert_eq!(Come::to_end(&mut input).pairs, [pair(1)]);
}

#[test]
fn a_contact_list_holds_no_exports() {
    let folder = tempfile::tempdir().unwrap();
    let list = write(folder.path(), "list", LIST.as_bytes());
    let mut input = open(&["--input", &list, "--exports"]).unwrap();
    let error = input.next_event().unwrap_err();
    let is_right = matches!(error, InputError::Capture { error: CaptureError::NoPackets, .. });
    assert!(is_right, "{error}");
}

#[test]
fn an_open_pipe_yields_contacts_at_once_and_ticks_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, mut input) = follow(folder.path());
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\"", &pipe])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let to = writer.stdin.as_mut().unwrap();
    to.write_all(LIST.as_bytes()).unwrap();
    to.flush().unwrap();
    let come = Come::of(&mut input, |come| come.pairs.len() == 1 && come.times.len() > 10);
    assert!(come.times.is_sorted());
    // A timestamp in the future is replaced by the current time.
    to.write_all(b"9999999999999,192.0.2.1,192.0.2.3\n").unwrap();
    let come = Come::of(&mut input, |come| come.pairs.len() == 1);
    assert_eq!(come.pairs[0].1, "192.0.2.3");
    drop(writer.stdin.take());
    Come::to_end(&mut input);
    assert!(writer.wait().unwrap().success());
    assert_eq!(input.status().packets.unwrap().contacts, 2);
}

#[test]
fn a_silent_pipe_can_be_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut input) = follow(folder.path());
    input.stop().stop();
    assert!(Come::to_end(&mut input).pairs.is_empty());
}

#[test]
fn files_can_be_left_without_an_error_or_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    // The file is larger than one read.
    let text = "time_ms,src,dst\n".to_owned() + &"1,192.0.2.1,192.0.2.2\n".repeat(100_000);
    paths.iter().for_each(|path| fs::write(path, &text).unwrap());
    let [a, b] = paths.each_ref().map(|path| path.to_str().unwrap());
    let mut input = open(&["--input", a, "--input", b]).unwrap();
    assert!(matches!(input.next_event().unwrap(), Some(Event::Contacts(_))));
    input.stop().stop();
    let mut contacts = 0;
    while let Some(event) = input.next_event().unwrap() {
        let Event::Contacts(more) = event else { panic!("{event:?}") };
        contacts += more.len();
    }
    assert!(contacts < 100_000, "{contacts}");
}

#[test]
fn options_without_effect_are_refused() {
    let mut texts = String::new();
    for args in [
        &["--input", "-", "--nat", "post"][..],
        &["--input", "-", "--sampling", "10"],
        &["--input", "-", "--exports", "--sampling", "0"],
        &["--input", "-", "--exports", "--nat", "both"],
        &["--input", "-", "--listen", "[::]:0", "--exporters", "::/0"],
        &["--listen", "[::]:0", "--exporters", "::/0", "--interface", "lo"],
        &["--listen", "[::]:0", "--exporters", "::/0", "--exports"],
        &["--listen", "127.0.0.1:0"],
        &["--listen-tcp", "127.0.0.1:0"],
        &["--listen-tcp", "[::]:0", "--exporters", "::/0", "--receivers", "2"],
        &["--listen-tcp", "[::]:0", "--exporters", "::/0", "--interface", "lo"],
        &["--listen-tcp", "[::]:0", "--exporters", "::/0", "--url", "nats://a/b"],
        &["--exporters", "::/0"],
        &["--receivers", "0", "--listen", "[::]:0", "--exporters", "::/0"],
        &["--receive-buffer", "3000000000", "--listen", "[::]:0", "--exporters", "::/0"],
        &["--filter", "udp"],
        &["--interface", "lo", "--snap-length", "61"],
        &["--interface", "lo", "--capture-buffer", "1000"],
        &["--live"],
        &["--exports"],
    ] {
        let error = open(args).unwrap_err();
        texts += &format!("{}\n{error}\n", args.join(" "));
    }
    insta::assert_snapshot!(texts);
    assert!(matches!(refused(&[]), InputError::None));
}

#[test]
fn a_pipe_that_never_pauses_can_be_left() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, mut input) = follow(folder.path());
    let script =
        "{ echo time_ms,src,dst; while echo 1,192.0.2.1,192.0.2.2; do sleep .002; done; } > \"$0\"";
    let mut writer = Command::new("sh").args(["-c", script]).arg(&pipe).spawn().unwrap();
    assert!(!Come::of(&mut input, |come| come.pairs.len() > 100).pairs.is_empty());
    input.stop().stop();
    Come::to_end(&mut input);
    // The reader is gone, so the writer ends.
    assert!(writer.wait().is_ok());
}
