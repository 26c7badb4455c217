//! Reading of captures, contact lists and logs, in one piece and in small pieces.

use std::io::{self, Cursor, Read};
use std::net::SocketAddr;

use srlg_input::Contact;
use srlg_input::capture::{CaptureError, Cause, Format, PacketCounts, Reader, Skip, Truncation};
use srlg_input::packet::Tunnels;

/// A source that returns at most `most` bytes per read.
struct Pieces {
    bytes: Cursor<Vec<u8>>,
    most: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.most);
        self.bytes.read(&mut buffer[..length])
    }
}

/// Everything that was read from a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Content<T> {
    /// Contacts or datagrams.
    pub items: Vec<T>,
    /// Counters of the packets or rows.
    pub counts: PacketCounts,
    format: Format,
    truncation: Option<Truncation>,
    /// Whether the file does not contain items of this type.
    is_other: bool,
}

/// Time, source, destination and payload of a datagram.
type Datagram = (u64, SocketAddr, SocketAddr, Vec<u8>);

/// Opens `bytes`, of which each read returns at most `most`. Returns `None` if the format is unknown.
fn open(bytes: &[u8], most: usize) -> Option<Reader> {
    Reader::new(Pieces { bytes: Cursor::new(bytes.to_vec()), most }).ok()
}

fn contacts(bytes: &[u8], most: usize, tunnels: Tunnels) -> Option<Content<Contact>> {
    let mut reader = open(bytes, most)?.with_tunnels(tunnels);
    let mut items = Vec::new();
    let is_other = loop {
        match reader.next_contacts() {
            Ok(Some(contacts)) => items.extend_from_slice(contacts),
            Ok(None) => break false,
            Err(CaptureError::Exports) => break true,
            Err(CaptureError::UnknownJson { .. }) => break false,
            Err(error) => panic!("memory cannot fail: {error}"),
        }
    };
    Some(content(items, &reader, is_other))
}

fn datagrams(bytes: &[u8], most: usize) -> Option<Content<Datagram>> {
    let mut reader = open(bytes, most)?;
    let mut items = Vec::new();
    let is_other = loop {
        match reader.next_datagram() {
            Ok(Some(it)) => {
                items.push((it.time_ns, it.source, it.destination, it.payload.to_vec()))
            }
            Ok(None) => break false,
            Err(CaptureError::NoPackets) => break true,
            Err(error) => panic!("memory cannot fail: {error}"),
        }
    };
    Some(content(items, &reader, is_other))
}

/// Checks that the counters of `reader` add up.
fn content<T>(items: Vec<T>, reader: &Reader, is_other: bool) -> Content<T> {
    let counts = reader.counts().clone();
    let skipped: u64 = Skip::ALL.iter().map(|reason| counts.skipped(*reason)).sum();
    let delivered = counts.packets - skipped;
    assert!((delivered..=2 * delivered).contains(&counts.contacts), "{counts}");
    assert_eq!(counts.contacts, items.len() as u64);
    let (format, truncation) = (reader.format(), reader.truncation().cloned());
    Content { items, counts, format, truncation, is_other }
}

/// Reads `bytes` in one piece and in small pieces, and checks that the results agree. Reads a capture also with the other
/// ways of counting tunnels, and as datagrams. Returns the contacts, or `None` if the format is unknown.
pub fn check(bytes: &[u8]) -> Option<Content<Contact>> {
    let most = 1 + bytes.len() % 61;
    let [whole, pieces] = [usize::MAX, most].map(|most| contacts(bytes, most, Tunnels::Outer));
    let outer = assert_same(whole, pieces)?;
    if matches!(outer.format, Format::Pcap | Format::PcapNg | Format::IpfixFile) {
        let [whole, pieces] = [usize::MAX, most].map(|most| datagrams(bytes, most));
        let datagrams = assert_same(whole, pieces)?;
        assert!(datagrams.items.iter().all(|(.., payload)| payload.len() <= 65_535));
        if !outer.is_other {
            check_capture(bytes, &outer, &datagrams);
        }
    }
    Some(outer)
}

fn check_capture(bytes: &[u8], outer: &Content<Contact>, datagrams: &Content<Datagram>) {
    let [inner, both] = [Tunnels::Inner, Tunnels::Both]
        .map(|tunnels| contacts(bytes, usize::MAX, tunnels).expect("opened before"));
    for counts in [&inner.counts, &both.counts] {
        assert_eq!(outer.counts.packets, counts.packets);
    }
    assert!(inner.counts.contacts <= outer.counts.contacts);
    // The outer packet of a tunnel counts even if its inner packet is skipped.
    assert!(outer.counts.contacts <= both.counts.contacts);
    assert!(inner.counts.contacts <= both.counts.contacts);
    assert_eq!(outer.counts.packets, datagrams.counts.packets);
    assert!(datagrams.counts.contacts <= outer.counts.contacts);
    assert_eq!(outer.truncation, datagrams.truncation);
}

fn assert_same<T: std::fmt::Debug + PartialEq>(
    whole: Option<Content<T>>,
    pieces: Option<Content<T>>,
) -> Option<Content<T>> {
    // The amount of content that is recovered from a damaged gzip stream depends on the sizes of the reads.
    let is_damaged = |content: &Option<Content<T>>| {
        let truncation = content.as_ref().and_then(|content| content.truncation.as_ref());
        truncation.is_some_and(|truncation| matches!(truncation.cause, Cause::Gzip(_)))
    };
    assert!(is_damaged(&whole) || is_damaged(&pieces) || whole == pieces, "{whole:?} {pieces:?}");
    whole
}
