//! A builder of capture files, which follows the specifications of the formats.

/// The bytes of a file, to which fields are added in one byte order.
pub(crate) struct Fields {
    pub(crate) big_endian: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Fields {
    pub(crate) fn new(big_endian: bool) -> Self {
        Self { big_endian, bytes: Vec::new() }
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        let field = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&field)
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        let field = if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        self.raw(&field)
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

/// Returns an IPv4 packet from 10.0.0.`host` to 10.1.0.1 with three bytes of payload.
pub(crate) fn ipv4(host: u8) -> Vec<u8> {
    let head = [0x45, 0, 0, 23, 0, 0, 0, 0, 64, 17, 0, 0];
    [&head[..], &[10, 0, 0, host], &[10, 1, 0, 1], &[1, 2, 3]].concat()
}

/// Returns the packet [`ipv4`] in an Ethernet frame of 37 bytes.
pub(crate) fn frame(host: u8) -> Vec<u8> {
    [&[2; 12][..], &[0x08, 0x00], &ipv4(host)].concat()
}

/// Returns an IPv4 packet of `protocol` from port 7 of 10.0.0.1 to port 9 of 10.1.0.1.
pub(crate) fn datagram(protocol: u8, fragment: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let [high, low] = length.to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, fragment[0], fragment[1], 64, protocol, 0, 0];
    let [high, low] = (length - 20).to_be_bytes();
    let udp = [0, 7, 0, 9, high, low, 0, 0];
    [&head[..], &[10, 0, 0, 1], &[10, 1, 0, 1], &udp, payload].concat()
}

pub(crate) const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Returns a pcap file that contains only the file header.
pub(crate) fn pcap(big_endian: bool, magic: u32, link_type: u32) -> Fields {
    let mut file = Fields::new(big_endian);
    file.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(link_type);
    file
}

impl Fields {
    /// Adds a pcap record.
    pub(crate) fn record(&mut self, seconds: u32, fraction: u32, frame: &[u8]) -> &mut Self {
        self.cut_record([seconds, fraction], frame.len() as u32, frame)
    }

    /// Adds a pcap record of a frame of `original` bytes, of which `captured` was captured.
    pub(crate) fn cut_record(
        &mut self,
        [seconds, fraction]: [u32; 2],
        original: u32,
        captured: &[u8],
    ) -> &mut Self {
        let length = captured.len() as u32;
        self.u32(seconds).u32(fraction).u32(length).u32(original).raw(captured)
    }

    /// Adds a pcapng block that contains `body` and padding.
    pub(crate) fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let padded = body.len().next_multiple_of(4);
        let length = padded as u32 + 12;
        self.u32(kind).u32(length).raw(body).raw(&[0; 3][..padded - body.len()]).u32(length)
    }

    /// Adds a section header block. Its byte order applies to all later fields.
    pub(crate) fn section(&mut self, big_endian: bool) -> &mut Self {
        self.big_endian = big_endian;
        let mut body = Fields::new(big_endian);
        body.u32(0x1a2b_3c4d).u16(1).u16(0).raw(&[0xff; 8]);
        self.block(0x0a0d_0d0a, &body.bytes)
    }

    /// Adds an interface description block that contains the encoded `options`.
    pub(crate) fn interface(&mut self, link_type: u16, options: &[u8]) -> &mut Self {
        let mut body = Fields::new(self.big_endian);
        body.u16(link_type).u16(0).u32(0).raw(options);
        self.block(1, &body.bytes)
    }

    /// Adds an enhanced packet block.
    pub(crate) fn packet(&mut self, interface: u32, ticks: u64, frame: &[u8]) -> &mut Self {
        let mut body = Fields::new(self.big_endian);
        body.u32(interface);
        self.packet_block(6, body, ticks, [frame.len() as u32, frame.len() as u32], frame)
    }

    /// Adds an enhanced packet block of a frame of `original` bytes, of which `captured` was captured.
    pub(crate) fn cut_packet(&mut self, ticks: u64, original: u32, captured: &[u8]) -> &mut Self {
        let mut body = Fields::new(self.big_endian);
        body.u32(0);
        self.packet_block(6, body, ticks, [captured.len() as u32, original], captured)
    }

    /// Adds a packet block, the obsolete predecessor of the enhanced packet block.
    pub(crate) fn obsolete(&mut self, interface: u16, ticks: u64, frame: &[u8]) -> &mut Self {
        let mut body = Fields::new(self.big_endian);
        body.u16(interface).u16(9);
        self.packet_block(2, body, ticks, [frame.len() as u32, frame.len() as u32], frame)
    }

    fn packet_block(
        &mut self,
        kind: u32,
        mut body: Self,
        ticks: u64,
        [captured, original]: [u32; 2],
        frame: &[u8],
    ) -> &mut Self {
        body.u32((ticks >> 32) as u32).u32(ticks as u32).u32(captured).u32(original).raw(frame);
        self.block(kind, &body.bytes)
    }
}

pub(crate) fn ipfix(export_s: u32, sets: &[u8]) -> Vec<u8> {
    let mut message = Fields::new(true);
    message.u16(10).u16(sets.len() as u16 + 16).u32(export_s).u32(1).u32(9).raw(sets);
    message.bytes
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}
