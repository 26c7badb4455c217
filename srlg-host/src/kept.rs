//! [`KeptHosts`]: the super points of the last report, which stay candidates.

use std::net::{IpAddr, Ipv6Addr};

use srlg_core::{MOST_CANDIDATES, Params};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use crate::error::{FormatError, wrong};

/// The bytes of an address. An IPv4 address is stored as an IPv4-mapped IPv6 address.
type Bytes = [u8; 16];

/// The kept hosts of a snapshot: distinct hosts in ascending order, IPv4 hosts first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptHosts(Vec<IpAddr>);

impl KeptHosts {
    pub(crate) fn new(mut hosts: Vec<IpAddr>) -> Self {
        hosts.sort_unstable();
        hosts.dedup();
        Self(hosts)
    }

    /// Returns the union of these hosts and `others`.
    pub(crate) fn united(&self, others: &[IpAddr]) -> Self {
        Self::new([&self.0, others].concat())
    }

    /// Returns the hosts that have the smallest hashes, at most as many as the candidate limit, in the order of their
    /// hashes.
    ///
    /// Selecting by hash makes the result of several unions independent of their order.
    pub(crate) fn first(&self, params: &Params) -> Vec<IpAddr> {
        let mut hosts = self.0.clone();
        hosts.sort_by_cached_key(|&host| (params.host_order(host), host));
        hosts.truncate(params.candidate_limit() as usize);
        hosts
    }

    /// Appends the number of hosts, and 16 bytes for each host, to the body of a snapshot.
    pub(crate) fn write(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(U32::new(self.0.len() as u32).as_bytes());
        self.0.iter().for_each(|&host| body.extend_from_slice(&mapped(host)));
    }

    /// Reads the hosts from `rest`, the end of a snapshot's body, for a detector with `params`.
    ///
    /// There may be more hosts than the detector's candidate limit, because the detector that wrote the snapshot may
    /// have a higher limit.
    pub(crate) fn read(rest: &[u8], params: &Params) -> Result<Self, FormatError> {
        let Ok((count, rest)) = U32::read_from_prefix(rest) else {
            return Err(wrong("the snapshot ends before the hosts of its last report"));
        };
        if count.get() > MOST_CANDIDATES || rest.len() != count.get() as usize * size_of::<Bytes>()
        {
            return Err(wrong("the number of hosts in the snapshot is wrong"));
        }
        let mut hosts = Vec::with_capacity(count.get() as usize);
        for bytes in rest.as_chunks().0 {
            hosts.push(Ipv6Addr::from(*bytes).to_canonical());
        }
        if !hosts.is_sorted_by(|a, b| a < b) {
            return Err(wrong("the hosts in the snapshot are not in ascending order"));
        }
        // Only the last host needs a check, because IPv6 hosts come last.
        match hosts.last() {
            Some(&IpAddr::V6(host)) if params.finder().cells().is_none() => {
                Err(FormatError::Ipv6InPaper { host })
            }
            _ => Ok(Self(hosts)),
        }
    }
}

/// Maximum number of bytes that [`KeptHosts::write`] appends.
pub(crate) const MOST_BYTES: usize =
    size_of::<U32>() + MOST_CANDIDATES as usize * size_of::<Bytes>();

fn mapped(host: IpAddr) -> Bytes {
    match host {
        IpAddr::V4(host) => host.to_ipv6_mapped().octets(),
        IpAddr::V6(host) => host.octets(),
    }
}
