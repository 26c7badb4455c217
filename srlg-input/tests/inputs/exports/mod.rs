//! Tests of the decoder with exports from other tools, generated exports and damaged exports.

pub(crate) mod build;
mod captures;
mod directions;
mod fixed;
mod hostile;
mod payloads;
mod sampling;
mod sessions;
mod sflow;
mod templates;
mod times;
mod tunnels;
mod vendors;

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use srlg_input::capture::Reader;
use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Reason};

/// Source and destination of a contact.
type Pair = (IpAddr, IpAddr);

/// A datagram of a capture.
struct Datagram {
    time_ns: u64,
    source: SocketAddr,
    payload: Vec<u8>,
}

fn datagrams(path: &Path) -> Vec<Datagram> {
    datagrams_of(&mut Reader::new(fs::File::open(path).unwrap()).unwrap())
}

fn datagrams_of(reader: &mut Reader) -> Vec<Datagram> {
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

fn contacts(decoder: &mut Decoder, received_ns: u64, payload: &[u8]) -> Vec<Contact> {
    let mut contacts = Vec::new();
    decoder.decode(exporter(), received_ns, payload, |contact| contacts.push(contact));
    contacts
}

fn decode(decoder: &mut Decoder, datagrams: &[Datagram]) -> Vec<Contact> {
    let mut contacts = Vec::new();
    for it in datagrams {
        decoder.decode(it.source, it.time_ns, &it.payload, |contact| contacts.push(contact));
    }
    contacts
}

fn pairs(contacts: &[Contact]) -> BTreeSet<Pair> {
    contacts.iter().map(|contact| (contact.source.into(), contact.destination.into())).collect()
}

fn counted<const N: usize>(decoder: &Decoder, reasons: [Reason; N]) -> [u64; N] {
    reasons.map(|reason| decoder.counts().of(reason))
}
