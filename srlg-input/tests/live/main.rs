//! Tests of live capture. Each test runs in a separate network namespace, where tcpreplay sends packets over a pair of
//! virtual interfaces.
//!
//! The tests require root, iproute2, util-linux and tcpreplay (`scripts/live.sh`). If a requirement is missing, a test
//! reports it and passes. If `SRLG_REQUIRE_LIVE` is set, the test fails instead.

mod delivery;
mod errors;
mod input;
mod network;
mod sharing;
mod speed;
mod traffic;

use std::io::Cursor;

use srlg_input::capture::Reader;
use srlg_input::contact::Contact;
use srlg_input::live::{Capture, CaptureOptions};

use network::{Network, Player};
use traffic::Traffic;

/// Returns the contact with its time set to 0, because a live packet has the time of its arrival.
fn timeless(contact: Contact) -> Contact {
    let mut contact = contact;
    contact.time_ns = 0;
    contact
}

fn contacts_of_file(traffic: &Traffic) -> Vec<Contact> {
    let mut reader = Reader::new(Cursor::new(traffic.file())).unwrap();
    let mut contacts = Vec::new();
    while let Some(block) = reader.next_contacts().unwrap() {
        contacts.extend(block.iter().copied().map(timeless));
    }
    assert_eq!(contacts.len(), traffic.frames.len(), "every frame is a contact");
    contacts
}

/// Number of calls without a packet after which all packets of an ended player have arrived. Each call waits 20 ms, so
/// this is a quarter of a second. Time in which the test does not run does not count.
const EMPTY_CALLS: u32 = 13;

/// Reads contacts until `player` has sent everything and no contact has arrived in [`EMPTY_CALLS`] calls after that.
fn drain(
    live: &mut Capture,
    mut player: Player,
    mut at_each: impl FnMut(&Contact),
) -> Vec<Contact> {
    let (mut contacts, mut empty_calls) = (Vec::new(), 0);
    while empty_calls < EMPTY_CALLS {
        let has_ended = player.has_ended();
        let block = live.next_contacts().unwrap();
        for contact in block {
            at_each(contact);
            contacts.push(timeless(*contact));
        }
        empty_calls = if has_ended && block.is_empty() { empty_calls + 1 } else { 0 };
    }
    assert_eq!(live.counts().contacts, contacts.len() as u64);
    contacts
}

/// Sends `traffic` to an interface at `rate`, an option of tcpreplay, and captures it with `options`.
fn capture(traffic: &Traffic, rate: &str, options: &CaptureOptions) -> (Vec<Contact>, Capture) {
    let network = Network::new();
    let mut live = Capture::open(network.listening(), options).unwrap();
    let player = network.play(traffic, rate);
    let contacts = drain(&mut live, player, |_| ());
    (contacts, live)
}
