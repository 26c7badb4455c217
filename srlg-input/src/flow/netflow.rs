//! Messages of NetFlow v9 and IPFIX: a header, and sets.

use crate::flow::bytes;
use crate::flow::clock::SECOND;
use crate::flow::version::Version;

/// A message, its sets not looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) version: Version,
    pub(crate) export_s: u32,
    /// Of v9 alone.
    pub(crate) uptime_ms: Option<u32>,
    pub(crate) number: u32,
    pub(crate) domain: u32,
    sets: &'a [u8],
    is_cut: bool,
}

/// What is left of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sets<'a> {
    rest: &'a [u8],
    /// Whether bytes are missing, or a length lies.
    pub(crate) is_cut: bool,
}

/// What a header cuts off the time of export.
pub(crate) const CUT_NS: u64 = SECOND - 1;

impl<'a> Message<'a> {
    pub(crate) fn v9(mut payload: &'a [u8]) -> Option<Self> {
        let rest = &mut payload;
        bytes::u32(rest)?;
        let uptime_ms = bytes::u32(rest);
        let (export_s, number) = (bytes::u32(rest)?, bytes::u32(rest)?);
        let domain = bytes::u32(rest)?;
        let (version, sets) = (Version::V9, *rest);
        Some(Self { version, export_s, uptime_ms, number, domain, sets, is_cut: false })
    }

    pub(crate) fn ipfix(mut payload: &'a [u8]) -> Option<Self> {
        let rest = &mut payload;
        bytes::u16(rest)?;
        let length = usize::from(bytes::u16(rest)?);
        let (export_s, number) = (bytes::u32(rest)?, bytes::u32(rest)?);
        let domain = bytes::u32(rest)?;
        let length = length.checked_sub(16)?;
        let is_cut = length > rest.len();
        let sets = &rest[..length.min(rest.len())];
        let version = Version::Ipfix;
        Some(Self { version, export_s, uptime_ms: None, number, domain, sets, is_cut })
    }

    pub(crate) fn sets(&self) -> Sets<'a> {
        Sets { rest: self.sets, is_cut: self.is_cut }
    }
}

impl<'a> Iterator for Sets<'a> {
    type Item = (u16, &'a [u8]);

    /// Id and content of the next set that is whole.
    fn next(&mut self) -> Option<Self::Item> {
        // Fewer bytes than a head are padding.
        let mut rest = self.rest;
        let (id, length) = (bytes::u16(&mut rest)?, usize::from(bytes::u16(&mut rest)?));
        let content = length.checked_sub(4).and_then(|length| bytes::split(&mut rest, length));
        self.is_cut |= content.is_none();
        self.rest = if content.is_some() { rest } else { &[] };
        content.map(|content| (id, content))
    }
}
