//! Contacts from flow exports in captures and IPFIX files.

use crate::capture::Datagram;
use crate::contact::Contact;
use crate::error::InputError;
use crate::flow::{Decoder, DecoderOptions, ExporterStatus};
use crate::options::InputOptions;
use crate::status::Status;

pub(crate) struct Exports {
    decoder: Decoder,
    contacts: Vec<Contact>,
}

impl Exports {
    pub(crate) fn new(options: &InputOptions) -> Result<Self, InputError> {
        Ok(Self { decoder: Decoder::new(DecoderOptions::from(options))?, contacts: Vec::new() })
    }

    pub(crate) fn decode(&mut self, datagram: &Datagram<'_>) {
        let Datagram { source, time_ns, payload, .. } = *datagram;
        let contacts = &mut self.contacts;
        contacts.clear();
        self.decoder.decode(source, time_ns, payload, |contact| contacts.push(contact));
    }

    /// Returns the contacts of the last datagram.
    pub(crate) fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    pub(crate) fn status(&self) -> Status {
        Status {
            flows: Some(self.decoder.counts().clone()),
            exporters: ExporterStatus::of(&self.decoder).collect(),
            ..Status::default()
        }
    }
}
