//! Tests of inputs in which packets, rows or datagrams are read, but no or few contacts are found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use srlg_input::capture::Skip;
use srlg_input::flow::Reason;

use crate::commands::{Come, capture, open, template};
use crate::reader::build::{self, MICROSECONDS, frame, ipv4};

/// Returns an Ethernet frame with EtherType `kind`.
fn other(kind: [u8; 2]) -> Vec<u8> {
    [&[2; 12][..], &kind, &[0; 46]].concat()
}

fn pcap(link_type: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = build::pcap(false, MICROSECONDS, link_type);
    for frame in frames {
        file.record(1, 0, frame);
    }
    file.bytes
}

fn write(folder: &Path, files: &[Vec<u8>]) -> Vec<PathBuf> {
    let paths = (0..files.len()).map(|number| folder.join(number.to_string()));
    paths.zip(files).inspect(|(path, file)| fs::write(path, file).unwrap()).map(|it| it.0).collect()
}

/// Reads `files` as one input. Returns the log and the input.
fn read(files: &[Vec<u8>], more: &[&str]) -> (Vec<String>, srlg_input::Status) {
    let folder = tempfile::tempdir().unwrap();
    let paths = write(folder.path(), files);
    let mut args = more.to_vec();
    paths.iter().for_each(|path| args.extend(["--input", path.to_str().unwrap()]));
    let mut input = open(&args).unwrap();
    let come = Come::to_end(&mut input);
    assert_eq!(input.next_event().unwrap(), None, "the end stays the end");
    (come.log, input.status())
}

#[test]
fn a_capture_without_a_contact_is_warned_of_with_the_first_unknown_types() {
    let tagged = [other([0x88, 0xcc]), other([0x88, 0xf7])];
    let mixed = [pcap(1, &tagged), pcap(195, &[ipv4(1)]), pcap(147, &[ipv4(1)])];
    let (log, status) = read(&mixed, &[]);
    let counts = status.packets.unwrap();
    assert_eq!((counts.first_ether_type(), counts.first_link_type()), (Some(0x88cc), Some(195)));
    assert_eq!((counts.skipped(Skip::NotIp), counts.skipped(Skip::LinkType)), (2, 2));
    let [warning] = &log[..] else { panic!("{log:?}") };
    let rows = read(&[b"time_ms,src,dst\n1,a,b\n".to_vec()], &[]).0;
    assert_eq!(rows.len(), 1, "{rows:?}");
    insta::assert_snapshot!([warning.clone(), rows[0].clone()].join("\n"));
}

#[test]
fn an_input_with_a_contact_or_without_a_packet_has_no_warning() {
    let some = [pcap(195, &[ipv4(1)]), pcap(1, &[other([0x88, 0xcc]), frame(1)])];
    assert_eq!(read(&some, &[]).0, [""; 0]);
    assert_eq!(read(&[pcap(195, &[])], &[]).0, [""; 0]);
}

#[test]
fn a_capture_of_exports_without_a_contact_is_warned_of() {
    // The first capture has no datagram, the second one has a datagram of no known version, and the third a template.
    let none = read(&[pcap(101, &[build::datagram(6, [0; 2], &[0; 20])])], &["--exports"]);
    assert_eq!(none.1.packets.unwrap().skipped(Skip::NotUdp), 1);
    let unknown = read(&[capture(&[vec![0, 77, 0, 0]])], &["--exports"]);
    assert_eq!(unknown.1.flows.unwrap().of(Reason::Version), 1);
    let early = read(&[capture(&[template(0)])], &["--exports"]);
    let logs = [none.0, unknown.0, early.0];
    assert!(logs.iter().all(|log| log.len() == 1), "{logs:?}");
    insta::assert_snapshot!(logs.concat().join("\n"));
}

#[test]
fn a_growing_file_without_a_contact_is_warned_of_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let [file] = &write(folder.path(), &[pcap(195, &[ipv4(1)])])[..] else { panic!("one file") };
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut input = open(&["--input", pipe.to_str().unwrap(), "--live"]).unwrap();
    let mut writer = Command::new("cp").arg(file).arg(&pipe).spawn().unwrap();
    let come = Come::to_end(&mut input);
    assert!(writer.wait().unwrap().success());
    assert_eq!(come.log.len(), 1, "{:?}", come.log);
    assert_eq!(input.status().packets.unwrap().first_link_type(), Some(195));
}

#[test]
fn an_input_with_contacts_in_less_than_a_tenth_is_warned_of() {
    let frames = |others| [vec![other([0x88, 0xcc]); others], vec![frame(1)]].concat();
    assert_eq!(read(&[pcap(1, &frames(9))], &[]).0, [""; 0]);
    let (log, status) = read(&[pcap(1, &frames(10))], &[]);
    assert!(!status.is_without_contacts());
    let [warning] = &log[..] else { panic!("{log:?}") };
    insta::assert_snapshot!(warning);
}

#[test]
fn other_events_of_suricata_are_no_reason_for_a_warning() {
    let event = r#"{"timestamp":"2025-06-14T09:32:19Z","event_type":"dns"}"#;
    let flow = r#"{"timestamp":"2025-06-14T09:32:19Z","event_type":"flow","src_ip":"192.0.2.1","dest_ip":"192.0.2.2","flow":{"pkts_toserver":1}}"#;
    let few = [vec![event; 30], vec![flow]].concat().join("\n");
    assert_eq!(read(&[few.into_bytes()], &[]).0, [""; 0]);
    let (log, status) = read(&[[event; 3].join("\n").into_bytes()], &[]);
    assert!(log.len() == 1 && status.is_without_contacts(), "{log:?}");
}

#[test]
fn the_warning_names_a_remedy() {
    let wifi = [&[0x08, 0x41][..], &[0; 60]].concat();
    let mut tunnel = build::datagram(47, [0; 2], &[0; 20]);
    tunnel[7] = 1; // a later fragment
    let rows = b"time_ms,src,dst\n1,a,b\n".to_vec();
    let logs = [
        read(&[pcap(105, &[wifi])], &[]).0,
        read(&[pcap(1, &[frame(1)[..20].to_vec()])], &[]).0,
        read(&[pcap(101, &[tunnel])], &["--tunnels", "inner"]).0,
        read(&[rows], &[]).0,
        read(&[pcap(1, &[other([0x08, 0x06])])], &[]).0,
    ];
    assert!(logs.iter().all(|log| log.len() == 1), "{logs:?}");
    insta::assert_snapshot!(logs.concat().join("\n"));
}
