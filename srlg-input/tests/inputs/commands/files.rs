//! Files, one after the other, and a file that goes on.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::commands::export::{capture, data, pair, template};
use crate::commands::{Come, open};

const LIST: &str = "time_ms,src,dst\n1,192.0.2.1,192.0.2.2\n";

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn several_files_are_read_in_their_order_and_a_cut_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let whole = capture(&[template(0)]);
    let cut = write(folder.path(), "cut.pcap", &whole[..whole.len() - 1]);
    let [a, b] = ["a", "b"].map(|name| write(folder.path(), name, LIST.as_bytes()));
    let mut input = open(&["--input", &a, "--input", &cut, "--input", &b]).unwrap();
    let come = Come::to_end(&mut input);
    assert_eq!(come.pairs.len(), 2, "the list after the cut file is read, too");
    assert!(come.log.len() == 1 && come.log[0].contains("cut.pcap: stopped at byte 24"));
    let status = input.status();
    assert_eq!(status.to_string(), "2 packets, 2 contacts, 0 skipped");
    let progress = input.progress();
    assert!(
        progress.of == 2 * LIST.len() as u64 + whole.len() as u64 - 1
            && progress.read == progress.of
    );
}

#[test]
fn a_file_that_is_not_there_is_told_before_any_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(folder.path(), "a", LIST.as_bytes());
    let error = open(&["--input", &a, "--input", "/no/such/file"]).unwrap_err();
    assert_eq!(error, "cannot open /no/such/file: No such file or directory (os error 2)");
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
    assert_eq!(status.exporters.len(), 1);
    assert_eq!(
        status.exporters[0].to_string(),
        "192.0.2.1: 2 datagrams, 3 records, 3 contacts; 0 lost"
    );
    // Data that come before their template wait for it; that is an order that was changed, too.
    let (pairs, status) = read([&records, &known]);
    assert_eq!(pairs.len(), 3);
    assert!(status.exporters[0].to_string().contains("held 1"), "{status}");
}

#[test]
fn exports_in_an_ipfix_file_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut message = vec![0, 10, 0, 36];
    message.extend([0x65, 0x53, 0xf1, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    message.extend([0, 2, 0, 20, 1, 0, 0, 3, 0, 8, 0, 4, 0, 12, 0, 4, 0, 2, 0, 4]);
    let mut records = vec![0, 10, 0, 32];
    records.extend([0x65, 0x53, 0xf1, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    records.extend([1, 0, 0, 16, 11, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 1]);
    let path = write(folder.path(), "flows.ipfix", &[message, records].concat());
    let error = open(&["--input", &path])
        .and_then(|mut input| input.next_event().map_err(|error| error.to_string()));
    let error = error.unwrap_err();
    assert!(error.ends_with("which holds exports of flows: read it with --exports"), "{error}");
    let mut input = open(&["--input", &path, "--exports"]).unwrap();
    assert_eq!(Come::to_end(&mut input).pairs, [pair(1)]);
}

#[test]
fn a_contact_list_holds_no_exports() {
    let folder = tempfile::tempdir().unwrap();
    let list = write(folder.path(), "list", LIST.as_bytes());
    let mut input = open(&["--input", &list, "--exports"]).unwrap();
    let error = input.next_event().unwrap_err().to_string();
    assert!(error.contains("holds no datagrams"), "{error}");
}

#[test]
fn a_pipe_that_goes_on_yields_at_once_what_comes_and_the_time_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut input = open(&["--input", pipe.to_str().unwrap(), "--live"]).unwrap();
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\"", pipe.to_str().unwrap()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let to = writer.stdin.as_mut().unwrap();
    to.write_all(LIST.as_bytes()).unwrap();
    to.flush().unwrap();
    let come = Come::of(&mut input, |come| come.pairs.len() == 1 && come.times.len() > 10);
    assert!(come.times.is_sorted());
    // A time stamp of the future is that of now.
    to.write_all(b"9999999999999,192.0.2.1,192.0.2.3\n").unwrap();
    let come = Come::of(&mut input, |come| come.pairs.len() == 1);
    assert_eq!(come.pairs[0].1, "192.0.2.3");
    drop(writer.stdin.take());
    Come::to_end(&mut input);
    assert!(writer.wait().unwrap().success());
    assert_eq!(input.status().packets.unwrap().contacts, 2);
}

#[test]
fn a_pipe_that_says_nothing_can_be_left() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut input = open(&["--input", pipe.to_str().unwrap(), "--live"]).unwrap();
    input.stop().stop();
    assert!(Come::to_end(&mut input).pairs.is_empty());
}

#[test]
fn options_that_would_say_nothing_are_refused() {
    for (args, says) in [
        (&["--input", "-", "--nat", "post"][..], "--exports"),
        (&["--input", "-", "--sampling", "10"], "--exports"),
        (&["--input", "-", "--exports", "--sampling", "0"], "--sampling"),
        (&["--input", "-", "--exports", "--nat", "both"], "give pre, post"),
        (&["--input", "-", "--listen", "[::]:0", "--exporters", "::/0"], "cannot be used with"),
        (
            &["--listen", "[::]:0", "--exporters", "::/0", "--interface", "lo"],
            "cannot be used with",
        ),
        (&["--listen", "[::]:0", "--exporters", "::/0", "--exports"], "cannot be used with"),
        (&["--exporters", "::/0"], "--listen"),
        (&["--receivers", "0", "--listen", "[::]:0", "--exporters", "::/0"], "--receivers"),
        (
            &["--receive-buffer", "3000000000", "--listen", "[::]:0", "--exporters", "::/0"],
            "--receive-buffer",
        ),
        (&["--filter", "udp"], "--interface"),
        (&["--interface", "lo", "--snap-length", "61"], "--snap-length"),
        (&["--interface", "lo", "--capture-buffer", "1000"], "--capture-buffer"),
        (&["--live"], "--input"),
        (&["--exports"], "--input"),
        (&[], "no input is named"),
    ] {
        let error = open(args).unwrap_err();
        assert!(error.contains(says), "{args:?}: {error}");
    }
}

#[test]
fn a_pipe_that_never_pauses_can_be_left() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut input = open(&["--input", pipe.to_str().unwrap(), "--live"]).unwrap();
    let script =
        "{ echo time_ms,src,dst; while echo 1,192.0.2.1,192.0.2.2; do sleep .002; done; } > \"$0\"";
    let mut writer = Command::new("sh").args(["-c", script]).arg(&pipe).spawn().unwrap();
    assert!(!Come::of(&mut input, |come| come.pairs.len() > 100).pairs.is_empty());
    input.stop().stop();
    Come::to_end(&mut input);
    // Nobody reads, so whoever writes ends.
    assert!(writer.wait().is_ok());
}
