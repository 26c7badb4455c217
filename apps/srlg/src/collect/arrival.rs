//! Message decoder, which returns an [`Arrival`] or the reason for a rejection. A message is opened before its states
//! are decoded, so that several messages can be decoded at the same time.
//!
//! Only the subject of a message is trusted, because the broker restricts each probe to its own subjects. Invariants: an
//! accepted delta has the sizes and the seed of this network, an accepted list has at most the number of pairs that the
//! network allows, and their slice is at most a day ahead of the system clock. The states of a message are decoded only
//! if they fit into the memory for states.

use std::collections::HashMap;
use std::time::SystemTime;

use srlg_host::Error;
use srlg_host::config::Params;
use srlg_host::state::{StateHeader, StateKind};
use srlg_input::contact::Sampling;

use super::reader::Message;
use super::rule::{Arrival, Refusal};
use crate::measure::SKEW;
use crate::network::VersionId;
use crate::network::payload::{Payload, STATE_FRAME, SiteState, ViewState};
use crate::network::subjects::{self, PART_HEADER, Part, SAMPLING_HEADER};

/// Maximum accepted slice number, regardless of the system clock. With slices of one millisecond, this slice lies in
/// about the year 2,300,000.
const HIGHEST: u64 = 1 << 56;

/// Content of a message.
#[derive(Debug)]
pub(super) struct SiteSlice {
    pub(super) slice: u64,
    /// States, each with the index of its view.
    pub(super) states: Vec<(usize, SiteState)>,
    pub(super) sampling: Sampling,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Rejection {
    #[error("{subject:?} is not the subject of a probe of this network")]
    Unknown { subject: String },
    #[error("the header {PART_HEADER} is missing or invalid")]
    NoPart,
    #[error("the header {SAMPLING_HEADER} is invalid: {0}")]
    Sampling(#[from] serde_json::Error),
    #[error("the message is malformed or contains data of an unknown view")]
    Payload,
    #[error("the message has network version {version}, but the network now has version {current}")]
    Version { version: VersionId, current: VersionId },
    #[error("the message is about slice {slice}, but contains the changes of slice {other}")]
    Slices { slice: u64, other: u64 },
    #[error(
        "the states of the message need {bytes} bytes of memory, more than the limit of {most} bytes; if the probe is not at fault, raise `pending-mb`"
    )]
    Large { bytes: u64, most: u64 },
    #[error(
        "slice {slice} is more than a day ahead of the system clock (the highest accepted slice is {latest}); correct the wrong clock"
    )]
    Future { slice: u64, latest: u64 },
    #[error(transparent)]
    State(#[from] Error),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Rejection {
    /// Returns the code under which the rejection is counted.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_probe",
            Self::NoPart | Self::Sampling(_) => "headers",
            Self::Payload | Self::Slices { .. } => "corrupt",
            Self::Version { .. } => "other_network_version",
            Self::Large { .. } => "too_large",
            Self::Future { .. } => "from_the_future",
            Self::State(Error::OtherSizes { .. }) => "other_sizes",
            Self::State(Error::OtherSeed { .. }) => "other_seed",
            Self::State(Error::Version { .. }) => "later_version",
            Self::State(Error::FormerVersion { .. }) => "former_version",
            Self::State(_) => "corrupt",
            Self::Refused(Refusal::Old { .. }) => "too_old",
            Self::Refused(Refusal::Ahead { .. }) => "too_far_ahead",
            Self::Refused(Refusal::Parts { .. }) => "too_many_parts",
        }
    }
}

/// Returns the number of the probe that sent `message`.
pub(super) fn sender(
    message: &Message,
    probes: &HashMap<String, usize>,
) -> Result<usize, Rejection> {
    let unknown = || Rejection::Unknown { subject: message.subject.clone() };
    let name = subjects::probe_of(&message.subject).ok_or_else(unknown)?;
    probes.get(name).copied().ok_or_else(unknown)
}

/// Returns the highest slice that is accepted at the system time `now`.
pub(super) fn latest(now: SystemTime, slice_ms: u64) -> u64 {
    // If the clock is before 1970, the rejection of the first message asks the operator to correct it.
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let slice = now.saturating_add(SKEW).as_millis() / u128::from(slice_ms);
    u64::try_from(slice).unwrap_or(u64::MAX).min(HIGHEST)
}

/// Properties of accepted messages.
pub(super) struct Accepted {
    pub(super) version: VersionId,
    /// Sizes and seeds of the detectors, in the order of the views.
    pub(super) params: Vec<Params>,
    /// Maximum number of pairs in a list.
    pub(super) most_pairs: usize,
    /// Maximum memory of the decoded states of a message, in bytes.
    pub(super) most_bytes: u64,
    pub(super) latest: u64,
}

/// A message that was accepted, and whose states have not been decoded.
pub(super) struct OpenedMessage {
    pub(super) probe: usize,
    slice: u64,
    part: Part,
    sequence: u64,
    states: Vec<OpenedState>,
    sampling: Sampling,
    /// Maximum memory of the decoded states, in bytes.
    pub(super) most_bytes: u64,
}

/// A state that has not been decoded, and its kind.
struct OpenedState {
    kind: StateKind,
    state: ViewState,
}

/// Opens a message of `probe`. Refuses it if `judge` refuses its slice or part.
pub(super) fn open(
    message: &Message,
    probe: usize,
    accepted: &Accepted,
    judge: impl FnOnce(u64, Part) -> Option<Refusal>,
) -> Result<OpenedMessage, Rejection> {
    let part = message.headers.get(PART_HEADER).and_then(|part| part.as_str().parse::<Part>().ok());
    let part = part.ok_or(Rejection::NoPart)?;
    let sampling = message.headers.get(SAMPLING_HEADER);
    let sampling = sampling.map(|text| serde_json::from_str(text.as_str()));
    let sampling = sampling.transpose()?.unwrap_or_default();
    let payload = Payload::unpack(message.payload.clone()).ok_or(Rejection::Payload)?;
    let Payload { version, slice, states } = payload;
    let &Accepted { version: current, latest, most_bytes: most, .. } = accepted;
    if version != current {
        return Err(Rejection::Version { version, current });
    }
    let mut bytes = STATE_FRAME as u64;
    let mut opened = Vec::with_capacity(states.len());
    for state in states {
        let header = state.header()?;
        header.check(accepted.params_of(&state)?)?;
        // Pairs that arrived late are states of their own, while a delta contains late contacts.
        let (other, may_be_late) = (header.slice, header.kind == StateKind::Pairs);
        if other > slice || other < slice && !may_be_late {
            return Err(Rejection::Slices { slice, other });
        }
        bytes = bytes.saturating_add(most_decoded_bytes(header));
        opened.push(OpenedState { kind: header.kind, state });
    }
    if bytes > most {
        return Err(Rejection::Large { bytes, most });
    }
    if slice > latest {
        return Err(Rejection::Future { slice, latest });
    }
    if let Some(refusal) = judge(slice, part) {
        return Err(refusal.into());
    }
    Ok(OpenedMessage {
        probe,
        slice,
        part,
        sequence: message.sequence,
        states: opened,
        sampling,
        most_bytes: bytes,
    })
}

/// Returns the maximum memory of a decoded state, in bytes.
fn most_decoded_bytes(StateHeader { kind, body_bytes, .. }: StateHeader) -> u64 {
    // The body of a list contains at least the peers, which are half of the decoded pairs, and is in memory beside them.
    let factor = if kind == StateKind::Pairs { 3 } else { 1 };
    body_bytes.saturating_mul(factor).saturating_add(STATE_FRAME as u64)
}

impl OpenedMessage {
    pub(super) fn decode(self, accepted: &Accepted) -> Result<Arrival<SiteSlice>, Rejection> {
        let Self { probe, slice, part, sequence, states, sampling, .. } = self;
        let decode = |OpenedState { kind, state }| {
            let decoded = state.read(kind, accepted.params_of(&state)?, accepted.most_pairs)?;
            Ok::<_, Rejection>((usize::from(state.view), decoded))
        };
        let states = states.into_iter().map(decode).collect::<Result<Vec<_>, _>>()?;
        let bytes = STATE_FRAME + states.iter().map(|(_, state)| state.bytes()).sum::<usize>();
        let content = SiteSlice { slice, states, sampling };
        Ok(Arrival { probe, slice, part, sequence, bytes, content })
    }
}

impl Accepted {
    fn params_of(&self, state: &ViewState) -> Result<&Params, Rejection> {
        self.params.get(usize::from(state.view)).ok_or(Rejection::Payload)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use srlg_host::{Config, Device, SlidingDetector};

    use super::*;
    use std::time::Duration;

    const VERSION: VersionId = VersionId { number: 3, tag: 0 };

    /// The middle of 2026, as printed by `date -u -d 2026-07-01 +%s`.
    const NOW: Duration = Duration::from_secs(1_782_864_000);

    const MOST_BYTES: u64 = 1 << 25;

    fn accepted(params: Params, latest: u64) -> Accepted {
        let (params, most_bytes) = (vec![params], MOST_BYTES);
        Accepted { version: VERSION, params, most_pairs: 5, most_bytes, latest }
    }

    fn payload(slice: u64, bytes: Bytes) -> Bytes {
        let states = vec![ViewState { view: 0, bytes }];
        Payload { version: VERSION, slice, states }.pack(1 << 20).remove(0).into()
    }

    fn message(slice: u64) -> Message {
        let mut detector = SlidingDetector::new(Config::default(), Device::Cpu).unwrap();
        detector.skip_to(slice).unwrap();
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(PART_HEADER, "1/1");
        let bytes = detector.delta(1).unwrap().to_bytes().unwrap().into();
        let payload = payload(slice, bytes);
        Message { subject: subjects::slice("a"), headers, payload, sequence: 1, time: 0, unread: 0 }
    }

    #[test]
    fn slices_more_than_a_day_in_the_future_are_refused_but_no_past_slices() {
        let params = Config::default().validate().unwrap();
        for (slice, slice_ms, reason) in [
            (0, 1000, None),
            (1000, 1000, None),
            (1_782_864_000, 1000, None),
            (1_782_864_000 + 86_400, 1000, None),
            (1_782_864_000 + 86_401, 1000, Some("from_the_future")),
            // With slices of one millisecond, a slice with this number lies in 1970.
            (1_782_864_000 + 86_401, 1, None),
            // With slices of one day, slice 20635 is the first of July, so slice 20637 is the day after tomorrow.
            (20_636, 86_400_000, None),
            (20_637, 86_400_000, Some("from_the_future")),
            (u64::MAX >> 1, 1, Some("from_the_future")),
        ] {
            let latest = latest(SystemTime::UNIX_EPOCH + NOW, slice_ms);
            let accepted = accepted(params, latest);
            let opened = open(&message(slice), 0, &accepted, |_, _| None);
            let refused = opened.err().map(|rejection| rejection.reason());
            assert_eq!(refused, reason, "slice {slice} of {slice_ms} ms");
        }
    }

    #[test]
    fn bodies_of_a_message_count_and_are_not_read_if_its_slice_is_refused() {
        let params = Config::default().validate().unwrap();
        let mut message = message(7);
        let whole = Payload::unpack(message.payload.clone()).unwrap();
        let [delta] = &whole.states[..] else { panic!() };
        let mut bytes = delta.bytes.to_vec();
        let body = bytes[40..48].try_into().map(u64::from_le_bytes).unwrap();
        let arrive = |message: &Message, latest, judge: &dyn Fn(u64, Part) -> Option<Refusal>| {
            let accepted = accepted(params, latest);
            open(message, 0, &accepted, judge)?.decode(&accepted)
        };
        let whole = arrive(&message, 7, &|_, _| None).unwrap();
        assert_eq!(whole.bytes as u64, 2 * STATE_FRAME as u64 + body);
        let end = bytes.len() - 4;
        bytes[64..end].fill(0);
        let checksum = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
        message.payload = payload(7, bytes.into());
        let reason = |latest, running: Option<u64>| {
            let judge = |slice, _| running.map(|running| Refusal::Old { slice, running });
            arrive(&message, latest, &judge).unwrap_err().reason()
        };
        let reasons = [reason(7, None), reason(6, None), reason(7, Some(999))];
        assert_eq!(reasons, ["corrupt", "from_the_future", "too_old"]);
    }

    #[test]
    fn a_message_is_refused_before_it_is_decoded_if_its_states_do_not_fit_into_memory() {
        let params = Config::default().validate().unwrap();
        let mut message = message(7);
        let [delta] = &Payload::unpack(message.payload.clone()).unwrap().states[..] else {
            panic!()
        };
        let mut bytes = delta.bytes.to_vec();
        let mut refused = |body: u64| {
            let end = bytes.len() - 4;
            bytes[40..48].copy_from_slice(&body.to_le_bytes());
            let checksum = crc32fast::hash(&bytes[..end]);
            bytes[end..].copy_from_slice(&checksum.to_le_bytes());
            let states = vec![ViewState { view: 0, bytes: bytes.clone().into() }; 4];
            let payload = Payload { version: VERSION, slice: 7, states };
            message.payload = payload.pack(1 << 20).remove(0).into();
            let opened = open(&message, 0, &accepted(params, 7), |_, _| None);
            opened.map(|opened| opened.most_bytes).map_err(|rejection| rejection.reason())
        };
        let most = (MOST_BYTES - 5 * STATE_FRAME as u64) / 4;
        assert_eq!(refused(most), Ok(MOST_BYTES));
        assert_eq!([most + 1, u64::MAX].map(refused), [Err("too_large"); 2]);
    }
}
