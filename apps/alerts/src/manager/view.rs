//! A view of the program: its hosts and peers, the sizes of its detector and its rules.

use srlg_input::ViewOptions;
use srlg_input::contact::{ContactFilter, PeerKey, Role};

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

/// Returns whether `other` counts the hosts of `view` in the opposite direction. Only views of addresses have opposite
/// views, because the ports that a host contacts say nothing about the ports on which it is contacted.
#[must_use]
pub fn counts_opposite(view: &ViewOptions, other: &ViewOptions) -> bool {
    let role = match view.role {
        Role::Destination => Role::Source,
        Role::Source => Role::Destination,
        Role::Any => return false,
    };
    let is_same =
        (other.role, other.measure, other.prefixes) == (role, view.measure, view.prefixes);
    // Replies to replies do not exist.
    let are_replies = [view, other].iter().all(|it| it.only == ContactFilter::Replies);
    is_same && !are_replies && is_of_addresses(view) && is_of_addresses(other)
}

/// Returns whether the hosts and peers of `view` are addresses or networks, without ports.
#[must_use]
pub fn is_of_addresses(view: &ViewOptions) -> bool {
    [view.hosts(), view.peers()].iter().all(|packing| packing.key() == PeerKey::Address)
}
