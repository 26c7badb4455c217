//! The kernel that recovers host addresses from pairs of hot columns.

use crate::{Body, Grid, Regain, Slices, add, complete};
use srlg_core::finder::regain::{HighTable, candidates, is_searchable};

impl Body for Regain<Slices<'_>> {
    #[inline(always)]
    fn run(&self, grid: Grid) {
        let table = HighTable::new(&self.params, [self.starts, self.highs, self.present]);
        let bases = complete(self.bases, self.base_count[0]);
        let partners = complete(self.partners, self.partner_count[0]);
        // The host launches this kernel before it knows the number of hot columns.
        if !is_searchable(&self.params, [bases.len() as u32, partners.len() as u32]) {
            return;
        }
        for base in grid.of_blocks(bases.len()) {
            for partner in grid.of_threads(partners.len()) {
                let pair = [bases[base], partners[partner]];
                candidates(&self.params, table, self.masks, pair, self.weight)
                    .for_each(|host| add(self.hosts, &self.found[0], host));
            }
        }
    }
}
