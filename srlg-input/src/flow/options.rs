//! Options of a decoder, including its memory limits.

use std::hash::Hash;
use std::num::{NonZeroU32, NonZeroUsize};

use lru::LruCache;

use crate::options::{ExportOptions, InputOptions, Nat, Timestamps, Tunnels};

/// Options of a [`Decoder`](crate::flow::Decoder), including its memory limits.
///
/// A source is an observation domain of one exporter in one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderOptions {
    /// Whether hosts are identified by their addresses before or after NAT.
    pub nat: Nat,
    /// Hosts of a sampled packet in a tunnel that are counted. Records without a packet do not depend on this option.
    pub tunnels: Tunnels,
    /// Handling of the times that exporters state.
    pub timestamps: Timestamps,
    /// Sampling rate of exporters that do not state one, as N for one packet in N. `None` means unknown.
    pub sampling: Option<NonZeroU32>,
    /// Whether exporters are distinguished by source port. The default is `false`, because an exporter that changes its
    /// port would lose its templates. Set this option if several exporters share an address.
    pub by_port: bool,
    /// Maximum number of exporters. The same limit applies to the number of sources.
    ///
    /// If there are too many exporters, the least recently seen exporter without records is dropped first. The number
    /// of sources of one exporter is limited to a quarter of this value, or to 16 if that is more. If an exporter
    /// exceeds this limit, or its fair share when the table is full, its own least recently used source is dropped.
    pub sources: usize,
    /// Maximum number of templates per source. Above the limit, the least recently used template is dropped.
    pub templates: usize,
    /// Maximum number of fields of a template. A template with more fields is rejected.
    pub fields: usize,
    /// Maximum length of a record, in bytes. A template with longer records is rejected.
    pub record_bytes: usize,
    /// Maximum memory for all templates, in bytes. An exporter may use up to a quarter of it. If it exceeds this share,
    /// or its fair share when the memory is full, its own least recently used source or template is dropped.
    pub template_bytes: usize,
    /// Maximum memory for the waiting data sets of a source, in bytes. Above the limit, the oldest sets are dropped.
    pub held_bytes: usize,
    /// Maximum number of samplers per exporter. Above the limit, the sampler whose rate was received least recently is
    /// dropped.
    pub samplers: usize,
}

impl Default for DecoderOptions {
    fn default() -> Self {
        Self {
            nat: Nat::default(),
            tunnels: Tunnels::default(),
            timestamps: Timestamps::default(),
            sampling: None,
            by_port: false,
            sources: 1_024,
            templates: 256,
            fields: 1_024,
            record_bytes: 65_535,
            template_bytes: 16 << 20,
            held_bytes: 72 << 10,
            samplers: 64,
        }
    }
}

/// Converts the options of an input to decoder options with the default limits.
impl From<&InputOptions> for DecoderOptions {
    fn from(&InputOptions { tunnels, ref decoding, .. }: &InputOptions) -> Self {
        let ExportOptions { nat, timestamps, sampling } = *decoding;
        Self { nat, tunnels, timestamps, sampling, ..Self::default() }
    }
}

/// Memory for a table entry in addition to its key and value, in bytes. This covers two links and a slot of the hash
/// table, which is up to 16/7 times as large as its content.
pub(crate) const ENTRY_BYTES: usize = 64;

/// Creates a table of at most `most` entries, which drops the least recently used entry when it is full. The table
/// grows with its entries, because most tables stay almost empty.
///
/// # Panics
/// Panics if `most` is 0, which [`DecoderOptions::check`] rejects.
pub(crate) fn table<K: Hash + Eq, V>(most: usize) -> LruCache<K, V> {
    let mut table = LruCache::unbounded();
    table.resize(NonZeroUsize::new(most).expect("options are at least 1"));
    table
}

/// An option of [`DecoderOptions`] that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: must be {least} to {most}, got {value}")]
pub struct BadOptions {
    /// Name of the field.
    pub name: &'static str,
    /// Value of the field.
    pub value: usize,
    /// Smallest valid value.
    pub least: usize,
    /// Largest valid value.
    pub most: usize,
}

impl DecoderOptions {
    pub(crate) fn check(&self) -> Result<(), BadOptions> {
        for (name, value, least, most) in [
            ("sources", self.sources, 2, 1 << 20),
            ("templates", self.templates, 1, 65_280),
            ("fields", self.fields, 1, 16_384),
            ("record_bytes", self.record_bytes, 1, 65_535),
            ("template_bytes", self.template_bytes, 1 << 16, u32::MAX as usize),
            ("held_bytes", self.held_bytes, 1, 1 << 30),
            ("samplers", self.samplers, 1, 1 << 20),
        ] {
            if !(least..=most).contains(&value) {
                return Err(BadOptions { name, value, least, most });
            }
        }
        Ok(())
    }
}
