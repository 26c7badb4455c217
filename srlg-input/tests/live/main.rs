//! Live capture of what tcpreplay sends over a pair of virtual interfaces, each test in a network namespace of its own.
//!
//! They need root, iproute2, util-linux and tcpreplay (`scripts/live.sh`). Where one lacks, a test says so and passes; with
//! `SRLG_REQUIRE_LIVE=1` it fails.

mod delivery;
mod errors;
mod input;
mod network;
mod sharing;
mod speed;
mod traffic;

use std::io::Cursor;
use std::time::{Duration, Instant};

use srlg_input::capture::Reader;
use srlg_input::contact::Contact;
use srlg_input::live::{Capture, CaptureOptions};

use network::{Network, Player};
use traffic::Traffic;

/// Without its time, which of a live packet is when it came.
fn timeless(contact: Contact) -> Contact {
    let mut contact = contact;
    contact.time_ns = 0;
    contact
}

/// What [`Reader`] makes of the same file, but for the times.
fn contacts_of_file(traffic: &Traffic) -> Vec<Contact> {
    let mut reader = Reader::new(Cursor::new(traffic.file())).unwrap();
    let mut contacts = Vec::new();
    while let Some(block) = reader.next_contacts().unwrap() {
        contacts.extend(block.iter().copied().map(timeless));
    }
    assert_eq!(contacts.len(), traffic.frames.len(), "every frame is a contact");
    contacts
}

/// Takes contacts until `player` has sent all and none has come for a quarter of a second. `at_each` may take its time.
fn drain(
    live: &mut Capture,
    mut player: Player,
    mut at_each: impl FnMut(&Contact),
) -> Vec<Contact> {
    let mut contacts = Vec::new();
    let mut last = Instant::now();
    loop {
        let block = live.next_contacts().unwrap();
        for contact in block {
            at_each(contact);
            contacts.push(timeless(*contact));
        }
        if !block.is_empty() {
            last = Instant::now();
        } else if player.has_ended() && last.elapsed() > Duration::from_millis(250) {
            break;
        }
    }
    assert_eq!(live.counts().contacts, contacts.len() as u64);
    contacts
}

/// Sends `traffic` at `rate` to an interface on which `options` capture.
fn capture(traffic: &Traffic, rate: &str, options: &CaptureOptions) -> (Vec<Contact>, Capture) {
    let network = Network::new();
    let mut live = Capture::open(network.listening(), options).unwrap();
    let player = network.play(traffic, rate);
    let contacts = drain(&mut live, player, |_| ());
    (contacts, live)
}
