//! Tests of NetFlow v5 and NetFlow v7, which have no templates.

use std::num::{NonZeroU8, NonZeroU32, NonZeroU64};

use srlg_input::flow::Reason;

use crate::exports::build::{RECEIVED_NS, legacy, record5, v5};
use crate::exports::{contacts, counted, decoder};

#[test]
fn records_of_v5_and_v7_are_read() {
    for version in [5, 7] {
        let mut decoder = decoder();
        let mut record = record5(["192.0.2.1", "192.0.2.2"], [3, 180], [900_000, 990_000]);
        record.resize(if version == 5 { 48 } else { 52 }, 0);
        let payload = legacy(version, 0, 0x4064, &[record.clone(), record]);
        let found = contacts(&mut decoder, RECEIVED_NS, &payload);
        let hosts = found.iter().map(|it| format!("{} {}", it.source, it.destination));
        assert_eq!(hosts.collect::<Vec<_>>(), ["192.0.2.1 192.0.2.2"; 2]);
        let counts = (found[0].packets, found[0].octets);
        assert_eq!(counts, (NonZeroU64::new(3), NonZeroU64::new(180)));
        assert_eq!(
            (found[0].tcp_flags, found[0].ingress),
            (NonZeroU8::new(0x12), NonZeroU32::new(7))
        );
        let ports = [found[0].source_port, found[0].destination_port];
        assert_eq!((found[0].protocol, ports), (Some(6), [Some(12_345), Some(80)]));
        let expected = if version == 5 { NonZeroU32::new(100) } else { None };
        assert_eq!(found[0].sampling, expected, "the field is reserved in v7");
        assert_eq!(found[0].time_ns, RECEIVED_NS - 10_000_000_000);
    }
}

#[test]
fn flows_of_v5_without_packets_or_hosts_are_counted() {
    let mut decoder = decoder();
    let of = |hosts, counts| record5(hosts, counts, [1, 1]);
    let hosts = ["192.0.2.1", "192.0.2.2"];
    let records = [of(hosts, [0, 0]), of(["0.0.0.0", hosts[1]], [1, 1]), of(hosts, [1, 1])];
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &v5(0, 0, &records)).len(), 1);
    assert_eq!(counted(&decoder, [Reason::NoPackets, Reason::ZeroHost]), [1, 1]);
    let short = v5(3, 0, &records);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &short[..short.len() - 1]), []);
    assert_eq!(counted(&decoder, [Reason::Cut, Reason::Malformed]), [1, 0]);
    assert_eq!(decoder.counts().records, 3, "none from a short datagram");
}
