//! Ports of transport protocols, such as `tcp/443`.

use std::fmt;
use std::str::FromStr;

use crate::contact::TCP;

/// Numbers and names of the protocols that have ports.
const PROTOCOLS: [(u8, &str); 5] =
    [(TCP, "tcp"), (17, "udp"), (33, "dccp"), (132, "sctp"), (136, "udplite")];

/// A port of a transport protocol, such as `tcp/443`.
///
/// ```
/// use srlg_input::contact::Port;
///
/// let port: Port = "tcp/443".parse()?;
/// assert_eq!((port.protocol, port.number), (6, 443));
/// assert_eq!(port.to_string(), "tcp/443");
/// # Ok::<(), srlg_input::contact::BadPort>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "String", try_from = "String")
)]
pub struct Port {
    /// IP protocol (IANA number).
    pub protocol: u8,
    /// Port number.
    pub number: u16,
}

/// A text that is not a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse port {text:?}; use a protocol and a number, such as tcp/443")]
pub struct BadPort {
    /// The text.
    pub text: String,
}

impl Port {
    /// Returns whether `protocol` has ports.
    #[must_use]
    pub fn is_in(protocol: u8) -> bool {
        PROTOCOLS.iter().any(|(number, _)| *number == protocol)
    }

    /// Returns the port as 24 bits: the protocol in the upper 8 bits and the number in the lower 16 bits.
    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        (self.protocol as u32) << 16 | self.number as u32
    }

    /// Converts [`bits`](Self::bits) back to a port. The upper 8 of the 32 bits are ignored.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self { protocol: (bits >> 16) as u8, number: bits as u16 }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, number } = self;
        match PROTOCOLS.iter().find(|(of, _)| of == protocol) {
            Some((_, name)) => write!(f, "{name}/{number}"),
            None => write!(f, "{protocol}/{number}"),
        }
    }
}

impl FromStr for Port {
    type Err = BadPort;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (protocol, number) = text.split_once('/')?;
            let known = PROTOCOLS.iter().find(|(_, name)| *name == protocol);
            let protocol = known.map_or_else(|| protocol.parse().ok(), |(of, _)| Some(*of))?;
            Some(Self { protocol, number: number.parse().ok()? })
        };
        parse().ok_or_else(|| BadPort { text: text.to_owned() })
    }
}

impl TryFrom<String> for Port {
    type Error = BadPort;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Port> for String {
    fn from(port: Port) -> Self {
        port.to_string()
    }
}
