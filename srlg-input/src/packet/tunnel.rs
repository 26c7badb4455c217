//! A parser that finds the headers of a packet inside a tunnel.
//!
//! Invariant: a packet that is not in a known tunnel is treated as an ordinary packet. If a packet is in a known tunnel
//! but its inner headers cannot be found, a [`Skip`] states the reason.

mod gre;
mod udp;

use std::num::NonZeroU64;

use crate::packet::Skip;
use crate::packet::ether_type;
use crate::packet::frame::walk;
use crate::packet::ip::{self, Headers};
use crate::packet::layer::Layer;
use crate::packet::transport::UDP;

/// Maximum number of nested tunnels that are entered.
pub const MOST_TUNNELS: usize = 4;

/// IP protocol numbers of tunnels: IPv4 in IP, IPv6 in IP, GRE, and MPLS in IP.
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const MPLS: u8 = 137;

impl<'a> Headers<'a> {
    /// Returns the headers of the inner packet, if this packet belongs to a known tunnel: IP in IP, GRE, MPLS, VXLAN,
    /// Geneve or GTP-U.
    ///
    /// For ordinary packets, this function returns `None`. Ordinary packets include packets of unknown tunnels,
    /// encrypted packets, later fragments of UDP datagrams, and datagrams to tunnel ports that do not carry an IP
    /// packet.
    ///
    /// # Errors
    /// Returns [`Skip::CutTunnel`], [`Skip::TunnelFragment`] or [`Skip::TunnelContent`] if the inner headers cannot be
    /// found.
    pub fn inner(&self) -> Result<Option<Self>, Skip> {
        let Some(segment) = self.segment() else { return Ok(None) };
        let inner = match segment.protocol {
            IPV4 | IPV6 | GRE | MPLS if segment.is_later_fragment => {
                return Err(Skip::TunnelFragment);
            }
            IPV4 => ip::ipv4(segment.bytes).map(Some),
            IPV6 => ip::ipv6(segment.bytes).map(Some),
            GRE => gre::inner(segment.bytes),
            MPLS => walk(Layer::Typed(ether_type::MPLS, segment.bytes)).map(Some),
            UDP => udp::inner(&segment),
            _ => Ok(None),
        };
        inner.map_err(|reason| match reason {
            Skip::CutHeader => Skip::CutTunnel,
            _ => Skip::TunnelContent,
        })
    }

    /// Returns the headers of the innermost packet, inside up to [`MOST_TUNNELS`] tunnels. Returns `None` if this
    /// packet does not carry a packet through a known tunnel.
    ///
    /// # Errors
    /// Returns the errors of [`inner`](Self::inner), and [`Skip::DeepTunnel`] if there are more than [`MOST_TUNNELS`]
    /// tunnels.
    pub fn innermost(&self) -> Result<Option<Self>, Skip> {
        let mut innermost = None;
        for _ in 0..MOST_TUNNELS {
            match innermost.unwrap_or(*self).inner()? {
                Some(inner) => innermost = Some(inner),
                None => return Ok(innermost),
            }
        }
        match innermost.unwrap_or(*self).inner() {
            Ok(None) => Ok(innermost),
            _ => Err(Skip::DeepTunnel),
        }
    }

    /// Returns the length of the packet `inner`, whose header states none, in the tunnels of this packet. The packet ends
    /// where the packet around it ends. The last `uncaptured` bytes of the frame were not captured.
    #[cold]
    pub(crate) fn rest_of_inner(self, inner: Self, mut uncaptured: u32) -> Option<NonZeroU64> {
        let mut around = self;
        // Each tunnel header makes the rest of the frame shorter.
        while around.packet.len() > inner.packet.len() {
            uncaptured = around.uncaptured_in_frame(uncaptured);
            around = around.inner().ok()??;
        }
        inner.octets_in_frame(uncaptured)
    }
}

/// Returns bytes 2 and 3 of a header: an EtherType or a destination port.
fn protocol<const N: usize>(header: &[u8; N]) -> u16 {
    u16::from_be_bytes([header[2], header[3]])
}
