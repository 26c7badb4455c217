//! Options of a decoder, and the bounds of its memory.

use std::hash::Hash;
use std::num::{NonZeroU32, NonZeroUsize};

use lru::LruCache;

use crate::options::{ExportOptions, Nat, Timestamps};

/// Options of a [`Decoder`](crate::flow::Decoder), and the bounds of its memory.
///
/// A source is an observation domain of one exporter in one protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderOptions {
    /// Which addresses of hosts behind a translator count.
    pub nat: Nat,
    /// How far the times of exporters are believed.
    pub timestamps: Timestamps,
    /// Packets one of which is looked at, of exporters that do not say; `None` for unknown.
    pub sampling: Option<NonZeroU32>,
    /// Whether the port is part of an exporter. Exporters change it at will, so templates would be
    /// lost; true where several share an address.
    pub by_port: bool,
    /// Exporters that are remembered, and sources. Of exporters that have sent no record the least recent goes first. An exporter
    /// has a quarter of the sources, at least 16; beyond, and where it has more than its part of a full table, its own least recent
    /// one goes.
    pub sources: usize,
    /// Templates of a source that are remembered; the least recent goes.
    pub templates: usize,
    /// Fields of a template; one with more is refused.
    pub fields: usize,
    /// Bytes of a record; a template for longer ones is refused.
    pub record_bytes: usize,
    /// Bytes of all templates together, as they are kept, of which an exporter has a quarter; what goes beyond is chosen as for
    /// `sources`.
    pub template_bytes: usize,
    /// Data sets that wait for one template; the oldest goes.
    pub held_sets: usize,
    /// Bytes of the data sets of a source that wait for a template; the oldest goes.
    pub held_bytes: usize,
    /// Samplers of an exporter that are remembered; the least recent goes.
    pub samplers: usize,
}

impl Default for DecoderOptions {
    fn default() -> Self {
        Self {
            nat: Nat::default(),
            timestamps: Timestamps::default(),
            sampling: None,
            by_port: false,
            sources: 1_024,
            templates: 256,
            fields: 1_024,
            record_bytes: 65_535,
            template_bytes: 16 << 20,
            held_sets: 16,
            held_bytes: 72 << 10,
            samplers: 64,
        }
    }
}

/// A decoder with the default bounds, which reads exports by these options.
impl From<&ExportOptions> for DecoderOptions {
    fn from(&ExportOptions { nat, timestamps, sampling }: &ExportOptions) -> Self {
        Self { nat, timestamps, sampling, ..Self::default() }
    }
}

/// Bytes that a table takes for an entry besides key and value: two links, and a slot of the hash
/// table, which is up to 16/7 as large as what it holds.
pub(crate) const ENTRY_BYTES: usize = 64;

/// A table of at most `most` entries, of which the least recent goes. It grows with its entries, as most tables stay almost empty.
///
/// # Panics
/// If `most` is 0, which [`DecoderOptions::check`] rejects.
pub(crate) fn table<K: Hash + Eq, V>(most: usize) -> LruCache<K, V> {
    let mut table = LruCache::unbounded();
    table.resize(NonZeroUsize::new(most).expect("options are at least 1"));
    table
}

/// Tells which of the [`DecoderOptions`] is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is {value}: give a number from {least} to {most}")]
pub struct BadOptions {
    /// Name of the field.
    pub name: &'static str,
    /// Its value.
    pub value: usize,
    /// Least value that it may have.
    pub least: usize,
    /// Largest value that it may have.
    pub most: usize,
}

impl DecoderOptions {
    pub(crate) fn check(&self) -> Result<(), BadOptions> {
        for (name, value, least, most) in [
            ("sources", self.sources, 2, 1 << 20),
            ("templates", self.templates, 1, 65_280),
            ("fields", self.fields, 1, 16_384),
            ("record_bytes", self.record_bytes, 1, 65_535),
            ("template_bytes", self.template_bytes, 1 << 16, 1 << 32),
            ("held_sets", self.held_sets, 1, 1 << 16),
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
