//! Which endpoints of a contact are measured, and against whom.

use ipnet::Ipv4Net;
use srlg::IpPair;
use srlg_capture::Contact;

use crate::args::{Args, Role};

/// The measured networks and the direction that counts.
pub struct Measured {
    /// Network and mask of each.
    networks: Vec<(u32, u32)>,
    role: Role,
}

impl Measured {
    pub fn new(args: &Args) -> Self {
        let all = [Ipv4Net::default()];
        let networks = if args.inside.is_empty() { &all[..] } else { &args.inside };
        let bits = |network: &Ipv4Net| (network.network().to_bits(), network.netmask().to_bits());
        Self { networks: networks.iter().map(bits).collect(), role: args.role }
    }

    /// The pairs of a contact: none, one or, with both endpoints inside, two. A host that
    /// talks to itself has no opposite host.
    pub fn pairs(&self, contact: Contact) -> impl Iterator<Item = IpPair> + use<> {
        let Contact { source, destination, .. } = contact;
        let counts = |host, role| {
            source != destination
                && (self.role == Role::Any || self.role == role)
                && self.is_inside(host)
        };
        let sent = counts(source, Role::Source).then_some(IpPair { aip: source, bip: destination });
        let received = counts(destination, Role::Destination)
            .then_some(IpPair { aip: destination, bip: source });
        sent.into_iter().chain(received)
    }

    fn is_inside(&self, host: u32) -> bool {
        self.networks.iter().any(|&(network, mask)| host & mask == network)
    }
}
