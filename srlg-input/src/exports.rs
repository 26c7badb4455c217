//! Contacts out of exports in captures.

use std::net::SocketAddr;

use srlg_contact::Contact;
use srlg_flow::{BadOptions, Decoder, DecoderOptions};

/// A decoder, and the contacts of its last datagram that nobody has asked for yet.
pub(crate) struct Exports {
    decoder: Decoder,
    contacts: Vec<Contact>,
    /// Of those the ones that have been handed on.
    next: usize,
}

impl Exports {
    pub(crate) fn new(options: DecoderOptions) -> Result<Self, BadOptions> {
        Ok(Self { decoder: Decoder::new(options)?, contacts: Vec::new(), next: 0 })
    }

    pub(crate) fn decode(&mut self, exporter: SocketAddr, received_ns: u64, payload: &[u8]) {
        self.contacts.clear();
        self.next = 0;
        let contacts = &mut self.contacts;
        self.decoder.decode(exporter, received_ns, payload, |contact| contacts.push(contact));
    }

    #[inline]
    pub(crate) fn next_contact(&mut self) -> Option<Contact> {
        let contact = self.contacts.get(self.next).copied()?;
        self.next += 1;
        Some(contact)
    }

    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}
