//! A fuzz target that reads arbitrary rows as a contact list. The first byte selects the columns. If the contacts are
//! written again, the same contacts must be read.
#![no_main]

use std::fmt::{Display, Write};

use libfuzzer_sys::fuzz_target;
use srlg_fuzz::file;
use srlg_input::Contact;

const HEADERS: [&str; 4] = [
    "time_ms,src,dst",
    "time_ms,src,dst,protocol,src_port,dst_port,initiated",
    "\u{feff}time_ms,src,dst,initiated,protocol",
    "",
];

fuzz_target!(|input: &[u8]| {
    let Some((selector, rows)) = input.split_first() else { return };
    let header = HEADERS[usize::from(*selector) % HEADERS.len()];
    let file = [header.as_bytes(), b"\n", rows].concat();
    let Some(content) = file::check(if header.is_empty() { rows } else { &file }) else { return };
    // Logs and captures contain more than a contact list can.
    if header.is_empty() {
        return;
    }
    let mut again = format!("{}\n", HEADERS[1]);
    content.items.iter().for_each(|contact| write_row(&mut again, contact));
    let again = file::check(again.as_bytes()).expect("a valid header");
    assert_eq!(again.items, content.items);
    assert_eq!(again.counts.packets, content.counts.contacts);
});

fn write_row(text: &mut String, contact: &Contact) {
    let Contact { time_ns, source, destination, .. } = contact;
    let (ms, rest) = (time_ns / 1_000_000, time_ns % 1_000_000);
    let [protocol, from, to] =
        [contact.protocol.map(u16::from), contact.source_port, contact.destination_port].map(field);
    let initiated = field(contact.initiated);
    writeln!(text, "{ms}.{rest:06},{source},{destination},{protocol},{from},{to},{initiated}")
        .expect("a string has room");
}

fn field(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
