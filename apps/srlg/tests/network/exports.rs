//! Probes that read exports from a capture and from the network.

use std::net::UdpSocket;
use std::time::{Duration, Instant, SystemTime};

use srlg_host::Ipv4Pair;

use crate::input::{assert_slices_are, pairs};
use crate::net::{Net, run, unpacked};
use crate::process::PATIENCE;

const SLICES: std::ops::Range<u64> = 1000..1060;

const SAMPLING: &str = r#"{"least":10,"most":10,"unknown":false}"#;

/// Returns a NetFlow v5 datagram of up to 30 flows. The number before each pair is the millisecond of `second` at which
/// the flow ended. The datagram is exported at the end of the second, with a sampling rate of 1 in 10.
fn datagram(second: u64, flows: &[(u64, Ipv4Pair)]) -> Vec<u8> {
    const UPTIME: u32 = 1_000_000;
    let mut bytes = vec![0, 5, 0, flows.len() as u8];
    for word in [UPTIME, second as u32, 999_000_000, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend([0, 0, 0x40, 10]);
    for (ms, Ipv4Pair { inside, peer }) in flows {
        let last = UPTIME - (999 - *ms as u32);
        for word in [*inside, *peer, 0, 0, 1, 60, last, last, 0x3039_0050, 0x0002_0600, 0, 0] {
            bytes.extend(word.to_be_bytes());
        }
    }
    bytes
}

fn exported(slice: u64) -> Vec<Vec<u8>> {
    let flows: Vec<_> = (0..).zip(pairs(1, slice)).collect();
    flows.chunks(30).map(|flows| datagram(slice, flows)).collect()
}

/// Returns a pcap file that contains the datagrams of an exporter as IP packets. The datagrams are sent at the end of
/// each slice.
fn capture() -> Vec<u8> {
    let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101];
    let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for (slice, payload) in
        SLICES.flat_map(|slice| exported(slice).into_iter().map(move |it| (slice, it)))
    {
        let [length, expected] = [8, 28].map(|head| (payload.len() as u16 + head).to_be_bytes());
        let mut packet = vec![0x45, 0, expected[0], expected[1], 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([192, 0, 2, 1, 192, 0, 2, 2, 8, 7, 8, 7, length[0], length[1], 0, 0]);
        packet.extend(payload);
        let captured = packet.len() as u32;
        let record = [slice as u32, 999_000, captured, captured];
        file.extend(record.into_iter().flat_map(u32::to_le_bytes));
        file.extend(packet);
    }
    file
}

#[test]
fn exports_in_a_capture_are_the_deltas_of_their_contacts_and_tell_the_sampling() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let path = net.folder().join("exports.pcap");
    std::fs::write(&path, capture()).unwrap();
    let input = format!("[input]\ninput = ['{}']\nexports = true\n", path.display());
    let (code, said) = net.start_probe("a", &net.spool(), &input).end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" 192.0.2.1: "), "{said}");
    assert_slices_are(&run(net.slices("a")), &net.network, |slice| pairs(1, slice), SLICES);
    let samplings = run(net.samplings());
    assert_eq!(samplings, vec![Some(SAMPLING.to_owned()); SLICES.count()]);
}

#[test]
fn a_probe_that_receives_sends_slices_by_the_clock_and_late_flows_in_them() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";
    let mut probe = net.start_probe("a", &net.spool(), input);
    let line = probe.wait_for(" 127.0.0.1:");
    let at = line.rsplit(' ').next().unwrap();
    let exporter = UdpSocket::bind("127.0.0.1:0").unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    // These flows are two seconds old.
    for payload in exported(1000) {
        let mut payload = payload;
        payload[8..12].copy_from_slice(&(now as u32 - 2).to_be_bytes());
        exporter.send_to(&payload, at).unwrap();
    }
    let started = Instant::now();
    let samplings = loop {
        let samplings = run(net.samplings());
        // Flows may also arrive in the slice after the first one with flows.
        if samplings.iter().skip_while(|sampling| sampling.is_none()).count() >= 3 {
            break samplings;
        }
        assert!(started.elapsed() < PATIENCE, "{samplings:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let sampled: Vec<_> = samplings.iter().flatten().collect();
    assert!(sampled.iter().all(|sampling| *sampling == SAMPLING), "{samplings:?}");
    let slices: Vec<u64> = run(net.slices("a")).keys().map(|&(slice, _)| slice).collect();
    assert_eq!(slices, (slices[0]..).take(slices.len()).collect::<Vec<_>>());
    probe.terminate();
    assert_eq!(probe.end().0, Some(0));
    // Flows count in the slice in which they ended.
    let detector = || {
        srlg_host::SlidingDetector::new(net.network.views[0].sizes, srlg_host::Device::Cpu).unwrap()
    };
    let (mut merged, mut expected) = (detector(), detector());
    let (last, payloads) = (slices[slices.len() - 1], run(net.slices("a")));
    merged.skip_to(last).unwrap();
    for ((slice, _), payload) in payloads.iter().filter(|((slice, _), _)| *slice <= last) {
        let (of, states) = unpacked(payload);
        assert_eq!(of, *slice);
        states.iter().for_each(|state| state.merge_into(&mut merged).unwrap());
    }
    expected.skip_to(now - 2).unwrap();
    expected.ingest(&pairs(1, 1000)).unwrap();
    expected.skip_to(last).unwrap();
    assert!(merged.snapshot().unwrap() == expected.snapshot().unwrap());
}
