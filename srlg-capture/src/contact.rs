//! What a packet comes to: a [`Contact`], or the reason why it is none.

use std::net::IpAddr;

use crate::counts::Skip;
use crate::host::Host;

/// Tells when one packet went from one host to another.
///
/// The two hosts may be of different families, which only a contact list can say.
///
/// ```
/// use srlg_capture::Contact;
///
/// let contact = Contact::new(0, "::ffff:192.0.2.1".parse()?, "2001:db8::1".parse()?);
/// assert_eq!(contact.source.to_string(), "192.0.2.1");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Contact {
    /// Nanoseconds since the Unix epoch (for CSV: since whatever its time column counts from).
    pub time_ns: u64,
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
}

impl Contact {
    /// Makes the contact of `source` with `destination` at `time_ns`.
    ///
    /// A host is the same host however it is spelt: an IPv4-mapped address (`::ffff:0:0/96`)
    /// becomes the IPv4 address in it. No other address is changed: the IPv4 address in one of
    /// Teredo, 6to4 or NAT64 is that of a NAT, a router, or of the host behind the translator.
    #[must_use]
    pub fn new(time_ns: u64, source: IpAddr, destination: IpAddr) -> Self {
        let hosts = (source.into(), destination.into());
        Seen { time_ns, hosts }.into()
    }
}

/// A contact as decoders hand it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) time_ns: u64,
    /// Sender and receiver.
    pub(crate) hosts: (Host, Host),
}

impl From<Seen> for Contact {
    #[inline]
    fn from(seen: Seen) -> Self {
        let Seen { time_ns, hosts: (source, destination) } = seen;
        Self { time_ns, source: source.into(), destination: destination.into() }
    }
}

/// Outcome of one packet.
pub(crate) type Packet = Result<Seen, Skip>;

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::Contact;

    fn source(text: &str) -> String {
        Contact::new(0, text.parse().unwrap(), IpAddr::from([0; 4])).source.to_string()
    }

    #[test]
    fn only_ipv4_mapped_addresses_are_spelt_anew() {
        for (spelt, host) in [
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::ffff:0:0", "0.0.0.0"),
            ("::ffff:ffff:ffff", "255.255.255.255"),
        ] {
            assert_eq!(source(spelt), host);
        }
        for host in [
            "0.0.0.0",
            "192.0.2.1",
            "::",
            "::1",
            "2001:db8::ffff:c000:201",
            "::fffe:c000:201",
            "::1:0:0:0",
            "::1:0:ffff:c000:201",
            // IPv4-translated, IPv4-compatible, NAT64, Teredo, 6to4.
            "::ffff:0:c000:201",
            "::c000:201",
            "64:ff9b::c000:201",
            "2001:0:c000:201:0:3f57:3fff:fdfe",
            "2002:c000:201::1",
        ] {
            assert_eq!(source(host), host);
        }
    }
}
