//! A fuzz target that decodes several datagrams with one decoder, whose limits are low. The first byte selects the
//! options. Each datagram follows a byte, which selects its exporter and its time, and its length in two bytes.
#![no_main]

use std::net::{Ipv4Addr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use srlg_input::contact::Host;
use srlg_input::flow::{Decoder, DecoderOptions, Nat, Reason, Timestamps};
use srlg_input::packet::Tunnels;

const START_NS: u64 = 1_700_000_000_000_000_000;

fuzz_target!(|input: &[u8]| {
    let Some((selector, mut rest)) = input.split_first() else { return };
    let options = options(*selector);
    let mut decoder = Decoder::new(options).expect("valid options");
    let (mut datagrams, mut contacts) = (0, 0);
    while let Some(([head, high, low], after)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (payload, after) = after.split_at(length);
        rest = after;
        datagrams += 1;
        let address = Ipv4Addr::new(192, 0, 2, 1 + head % 6);
        let exporter = SocketAddr::from((address, 2_055 + u16::from(head >> 6)));
        let received_ns = START_NS + datagrams * (1 + u64::from(head >> 3) * 1_000_000_000);
        decoder.decode(exporter, received_ns, payload, |contact| {
            contacts += 1;
            assert_eq!(contact.exporter, Some(Host::from(address)));
            if options.timestamps == Timestamps::Received {
                // A data set that waited for its template has an earlier time.
                assert!((START_NS..=received_ns).contains(&contact.time_ns));
            }
        });
        check(&decoder, &options, datagrams, contacts);
    }
    let saved = decoder.save();
    let mut loaded = Decoder::new(options).expect("valid options");
    loaded.load(&saved).expect("as saved");
    assert_eq!(loaded.templates(), decoder.templates());
});

fn options(selector: u8) -> DecoderOptions {
    let of = |bit: u8| selector & 1 << bit != 0;
    DecoderOptions {
        nat: if of(0) { Nat::Pre } else { Nat::Post },
        timestamps: match selector >> 1 & 3 {
            0 => Timestamps::Received,
            1 => Timestamps::Trusted,
            _ => Timestamps::Corrected,
        },
        by_port: of(3),
        tunnels: match selector >> 4 & 3 {
            0 => Tunnels::Inner,
            1 => Tunnels::Both,
            _ => Tunnels::Outer,
        },
        sources: 4,
        templates: 8,
        fields: 128,
        template_bytes: 1 << 16,
        held_bytes: 1 << 14,
        samplers: 4,
        ..DecoderOptions::default()
    }
}

fn check(decoder: &Decoder, options: &DecoderOptions, datagrams: u64, contacts: u64) {
    let counts = decoder.counts();
    assert_eq!((counts.datagrams, counts.contacts), (datagrams, contacts));
    // A record has two directions, and a packet in a tunnel has two pairs of hosts.
    assert!(counts.contacts <= 4 * counts.records);
    let unused = [
        Reason::Options,
        Reason::BadSample,
        Reason::DiscardedPacket,
        Reason::OtherSample,
        Reason::NoHosts,
        Reason::ZeroHost,
        Reason::BadFrame,
        Reason::CutTunnel,
        Reason::TunnelFragment,
        Reason::NoPackets,
    ];
    let unused: u64 = unused.iter().map(|reason| counts.of(*reason)).sum();
    assert!(counts.records <= counts.contacts + unused, "each record is used or counted: {counts}");
    let exporters: Vec<_> = decoder.exporters().collect();
    assert!(exporters.len() <= options.sources);
    let templates = decoder.templates();
    assert!(templates.values().sum::<usize>() <= options.sources * options.templates);
    let of_exporters: u64 = exporters.iter().map(|(_, it)| it.counts().records).sum();
    assert!(of_exporters <= counts.records);
    if counts.of(Reason::SourceGone) == 0 {
        assert_eq!(of_exporters, counts.records);
    }
}
