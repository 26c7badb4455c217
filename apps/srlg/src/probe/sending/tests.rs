//! Tests of sent slices: their numbers, order and content.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use srlg_host::ingest::PairBatch;
use srlg_host::state::Snapshot;
use srlg_host::{Config, Device, Ipv4Pair, SlidingDetector};
use srlg_input::Position;
use srlg_input::contact::Role;
use srlg_input::live::ContactSink;
use srlg_traffic::family::Family;
use tokio::sync::watch;

use super::super::site::{ProbeSite, SiteOptions};
use super::super::spool::{Spool, SpoolLock};
use super::*;
use crate::network::{Network, NetworkView};
use srlg_alerts::exporters::ExporterNames;

const SECOND: u64 = 1_000_000_000;
const VERSION: VersionId = VersionId { number: 1, tag: 7 };

/// Numbers of pairs that a list takes: of no slice with pairs, of some slices of [`contacts`], and of all slices.
const MOST_PAIRS: [usize; 3] = [0, 700, 100_000];

/// Returns a network that has a single view, in which the destination of a contact is the host.
pub(in crate::probe) fn network(part_bytes: usize) -> Network {
    let sizes = Config {
        window: 20,
        linear_width: 1024,
        scheme: srlg_host::config::Scheme::Tagged { cell_bits: 12, lines: 4096, tags: 64 },
        ..Config::default()
    };
    let view = srlg_input::ViewOptions { role: Role::Destination, ..Default::default() };
    let view = NetworkView { name: "in".to_owned(), view, allows: Vec::new(), sizes };
    Network { slice_ms: 1000, grace_ms: 0, part_bytes, most_pairs: 100_000, views: vec![view] }
}

fn site(network: &Network, folder: &Path) -> (ProbeSite, Arc<Outbox>) {
    site_of(false, network, folder)
}

fn site_of(is_live: bool, network: &Network, folder: &Path) -> (ProbeSite, Arc<Outbox>) {
    let (spool, _) = Spool::open(SpoolLock::acquire(folder).unwrap(), VERSION).unwrap();
    let version = NetworkVersion { id: VERSION, first_slice: 0, network: network.clone() };
    let outbox = Arc::new(Outbox::new(spool, &version, Some(1000), false));
    let options = SiteOptions {
        is_live,
        pace: None,
        device: Device::Cpu,
        exporters: Vec::new(),
        silent_after: None,
    };
    let versions = watch::channel(version).1;
    (
        ProbeSite::new(options, versions, &ExporterNames::default(), Arc::clone(&outbox)).unwrap(),
        outbox,
    )
}

fn contacts(slices: Range<u64>) -> impl Iterator<Item = (u64, Ipv4Pair)> {
    contacts_from(0, slices)
}

/// Returns 300 pairs per slice, whose peers are numbered from `first`. Every seventh pair is up to 3 slices late.
fn contacts_from(first: u32, slices: Range<u64>) -> impl Iterator<Item = (u64, Ipv4Pair)> {
    slices.flat_map(move |slice| {
        (0..300_u32).map(move |index| {
            let late = if index % 7 == 0 { u64::from(index % 4) } else { 0 };
            let pair = Ipv4Pair { inside: index % 5, peer: first + index * 1000 + slice as u32 };
            ((slice - late) * SECOND + u64::from(index), pair)
        })
    })
}

fn contact(time_ns: u64, pair: Ipv4Pair) -> Contact {
    let (inside, peer) = Family::Mixed.hosts(pair);
    Contact::new(time_ns, peer.into(), inside.into())
}

fn take(site: &mut ProbeSite, contacts: impl Iterator<Item = (u64, Ipv4Pair)>) {
    let contacts: Vec<_> = contacts.map(|(time, pair)| contact(time, pair)).collect();
    site.ingest(&contacts).unwrap();
}

/// Returns the state at `slice` of a detector that has merged all parts in the spool.
fn merged(network: &Network, outbox: &Outbox, slice: u64) -> Snapshot {
    merged_view(0, network, outbox, slice)
}

fn merged_view(number: u8, network: &Network, outbox: &Outbox, slice: u64) -> Snapshot {
    let mut detector = SlidingDetector::new(network.views[0].sizes, Device::Cpu).unwrap();
    detector.skip_to(slice).unwrap();
    for slice in outbox.from(0, usize::MAX) {
        for part in outbox.read(slice).unwrap().parts {
            let payload = Payload::unpack(part).unwrap();
            assert_eq!(payload.slice, slice);
            for state in payload.states.iter().filter(|state| state.view == number) {
                let kind = state.header().unwrap().kind;
                let state = state.read(kind, detector.params(), network.most_pairs).unwrap();
                state.merge_into(&mut detector).unwrap();
            }
        }
    }
    detector.snapshot().unwrap()
}

/// Returns the state at `slice` of a detector that has counted every contact in the slice of its time.
fn expected(
    network: &Network,
    contacts: impl Iterator<Item = (u64, Ipv4Pair)>,
    slice: u64,
) -> Snapshot {
    let mut detector = SlidingDetector::new(network.views[0].sizes, Device::Cpu).unwrap();
    let (mut batch, mut contacts) = (PairBatch::new(), contacts.collect::<Vec<_>>());
    contacts.sort_by_key(|&(time, _)| time);
    for (time, pair) in contacts {
        detector.skip_to(time / SECOND).unwrap();
        batch.clear();
        batch.extend([Family::Mixed.hosts(pair)]);
        batch.ingest(&detector).unwrap();
    }
    detector.skip_to(slice).unwrap();
    detector.snapshot().unwrap()
}

#[test]
fn the_slices_together_are_what_was_seen_late_pairs_and_parts_included() {
    for (part_bytes, most_pairs) in
        [1024, 1 << 20].into_iter().flat_map(|it| MOST_PAIRS.map(|most| (it, most)))
    {
        let network = Network { most_pairs, ..network(part_bytes) };
        let folder = tempfile::tempdir().unwrap();
        let (mut site, outbox) = site(&network, folder.path());
        take(&mut site, contacts(100..110));
        let totals = site.finish().unwrap();
        assert_eq!((totals.slices, totals.pairs, totals.too_late), (10, 3000, 0));
        assert_eq!(outbox.from(0, 99), (100..110).collect::<Vec<_>>());
        let seen = expected(&network, contacts(100..110), 109);
        assert_eq!(
            merged(&network, &outbox, 109),
            seen,
            "parts of {part_bytes} bytes, lists of {most_pairs}"
        );
    }
}

#[test]
fn a_killed_probe_resumes_the_same_input_with_equal_results() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut first, outbox) = site(&network, folder.path());
    take(&mut first, contacts(100..106));
    // Slice 105 was running, so it was not stored.
    drop((first, outbox));
    let (mut second, outbox) = site(&network, folder.path());
    assert_eq!(outbox.mark(VERSION), Some(104));
    take(&mut second, contacts(100..110));
    let totals = second.finish().unwrap();
    assert_eq!((totals.passed_over, totals.slices), (5, 5));
    assert_eq!(merged(&network, &outbox, 109), expected(&network, contacts(100..110), 109));
}

#[test]
fn silent_slices_go_out_too_and_a_silence_longer_than_the_window_is_cut_short() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut site, outbox) = site(&network, folder.path());
    take(&mut site, contacts(100..101));
    site.advance(103 * SECOND + 1).unwrap();
    assert_eq!(outbox.from(0, 99), [100, 101, 102]);
    site.advance(203 * SECOND).unwrap();
    assert_eq!(outbox.from(103, 99), std::iter::once(103).chain(183..203).collect::<Vec<_>>());
    assert_eq!(site.finish().unwrap().silent, 79);
}

#[test]
fn time_starts_with_the_first_call_and_never_decreases() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut site, outbox) = site(&network, folder.path());
    site.advance(100 * SECOND).unwrap();
    take(&mut site, contacts(100..101));
    site.advance(98 * SECOND).unwrap();
    site.advance(50 * SECOND).unwrap();
    assert_eq!(outbox.len(), 0);
    assert_eq!(site.finish().unwrap().too_late, 0, "no contact was");
    assert_eq!(outbox.from(0, 99), [100]);
    assert_eq!(merged(&network, &outbox, 100), expected(&network, contacts(100..101), 100));
}

#[test]
fn an_invalid_timestamp_is_counted_and_does_not_move_the_clock() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let (mut site, outbox) = site(&network, folder.path());
    take(&mut site, contacts(100..101));
    take(&mut site, [(u64::MAX, Ipv4Pair { inside: 1, peer: 2 })].into_iter());
    take(&mut site, contacts(101..102));
    let totals = site.finish().unwrap();
    assert_eq!((totals.future, totals.too_late, totals.pairs), (1, 0, 600));
    assert_eq!(outbox.from(0, 99), [100, 101]);
}

struct Threaded {
    site: ProbeSite,
    outbox: Arc<Outbox>,
}

fn threaded(network: &Network, folder: &Path) -> Threaded {
    let (site, outbox) = site_of(true, network, folder);
    Threaded { site, outbox }
}

impl Threaded {
    fn sink(&mut self) -> Box<dyn ContactSink> {
        self.site.pipeline().unwrap()
    }

    fn take(&mut self, slices: Range<u64>, first: u32) {
        let mut sink = self.sink();
        for slice in slices {
            self.site.advance(slice * SECOND).unwrap();
            let contacts = contacts_from(first, slice..slice + 1);
            let contacts: Vec<_> = contacts.map(|(time, pair)| contact(time, pair)).collect();
            contacts.chunks(70).for_each(|block| sink.accept(block).unwrap());
        }
    }
}

#[test]
fn threads_that_read_measure_what_one_thread_does() {
    for most_pairs in MOST_PAIRS {
        let network = Network { most_pairs, ..two_views() };
        let folder = tempfile::tempdir().unwrap();
        let mut threaded = threaded(&network, folder.path());
        threaded.take(100..110, 0);
        let Threaded { mut site, outbox } = threaded;
        let totals = site.finish().unwrap();
        assert_eq!((totals.slices, totals.pairs, totals.too_late), (10, 6000, 0));
        assert_eq!(outbox.from(0, 99), (100..110).collect::<Vec<_>>());
        let expected = expected(&network, contacts(100..110), 109);
        (0..2).for_each(|view| assert_eq!(merged_view(view, &network, &outbox, 109), expected));
    }
}

#[test]
fn skipped_slices_lose_no_contacts_of_threads() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let mut first = threaded(&network, folder.path());
    first.take(100..106, 0);
    drop(first);
    let mut second = threaded(&network, folder.path());
    assert_eq!(second.outbox.mark(VERSION), Some(104));
    // These contacts differ, and some belong to slices that were sent before.
    second.take(100..110, 1 << 20);
    let Threaded { mut site, outbox } = second;
    let totals = site.finish().unwrap();
    assert_eq!((totals.passed_over, totals.slices), (5, 5));
    let all = contacts(100..105).chain(contacts_from(1 << 20, 100..110));
    assert_eq!(merged(&network, &outbox, 109), expected(&network, all, 109));
}

#[test]
fn pairs_that_come_between_a_slice_and_the_next_one_go_out_with_that() {
    MOST_PAIRS.into_iter().for_each(pairs_between_slices_go_out);
}

fn pairs_between_slices_go_out(most_pairs: usize) {
    let network = Network { most_pairs, ..network(1 << 20) };
    let folder = tempfile::tempdir().unwrap();
    let mut threaded = threaded(&network, folder.path());
    let mut sink = threaded.sink();
    let Threaded { mut site, outbox } = threaded;
    site.advance(100 * SECOND).unwrap();
    let pairs = |peers: Range<u32>| peers.map(|peer| (100 * SECOND, Ipv4Pair { inside: 1, peer }));
    let mut take = |peers| {
        let contacts: Vec<_> = pairs(peers).map(|(time, pair)| contact(time, pair)).collect();
        sink.accept(&contacts).unwrap();
    };
    take(1_000..1_300);
    let (_, mut view) = site.site.view(0);
    view.close(true).unwrap();
    take(2_000..2_300);
    *view.view.running = 101;
    view.view.detector.skip_to(101).unwrap();
    view.close(true).unwrap();
    assert_eq!(outbox.from(0, 99), [100, 101]);
    let all = pairs(1_000..1_300).chain(pairs(2_000..2_300));
    assert_eq!(merged(&network, &outbox, 101), expected(&network, all, 101));
}

#[test]
fn a_position_is_stored_with_the_slice_that_contains_all_contacts_before_it() {
    let (folder, network) = (tempfile::tempdir().unwrap(), network(1 << 20));
    let mut threaded = threaded(&network, folder.path());
    let mut sink = threaded.sink();
    let Threaded { mut site, outbox } = threaded;
    let position = |offset| {
        let offsets = [(0, offset)].into();
        Position { topic: "flows".to_owned(), offsets, ..Position::default() }
    };
    site.advance(100 * SECOND).unwrap();
    // Both contacts belong to slice 100, and the second one arrives after that slice was sent.
    for (offset, now_ns) in [(1, 101 * SECOND), (2, 101 * SECOND + 1)] {
        sink.accept(&[contact(100 * SECOND, Ipv4Pair { inside: 1, peer: offset as u32 })]).unwrap();
        site.site.record_position(&position(offset));
        site.advance(now_ns).unwrap();
        assert_eq!(outbox.position(), Some(position(1)));
    }
    site.advance(102 * SECOND).unwrap();
    assert_eq!(outbox.position(), Some(position(2)));
}

#[test]
fn slices_of_which_pairs_wait_go_out_at_the_end_and_before_a_silence() {
    for end_ns in [None, Some(203 * SECOND)] {
        let (folder, mut network) = (tempfile::tempdir().unwrap(), network(1 << 20));
        network.grace_ms = 2_500;
        let mut threaded = threaded(&network, folder.path());
        let mut sink = threaded.sink();
        let Threaded { mut site, outbox } = threaded;
        for now_ns in [100 * SECOND, 102 * SECOND + SECOND / 2 + 1] {
            site.advance(now_ns).unwrap();
        }
        let blocks = contacts(100..103).map(|(time, pair)| contact(time, pair));
        sink.accept(&blocks.collect::<Vec<_>>()).unwrap();
        if let Some(end_ns) = end_ns {
            site.advance(end_ns).unwrap();
            let later: Vec<u64> = [100, 101, 102].into_iter().chain(180..200).collect();
            assert_eq!(outbox.from(0, 99), later);
        } else {
            let totals = site.finish().unwrap();
            assert_eq!((totals.pairs, totals.too_late, totals.silent), (900, 0, 0));
            assert_eq!(outbox.from(0, 99), [100, 101, 102]);
            assert_eq!(merged(&network, &outbox, 102), expected(&network, contacts(100..103), 102));
        }
    }
}

#[test]
fn slices_go_out_while_threads_read_and_no_pair_is_lost() {
    const THREADS: u64 = 3;
    const SLICES: u64 = 19;
    const BLOCKS: u64 = 40;
    // Threads fill some lists, and most slices have fewer pairs than a list takes.
    let network = Network { most_pairs: 45_000, ..network(1 << 20) };
    let folder = tempfile::tempdir().unwrap();
    let mut threaded = threaded(&network, folder.path());
    // Each block has contacts of the last two seconds, and there are 40 blocks per second.
    let pair = |thread: u64, block: u64, index: u64| {
        let now_ns = 100 * SECOND + block * SECOND / BLOCKS;
        let time_ns = now_ns - (index % 9) * SECOND / 4;
        let peer = (thread << 24 | block << 12 | index) as u32 + 1000;
        (time_ns, Ipv4Pair { inside: index as u32 % 3, peer })
    };
    let block = |thread, block| (0..200).map(move |index| pair(thread, block, index));
    let sinks: Vec<_> = (0..THREADS).map(|_| threaded.sink()).collect();
    let Threaded { mut site, outbox } = threaded;
    site.advance(100 * SECOND).unwrap();
    let (read, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for (thread, mut sink) in (0..).zip(sinks) {
            let (read, ended) = (&read, &ended);
            scope.spawn(move || {
                for number in 0..SLICES * BLOCKS {
                    // No thread may be a second behind another thread.
                    while number * THREADS > read.load(Relaxed) + BLOCKS {
                        thread::yield_now();
                    }
                    let contacts: Vec<_> =
                        block(thread, number).map(|(time, pair)| contact(time, pair)).collect();
                    sink.accept(&contacts).unwrap();
                    read.fetch_add(1, Relaxed);
                }
                ended.fetch_add(1, Relaxed);
            });
        }
        while ended.load(Relaxed) < THREADS {
            let slices = read.load(Relaxed) / THREADS * SECOND / BLOCKS;
            site.advance(100 * SECOND + slices).unwrap();
        }
    });
    let last = 100 + SLICES - 1;
    site.advance(last * SECOND).unwrap();
    let totals = site.finish().unwrap();
    assert_eq!((totals.pairs, totals.too_late), (THREADS * SLICES * BLOCKS * 200, 0));
    assert_eq!(outbox.from(0, 99), (100..=last).collect::<Vec<_>>());
    let all = (0..THREADS).flat_map(|thread| (0..SLICES * BLOCKS).map(move |it| (thread, it)));
    let all = all.flat_map(|(thread, number)| block(thread, number));
    assert!(merged(&network, &outbox, last) == expected(&network, all, last));
}

fn two_views() -> Network {
    let mut network = network(1 << 20);
    network.views.push(NetworkView { name: "again".to_owned(), ..network.views[0].clone() });
    network
}

fn host(number: u32) -> IpAddr {
    std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into()
}

fn ask(outbox: &Outbox, version: VersionId, hosts: Range<u32>) {
    let view = WatchedView { windows: vec![1, 3, 21], hosts: hosts.map(host).collect() };
    let watchlist = Watchlist { version, views: vec![view.clone(), view], page: None };
    outbox.watchlist.send_replace(Some(Arc::new(watchlist)));
}

#[test]
fn hosts_are_reported_with_their_counts_after_the_newest_slice_that_has_ended() {
    let (folder, network) = (tempfile::tempdir().unwrap(), two_views());
    let (mut site, outbox) = site(&network, folder.path());
    ask(&outbox, VERSION, 1..2);
    let mut take = |slice: u64| {
        for index in 0..80 {
            let peer = host(1_000 + slice as u32 * 40 + index % 40);
            let contact = Contact::new(slice * SECOND, peer.into(), host(1).into());
            site.ingest(&[contact]).unwrap();
        }
    };
    (100..105).for_each(&mut take);
    site.advance(105 * SECOND).unwrap();
    let reports = outbox.reports.borrow().clone();
    let [SiteReport { version: VERSION, slice: 104, hosts, .. }] = &reports[..] else {
        panic!("{reports:?}")
    };
    assert_eq!(
        hosts.iter().map(|it| (it.view, it.host)).collect::<Vec<_>>(),
        [(0, host(1)), (1, host(1))]
    );
    for HostReport { counts, .. } in hosts {
        // No window is longer than the window of the detector.
        let [(1, one), (3, three)] = counts[..] else { panic!("{counts:?}") };
        // Counts of so few peers have standard errors below 2 %.
        assert!((one / 40.0 - 1.0).abs() < 0.1 && (three / 120.0 - 1.0).abs() < 0.1, "{counts:?}");
    }
    // If several slices close together, all views report only once.
    site.advance(109 * SECOND).unwrap();
    let reports = outbox.reports.borrow().clone();
    let [SiteReport { slice: 108, hosts, spool, .. }] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(
        hosts.iter().map(|it| it.counts.clone()).collect::<Vec<_>>(),
        [vec![(1, 0.0), (3, 0.0)], vec![(1, 0.0), (3, 0.0)]]
    );
    assert_eq!((spool.slices, spool.unsent), (8, 8), "without the slice itself");
}

#[test]
fn many_hosts_need_several_reports_and_other_versions_are_ignored() {
    let (folder, network) = (tempfile::tempdir().unwrap(), two_views());
    let (mut site, outbox) = site(&network, folder.path());
    let mut lengths = |version, hosts, until: u64| {
        ask(&outbox, version, hosts);
        site.advance(until * SECOND).unwrap();
        let reports = outbox.reports.borrow().clone();
        reports.iter().map(|report| report.hosts.len()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(VERSION, 0..1, 100), [] as [usize; 0], "no slice has ended");
    assert_eq!(lengths(VERSION, 0..70, 101), [64, 64, 12]);
    assert_eq!(lengths(VersionId { tag: 8, ..VERSION }, 0..70, 102), [0]);
    assert_eq!(lengths(VERSION, 3..4, 103), [2]);
}
