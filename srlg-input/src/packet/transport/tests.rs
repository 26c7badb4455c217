//! Tests of complete, padded, truncated and fragmented packets.

use super::*;

/// Returns an IPv4 packet whose options take up `options` 32-bit words.
fn ipv4_packet(protocol: u8, options: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let header = 20 + 4 * usize::from(options);
    let mut packet = vec![0; header];
    packet[0] = 0x45 + options;
    packet[2..4].copy_from_slice(&((header + payload.len()) as u16).to_be_bytes());
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet[9] = protocol;
    [&packet, payload].concat()
}

fn ipv6_packet(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[0] = 0x60;
    packet[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    packet[6] = next;
    [&packet, payload].concat()
}

const TCP_HEADER: [u8; 20] = [1, 2, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0];
const UDP_DATAGRAM: [u8; 10] = [8, 7, 0, 53, 0, 10, 0, 0, 0xab, 0xcd];

/// Returns a transport whose ports are those of [`TCP_HEADER`] or [`UDP_DATAGRAM`], each with its source port.
fn transport(protocol: u8, tcp_flags: Option<u8>, destination_port: Option<u16>) -> Transport {
    let source_port = destination_port.map(|port| if port == 80 { 0x0102 } else { 0x0807 });
    let protocol = Some(protocol);
    Transport { protocol, tcp_flags, source_port, destination_port, icmp_type: None }
}

#[test]
fn ports_and_flags_are_those_behind_the_header_and_its_options() {
    for options in [0, 1, 10] {
        let packet = ipv4_packet(6, options, 0, &TCP_HEADER);
        assert_eq!(ipv4(&packet).transport(), transport(6, Some(0x12), Some(80)));
    }
    for protocol in [17, 33, 132, 136] {
        let packet = ipv4_packet(protocol, 0, 0, &UDP_DATAGRAM);
        assert_eq!(ipv4(&packet).transport(), transport(protocol, None, Some(53)));
    }
    for (protocol, icmp_type) in [(1, Some(1)), (58, Some(1)), (47, None), (50, None), (255, None)]
    {
        let packet = ipv4_packet(protocol, 0, 0, &TCP_HEADER);
        let expected = Transport { icmp_type, ..transport(protocol, None, None) };
        assert_eq!(ipv4(&packet).transport(), expected);
    }
}

#[test]
fn padding_is_no_part_of_a_packet() {
    let packet = [ipv4_packet(6, 0, 0, &[]), vec![0xff; 26]].concat();
    assert_eq!(ipv4(&packet).transport(), transport(6, None, None));
    let packet = [ipv6_packet(6, &TCP_HEADER[..8]), vec![0xff; 26]].concat();
    assert_eq!(ipv6(&packet).unwrap().transport(), transport(6, None, Some(80)));
}

#[test]
fn fields_that_were_not_captured_are_absent() {
    let packet = ipv4_packet(6, 0, 0, &TCP_HEADER);
    let source_only = Transport { source_port: Some(0x0102), ..transport(6, None, None) };
    for length in [22, 23] {
        assert_eq!(ipv4(&packet[..length]).transport(), source_only, "{length}");
    }
    for (length, flags, port) in
        [(20, None, None), (21, None, None), (24, None, Some(80)), (34, Some(0x12), Some(80))]
    {
        assert_eq!(ipv4(&packet[..length]).transport(), transport(6, flags, port), "{length}");
    }
    // The header claims options that are missing.
    assert_eq!(
        ipv4(&ipv4_packet(6, 10, 0, &TCP_HEADER)[..30]).transport(),
        transport(6, None, None)
    );
}

#[test]
fn later_fragments_have_a_protocol_alone() {
    let first = ipv4_packet(17, 0, 0x2000, &UDP_DATAGRAM);
    assert_eq!(ipv4(&first).transport(), transport(17, None, Some(53)));
    assert_eq!(ipv4(&first).udp(), Err(Skip::Fragment));
    let later = ipv4_packet(17, 0, 1, &UDP_DATAGRAM);
    assert_eq!(ipv4(&later).transport(), transport(17, None, None));
    let fragment = |offset: u16| {
        let header = [17, 0, (offset >> 8) as u8, offset as u8, 0, 0, 0, 9];
        ipv6_packet(44, &[&header[..], &UDP_DATAGRAM].concat())
    };
    assert_eq!(ipv6(&fragment(0)).unwrap().udp().unwrap().0, [0x0807, 53], "an atomic fragment");
    assert_eq!(ipv6(&fragment(1)).unwrap().udp(), Err(Skip::Fragment));
    assert_eq!(ipv6(&fragment(1)).unwrap().transport(), transport(17, None, Some(53)));
    assert_eq!(ipv6(&fragment(8)).unwrap().transport(), transport(17, None, None));
}

#[test]
fn extension_headers_are_followed_unless_truncated() {
    let chain: Vec<u8> = [
        [60, 0, 1, 4, 0, 0, 0, 0].as_slice(), // hop-by-hop options
        &[51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // destination options
        &[6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], // authentication header
        &TCP_HEADER,
    ]
    .concat();
    let packet = ipv6_packet(0, &chain);
    assert_eq!(ipv6(&packet).unwrap().transport(), transport(6, Some(0x12), Some(80)));
    for length in 40..40 + 36 {
        assert!(ipv6(&packet[..length]).is_none_or(|segment| segment.bytes.is_empty()), "{length}");
    }
    // The chain of headers never ends.
    assert!(ipv6(&ipv6_packet(0, &[0; 1024])).is_none());
    // ESP hides the rest of the packet.
    assert_eq!(ipv6(&ipv6_packet(50, &TCP_HEADER)).unwrap().transport(), transport(50, None, None));
}

#[test]
fn a_jumbogram_reaches_to_the_end_of_the_frame() {
    let mut packet = ipv6_packet(17, &UDP_DATAGRAM);
    packet[4..6].fill(0);
    assert_eq!(ipv6(&packet).unwrap().udp(), Ok(([0x0807, 53], &[0xab, 0xcd][..])));
}

#[test]
fn a_truncated_datagram_states_what_is_missing() {
    let packet = ipv4_packet(17, 0, 0, &UDP_DATAGRAM);
    assert_eq!(ipv4(&packet).udp(), Ok(([0x0807, 53], &[0xab, 0xcd][..])));
    for length in 20..30 {
        let reason = if length < 28 { Skip::CutHeader } else { Skip::CutPayload };
        assert_eq!(ipv4(&packet[..length]).udp(), Err(reason), "{length}");
    }
    let mut lying = packet.clone();
    lying[25] = 7;
    assert_eq!(ipv4(&lying).udp(), Err(Skip::BadHeader));
    assert_eq!(ipv4(&ipv4_packet(6, 0, 0, &TCP_HEADER)).udp(), Err(Skip::NotUdp));
}

#[test]
fn a_packet_with_a_total_length_of_0_reaches_to_the_end_of_the_frame() {
    let unstated = |mut packet: Vec<u8>| {
        packet[2..4].fill(0);
        packet
    };
    for options in [0, 1, 10] {
        let packet = unstated(ipv4_packet(6, options, 0, &TCP_HEADER));
        assert_eq!(ipv4(&packet).transport(), transport(6, Some(0x12), Some(80)));
        assert_eq!(
            ipv4(&packet[..20]).transport(),
            transport(6, None, None),
            "only the fixed header"
        );
    }
    let packet = unstated(ipv4_packet(17, 0, 0, &UDP_DATAGRAM));
    assert_eq!(ipv4(&packet).udp(), Ok(([0x0807, 53], &[0xab, 0xcd][..])));
    let first = unstated(ipv4_packet(17, 0, 0x2000, &UDP_DATAGRAM));
    assert_eq!(ipv4(&first).transport(), transport(17, None, Some(53)));
    let later = unstated(ipv4_packet(17, 0, 1, &UDP_DATAGRAM));
    assert_eq!(ipv4(&later).transport(), transport(17, None, None));
}
