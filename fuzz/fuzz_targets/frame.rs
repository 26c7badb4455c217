//! A fuzz target that parses a frame. The first byte selects the link type. A capture of the frame must contain the same
//! hosts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use srlg_fuzz::file;
use srlg_input::packet::headers;

const LINK_TYPES: [u16; 30] = [
    0, 1, 9, 10, 12, 14, 50, 51, 101, 104, 105, 107, 108, 113, 117, 127, 147, 192, 219, 226, 228,
    229, 239, 242, 258, 276, 281, 282, 284, 285,
];

fuzz_target!(|input: &[u8]| {
    let Some((selector, frame)) = input.split_first() else { return };
    let link_type = LINK_TYPES[usize::from(*selector) % LINK_TYPES.len()];
    let content = file::check(&capture(link_type, frame)).expect("a valid header");
    assert_eq!(content.counts.packets, 1);
    match headers(link_type, frame) {
        Ok(headers) => {
            let [contact] = &content.items[..] else { panic!("one packet") };
            assert_eq!([contact.source, contact.destination], headers.hosts());
            assert_eq!(contact.octets, headers.octets_in_frame(0));
            let transport = headers.transport();
            assert_eq!(contact.protocol, transport.protocol);
            assert_eq!(contact.source_port, transport.source_port);
            assert_eq!(contact.destination_port, transport.destination_port);
        }
        Err(reason) => assert_eq!(content.counts.skipped(reason), 1),
    }
});

/// Returns a pcap file that contains `frame`.
fn capture(link_type: u16, frame: &[u8]) -> Vec<u8> {
    let words = [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 1 << 18, u32::from(link_type)];
    let length = frame.len() as u32;
    let words = words.into_iter().chain([1_700_000_000, 7, length, length]);
    words.flat_map(u32::to_le_bytes).chain(frame.iter().copied()).collect()
}
