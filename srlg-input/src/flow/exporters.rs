//! The exporters of a decoder with their sources, and the choice of exporters to drop.
//!
//! There are two tables, because the source addresses of UDP datagrams can be forged. Newcomers are exporters that
//! have not sent a record yet. A newcomer can displace only other newcomers. Known exporters have sent records, or
//! their state was loaded. If the table of known exporters is full, the next exporter that becomes known displaces the
//! least recently seen known one. A known exporter loses sources or templates only while it uses more than its fair
//! share or more than the maximum for one exporter.
//!
//! Invariant: after each datagram, the numbers of exporters and sources and the size of all templates are within the
//! limits of the options.

use lru::LruCache;

use crate::flow::counts::{FlowCounts, Reason};
use crate::flow::exporter::{Backlog, Exporter, Key};
use crate::flow::options::{DecoderOptions, ENTRY_BYTES, table};
use crate::flow::source::{self, Session, Source};

#[derive(Debug)]
pub(crate) struct Exporters {
    newcomers: LruCache<Key, Entry>,
    known: LruCache<Key, Entry>,
    pub(crate) counts: FlowCounts,
    usage: Usage,
    limit: Usage,
    /// Maximum usage of one exporter.
    share: Usage,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) exporter: Exporter,
    pub(crate) sources: LruCache<source::Key, Source>,
    pub(crate) template_bytes: usize,
}

/// The number of sources and the size of their templates, for one exporter or for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    sources: usize,
    template_bytes: usize,
}

impl Usage {
    fn exceeds(self, limit: Self) -> bool {
        self.sources > limit.sources || self.template_bytes > limit.template_bytes
    }

    fn change(&mut self, before: Self, after: Self) {
        self.sources = self.sources + after.sources - before.sources;
        self.template_bytes = self.template_bytes + after.template_bytes - before.template_bytes;
    }
}

impl Entry {
    fn new(options: &DecoderOptions) -> Self {
        let sources = LruCache::unbounded();
        Self { exporter: Exporter::new(options), sources, template_bytes: 0 }
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage { sources: self.sources.len(), template_bytes: self.template_bytes }
    }

    /// Returns the number of the exporter's templates, including options templates.
    pub(crate) fn templates(&self) -> usize {
        self.sources.iter().map(|(_, source)| source.templates().count()).sum()
    }

    pub(crate) fn backlog(&self) -> Option<Backlog> {
        self.sources.iter().filter_map(|(_, source)| source.backlog()).reduce(Backlog::and)
    }

    /// Drops the least recently used source of the exporter. If there is only one source, drops its least recently used
    /// template.
    fn shed(&mut self) -> Reason {
        let reason = if self.sources.len() > 1 {
            let gone = self.sources.pop_lru();
            self.template_bytes -= gone.map_or(0, |(_, source)| source.template_bytes);
            Reason::SourceGone
        } else {
            let sources = self.sources.iter_mut();
            self.template_bytes -= sources.map(|(_, source)| source.shed()).sum::<usize>();
            Reason::TemplateGone
        };
        self.exporter.counts.add(reason);
        reason
    }
}

impl Exporters {
    pub(crate) fn new(options: &DecoderOptions) -> Self {
        // An eighth of the table is reserved for newcomers, without which no exporter could become known.
        let known = options.sources - (options.sources / 8).max(1);
        // Even the smallest share has room for the largest template.
        let template_bytes = Source::most_template_bytes(options);
        let limit = Usage {
            sources: options.sources,
            template_bytes: options.template_bytes.max(template_bytes),
        };
        // A chassis has up to 16 cards, and each card is a source.
        let share = Usage {
            sources: (limit.sources / 4).max(16),
            template_bytes: (limit.template_bytes / 4).max(template_bytes),
        };
        Self {
            newcomers: table(options.sources),
            known: table(known),
            counts: FlowCounts::default(),
            usage: Usage::default(),
            limit,
            share,
        }
    }

    /// Returns an upper bound on the memory of all exporters, in bytes.
    pub(crate) fn most_bytes(&self, options: &DecoderOptions) -> usize {
        let source = size_of::<(source::Key, Source)>() + ENTRY_BYTES;
        let held = 2 * options.held_bytes;
        let exporter = size_of::<(Key, Entry)>() + ENTRY_BYTES + Exporter::most_bytes(options);
        // The two ends of a table of sources each take as much memory as a source. A datagram may add one source before
        // others are dropped.
        let exporters = options.sources * (exporter + 2 * source);
        exporters + (options.sources + 1) * (source + held) + self.limit.template_bytes
    }

    /// Returns the exporter of a datagram, and whether it is a newcomer. An exporter in neither table is added
    /// as a newcomer.
    pub(crate) fn hear(&mut self, key: Key, options: &DecoderOptions) -> (&mut Entry, bool) {
        let Self { newcomers, known, counts, usage, limit, .. } = self;
        let is_full = known.len() + newcomers.len() >= limit.sources;
        if let Some(entry) = known.get_mut(&key) {
            return (entry, false);
        }
        if is_full && !newcomers.contains(&key) {
            forget(newcomers.pop_lru(), counts, usage);
        }
        (newcomers.get_or_insert_mut(key, || Entry::new(options)), true)
    }

    /// Makes an exporter known and returns its entry. This is called when the exporter sends its first record, or when
    /// its saved state is loaded.
    pub(crate) fn promote(&mut self, key: Key, options: &DecoderOptions) -> &mut Entry {
        if !self.known.contains(&key) {
            let entry = self.newcomers.pop(&key).unwrap_or_else(|| Entry::new(options));
            let gone = self.known.push(key, entry);
            forget(gone, &mut self.counts, &mut self.usage);
            if self.known.len() + self.newcomers.len() > self.limit.sources {
                forget(self.newcomers.pop_lru(), &mut self.counts, &mut self.usage);
            }
        }
        self.hear(key, options).0
    }

    /// Updates the usage after a datagram. While the usage exceeds a limit, drops newcomers, sources or templates.
    pub(crate) fn follow(&mut self, key: Key, before: Usage, after: Usage) {
        if before == after {
            return;
        }
        self.usage.change(before, after);
        while self.get(&key).is_some_and(|entry| entry.usage().exceeds(self.share)) {
            self.shed(key);
        }
        while self.usage.exceeds(self.limit) {
            // The last newcomer in this order is the exporter itself, which is kept.
            if self.newcomers.peek_lru().is_some_and(|(newcomer, _)| *newcomer != key) {
                forget(self.newcomers.pop_lru(), &mut self.counts, &mut self.usage);
            } else {
                self.shed(self.greedy(key));
            }
        }
    }

    /// Returns `key` if this exporter uses more than its fair share. Otherwise, returns the least recently seen known
    /// exporter that uses more than its fair share, or `key` if there is none.
    fn greedy(&self, key: Key) -> Key {
        let exporters = self.known.len() + self.newcomers.len();
        let fair = Usage {
            sources: self.limit.sources / exporters,
            template_bytes: self.limit.template_bytes / exporters,
        };
        let is_greedy = |entry: &Entry| entry.usage().exceeds(fair);
        if self.get(&key).is_some_and(is_greedy) {
            return key;
        }
        let mut known = self.known.iter().rev();
        known.find(|(_, entry)| is_greedy(entry)).map_or(key, |(greedy, _)| *greedy)
    }

    /// Drops the sources of a session, and counts the sets that still wait for their templates.
    pub(crate) fn end(&mut self, session: Session, key: Key) {
        let entry = self.known.peek_mut(&key).or_else(|| self.newcomers.peek_mut(&key));
        let Some(entry) = entry else { return };
        let before = entry.usage();
        let keys = entry.sources.iter().map(|(key, _)| *key);
        let ended: Vec<_> = keys.filter(|key| key.session == Some(session)).collect();
        for source in ended.iter().filter_map(|key| entry.sources.pop(key)) {
            entry.template_bytes -= source.template_bytes;
            for _ in 0..source.backlog().map_or(0, |backlog| backlog.sets) {
                entry.exporter.counts.add(Reason::Dropped);
                self.counts.add(Reason::Dropped);
            }
        }
        self.usage.change(before, entry.usage());
    }

    fn shed(&mut self, key: Key) {
        let entry = self.known.peek_mut(&key).or_else(|| self.newcomers.peek_mut(&key));
        let Some(entry) = entry else { return };
        let before = entry.usage();
        self.counts.add(entry.shed());
        self.usage.change(before, entry.usage());
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Entry> {
        self.known.peek(key).or_else(|| self.newcomers.peek(key))
    }

    /// Returns all exporters: first the newcomers, then the known exporters. Each group starts with the least recently
    /// seen exporter.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.newcomers.iter().rev().chain(self.known.iter().rev())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Exporter> {
        let entries = self.newcomers.iter_mut().chain(self.known.iter_mut());
        entries.map(|(_, entry)| &mut entry.exporter)
    }
}

/// Counts a dropped exporter and each of its sources, and subtracts them from the usage.
fn forget(gone: Option<(Key, Entry)>, counts: &mut FlowCounts, usage: &mut Usage) {
    let Some((_, entry)) = gone else { return };
    usage.change(entry.usage(), Usage::default());
    (0..=entry.sources.len()).for_each(|_| counts.add(Reason::SourceGone));
}
