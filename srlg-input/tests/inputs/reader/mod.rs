//! Tests of the reader with generated files, both valid and damaged.

pub(crate) mod build;
mod datagrams;
mod formats;
mod hostile;
mod lengths;
mod truncation;

use std::num::NonZeroU64;

use srlg_input::capture::{Format, PacketCounts, Reader, Skip, Truncation};
use srlg_input::contact::Contact;

#[derive(Debug, PartialEq)]
struct Outcome {
    format: Format,
    contacts: Vec<Contact>,
    counts: PacketCounts,
    truncation: Option<Truncation>,
}

fn read(bytes: impl Into<Vec<u8>>) -> Outcome {
    drain(Reader::new(std::io::Cursor::new(bytes.into())).expect("a capture"))
}

fn drain(mut reader: Reader) -> Outcome {
    let mut contacts = Vec::new();
    while let Some(block) = reader.next_contacts().expect("memory does not fail") {
        contacts.extend_from_slice(block);
    }
    assert_eq!(reader.next_contacts().unwrap(), None, "the end stays the end");
    let counts = reader.counts().clone();
    let skipped: u64 = Skip::ALL.iter().map(|reason| counts.skipped(*reason)).sum();
    assert_eq!(counts.packets, counts.contacts + skipped);
    let truncation = reader.truncation().cloned();
    Outcome { format: reader.format(), contacts, counts, truncation }
}

/// Returns the contact of the frame that [`build::frame`] creates for `host`.
fn contact(time_ns: u64, host: u8) -> Contact {
    let mut contact = listed(time_ns, host);
    (contact.packets, contact.protocol) = (NonZeroU64::new(1), Some(17));
    contact.octets = NonZeroU64::new(23);
    // The three bytes of payload contain the source port and only half of the destination port.
    contact.source_port = Some(0x0102);
    contact
}

/// Returns the contact of `host` as read from a contact list, which contains fewer details than a frame.
fn listed(time_ns: u64, host: u8) -> Contact {
    Contact::new(time_ns, [10, 0, 0, host].into(), [10, 1, 0, 1].into())
}
