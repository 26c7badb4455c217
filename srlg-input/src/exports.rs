//! Contacts out of exports in captures.

use std::collections::VecDeque;
use std::net::SocketAddr;

use crate::contact::Contact;
use crate::error::InputError;
use crate::flow::{Decoder, DecoderOptions, ExporterStatus};
use crate::input::Status;
use crate::options::ExportOptions;

/// A decoder, and the contacts of its last datagram that have not been taken yet.
pub(crate) struct Exports {
    decoder: Decoder,
    contacts: VecDeque<Contact>,
}

impl Exports {
    pub(crate) fn new(options: &ExportOptions) -> Result<Self, InputError> {
        Ok(Self {
            decoder: Decoder::new(DecoderOptions::from(options))?,
            contacts: VecDeque::new(),
        })
    }

    pub(crate) fn decode(&mut self, exporter: SocketAddr, received_ns: u64, payload: &[u8]) {
        let contacts = &mut self.contacts;
        self.decoder.decode(exporter, received_ns, payload, |contact| contacts.push_back(contact));
    }

    #[inline]
    pub(crate) fn next_contact(&mut self) -> Option<Contact> {
        self.contacts.pop_front()
    }

    pub(crate) fn status(&self) -> Status {
        Status {
            flows: Some(self.decoder.counts().clone()),
            exporters: ExporterStatus::of(&self.decoder).collect(),
            ..Status::default()
        }
    }
}
