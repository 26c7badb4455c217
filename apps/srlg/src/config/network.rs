//! The network description that a configuration defines.

use srlg_host::Config as Sizes;

use crate::config::{Config, Task};
use crate::network::options::NetworkOptions;
use crate::network::{Network, NetworkView, setup};

impl Network {
    /// Creates the network description that `config` defines. Its detectors use `seed`.
    #[must_use]
    pub fn of(config: &Config, seed: u64) -> Self {
        let views = config.views.iter().map(|view| NetworkView {
            name: view.name.clone(),
            view: view.view.clone(),
            allows: view
                .rules
                .allows()
                .iter()
                .filter(|allow| allow.is_of_contacts())
                .cloned()
                .collect(),
            sizes: Sizes { seed, ..view.sizes },
        });
        let most_pairs = match &config.task {
            Task::Collector(options) => options.most_pairs,
            _ => NetworkOptions::default().most_pairs,
        };
        Self {
            slice_ms: config.general.slice.as_millis() as u64,
            grace_ms: config.general.grace.as_millis() as u64,
            part_bytes: setup::PART_BYTES,
            most_pairs,
            views: views.collect(),
        }
    }

    /// Returns whether `config` still defines this network description. If it does not, probes need a new version of
    /// the description.
    #[must_use]
    pub fn is_of(&self, config: &Config) -> bool {
        Self::of(config, self.seed()) == *self
    }
}
