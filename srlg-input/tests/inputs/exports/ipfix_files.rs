//! IPFIX files (RFC 5655): the messages of a capture, written one after another, tell what the capture tells.

use std::io::Cursor;
use std::net::SocketAddr;

use srlg_input::capture::{Format, Reader};
use srlg_input::contact::Contact;
use srlg_input::flow::{Decoder, DecoderOptions, Timestamps};

use crate::exports::build::{PLAIN, RECEIVED_NS, ipfix, plain, set, template10};
use crate::exports::{Datagram, datagrams, datagrams_of, decode, folder};

/// Captures of IPFIX, with contacts in them.
const CAPTURES: [&str; 3] =
    ["softflowd_synack_ipfix", "softflowd_synack_ipfix_biflow", "pmacct100_ipfix_cisco"];

fn messages(file: Vec<u8>) -> Vec<Datagram> {
    let mut reader = Reader::new(Cursor::new(file)).unwrap();
    assert_eq!(reader.format(), Format::IpfixFile);
    let messages = datagrams_of(&mut reader);
    assert_eq!(reader.truncation(), None);
    messages
}

/// Contacts but for who exported them, which a file does not tell. The clocks of exporters are believed: a file does not tell either
/// when a message was received, by which they would be corrected.
fn contacts(datagrams: &[Datagram]) -> Vec<Contact> {
    let options = DecoderOptions { timestamps: Timestamps::Trusted, ..DecoderOptions::default() };
    let mut contacts = decode(&mut Decoder::new(options).unwrap(), datagrams);
    contacts.iter_mut().for_each(|contact| contact.exporter = None);
    contacts
}

#[test]
fn a_file_gives_the_contacts_of_the_capture_that_it_is_made_of() {
    let Some(flows) = folder("flows") else { return };
    for name in CAPTURES {
        let capture = datagrams(&flows.join(format!("{name}.pcap")));
        let file: Vec<u8> = capture.iter().flat_map(|it| it.payload.clone()).collect();
        let expected = contacts(&capture);
        println!("{name}: {} messages, {} contacts", capture.len(), expected.len());
        assert!(!expected.is_empty(), "{name}");
        assert_eq!(contacts(&messages(file)), expected, "{name}");
    }
}

#[test]
fn messages_of_a_file_are_of_one_exporter_and_keep_their_templates() {
    let [first, second] = ["192.0.2.1", "192.0.2.3"].map(|host| plain(host, "192.0.2.2", 60, 1));
    let sets = [template10(256, &PLAIN), set(256, &first)];
    let file = [ipfix(0, 9, &sets), ipfix(1, 9, &[set(256, &second)])].concat();
    let mut decoder = crate::exports::decoder();
    let contacts = decode(&mut decoder, &messages(file));
    let found = contacts.iter().map(|contact| (contact.time_ns, contact.source.to_string()));
    let expected = ["192.0.2.1", "192.0.2.3"].map(|host| (RECEIVED_NS, host.to_owned()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let nowhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    assert_eq!(decoder.exporter(nowhere).unwrap().skew_ns(), 0, "received when exported");
}
