//! The saved state of a decoder. A new decoder that loads the state can decode exports immediately.
//!
//! The state consists of [`MAGIC`], the sources, the exporters with their sampling rates, and a CRC-32 of all preceding
//! bytes. A source is stored with its exporter, version, domain and original template definitions. Each list starts
//! with the number of its items. All integers are in network byte order.
//!
//! Invariant: the loaded state is within the limits of the loading decoder, and nothing is loaded from damaged bytes.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;

use crate::flow::bytes;
use crate::flow::decoder::Decoder;
use crate::flow::exporter;
use crate::flow::netflow::Version;
use crate::flow::sampling::Scope;
use crate::flow::source::{self, Source};
use crate::flow::templates::{Definition, Style};

/// Magic bytes and version of the format.
const MAGIC: &[u8; 8] = b"SRLGFLW\x01";

/// The reason why bytes are not a valid decoder state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadState {
    /// The magic bytes are missing, or the version of the format is not supported.
    #[error(
        "cannot load the state of the flow decoder: bad magic bytes or unsupported version; start with an empty state"
    )]
    Magic,
    /// The bytes are truncated or modified.
    #[error(
        "the state of the flow decoder is damaged (CRC-32 {found:#010x}, expected {expected:#010x}); start with an empty state"
    )]
    Checksum {
        /// Checksum of the bytes.
        found: u32,
        /// Checksum stored after the bytes.
        expected: u32,
    },
    /// The checksum is correct, but the content is invalid.
    #[error(
        "the state of the flow decoder contains an impossible length or number; start with an empty state"
    )]
    Content,
}

struct SavedSource<'a> {
    exporter: exporter::Key,
    key: source::Key,
    templates: Vec<(Style, &'a [u8])>,
}

type SavedRates = (exporter::Key, Vec<(Scope, NonZeroU32)>);

impl Decoder {
    /// Returns the templates and sampling rates as bytes. Templates of sessions are omitted, because they end with their
    /// session.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let entries = || self.exporters.iter();
        let sources = entries().flat_map(|(key, entry)| {
            let sources = entry.sources.iter().rev();
            sources
                .filter(|(of, it)| of.session.is_none() && it.templates().count() > 0)
                .map(|(of, it)| (*key, of, it))
        });
        put_all(&mut bytes, sources, |bytes, (exporter, key, source)| {
            put_exporter(bytes, exporter);
            bytes.push(if key.version == Version::Ipfix { 10 } else { 9 });
            bytes.extend(key.domain.to_be_bytes());
            put_all(bytes, source.templates(), |bytes, (_, template)| {
                bytes.push(template.style as u8);
                bytes.extend((template.definition.len() as u32).to_be_bytes());
                bytes.extend_from_slice(&template.definition);
            });
        });
        let exporters = entries().filter(|(_, it)| it.exporter.samplers.iter().count() > 0);
        put_all(&mut bytes, exporters, |bytes, (key, entry)| {
            put_exporter(bytes, *key);
            let rates = entry.exporter.samplers.iter();
            put_all(bytes, rates, |bytes, ((domain, sampler), rate)| {
                bytes.push(u8::from(domain.is_some()) | u8::from(sampler.is_some()) << 1);
                bytes.extend(domain.unwrap_or(0).to_be_bytes());
                bytes.extend(sampler.unwrap_or(0).to_be_bytes());
                bytes.extend(rate.get().to_be_bytes());
            });
        });
        let checksum = crc32fast::hash(&bytes);
        bytes.extend(checksum.to_be_bytes());
        bytes
    }

    /// Loads the `bytes` that [`save`](Self::save) returned, in addition to the current state.
    ///
    /// # Errors
    /// Returns [`BadState`], and loads nothing, if the bytes are invalid.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), BadState> {
        let content = checked(bytes)?;
        let (sources, rates) = read(content).ok_or(BadState::Content)?;
        let options = self.options;
        for (key, rates) in rates {
            let exporter = &mut self.exporters.promote(key, &options).exporter;
            rates.into_iter().for_each(|(scope, rate)| exporter.samplers.put(scope, rate));
        }
        for SavedSource { exporter, key, templates } in sources {
            let entry = self.exporters.promote(exporter, &options);
            let before = entry.usage();
            let source = entry.sources.get_or_insert_mut(key, || Source::new(&options));
            entry.template_bytes -= source.template_bytes;
            for (style, mut definition) in templates {
                if let Some(Definition::Template { id, bytes, fields }) =
                    style.next(&mut definition)
                {
                    source.learn(style, id, bytes, fields, &options);
                }
            }
            entry.template_bytes += source.template_bytes;
            let after = entry.usage();
            self.exporters.follow(exporter, before, after);
        }
        Ok(())
    }
}

/// Returns whether `bytes` start with the magic bytes of any version of the format.
pub(crate) fn is_state(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC[..MAGIC.len() - 1])
}

/// Checks the magic bytes and the checksum of `bytes`, and returns the content between them.
fn checked(bytes: &[u8]) -> Result<&[u8], BadState> {
    if !bytes.starts_with(MAGIC) {
        return Err(BadState::Magic);
    }
    let (content, expected) = bytes.split_last_chunk().ok_or(BadState::Magic)?;
    let (found, expected) = (crc32fast::hash(content), u32::from_be_bytes(*expected));
    if found != expected {
        return Err(BadState::Checksum { found, expected });
    }
    content.get(MAGIC.len()..).ok_or(BadState::Magic)
}

fn read(mut bytes: &[u8]) -> Option<(Vec<SavedSource<'_>>, Vec<SavedRates>)> {
    let bytes = &mut bytes;
    let sources = take_all(bytes, take_source)?;
    let rates = take_all(bytes, take_rates)?;
    bytes.is_empty().then_some((sources, rates))
}

fn take_source<'a>(bytes: &mut &'a [u8]) -> Option<SavedSource<'a>> {
    let exporter = take_exporter(bytes)?;
    let version = match bytes::u8(bytes)? {
        9 => Version::V9,
        10 => Version::Ipfix,
        _ => return None,
    };
    let key = source::Key { session: None, version, agent: None, domain: bytes::u32(bytes)? };
    let templates = take_all(bytes, |bytes| {
        let style = *Style::ALL.get(usize::from(bytes::u8(bytes)?))?;
        let length = bytes::u32(bytes)? as usize;
        Some((style, bytes::split(bytes, length)?))
    });
    Some(SavedSource { exporter, key, templates: templates? })
}

fn take_rates(bytes: &mut &[u8]) -> Option<SavedRates> {
    let key = take_exporter(bytes)?;
    let rates = take_all(bytes, |bytes| {
        let (flags, domain) = (bytes::u8(bytes)?, bytes::u32(bytes)?);
        let sampler = bytes::u64(bytes)?;
        let rate = NonZeroU32::new(bytes::u32(bytes)?)?;
        let scope = ((flags & 1 != 0).then_some(domain), (flags & 2 != 0).then_some(sampler));
        Some((scope, rate))
    });
    Some((key, rates?))
}

fn put_all<T>(bytes: &mut Vec<u8>, things: impl Iterator<Item = T>, put: impl Fn(&mut Vec<u8>, T)) {
    let at = bytes.len();
    bytes.extend([0; 4]);
    let mut count = 0_u32;
    for thing in things {
        put(bytes, thing);
        count += 1;
    }
    bytes[at..at + 4].copy_from_slice(&count.to_be_bytes());
}

/// Reads the number of items, then each item. Each item has at least one byte, so that reading fails at the end of the
/// bytes if the number is too large.
fn take_all<'a, T>(
    bytes: &mut &'a [u8],
    take: impl Fn(&mut &'a [u8]) -> Option<T>,
) -> Option<Vec<T>> {
    let count = bytes::u32(bytes)?;
    (0..count).map(|_| take(bytes)).collect()
}

fn put_exporter(bytes: &mut Vec<u8>, key: exporter::Key) {
    let address = match key.address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    bytes.extend(address.octets());
    bytes.extend(key.port.to_be_bytes());
}

fn take_exporter(bytes: &mut &[u8]) -> Option<exporter::Key> {
    let address = IpAddr::V6(Ipv6Addr::from(bytes::take::<16>(bytes)?)).to_canonical();
    Some(exporter::Key { address, port: bytes::u16(bytes)? })
}
