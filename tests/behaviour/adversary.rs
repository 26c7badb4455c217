//! Tests with traffic that is designed to attack the hash functions.
//!
//! Anyone who knows the seed can hide a host. In the paper's scheme, anyone with the seed can also make an innocent
//! host a super point, or make columns hot with very little traffic. Against HalfSipHash with an unknown seed, such
//! traffic has no special effect.

use approx::assert_abs_diff_eq;
use srlg_traffic::family::ip;

use srlg::config::{HashFamily, Params};
use srlg::report::FinderFill;
use srlg::{Config, Ipv4Pair, SliceReport, SlidingDetector};
use srlg_reference::TaggedModel;

use crate::fixture::{detector, hosts};

/// A host with many peers.
const ATTACKER: u32 = 0x0a00_0001;
/// A host without peers.
const INNOCENT: u32 = 0x0a00_0002;

/// Hash families with a seed that the sender of the traffic knows.
const KNOWN: [Hashes; 2] = [
    Hashes { family: HashFamily::Murmur, seed: 0 },
    Hashes { family: HashFamily::HalfSip13, seed: 0 },
];

/// A hash family with a seed that the sender does not know. The seed is constant so that the tests are deterministic.
const UNKNOWN: Hashes = Hashes { family: HashFamily::HalfSip13, seed: 0x1405_0b5e_1bad_5eed };

#[derive(Clone, Copy)]
struct Hashes {
    family: HashFamily,
    seed: u64,
}

impl Hashes {
    fn of(self, config: Config) -> Config {
        Config { hash: self.family, seed: self.seed, ..config }
    }
}

fn report(config: Config, pairs: &[Ipv4Pair]) -> (SliceReport, SlidingDetector) {
    let mut detector = detector(config);
    detector.ingest(pairs).unwrap();
    (detector.close_slice().unwrap(), detector)
}

/// Returns contacts of `ATTACKER` with the first 20,000 peers for which `chosen` returns true.
fn contacts(mut chosen: impl FnMut(u32) -> bool) -> Vec<Ipv4Pair> {
    let peers = (0xc000_0000..).filter(|&peer| chosen(peer)).take(20_000);
    peers.map(|peer| Ipv4Pair { inside: ATTACKER, peer }).collect()
}

/// Asserts that `ATTACKER` is reported with a correct estimate. `pairs` must be the 20,000 contacts of `ATTACKER`.
fn assert_counted(config: Config, pairs: &[Ipv4Pair]) {
    let (report, _) = report(config, pairs);
    assert_eq!(hosts(&report), [ip(ATTACKER)]);
    let point = &report.super_points[0];
    assert_abs_diff_eq!(point.cardinality, 20_000.0, epsilon = 5.0 * point.std_error);
}

/// A model of the cells that pairs touch. A sender who knows the seed can also compute this model.
struct Cells {
    params: Params,
    model: TaggedModel,
}

impl Cells {
    fn new(config: Config) -> Self {
        let model = TaggedModel::new(config).unwrap();
        Self { params: config.validate().unwrap(), model }
    }

    /// Returns the indices of the cells of `host`, by slot.
    fn of(&self, host: u32) -> Vec<u32> {
        let spots = self.params.finder().cells().unwrap().spots(host);
        spots.iter().map(|spot| spot.place).collect()
    }

    /// Returns the index of the cell that `pair` touches, or `None` if the pair is not sampled.
    fn touched(&mut self, pair: Ipv4Pair) -> Option<u32> {
        self.model.touch(pair, 0);
        let cells = &mut self.model.cells;
        let spots = self.params.finder().cells().unwrap().spots(pair.inside);
        let place =
            spots.iter().map(|spot| spot.place).find(|&at| cells[at as usize] != u64::MAX)?;
        cells[place as usize] = u64::MAX;
        Some(place)
    }

    /// Returns a pair of `host` that touches cell `place`, which must be one of the host's cells.
    fn pair(&mut self, host: u32, place: u32) -> Ipv4Pair {
        let mut pairs = (0xd000_0000..).map(|peer| Ipv4Pair { inside: host, peer });
        pairs.find(|&pair| self.touched(pair) == Some(place)).unwrap()
    }
}

#[test]
fn peers_that_nobody_samples_hide_a_host_only_where_the_seed_is_known() {
    for known in KNOWN {
        let config = known.of(Config::default());
        let mut cells = Cells::new(config);
        let pairs = contacts(|peer| cells.touched(Ipv4Pair { inside: ATTACKER, peer }).is_none());
        let (report, detector) = report(config, &pairs);
        assert_eq!((report.candidates, report.super_points.len()), (0, 0));
        // A query for the host returns the true value.
        let asked = detector.cardinality_within(ip(ATTACKER), 2).unwrap();
        assert_abs_diff_eq!(asked.cardinality, 20_000.0, epsilon = 5.0 * asked.std_error);
        assert_counted(UNKNOWN.of(config), &pairs);
    }
}

// All 20,000 peers share only 512 of 32,768 positions.
#[test]
fn peers_of_few_positions_make_a_host_small_only_where_the_seed_is_known() {
    for known in KNOWN {
        let config = known.of(Config::default());
        let params = config.validate().unwrap();
        let tagged = params.counter().tagged().unwrap();
        let position = |peer| tagged.position(&Ipv4Pair { inside: ATTACKER, peer });
        let pairs = contacts(|peer| position(peer) < Some(512));
        let (report, detector) = report(config, &pairs);
        assert_eq!((report.candidates, report.super_points.len()), (1, 0));
        let asked = detector.cardinality_within(ip(ATTACKER), 2).unwrap();
        assert!(asked.cardinality < 600.0, "{asked:?}");
        assert_counted(UNKNOWN.of(config), &pairs);
    }
}

/// For each row, returns the first `count` hosts that have the same column in this row as `INNOCENT`.
fn companions<const ROWS: usize>(
    count: usize,
    columns: impl Fn(u32) -> [u32; ROWS],
) -> [Vec<u32>; ROWS] {
    let aims = columns(INNOCENT);
    let mut companions = [const { Vec::new() }; ROWS];
    for host in 0x1000_0000.. {
        for ((found, aim), column) in companions.iter_mut().zip(aims).zip(columns(host)) {
            if column == aim && found.len() < count {
                found.push(host);
            }
        }
        if companions.iter().all(|found| found.len() == count) {
            break;
        }
    }
    companions
}

/// For each cell of `ATTACKER`, returns a contact of another host that touches this cell.
fn takers(config: Config) -> Vec<Ipv4Pair> {
    let mut cells = Cells::new(config);
    let mut wanted: Vec<u32> = cells.of(ATTACKER);
    let mut takers = Vec::new();
    for host in 0x2000_0000.. {
        for place in cells.of(host) {
            if let Some(found) = wanted.iter().position(|&wanted| wanted == place) {
                wanted.swap_remove(found);
                takers.push(cells.pair(host, place));
            }
        }
        if wanted.is_empty() {
            break;
        }
    }
    takers
}

// A slice later, 64 contacts hide a host with 20,000 peers, but not one that was reported before.
#[test]
fn others_take_all_cells_of_a_host_only_where_the_seed_is_known() {
    let pairs = contacts(|_| true);
    for known in KNOWN {
        let config = known.of(Config::default());
        let takers = takers(config);
        assert!(takers.len() <= 64);
        for (config, is_reported_before, is_found) in
            [(config, false, false), (config, true, true), (UNKNOWN.of(config), false, true)]
        {
            let mut detector = detector(config);
            detector.ingest(&pairs).unwrap();
            match is_reported_before {
                true => assert_eq!(hosts(&detector.close_slice().unwrap()), [ip(ATTACKER)]),
                false => detector.skip_to(1).unwrap(),
            }
            detector.ingest(&takers).unwrap();
            let report = detector.close_slice().unwrap();
            assert_eq!(hosts(&report) == [ip(ATTACKER)], is_found, "{config:?}");
            let peers = detector.sample_peers(ip(ATTACKER)).unwrap();
            assert_eq!(peers.is_empty(), config.seed == known.seed, "{peers:?}");
        }
    }
}

/// For each row, returns contacts of 400 hosts, one per host. These contacts fill the rough estimator of `INNOCENT` in
/// the row.
fn rough_companions(params: &Params) -> [Vec<Ipv4Pair>; 5] {
    let rsra = params.finder().rsra().unwrap();
    let columns = |host| {
        let base = rsra.base_column(host);
        std::array::from_fn(|row| rsra.column(row as u32, base, host))
    };
    companions(400, columns).map(|hosts| {
        let peers = (0xc000_0000..).filter(|&peer| rsra.slot(peer).is_some());
        hosts.into_iter().zip(peers).map(|(inside, peer)| Ipv4Pair { inside, peer }).collect()
    })
}

fn hot_columns(report: &SliceReport) -> Vec<f64> {
    let FinderFill::Rsra { hot_shares, .. } = &report.health.finder.fill else {
        panic!("{:?}", report.health.finder.fill)
    };
    hot_shares.iter().map(|share| share * f64::from(1 << 17)).collect()
}

#[test]
fn hosts_of_one_column_make_it_hot_only_where_the_seed_is_known() {
    for known in KNOWN {
        let config = known.of(Config::paper());
        let rows = rough_companions(&config.validate().unwrap());
        let (one_row, _) = report(config, &rows[0]);
        assert_eq!(hot_columns(&one_row)[0], 1.0);
        assert_eq!(one_row.candidates, 0, "a single row makes no candidate");
        // Because of 2000 hosts with one contact each, a host without contacts is a candidate. Its linear estimator
        // rejects it.
        let (all_rows, _) = report(config, &rows.concat());
        assert!(hot_columns(&all_rows).iter().all(|&hot| hot >= 1.0));
        assert_eq!((all_rows.candidates, all_rows.super_points.len()), (1, 0));
        let (unknown, _) = report(UNKNOWN.of(config), &rows.concat());
        assert_eq!(hot_columns(&unknown), [0.0; 5]);
        assert_eq!(unknown.candidates, 0);
    }
}

/// Returns contacts of 100 hosts with 75 peers each, which fill the paper's union estimator of `INNOCENT`. There
/// are 20 hosts per row, among which 1,500 peers are divided. All rows have the same peers.
fn linear_companions(params: &Params) -> Vec<Ipv4Pair> {
    let columns =
        |host| std::array::from_fn(|row| params.counter().rows().unwrap().column(row as u32, host));
    let rows: [Vec<u32>; 5] = companions(20, columns);
    let rsra = params.finder().rsra().unwrap();
    let peers = (0xc000_0000..).filter(|&peer| rsra.slot(peer).is_none()).take(1500);
    let pairs = peers.enumerate().flat_map(|(index, peer)| {
        let hosts = rows.each_ref().map(|hosts| hosts[index / 75]);
        hosts.map(|inside| Ipv4Pair { inside, peer })
    });
    pairs.collect()
}

#[test]
fn innocent_host_is_a_super_point_of_the_paper_only_where_the_seed_is_known() {
    for known in KNOWN {
        let config = known.of(Config::paper());
        let params = config.validate().unwrap();
        let pairs = [rough_companions(&params).concat(), linear_companions(&params)].concat();
        let (framed, _) = report(config, &pairs);
        assert_eq!(hosts(&framed), [ip(INNOCENT)]);
        let (unknown, _) = report(UNKNOWN.of(config), &pairs);
        assert!(hosts(&unknown).is_empty());
    }
}
