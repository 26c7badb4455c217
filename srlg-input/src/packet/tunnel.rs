//! A parser that finds the headers of a packet inside a tunnel.
//!
//! Invariant: a packet that is not in a known tunnel is treated as an ordinary packet. If a packet is in a known tunnel
//! but its inner headers cannot be found, a [`Skip`] states the reason. Only a packet whose end was not captured is cut.

mod gre;
mod gtp;
mod l2tp;
mod multicast;
mod nat;
mod overlay;
mod protocol;
mod udp;
mod wireless;

use std::num::NonZeroU64;

use crate::options::Tunnels;
use crate::packet::Skip;
use crate::packet::ip::{self, Headers};
use crate::packet::transport::{Segment, UDP, UDP_LITE};

/// Maximum number of nested tunnels that are entered.
pub const MOST_TUNNELS: usize = 4;

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

impl Choice<'_> {
    /// The choice for a packet that is not in a tunnel.
    pub(crate) const OUTER: Self = Self { is_outer: true, inner: None, obstacle: None };
}

impl Tunnels {
    /// Chooses the hosts that count for the packet with `headers`.
    #[inline(always)]
    pub(crate) fn choose(self, headers: Headers<'_>) -> Choice<'_> {
        if self == Self::Outer { Choice::OUTER } else { self.choose_innermost(headers) }
    }

    /// Chooses the hosts that count if those in tunnels do. This is a function of its own, because it would slow down the
    /// code around it, which mostly handles the outermost packets only.
    #[inline(never)]
    fn choose_innermost(self, headers: Headers<'_>) -> Choice<'_> {
        let Innermost { headers: inner, obstacle } = headers.innermost();
        // The inner hosts exist, but are unknown. Those of a fragment count with the first fragment. In all other cases,
        // the innermost packet that can be read is the only one that is known to have been sent.
        let is_hidden = matches!(obstacle, Some(Skip::CutTunnel | Skip::TunnelFragment));
        let inner = inner.filter(|_| !is_hidden);
        let is_outer = self != Self::Inner || (inner.is_none() && !is_hidden);
        Choice { is_outer, inner, obstacle }
    }
}

impl<'a> Headers<'a> {
    /// Returns the headers of the inner packet, if this packet belongs to a known tunnel.
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
        let is_udp = matches!(segment.protocol, UDP | UDP_LITE);
        let inner = match protocol::parser(segment.protocol) {
            Some(_) if segment.is_later_fragment => return Err(Skip::TunnelFragment),
            Some(parse) => parse(self.payload(&segment)),
            None if is_udp => udp::inner(segment.bytes),
            None => return Ok(None),
        };
        inner.or_else(|reason| match reason {
            Skip::CutHeader if !self.is_whole() => Err(Skip::CutTunnel),
            // The port alone does not prove a tunnel, because a scanner may probe it.
            _ if is_udp => Ok(None),
            _ => Err(Skip::TunnelContent),
        })
    }

    /// Returns the bytes of a segment of this packet, with their length before the capture. The length of a fragmented
    /// segment is unknown.
    fn payload(&self, segment: &Segment<'a>) -> Payload<'a> {
        let length = self.octets().filter(|_| !segment.is_fragment).and_then(|octets| {
            let octets = octets.get() as usize;
            let headers = self.packet.len().min(octets).checked_sub(segment.bytes.len())?;
            octets.checked_sub(headers)
        });
        Payload { bytes: segment.bytes, length }
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

/// Headers of the packet in a tunnel, or `None` if the packet around it is an ordinary one.
type Inner<'a> = Result<Option<Headers<'a>>, Skip>;

/// A function that parses the headers of a tunnel and of the packet in it.
type Parser = for<'a> fn(Payload<'a>) -> Inner<'a>;

/// The bytes after a header that announces a tunnel.
#[derive(Clone, Copy, Debug)]
struct Payload<'a> {
    /// Captured bytes.
    bytes: &'a [u8],
    /// Length before the capture, or `None` if it is unknown.
    length: Option<usize>,
}

impl<'a> Payload<'a> {
    /// Returns the payload after a header of `length` bytes. A header that is longer than the payload is invalid, even
    /// if its end was not captured.
    fn behind(self, length: usize) -> Result<Self, Skip> {
        let rest = self.length.map(|all| all.checked_sub(length).ok_or(Skip::BadHeader));
        let rest = rest.transpose()?;
        Ok(Self { bytes: self.bytes.get(length..).ok_or(Skip::CutHeader)?, length: rest })
    }

    /// Returns the IP packet that this payload consists of, if its length is that of the payload.
    ///
    /// The lengths are compared because nothing announces the packet, and each 16th payload starts like a packet of
    /// version 6.
    fn packet(self) -> Inner<'a> {
        let headers = ip::by_version(self.bytes, Skip::NotIp)?;
        let is_equal = headers.octets().map(NonZeroU64::get) == self.length.map(|all| all as u64);
        Ok(Some(headers).filter(|_| is_equal))
    }

    /// Returns whether `inner`, a packet in this payload, ends within the payload, as far as the lengths are known.
    fn contains(&self, inner: &Headers<'_>) -> bool {
        let before = (self.bytes.len() - inner.packet.len()) as u64;
        let ends = inner.octets().zip(self.length);
        ends.is_none_or(|(octets, length)| before + octets.get() <= length as u64)
    }

    /// Returns `inner`, a packet in this payload, if it ends within the payload. Payloads of other applications, such as
    /// encrypted ones, rarely pass this test.
    fn accept(&self, inner: Headers<'a>) -> Option<Headers<'a>> {
        Some(inner).filter(|inner| self.contains(inner))
    }
}

/// Returns the number in two bytes of a header, the first of which is at `at`.
fn word<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}
