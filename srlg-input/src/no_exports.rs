//! Stand-ins for the types that read flow exports, compiled if the feature `flow` is disabled. The types have no
//! values, so every constructor returns an error.

use std::net::SocketAddr;

use crate::capture::Datagram;
use crate::contact::Contact;
use crate::error::InputError;
use crate::event::LogLine;
use crate::options::InputOptions;
use crate::status::Status;
use crate::threads::ContactSenders;

pub(crate) enum Exports {}

pub(crate) type Sockets = Exports;

impl Exports {
    pub(crate) fn new(_: &InputOptions) -> Result<Self, InputError> {
        Err(InputError::NoFlow)
    }

    pub(crate) fn decode(&mut self, _: &Datagram<'_>) {
        match *self {}
    }

    pub(crate) fn contacts(&self) -> &[Contact] {
        match *self {}
    }

    pub(crate) fn open(_: &InputOptions, _: &mut ContactSenders<'_>) -> Result<Self, InputError> {
        Err(InputError::NoFlow)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        match *self {}
    }

    pub(crate) fn check_counters(&mut self) -> Vec<LogLine> {
        match *self {}
    }

    pub(crate) fn clock_was_set(&self) {
        match *self {}
    }

    pub(crate) fn finish(&mut self) -> Vec<LogLine> {
        match *self {}
    }

    pub(crate) fn status(&self) -> Status {
        match *self {}
    }
}
