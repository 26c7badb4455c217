//! The flow cache of an exporter.

use std::collections::BTreeMap;
use std::num::{NonZeroU8, NonZeroU64};

use srlg_input::Contact;
use srlg_input::contact::Host;

/// Time without packets after which a flow is exported, in seconds.
const INACTIVE: u64 = 15;

const SECOND_NS: u64 = 1_000_000_000;

/// Flows that an exporter has not exported, which are as many as a real exporter has to remember.
#[derive(Debug, Default)]
pub(super) struct FlowCache {
    flows: BTreeMap<Key, Flow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    hosts: [Host; 2],
    ports: [Option<u16>; 2],
    protocol: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    first_ns: u64,
    /// The record of the flow so far, whose time is that of the last packet.
    record: Contact,
}

impl FlowCache {
    /// Adds a packet.
    pub(super) fn add(&mut self, packet: &Contact) {
        let key = Key {
            hosts: [packet.source, packet.destination],
            ports: [packet.source_port, packet.destination_port],
            protocol: packet.protocol,
        };
        let new = || Flow { first_ns: packet.time_ns, record: *packet };
        let add = |flow: &mut Flow| {
            let record = &mut flow.record;
            let number = |it: Option<NonZeroU64>| it.map_or(0, NonZeroU64::get);
            let flags = |it: Option<NonZeroU8>| it.map_or(0, NonZeroU8::get);
            record.time_ns = packet.time_ns;
            record.packets = NonZeroU64::new(number(record.packets) + number(packet.packets));
            record.octets = NonZeroU64::new(number(record.octets) + number(packet.octets));
            record.tcp_flags = NonZeroU8::new(flags(record.tcp_flags) | flags(packet.tcp_flags));
        };
        self.flows.entry(key).and_modify(add).or_insert_with(new);
    }

    /// Appends the flows to `records` that are exported at `now_ns`: those that have lasted for `active` seconds, and
    /// those without packets for the inactive timeout.
    pub(super) fn expire(&mut self, now_ns: u64, active: u32, records: &mut Vec<Contact>) {
        self.flows.retain(|_, Flow { first_ns, record }| {
            let has_lasted = now_ns - *first_ns >= u64::from(active) * SECOND_NS;
            let is_idle = now_ns - record.time_ns >= INACTIVE * SECOND_NS;
            if has_lasted || is_idle {
                records.push(*record);
            }
            !has_lasted && !is_idle
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Packet;

    #[test]
    fn flows_are_exported_after_the_active_and_the_inactive_timeout() {
        let mut cache = FlowCache::default();
        let long = Packet::udp([[192, 0, 2, 1].into(), [10, 0, 0, 1].into()], [123, 80], 400);
        let short = Packet { ports: [53, 80], ..long };
        cache.add(&short.contact(0));
        let mut exported = Vec::new();
        for second in 0..60 {
            let now_ns = second * SECOND_NS;
            cache.add(&long.contact(now_ns));
            let mut records = Vec::new();
            cache.expire(now_ns, 20, &mut records);
            let row = |it: &Contact| (second, it.source_port, it.packets, it.time_ns / SECOND_NS);
            exported.extend(records.iter().map(row));
        }
        let packets = NonZeroU64::new;
        let expected = [
            (15, Some(53), packets(1), 0),
            (20, Some(123), packets(21), 20),
            (41, Some(123), packets(21), 41),
        ];
        assert_eq!(exported, expected);
    }
}
