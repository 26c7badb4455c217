//! Contacts out of exports in captures.

use std::net::SocketAddr;

use crate::contact::Contact;
use crate::error::InputError;
use crate::flow::{Decoder, DecoderOptions, ExporterStatus};
use crate::input::Status;
use crate::options::ExportOptions;

/// A decoder, and the contacts of its last datagram that have not been taken yet.
pub(crate) struct Exports {
    decoder: Decoder,
    contacts: Vec<Contact>,
    /// The number of contacts that have been taken.
    next: usize,
}

impl Exports {
    pub(crate) fn new(options: &ExportOptions) -> Result<Self, InputError> {
        Ok(Self {
            decoder: Decoder::new(DecoderOptions::from(options))?,
            contacts: Vec::new(),
            next: 0,
        })
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

    pub(crate) fn status(&self) -> Status {
        Status {
            flows: Some(self.decoder.counts().clone()),
            exporters: ExporterStatus::of(&self.decoder).collect(),
            ..Status::default()
        }
    }
}
