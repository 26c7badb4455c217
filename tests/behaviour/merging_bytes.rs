//! Tests of nodes that send bytes to a collector late, repeatedly, in any order and in parts. At the end, the collector
//! must equal one node that saw everything, bit for bit.

use std::cell::RefCell;

use proptest::prelude::*;
use srlg::config::{HashFamily, Params, Scheme};
use srlg::state::{Delta, Snapshot};
use srlg::{Config, Ipv4Pair, SlidingDetector};

use crate::fixture::Detectors;
use crate::small;

const WINDOW: u32 = 8;

/// Maximum delay of a pair, in slices.
const LATE: u32 = 2;

const NODES: usize = 3;

/// Returns a configuration for each scheme, one with epochs of two slices, and one with keyed hashes. The arrays are
/// small so that contacts collide.
fn kinds() -> [Config; 4] {
    let tagged = Config { window: WINDOW, ..small::tagged() };
    let epochs = Scheme::Tagged { cell_bits: 12, lines: 24, tags: 5000 };
    [
        tagged,
        Config { window: WINDOW, ..small::paper() },
        Config { scheme: epochs, ..tagged },
        Config { hash: HashFamily::HalfSip13, seed: 9, ..tagged },
    ]
}

/// Numbers of the first slice: at the start and in the middle of an epoch, large, and close to the maximum.
const FIRST: [u64; 4] = [0, 1, 6_000_000_007, u64::MAX - 100];

/// A contact, the node that sees it, and its delay in slices.
type Contact = (Ipv4Pair, usize, u32);

fn slices() -> impl Strategy<Value = Vec<Vec<Contact>>> {
    let pair = (0u32..20, 0u32..300).prop_map(|(inside, peer)| Ipv4Pair { inside, peer });
    let contact = (pair, 0..NODES, prop_oneof![4 => Just(0), 1 => 1..=LATE]);
    let contacts = |most| prop::collection::vec(contact.clone(), 0..most);
    let few = prop::collection::vec(contacts(120), 1..7);
    // In the second window, touches of the first window have the ages that matter for echoes.
    let windows = prop::collection::vec(contacts(20), 7..3 * WINDOW as usize);
    prop_oneof![4 => few, 1 => windows]
}

/// The form in which a node sends its recent slices.
#[derive(Clone, Debug)]
enum Form {
    Whole,
    Parts(usize),
    Snapshot,
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Whole), (130usize..400).prop_map(Form::Parts), Just(Form::Snapshot)]
}

/// A message in transit. Messages that arrive in the same slice are merged in the order of `place`.
#[derive(Clone, Debug)]
struct Message {
    bytes: Vec<u8>,
    arrives: u64,
    place: u32,
}

fn messages_of(node: &mut SlidingDetector, form: &Form) -> Vec<Vec<u8>> {
    match form {
        Form::Whole => vec![node.delta(1 + LATE).unwrap().to_bytes().unwrap()],
        Form::Parts(most) => {
            let parts = node.delta(1 + LATE).unwrap().into_parts(*most).unwrap();
            assert!(parts.iter().all(|part| part.len() <= *most));
            parts
        }
        Form::Snapshot => vec![node.snapshot().unwrap().to_bytes().unwrap()],
    }
}

fn merge(collector: &mut SlidingDetector, bytes: &[u8], params: &Params) {
    match Delta::from_bytes(bytes, params) {
        Ok(delta) => collector.merge_delta(&delta).unwrap(),
        Err(_) => collector.merge_snapshot(&Snapshot::from_bytes(bytes, params).unwrap()).unwrap(),
    }
}

fn deliver(collector: &mut SlidingDetector, messages: &mut Vec<Message>, slice: u64) {
    let params = *collector.params();
    messages.sort_by_key(|message| message.place);
    for message in messages.extract_if(.., |message| message.arrives <= slice) {
        merge(collector, &message.bytes, &params);
    }
}

/// Number of detectors per configuration: a detector that sees everything, a collector with prompt messages, a
/// collector with late messages, and the nodes.
const DETECTORS_PER_KIND: usize = 3 + NODES;

thread_local! {
    static DETECTORS: RefCell<[Detectors<DETECTORS_PER_KIND>; 4]> =
        RefCell::new(kinds().map(Detectors::new));
}

#[test]
fn one_kind_has_epochs_of_several_slices() {
    let epochs = kinds().map(|config| config.validate().unwrap().counter_sizes().epoch_slices);
    assert_eq!(epochs, [1, 1, 2, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn nodes_that_send_bytes_equal_one_node_that_saw_everything(
        kind in 0usize..4,
        first in prop::sample::select(FIRST.to_vec()),
        slices in slices(),
        forms in prop::collection::vec((form(), 0..u64::from(WINDOW), 1usize..3), 1..9),
        places in prop::collection::vec(any::<u32>(), 1..9),
    ) {
        DETECTORS.with_borrow_mut(|detectors| {
            let all = detectors[kind].anew();
            all.iter_mut().for_each(|detector| detector.skip_to(first).unwrap());
            merge_all(all, &slices, &forms, &places)
        })?;
    }
}

/// Ingests `slices` into the nodes and into the detector that sees everything. Sends the messages of the nodes to the
/// collectors, and compares the results.
fn merge_all(
    detectors: &mut [SlidingDetector; DETECTORS_PER_KIND],
    slices: &[Vec<Contact>],
    forms: &[(Form, u64, usize)],
    places: &[u32],
) -> Result<(), TestCaseError> {
    let [one, prompt, late, nodes @ ..] = detectors;
    let (mut on_their_way, mut forms) = (Vec::new(), forms.iter().cycle());
    let mut places = places.iter().cycle();
    let first = one.slice();
    for (slice, contacts) in (first..).zip(slices) {
        for &(pair, node, late) in contacts {
            one.ingest_late(&[pair], late).unwrap();
            nodes[node].ingest_late(&[pair], late).unwrap();
        }
        let mut now = Vec::new();
        for node in &mut *nodes {
            let (form, delay, times) = forms.next().unwrap();
            for bytes in messages_of(node, form) {
                for again in 0..*times {
                    let place = *places.next().unwrap();
                    let arrives = slice + (delay + again as u64) % u64::from(WINDOW);
                    now.push(Message { bytes: bytes.clone(), arrives: slice, place });
                    on_their_way.push(Message { bytes: bytes.clone(), arrives, place });
                }
            }
            node.skip_to(slice + 1).unwrap();
        }
        // If all messages are in time, the reports are equal. If some messages are late, the recorders are equal once
        // all of them have arrived.
        deliver(prompt, &mut now, slice);
        deliver(late, &mut on_their_way, slice);
        prop_assert_eq!(prompt.close_slice().unwrap(), one.close_slice().unwrap());
        late.skip_to(slice + 1).unwrap();
    }
    prop_assert!(prompt.snapshot().unwrap() == one.snapshot().unwrap());
    let end = first + slices.len() as u64;
    for slice in end..end + u64::from(WINDOW) {
        one.skip_to(slice).unwrap();
        late.skip_to(slice).unwrap();
        deliver(late, &mut on_their_way, slice);
    }
    prop_assert!(on_their_way.is_empty());
    // A detector that made reports estimates the super points of its last report once more. Both reports must
    // nevertheless be equal.
    let reports = [&mut *one, late].map(|detector| detector.close_slice().unwrap());
    prop_assert_eq!(&reports[0].super_points, &reports[1].super_points);
    prop_assert!(late.snapshot().unwrap() == one.snapshot().unwrap());
    prop_assert_eq!(late.close_slice().unwrap(), one.close_slice().unwrap());
    Ok(())
}
