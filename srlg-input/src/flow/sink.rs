//! Where contacts of a datagram go, and what is counted of it.

use std::net::IpAddr;
use std::num::NonZeroU32;

use crate::contact::{Contact, Host, TCP};

use crate::flow::clock::Last;
use crate::flow::counts::{Counts, Reason};
use crate::flow::options::DecoderOptions;

/// Takes contacts and counts of one datagram.
pub(crate) struct Sink<'a, F> {
    pub(crate) options: &'a DecoderOptions,
    pub(crate) exporter: IpAddr,
    pub(crate) counts: Counts,
    pub(crate) take: F,
}

/// What a contact may tell besides when and who.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Details {
    pub(crate) packets: Option<u64>,
    pub(crate) protocol: Option<u8>,
    pub(crate) tcp_flags: Option<u8>,
    pub(crate) destination_port: Option<u16>,
    pub(crate) initiated: Option<bool>,
    pub(crate) sampling: Option<NonZeroU32>,
}

impl<F: FnMut(Contact)> Sink<'_, F> {
    pub(crate) fn count(&mut self, reason: Reason) {
        self.counts.add(reason);
    }

    /// Counts what is wrong with a time, and hands it on.
    #[inline]
    pub(crate) fn time_ns(&mut self, last: Last) -> u64 {
        if last.is_future {
            self.count(Reason::Future);
        }
        if last.is_reversed {
            self.count(Reason::Reversed);
        }
        last.time_ns
    }

    #[inline(always)]
    pub(crate) fn contact(&mut self, time_ns: u64, hosts: [Host; 2], details: &Details) {
        self.counts.contacts += 1;
        let mut contact = Contact::of(time_ns, hosts[0], hosts[1]);
        contact.packets = details.packets;
        contact.protocol = details.protocol;
        // Some write 0 for what a protocol has not, or types of ICMP for ports.
        let is_tcp = details.protocol.is_none_or(|protocol| protocol == TCP);
        contact.tcp_flags = details.tcp_flags.filter(|_| is_tcp);
        let has_ports = details.protocol.is_none_or(|it| matches!(it, TCP | 17 | 33 | 132 | 136));
        contact.destination_port = details.destination_port.filter(|_| has_ports);
        contact.initiated = details.initiated;
        contact.sampling = details.sampling.or(self.options.sampling);
        contact.exporter = Some(self.exporter);
        (self.take)(contact);
    }
}
