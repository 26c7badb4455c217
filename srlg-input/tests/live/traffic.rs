//! IPv4 and IPv6 frames that carry TCP or UDP, built according to the specifications of the formats. Some frames have a
//! VLAN tag.

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const ETHERNET: u32 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Destination port of every third frame.
pub(crate) const DNS: u16 = 53;
/// VLAN tag of every fifth frame.
pub(crate) const VLAN: u16 = 7;

pub(crate) struct Traffic {
    pub(crate) frames: Vec<Frame>,
}

/// A frame and the properties by which filters select it.
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_ipv6: bool,
    pub(crate) is_udp: bool,
    pub(crate) is_tagged: bool,
    pub(crate) port: u16,
}

impl Traffic {
    /// Creates `count` frames of 42 to 1,468 bytes (without the tag). Each frame has a different pair of hosts.
    pub(crate) fn new(count: u32) -> Self {
        Self { frames: (0..count).map(Frame::new).collect() }
    }

    /// Returns the frames as a pcap file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let header = [MICROSECONDS, 0x0004_0002, 0, 0, 65_535, ETHERNET];
        let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
        for (number, frame) in self.frames.iter().enumerate() {
            let (number, length) = (number as u32, frame.bytes.len() as u32);
            let record = [number / 1_000, number % 1_000, length, length];
            file.extend(record.into_iter().flat_map(u32::to_le_bytes));
            file.extend(&frame.bytes);
        }
        file
    }
}

impl Frame {
    /// Creates frame `number`. The remainders of `number` divided by 2, 3, 4 and 5 determine the protocol, the port,
    /// the IP version and the VLAN tag. All combinations occur.
    fn new(number: u32) -> Self {
        let is_udp = number.is_multiple_of(2);
        let is_ipv6 = number % 4 >= 2;
        let is_tagged = number.is_multiple_of(5);
        let port = if number.is_multiple_of(3) { DNS } else { 1_024 + (number % 50_000) as u16 };
        let segment = segment(number, is_udp, port);
        let protocol = if is_udp { UDP } else { TCP };
        let (ether_type, packet) = if is_ipv6 {
            (0x86dd_u16, ipv6(number, protocol, &segment))
        } else {
            (0x0800, ipv4(number, protocol, &segment))
        };
        // These MAC addresses belong to neither interface.
        let mut bytes = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2];
        if is_tagged {
            bytes.extend([0x81, 0x00]);
            bytes.extend(VLAN.to_be_bytes());
        }
        bytes.extend(ether_type.to_be_bytes());
        bytes.extend(packet);
        Self { bytes, is_ipv6, is_udp, is_tagged, port }
    }
}

/// Returns a TCP or UDP header and up to 1,394 bytes of payload.
fn segment(number: u32, is_udp: bool, port: u16) -> Vec<u8> {
    let payload = vec![number as u8; (number as usize * 37) % 1_395];
    let ports = [40_000_u16, port].into_iter().flat_map(u16::to_be_bytes);
    let rest = if is_udp {
        [&(8 + payload.len() as u16).to_be_bytes()[..], &[0, 0]].concat()
    } else {
        let flags = [0x02, 0x12, 0x10, 0x11, 0x04][number as usize % 5];
        [&number.to_be_bytes()[..], &[0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0]].concat()
    };
    ports.chain(rest).chain(payload).collect()
}

fn ipv4(number: u32, protocol: u8, segment: &[u8]) -> Vec<u8> {
    let length = (20 + segment.len() as u16).to_be_bytes();
    let head = [0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, protocol, 0, 0];
    let [_, high, middle, low] = number.to_be_bytes();
    [&head[..], &[10, high, middle, low, 198, 51, 100, low], segment].concat()
}

fn ipv6(number: u32, protocol: u8, segment: &[u8]) -> Vec<u8> {
    let length = (segment.len() as u16).to_be_bytes();
    let head = [0x60, 0, 0, 0, length[0], length[1], protocol, 64];
    let network = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
    let number = number.to_be_bytes();
    let near = [network, [0xfd; 12]].map(|network| [&network[..], &number].concat());
    [&head[..], &near[0], &near[1], segment].concat()
}
