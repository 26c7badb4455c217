//! A parser that finds the headers of a packet inside a tunnel.
//!
//! Invariant: a packet that is not in a known tunnel is treated as an ordinary packet. If a packet is in a known tunnel
//! but its inner headers cannot be found, a [`Skip`] states the reason. Only a packet whose end was not captured is cut.

mod gre;
mod udp;

use std::num::NonZeroU64;

use crate::options::Tunnels;
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

/// The innermost packet that can be read in the tunnels of another packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Innermost<'a> {
    /// Headers of the packet, or `None` if no packet in a tunnel can be read.
    pub headers: Option<Headers<'a>>,
    /// Reason why a further tunnel was not entered: [`Skip::CutTunnel`], [`Skip::TunnelFragment`],
    /// [`Skip::TunnelContent`] or [`Skip::DeepTunnel`].
    pub obstacle: Option<Skip>,
}

/// The hosts that count for a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    /// Whether the hosts of the outermost packet count.
    pub(crate) is_outer: bool,
    /// The packet in a tunnel whose hosts count.
    pub(crate) inner: Option<Headers<'a>>,
    /// Reason why a tunnel was not entered.
    pub(crate) obstacle: Option<Skip>,
}

impl Tunnels {
    /// Chooses the hosts that count for the packet with `headers`.
    pub(crate) fn choose(self, headers: Headers<'_>) -> Choice<'_> {
        let Innermost { headers: inner, obstacle } = match self {
            Self::Outer => Innermost { headers: None, obstacle: None },
            Self::Inner | Self::Both => headers.innermost(),
        };
        // The inner hosts exist, but are unknown. Those of a fragment count with the first fragment. In all other cases,
        // the innermost packet that can be read is the only one that is known to have been sent.
        let is_hidden = matches!(obstacle, Some(Skip::CutTunnel | Skip::TunnelFragment));
        let inner = inner.filter(|_| !is_hidden);
        let is_outer = self != Self::Inner || (inner.is_none() && !is_hidden);
        Choice { is_outer, inner, obstacle }
    }
}

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
        inner.or_else(|reason| match (reason, segment.protocol) {
            (Skip::CutHeader, _) if !self.is_whole() => Err(Skip::CutTunnel),
            // The port alone does not prove a tunnel, because a scanner may probe it.
            (_, UDP) => Ok(None),
            _ => Err(Skip::TunnelContent),
        })
    }

    /// Returns whether all bytes of the packet were captured. The end of a packet without a length is unknown.
    fn is_whole(&self) -> bool {
        self.octets().is_some_and(|octets| octets.get() <= self.packet.len() as u64)
    }

    /// Returns the innermost packet that can be read, inside up to [`MOST_TUNNELS`] tunnels.
    pub fn innermost(&self) -> Innermost<'a> {
        let mut innermost = Innermost { headers: None, obstacle: None };
        for tunnels in 0..=MOST_TUNNELS {
            match innermost.headers.unwrap_or(*self).inner() {
                Ok(Some(inner)) if tunnels < MOST_TUNNELS => {
                    innermost.headers = Some(inner);
                    continue;
                }
                Ok(inner) => innermost.obstacle = inner.map(|_| Skip::DeepTunnel),
                Err(reason) => innermost.obstacle = Some(reason),
            }
            break;
        }
        innermost
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
