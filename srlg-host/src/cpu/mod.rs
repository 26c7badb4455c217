//! The CPU backend: recorders in this process, touched by the threads that ingest.

#[cfg(test)]
mod model_tests;
mod pages;
mod search;

use srlg_core::{Address, Age16, IpPair, Params, Recorder, Rsra, Slea, Tally};

use crate::backend::{Backend, Survey, WEIGHTS};
use crate::error::Error;
use crate::state::State;
use pages::Pages;
use search::Search;

/// Both arrays and the search structure of one detector.
pub(crate) struct CpuBackend {
    params: Params,
    rough: Pages,
    linear: Pages,
    search: Search,
}

impl CpuBackend {
    /// Allocates the arrays of `params`, untouched.
    pub(crate) fn new(params: Params) -> Result<Self, Error> {
        Ok(Self {
            params,
            rough: Pages::new(params.rough_recorders())?,
            linear: Pages::new(params.linear_recorders())?,
            search: Search::new(&params),
        })
    }

    fn rsra(&self) -> Rsra<'_, Age16> {
        Rsra::new(&self.params, self.rough.shared())
    }

    fn slea(&self) -> Slea<'_, Age16> {
        Slea::new(&self.params, self.linear.shared())
    }
}

impl Backend for CpuBackend {
    fn scan(&self, pairs: &[IpPair], late: u32) -> Result<(), Error> {
        let (rsra, slea) = (self.rsra(), self.slea());
        for &pair in pairs {
            rsra.touch(pair, late);
            slea.touch(pair, late);
        }
        Ok(())
    }

    fn survey(&mut self, window: u32) -> Result<Survey, Error> {
        let rsra = Rsra::new(&self.params, self.rough.shared());
        let mut rough_weights = vec![[0; WEIGHTS]; self.params.rough_rows() as usize];
        for (row, weights) in (0..).zip(&mut rough_weights) {
            for (column, mask) in (0..).zip(self.search.masks_of_row(row)) {
                *mask = rsra.mask(row, column, window);
                weights[mask.count_ones() as usize] += 1;
            }
        }
        Ok(Survey { rough_weights, linear_weights: self.linear_weights(window)? })
    }

    fn regain(&mut self, weight: u32, limit: u32) -> Result<Option<Vec<Address>>, Error> {
        Ok(self.search.hosts(&self.params, weight, limit))
    }

    fn linear_weights(&self, window: u32) -> Result<Vec<u32>, Error> {
        let in_window = |recorders: &[Age16]| {
            recorders.iter().map(|recorder| u32::from(recorder.within(window))).sum()
        };
        Ok((0..self.params.linear_rows()).map(|row| in_window(self.slea().row(row))).collect())
    }

    fn tally(&self, hosts: &[Address], window: u32) -> Result<Vec<Tally>, Error> {
        let slea = self.slea();
        Ok(hosts.iter().map(|&host| slea.tally(host, window)).collect())
    }

    fn age(&mut self, slices: u32) -> Result<(), Error> {
        self.rough.grow(slices);
        self.linear.grow(slices);
        Ok(())
    }

    fn export(&self) -> Result<(Vec<u16>, Vec<u16>), Error> {
        let words = |pages: &Pages| pages.shared().iter().map(Recorder::word).collect();
        Ok((words(&self.rough), words(&self.linear)))
    }

    fn merge(&mut self, state: &State, late: u32) -> Result<(), Error> {
        for (pages, words) in [(&self.rough, &state.rough), (&self.linear, &state.linear)] {
            for (recorder, &word) in pages.shared().iter().zip(words) {
                recorder.most_recent(Age16::grown(word, late));
            }
        }
        Ok(())
    }
}
