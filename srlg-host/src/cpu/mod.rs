//! The CPU backend: recorders in this process, touched by the threads that ingest.

#[cfg(test)]
mod model_tests;
mod pages;
mod search;

use srlg_core::{
    Address, Age16, IpPair, Params, Reading, Recorder, Rsra, Slea, Tally, count_within,
};

use crate::backend::{Backend, Survey};
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
}

/// Per row of the SLEA, how many recorders are within the window.
fn linear_weights<R: Reading>(params: &Params, slea: Slea<'_, R>, window: u32) -> Vec<u32> {
    (0..params.linear_rows()).map(|row| count_within(slea.row(row), window)).collect()
}

impl Backend for CpuBackend {
    fn scan(&self, pairs: &[IpPair], late: u32) -> Result<(), Error> {
        let rsra = Rsra::new(&self.params, self.rough.shared());
        let slea = Slea::new(&self.params, self.linear.shared());
        for &pair in pairs {
            rsra.touch(pair, late);
            slea.touch(pair, late);
        }
        Ok(())
    }

    fn survey(&mut self, window: u32) -> Result<Survey, Error> {
        let rsra = Rsra::new(&self.params, self.rough.frozen());
        let rough_weights = self.search.survey(rsra.masks(window));
        let slea = Slea::new(&self.params, self.linear.frozen());
        Ok(Survey { rough_weights, linear_weights: linear_weights(&self.params, slea, window) })
    }

    fn regain(&mut self, weight: u32, limit: u32) -> Result<Option<Vec<Address>>, Error> {
        Ok(self.search.hosts(&self.params, weight, limit))
    }

    fn tally(&mut self, hosts: &[Address], window: u32) -> Result<Vec<Tally>, Error> {
        let slea = Slea::new(&self.params, self.linear.frozen());
        Ok(hosts.iter().map(|&host| slea.tally(host, window)).collect())
    }

    fn query(&self, host: Address, window: u32) -> Result<(Tally, Vec<u32>), Error> {
        let slea = Slea::new(&self.params, self.linear.shared());
        Ok((slea.tally(host, window), linear_weights(&self.params, slea, window)))
    }

    fn age(&mut self, slices: u32) -> Result<(), Error> {
        self.rough.grow(slices);
        self.linear.grow(slices);
        Ok(())
    }

    fn export(&self) -> Result<(Vec<u16>, Vec<u16>), Error> {
        let words = |pages: &Pages| pages.shared().iter().map(Reading::word).collect();
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
