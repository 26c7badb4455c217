//! The decoder on exports of other tools, on exports that are made here, and on damaged ones.
//!
//! The files are not part of this repository. `SRLG_DATA` names the folder that holds `captures/` and
//! `flows/`; without it `../shared/data` beside the workspace is tried, and if that is absent the
//! tests that need it pass with a note.

mod bounds;
mod build;
mod captures;
mod directions;
mod hostile;
mod ipfix_files;
mod legacy;
mod payloads;
mod sampling;
mod sflow;
mod state;
mod templates;
mod times;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use srlg_capture::Reader;
use srlg_flow::{Contact, Decoder, DecoderOptions, Reason};

/// Source and destination.
type Pair = (IpAddr, IpAddr);

/// A datagram of a capture.
struct Datagram {
    time_ns: u64,
    source: SocketAddr,
    payload: Vec<u8>,
}

fn folder(name: &str) -> Option<PathBuf> {
    let beside = || [env!("CARGO_MANIFEST_DIR"), "..", "..", "shared", "data"].iter().collect();
    let folder = std::env::var_os("SRLG_DATA").map_or_else(beside, PathBuf::from).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    // Not by `eprintln`, which a test that passes keeps to itself.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let note = format!("{test}: skipped, SRLG_DATA is absent\n");
    std::io::stderr().write_all(note.as_bytes()).unwrap();
    None
}

fn datagrams(path: &Path) -> Vec<Datagram> {
    let mut reader = Reader::new(fs::File::open(path).unwrap()).unwrap();
    let mut datagrams = Vec::new();
    while let Some(it) = reader.next_datagram().unwrap() {
        let payload = it.payload.to_vec();
        datagrams.push(Datagram { time_ns: it.time_ns, source: it.source, payload });
    }
    datagrams
}

fn decoder() -> Decoder {
    Decoder::new(DecoderOptions::default()).unwrap()
}

fn exporter() -> SocketAddr {
    "192.0.2.1:2055".parse().unwrap()
}

/// Contacts of a payload of [`exporter`] that came at `received_ns`.
fn contacts(decoder: &mut Decoder, received_ns: u64, payload: &[u8]) -> Vec<Contact> {
    let mut contacts = Vec::new();
    decoder.decode(exporter(), received_ns, payload, |contact| contacts.push(contact));
    contacts
}

/// Contacts of datagrams, in order.
fn decode(decoder: &mut Decoder, datagrams: &[Datagram]) -> Vec<Contact> {
    let mut contacts = Vec::new();
    for it in datagrams {
        decoder.decode(it.source, it.time_ns, &it.payload, |contact| contacts.push(contact));
    }
    contacts
}

fn pairs(contacts: &[Contact]) -> BTreeSet<Pair> {
    contacts.iter().map(|contact| (contact.source, contact.destination)).collect()
}

/// How often `reasons` occurred.
fn counted<const N: usize>(decoder: &Decoder, reasons: [Reason; N]) -> [u64; N] {
    reasons.map(|reason| decoder.counts().of(reason))
}
