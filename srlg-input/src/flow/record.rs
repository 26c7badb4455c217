//! The decoded fields of a record.
//!
//! Numbers are stored as received. An address of zero means that the record does not state the address.

use std::num::NonZeroU64;

use crate::contact::Host;
use crate::flow::bytes;
use crate::flow::clock::RecordTime;
use crate::flow::counts::Reason;
use crate::flow::element::{Element, End, Moment, Number, Unit};
use crate::flow::sampling::SamplingFields;
use crate::options::Nat;
use crate::packet::Headers;

/// Bit of `present` that is set if the record has an IPv6 address.
const HAS_ADDRESS6: u32 = 1 << Number::COUNT;

/// Mask for `present`: if any of these bits is set, the record has an address.
const HAS_ADDRESS: u32 = HAS_ADDRESS6
    | 1 << Number::Source4 as u32
    | 1 << Number::Destination4 as u32
    | 1 << Number::PostSource4 as u32
    | 1 << Number::PostDestination4 as u32;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record<'a> {
    numbers: [u64; Number::COUNT],
    /// Bit set of the numbers that the record contains, and [`HAS_ADDRESS6`].
    present: u32,
    addresses6: [u128; 4],
    times: [Option<RecordTime>; 4],
    frame: Option<&'a [u8]>,
    ip_header: Option<&'a [u8]>,
}

const _: () = assert!(Number::COUNT < u32::BITS as usize);

impl<'a> Record<'a> {
    /// Stores the value of `element` from the first `length` bytes of `bytes`. Returns `None` if `bytes` is too short.
    /// If a record contains a number several times, the last value is used, or the largest value for
    /// [some numbers](Number::is_largest).
    #[inline(always)]
    pub(crate) fn set(&mut self, element: Element, bytes: &'a [u8], length: usize) -> Option<()> {
        match element {
            Element::Number(number) => {
                let kept = &mut self.numbers[number as usize];
                let value = bytes::number(bytes, length)?;
                *kept = if number.is_largest() { value.max(*kept) } else { value };
                self.present |= 1 << number as u32;
            }
            Element::Time(moment, unit) => {
                let time = unit.time(bytes::number(bytes, length)?);
                let kept = &mut self.times[moment as usize];
                // A time that is independent of the uptime takes precedence.
                let is_better = time.is_some() && !matches!(unit, Unit::Uptime | Unit::Delta);
                if kept.is_none() || is_better {
                    *kept = time;
                }
            }
            Element::Address6(end) => {
                self.addresses6[end as usize] = u128::from_be_bytes(*bytes.first_chunk()?);
                self.present |= HAS_ADDRESS6;
            }
            Element::Frame => self.frame = Some(bytes.get(..length)?),
            Element::IpHeader => self.ip_header = Some(bytes.get(..length)?),
        }
        Some(())
    }

    #[inline(always)]
    pub(crate) fn number(&self, number: Number) -> Option<u64> {
        (self.present & 1 << number as u32 != 0).then(|| self.numbers[number as usize])
    }

    /// Returns the larger of two numbers, if the record contains at least one of them.
    #[inline(always)]
    pub(crate) fn larger(&self, numbers: [Number; 2]) -> Option<u64> {
        let is_present = numbers.iter().any(|number| self.present & 1 << *number as u32 != 0);
        // Numbers that the record does not contain are 0.
        let [one, other] = numbers.map(|number| self.numbers[number as usize]);
        is_present.then(|| one.max(other))
    }

    #[inline(always)]
    pub(crate) fn nonzero(&self, number: Number) -> Option<NonZeroU64> {
        // Numbers that the record does not contain are 0.
        NonZeroU64::new(self.numbers[number as usize])
    }

    #[inline(always)]
    pub(crate) fn time(&self, moment: Moment) -> Option<RecordTime> {
        self.times[moment as usize]
    }

    #[inline(always)]
    pub(crate) fn sampling(&self) -> SamplingFields {
        SamplingFields {
            interval: self.number(Number::Interval),
            taken: self.number(Number::Taken),
            left_out: self.number(Number::LeftOut),
            size: self.number(Number::Size),
            population: self.number(Number::Population),
            sampler: self.number(Number::Sampler),
        }
    }

    /// Returns the IPv4 addresses of both ends. A missing address is 0.
    fn ends4(&self, ends: [Number; 2]) -> [u32; 2] {
        ends.map(|end| self.numbers[end as usize] as u32)
    }

    /// Returns the IPv6 addresses of both ends. A missing address is 0.
    fn ends6(&self, ends: [End; 2]) -> [u128; 2] {
        ends.map(|end| self.addresses6[end as usize])
    }

    /// Returns the two addresses of the record, or `None` if it has none.
    #[inline(always)]
    pub(crate) fn addresses(&self, nat: Nat) -> Result<Option<[Host; 2]>, Reason> {
        let post4 = self.ends4([Number::PostSource4, Number::PostDestination4]);
        let post6 = self.ends6([End::PostSource, End::PostDestination]);
        let v4 = ends(nat, self.ends4([Number::Source4, Number::Destination4]), post4);
        let v6 = ends(nat, self.ends6([End::Source, End::Destination]), post6);
        // Some translators also change the IP version.
        let is_v6 = match [post4 != [0; 2], post6 != [0; 2]] {
            [false, true] if nat == Nat::Post => true,
            [true, false] if nat == Nat::Post => false,
            _ => self.number(Number::IpVersion) == Some(6),
        };
        let hosts = match [v4 != [0; 2], v6 != [0; 2]] {
            [true, true] if is_v6 => v6.map(Host::v6),
            [true, _] => v4.map(Host::v4),
            [false, true] => v6.map(Host::v6),
            [false, false] => return Ok(None),
        };
        if hosts.into_iter().any(is_zero) { Err(Reason::ZeroHost) } else { Ok(Some(hosts)) }
    }

    /// Returns whether the record contains the first bytes of a packet.
    pub(crate) fn has_packet(&self) -> bool {
        self.frame.is_some() || self.ip_header.is_some()
    }

    /// Returns the headers of the sampled packet.
    pub(crate) fn packet(&self) -> Result<Headers<'a>, Reason> {
        let headers = match (self.frame, self.ip_header) {
            // The frame type is a PSAMP number. Type 1 and a missing type mean Ethernet.
            (Some(frame), _) if self.number(Number::FrameType).is_none_or(|kind| kind == 1) => {
                crate::packet::headers(1, frame)
            }
            (Some(_), None) => return Err(Reason::BadFrame),
            (_, Some(packet)) => crate::packet::headers(101, packet),
            (None, None) if self.present & HAS_ADDRESS != 0 => return Err(Reason::ZeroHost),
            (None, None) => return Err(Reason::NoHosts),
        };
        headers.map_err(|_| Reason::BadFrame)
    }
}

/// Returns whether `host` is the unspecified IPv4 or IPv6 address.
pub(crate) fn is_zero(host: Host) -> bool {
    host.as_v4() == Some(0) || host.as_v6() == 0
}

/// Returns the addresses that `nat` selects: `pre` (before NAT) or `post` (after NAT). An address that is missing in
/// `post` is taken from `pre`.
fn ends<T: Copy + Default + PartialEq>(nat: Nat, pre: [T; 2], post: [T; 2]) -> [T; 2] {
    let of = |at: usize| if post[at] == T::default() { pre[at] } else { post[at] };
    if nat == Nat::Post { [of(0), of(1)] } else { pre }
}
