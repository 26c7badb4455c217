//! A view of the program: its hosts and peers, the sizes of its detector and its rules.

use srlg_input::ViewOptions;

use crate::rules::Rules;

/// A view with its rules.
#[derive(Clone, Debug)]
pub struct ViewConfig {
    /// Name of the view.
    pub name: String,
    /// Definition of the hosts, the peers and the contacts that count.
    pub view: ViewOptions,
    /// Configured number of distinct pairs in the longest window. The detector is sized for this number.
    pub pairs: Option<u64>,
    /// Configured memory limit of the detector, in bytes.
    pub memory: Option<usize>,
    /// Sizes of the detector, with seed 0.
    pub sizes: srlg_host::Config,
    /// Rules and allow lists of the view.
    pub rules: Rules,
}
