//! Bytes of the standard library's hash tables.
//!
//! Shape: [`table_bytes`], from a capacity to bytes. Invariant: that of hashbrown's
//! layout, which `rustc-hash` maps have too: a power of two of places, at most 7/8 of
//! them full, one control byte each, and 16 more that end the last group.

/// Bytes of the table of a hash map of `capacity` whose entries are `Entry`s.
pub(crate) const fn table_bytes<Entry>(capacity: usize) -> usize {
    let places = match capacity {
        0 => return 0,
        1..4 => 4,
        4..8 => 8,
        _ => (capacity * 8 / 7).next_power_of_two(),
    };
    places * (size_of::<Entry>() + 1) + 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_hash::FxHashMap;

    #[test]
    fn capacities_that_maps_report_are_7_of_8_places() {
        assert_eq!(table_bytes::<u32>(FxHashMap::<u32, ()>::default().capacity()), 0);
        for entries in 1..3000 {
            let map: FxHashMap<u32, ()> = (0..entries).map(|key| (key, ())).collect();
            let places = (table_bytes::<u32>(map.capacity()) - 16) / 5;
            assert!(places.is_power_of_two());
            // Tables of fewer than eight places keep one free instead of an eighth.
            assert_eq!(map.capacity(), if places < 8 { places - 1 } else { places / 8 * 7 });
        }
    }
}
