//! Protocols whose servers are abused for reflections.

/// Port to which forged replies go that look like replies to a client.
pub(super) const CLIENT_PORT: u16 = 40_000;

/// Protocol of servers that answer small forged requests with large replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflector {
    /// DNS resolvers.
    Dns,
    /// NTP servers.
    Ntp,
    /// Connectionless LDAP of domain controllers.
    Cldap,
    /// Memcached servers.
    Memcached,
    /// UPnP devices.
    Ssdp,
    /// Character generators of printers and old systems.
    Chargen,
}

impl Reflector {
    /// Returns the port of the servers.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Dns => 53,
            Self::Ntp => 123,
            Self::Cldap => 389,
            Self::Memcached => 11_211,
            Self::Ssdp => 1_900,
            Self::Chargen => 19,
        }
    }

    /// Returns the port from which the forged requests come, so that the replies go to it: that of a web server, or
    /// that of a client.
    pub(super) const fn port_of_requests(self) -> u16 {
        match self {
            Self::Ntp | Self::Memcached => 80,
            Self::Dns | Self::Cldap | Self::Ssdp | Self::Chargen => CLIENT_PORT,
        }
    }

    /// Returns the usual name of the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Ntp => "ntp",
            Self::Cldap => "cldap",
            Self::Memcached => "memcached",
            Self::Ssdp => "ssdp",
            Self::Chargen => "chargen",
        }
    }

    /// Returns the usual length of a packet of a reply, in bytes.
    pub(super) const fn octets(self) -> u64 {
        match self {
            Self::Dns | Self::Cldap => 1_500,
            Self::Ntp => 468,
            Self::Memcached => 1_428,
            Self::Ssdp => 340,
            Self::Chargen => 1_050,
        }
    }
}
