//! Tests of the templates of vendors. The fields are those that their documentation or source code lists.

use std::num::NonZeroU64;

use srlg_input::contact::Contact;
use srlg_input::flow::Reason;

use crate::exports::build::{RECEIVED_NS, address, ipfix, set, template9, v9};
use crate::exports::{contacts, counted, decoder};

/// Length of a field whose records state its length.
const VARIABLE: u16 = u16::MAX;

/// Enterprise numbers.
const IANA: u32 = 0;
const JUNIPER: u32 = 2_636;
const VMWARE: u32 = 6_876;

/// A field of a record: its enterprise, number and value. The value of a field of variable length includes the length.
struct Value {
    enterprise: u32,
    number: u16,
    length: u16,
    bytes: Vec<u8>,
}

fn value(number: u16, bytes: &[u8]) -> Value {
    Value { enterprise: IANA, number, length: bytes.len() as u16, bytes: bytes.to_vec() }
}

/// Returns a field that the tests do not look at.
fn other(number: u16, length: usize) -> Value {
    value(number, &vec![0xee; length])
}

fn of(enterprise: u32, value: Value) -> Value {
    Value { enterprise, ..value }
}

fn host(number: u16, text: &str) -> Value {
    value(number, &address(text))
}

fn variable(number: u16, bytes: &[u8]) -> Value {
    let length = match bytes.len() {
        short @ ..255 => vec![short as u8],
        long => [&[255], &(long as u16).to_be_bytes()[..]].concat(),
    };
    Value { enterprise: IANA, number, length: VARIABLE, bytes: [length, bytes.to_vec()].concat() }
}

fn record(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes.clone()).collect()
}

/// Returns the contacts of one of two equal records, which an IPFIX message contains with their template.
fn read10(values: &[Value]) -> Vec<Contact> {
    let mut template = [256, values.len() as u16].map(u16::to_be_bytes).concat();
    for Value { enterprise, number, length, .. } in values {
        let flag = if *enterprise == IANA { 0 } else { 0x8000 };
        template.extend([number | flag, *length].map(u16::to_be_bytes).concat());
        if *enterprise != IANA {
            template.extend(enterprise.to_be_bytes());
        }
    }
    let records = [record(values), record(values)].concat();
    first_of_two(&ipfix(0, 0, &[set(2, &template), set(256, &records)]))
}

/// Returns the contacts of one of two equal records, which a NetFlow v9 datagram contains with their template.
fn read9(values: &[Value]) -> Vec<Contact> {
    let fields: Vec<_> = values.iter().map(|value| (value.number, value.length)).collect();
    let records = [record(values), record(values)].concat();
    first_of_two(&v9(0, 0, &[template9(256, &fields), set(256, &records)]))
}

/// Returns the contacts of the first of two equal records in `message`.
fn first_of_two(message: &[u8]) -> Vec<Contact> {
    let mut decoder = decoder();
    let mut found = contacts(&mut decoder, RECEIVED_NS, message);
    assert_eq!(counted(&decoder, [Reason::Malformed, Reason::Undecodable]), [0, 0]);
    assert_eq!(decoder.counts().records, 2);
    let second = found.split_off(found.len() / 2);
    assert_eq!(found, second);
    found
}

/// Returns the only contact of `found` as hosts, ports, packets and octets.
fn only(found: &[Contact]) -> (String, String, [Option<u16>; 2], [Option<u64>; 2]) {
    let [contact] = found else { panic!("{} contacts", found.len()) };
    let counts = [contact.packets, contact.octets].map(|count| count.map(NonZeroU64::get));
    let ports = [contact.source_port, contact.destination_port];
    (contact.source.to_string(), contact.destination.to_string(), ports, counts)
}

fn expected(
    [source, destination]: [&str; 2],
    ports: [u16; 2],
    counts: [u64; 2],
) -> (String, String, [Option<u16>; 2], [Option<u64>; 2]) {
    (source.into(), destination.into(), ports.map(Some), counts.map(Some))
}

const HOSTS: [&str; 2] = ["192.0.2.7", "198.51.100.9"];

/// Returns a UDP packet from port 4000 to 53 with `HOSTS` and a length of 78 bytes, of which 28 bytes are present.
fn packet() -> Vec<u8> {
    let [source, destination] = HOSTS.map(address);
    let head = [0x45, 0, 0, 78, 0, 0, 0, 0, 64, 17, 0, 0];
    let udp = [0x0f, 0xa0, 0, 53, 0, 58, 0, 0];
    [&head[..], &source, &destination, &udp].concat()
}

/// Returns an Ethernet frame with two MPLS labels before `packet()`.
fn frame() -> Vec<u8> {
    let mpls = [0, 1, 0x10, 64, 0, 2, 0x01, 64];
    [&[2; 12][..], &[0x88, 0x47], &mpls, &packet()].concat()
}

fn ports_and_protocol() -> [Value; 3] {
    [value(7, &[0x0f, 0xa0]), value(11, &[0, 53]), value(4, &[17])]
}

#[test]
fn open_vswitch_states_the_hosts_inside_a_tunnel() {
    let [source_port, destination_port, protocol] = ports_and_protocol();
    let ethernet = [(138, 4), (61, 1), (56, 6), (80, 6), (256, 2), (240, 1)];
    let vlan = [(58, 2), (243, 2), (244, 1)];
    let mut values: Vec<_> = ethernet.into_iter().chain(vlan).map(|(n, l)| other(n, l)).collect();
    values.extend([value(60, &[4]), other(192, 1), protocol]);
    values.extend([(195, 1), (196, 1), (5, 1)].map(|(number, length)| other(number, length)));
    values.extend([host(8, HOSTS[0]), host(12, HOSTS[1]), source_port, destination_port]);
    let tunnel = [
        host(893, "203.0.113.1"),
        host(894, "203.0.113.2"),
        other(895, 1),
        other(896, 2),
        other(897, 2),
        other(891, 1),
        variable(892, &[0, 0, 5]),
    ];
    values.extend(tunnel.map(|value| of(VMWARE, value)));
    values.extend([value(158, &[0, 0, 0, 9]), value(159, &[0, 0, 0, 1])]);
    values.extend([value(2, &[0, 0, 0, 0, 0, 0, 0, 3]), other(352, 8), other(136, 1)]);
    values.extend([
        value(1, &[0, 0, 0, 0, 0, 0, 0, 90]),
        other(198, 8),
        other(25, 8),
        other(26, 8),
    ]);
    assert_eq!(only(&read10(&values)), expected(HOSTS, [4_000, 53], [3, 90]));
}

#[test]
fn vmware_states_the_hosts_outside_vxlan_in_standard_elements() {
    let outer = ["203.0.113.1", "203.0.113.2"];
    let mut values = vec![host(8, outer[0]), host(12, outer[1])];
    values.extend([value(1, &[0, 0, 0, 0, 0, 0, 0, 90]), value(2, &[0, 0, 0, 0, 0, 0, 0, 3])]);
    values.extend([other(22, 4), other(21, 4)]);
    values.extend(ports_and_protocol());
    values.extend([other(10, 4), other(14, 4), other(351, 8), other(136, 1), other(6, 1)]);
    let tenant = [
        other(888, 2),
        other(889, 1),
        value(880, &[6]),
        host(881, HOSTS[0]),
        host(882, HOSTS[1]),
        other(886, 2),
        other(887, 2),
    ];
    values.extend(tenant.map(|value| of(VMWARE, value)));
    assert_eq!(only(&read10(&values)), expected(outer, [4_000, 53], [3, 90]));
}

/// The standard elements are those of the firewall of NSX. The numbers of the vendor's elements are arbitrary.
#[test]
fn vendor_elements_of_variable_length_are_skipped() {
    let mut values = vec![host(8, HOSTS[0]), host(12, HOSTS[1])];
    values.extend(ports_and_protocol());
    values.extend([other(148, 8), value(150, &[0x65, 0, 0, 0]), value(151, &[0x65, 0, 0, 9])]);
    values.extend([value(233, &[5]), other(61, 1)]);
    values.extend([value(1, &[0, 0, 0, 0, 0, 0, 0, 90]), value(2, &[0, 0, 0, 0, 0, 0, 0, 3])]);
    values.push(of(VMWARE, other(950, 4)));
    values.push(of(VMWARE, variable(951, &[b'm'; 300])));
    values.push(of(VMWARE, variable(952, b"")));
    assert_eq!(only(&read10(&values)), expected(HOSTS, [4_000, 53], [3, 90]));
}

/// Types above 32,767 have no enterprise number in NetFlow v9.
#[test]
fn palo_alto_states_applications_in_types_above_32767() {
    let [source_port, destination_port, protocol] = ports_and_protocol();
    let mut values = vec![value(1, &[0, 0, 0, 90]), value(2, &[0, 0, 0, 3]), protocol];
    values.extend([other(5, 1), other(6, 1), source_port, host(8, HOSTS[0]), other(10, 4)]);
    values.extend([destination_port, host(12, HOSTS[1]), other(14, 4), other(21, 4), other(22, 4)]);
    values.extend([other(32, 2), other(61, 1), other(148, 4), value(233, &[2])]);
    values.extend([other(225, 4), other(226, 4), other(227, 2), other(228, 2)]);
    values.extend([other(346, 4), other(56_701, 32), other(56_702, 64)]);
    assert_eq!(only(&read9(&values)), expected(HOSTS, [4_000, 53], [3, 90]));
}

#[test]
fn labels_do_not_hide_the_hosts_of_juniper_and_nokia() {
    let [source_port, destination_port, protocol] = ports_and_protocol();
    let mut values = vec![host(8, HOSTS[0]), host(12, HOSTS[1])];
    // The next hops are addresses, too.
    values.extend([host(15, "203.0.113.1"), host(18, "203.0.113.2"), other(10, 4), other(14, 4)]);
    values.extend([value(2, &[0, 0, 0, 0, 0, 0, 0, 3]), value(1, &[0, 0, 0, 0, 0, 0, 0, 90])]);
    values.extend([other(22, 4), other(21, 4), source_port, destination_port]);
    values.extend([other(89, 1), other(6, 1), protocol, other(5, 1), value(60, &[4])]);
    values.extend([other(32, 2), other(61, 1), other(9, 1), other(13, 1), other(90, 8)]);
    values.extend([other(46, 1), host(47, "203.0.113.3")]);
    values.extend((70..=75).map(|number| other(number, 3)));
    assert_eq!(only(&read9(&values)), expected(HOSTS, [4_000, 53], [3, 90]));
    assert_eq!(only(&read10(&values)), expected(HOSTS, [4_000, 53], [3, 90]));
}

#[test]
fn a_record_of_labels_alone_has_no_hosts() {
    let values = [other(10, 4), other(14, 4), value(2, &[3]), other(70, 3), other(71, 3)];
    assert_eq!(read9(&values), []);
}

#[test]
fn a_sampled_packet_is_a_contact_with_one_packet() {
    let juniper = || of(JUNIPER, other(137, 4));
    let padded = [packet(), vec![0; 36]].concat();
    for (name, section) in [
        ("inline monitoring", variable(315, &frame())),
        ("frame of fixed length", value(315, &[frame(), vec![0; 10]].concat())),
        ("layer 2 section", value(104, &frame())),
        ("IP header", value(313, &padded)),
        ("IP header of variable length", variable(313, &packet())),
        ("payload of labels", variable(317, &packet())),
    ] {
        let values = [other(10, 4), other(14, 4), other(61, 1), juniper(), other(312, 2), section];
        let found = read10(&values);
        assert_eq!(only(&found), expected(HOSTS, [4_000, 53], [1, 78]), "{name}");
    }
    let counts = [value(2, &[3]), variable(315, &frame())];
    let found = read10(&counts);
    assert_eq!(found[0].packets.map(NonZeroU64::get), Some(3), "stated counts remain");
}
