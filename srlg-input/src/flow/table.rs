//! A map that holds no more than so many entries: beyond, the least recent goes.

use std::hash::Hash;

use lru::LruCache;

/// The map. It grows with its entries, as most tables stay almost empty.
#[derive(Debug)]
pub(crate) struct Table<K: Hash + Eq, V> {
    entries: LruCache<K, V>,
    most: usize,
}

/// Bytes that a table takes for an entry besides key and value: two links, and a slot of the hash
/// table, which is up to 16/7 as large as what it holds.
pub(crate) const ENTRY_BYTES: usize = 64;

impl<K: Hash + Eq, V> Table<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self { entries: LruCache::unbounded(), most }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Puts `value` in, as the most recent; returns what was there, and what went for it.
    pub(crate) fn put(&mut self, key: K, value: V) -> (Option<V>, Option<V>) {
        let before = self.entries.put(key, value);
        let gone = if self.entries.len() > self.most { self.pop() } else { None };
        (before, gone)
    }

    /// The value of `key`, now the most recent.
    pub(crate) fn get(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    pub(crate) fn peek(&self, key: &K) -> Option<&V> {
        self.entries.peek(key)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.pop(key)
    }

    /// Takes the least recent out.
    pub(crate) fn pop(&mut self) -> Option<V> {
        self.entries.pop_lru().map(|(_, value)| value)
    }

    /// All entries, the least recent first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().rev()
    }
}
