use super::*;
use approx::abs_diff_eq;

/// At this threshold, vectors have 512 bits in DCDS and GSE. In VBFA, vectors have 192 bits if the memory is 1 MiB.
const THRESHOLD: u32 = 128;
const MEMORY: usize = 1 << 20;

fn config<C>(with_memory: fn(usize, u32, u64) -> C) -> C {
    with_memory(MEMORY, THRESHOLD, 1)
}

fn systems() -> [Box<dyn System>; 3] {
    let dcds = dcds::Dcds::new(&config(dcds::Config::with_memory));
    let vbfa = vbfa::Vbfa::new(&config(vbfa::Config::with_memory));
    let gse = gse::Gse::new(config(gse::Config::with_memory));
    [Box::new(dcds), Box::new(vbfa), Box::new(gse)]
}

/// Returns distinct addresses. A bijection computes them from consecutive numbers.
fn addresses(seed: u64) -> impl Iterator<Item = Address> {
    let key = KeySequence::new(seed).next_key();
    (0..).map(move |number| hash(number, key))
}

fn pairs(host: Address, count: usize) -> Vec<Ipv4Pair> {
    addresses(host.into()).take(count).map(|peer| Ipv4Pair { inside: host, peer }).collect()
}

#[test]
fn memory_is_what_was_asked_but_for_a_percent_a_word_per_vector_or_a_word() {
    for asked in [16 << 20, 32 << 20, 64 << 20] {
        let dcds = dcds::Dcds::new(&dcds::Config::with_memory(asked, 1024, 1));
        let vbfa = vbfa::Vbfa::new(&vbfa::Config::with_memory(asked, 1024, 1));
        // VBFA has five arrays of 2^13 vectors.
        for (bytes, unused) in [(dcds.memory_bytes(), asked / 100), (vbfa.memory_bytes(), 5 << 16)]
        {
            assert!((asked - bytes) < unused, "{bytes} of {asked}");
        }
        for asked in [asked, 1_000_003] {
            let gse = gse::Gse::new(gse::Config::with_memory(asked, 1024, 1));
            assert!(asked - gse.memory_bytes() < size_of::<u64>());
        }
    }
}

#[test]
fn planted_hosts_and_no_others_are_reported() {
    // The planted hosts are neighbours, hosts with a common half, and extreme addresses. In the coarsest vectors, which
    // have 192 bits, an estimate of 400 has a standard deviation of 31. The threshold is therefore 8 standard
    // deviations away.
    let planted = [0, 1, 2, 0x0A01_0203, 0x0A01_FFFF, 0xC0A8_0203, u32::MAX - 1, u32::MAX];
    for mut system in systems() {
        for host in planted {
            system.ingest(&pairs(host, 400));
        }
        addresses(9).take(5000).for_each(|host| system.ingest(&pairs(host, 4)));
        let mut found: Vec<_> = system.close_slice().iter().map(|&(host, _)| host).collect();
        found.sort_unstable();
        assert_eq!(found, planted, "{}", system.name());
    }
}

/// Asserts that the mean estimate of 64 hosts with 128 peers each is within five standard errors of the expected value.
///
/// The variance of an estimate is `s (e^(t + a) - t - 1)`, where s is the number of bits per vector, t the number of
/// peers per bit, and a the number of other hosts' pairs per bit. The bias is the variance divided by `2 s`.
fn assert_unbiased(mut system: impl System, vector_bits: u32, others_per_bit: f64) {
    let (hosts, cardinality) = (64, 128);
    addresses(5).take(hosts).for_each(|host| system.ingest(&pairs(host, cardinality)));
    let report = system.close_slice();
    assert_eq!(report.len(), hosts, "{}", system.name());
    let (bits, cardinality) = (f64::from(vector_bits), cardinality as f64);
    let load = cardinality / bits;
    let spread = libm::exp(load + others_per_bit) - load - 1.0;
    let standard_error = libm::sqrt(bits * spread / hosts as f64);
    let mean = report.iter().map(|&(_, estimate)| estimate).sum::<f64>() / hosts as f64;
    let expected = cardinality + spread / 2.0;
    let is_near = abs_diff_eq!(mean, expected, epsilon = 5.0 * standard_error);
    assert!(is_near, "{}: {mean} {expected}", system.name());
}

#[test]
fn cardinalities_are_right_within_their_standard_error() {
    let threshold = THRESHOLD / 2; // so that an error does not exclude a host
    let sizes = dcds::Config { threshold, ..config(dcds::Config::with_memory) };
    assert_unbiased(dcds::Dcds::new(&sizes), sizes.vector_bits, 0.0);
    let sizes = vbfa::Config { threshold, ..config(vbfa::Config::with_memory) };
    assert_unbiased(vbfa::Vbfa::new(&sizes), sizes.vector_bits, 0.0);
    let sizes = gse::Config { threshold, ..config(gse::Config::with_memory) };
    let others_per_bit = 64.0 * 128.0 / f64::from(sizes.array_bits);
    assert_unbiased(gse::Gse::new(sizes), sizes.vector_bits, others_per_bit);
}

#[test]
fn repeated_packets_count_once() {
    for mut system in systems() {
        let all = pairs(7, 300);
        system.ingest(&all);
        let once = system.close_slice();
        (0..5).for_each(|_| system.ingest(&all));
        assert_eq!(system.close_slice(), once, "{}", system.name());
    }
}

#[test]
fn a_window_contains_nothing_of_the_previous_one() {
    for mut system in systems() {
        let memory = system.memory_bytes();
        system.ingest(&pairs(7, 400));
        assert_eq!(system.close_slice().len(), 1);
        system.ingest(&pairs(7, 10));
        assert_eq!((system.close_slice(), system.memory_bytes()), (vec![], memory));
    }
}

#[test]
fn a_search_stops_at_its_bound_and_reports_it() {
    let most_combinations = 1000;
    let stopped = Search { tried: most_combinations, complete: false };
    let flood: Vec<_> = addresses(2).take(2000).flat_map(|host| pairs(host, 1000)).collect();
    let mut dcds =
        dcds::Dcds::new(&dcds::Config { most_combinations, ..config(dcds::Config::with_memory) });
    dcds.ingest(&flood);
    dcds.close_slice();
    assert_eq!((dcds.search, dcds.is_complete()), (stopped, false));
    let mut vbfa =
        vbfa::Vbfa::new(&vbfa::Config { most_combinations, ..config(vbfa::Config::with_memory) });
    vbfa.ingest(&flood);
    vbfa.close_slice();
    assert_eq!((vbfa.search, vbfa.is_complete()), (stopped, false));
    // The next window is not affected.
    dcds.ingest(&pairs(7, 300));
    assert_eq!((dcds.close_slice().len(), dcds.is_complete()), (1, true));
}

/// A reversal in which every combination is a host. The vector indices are the decimal digits of the address.
struct Digits;

impl Reversal for Digits {
    const NAME: &str = "digits";

    type Sizes = ();

    type Clue = Address;

    fn new((): &(), _: &mut KeySequence) -> (Self, Vec<u32>) {
        (Self, vec![10; 3])
    }

    fn vectors(&self, host: Address) -> impl Iterator<Item = u32> {
        [host / 100, host / 10 % 10, host % 10].into_iter()
    }

    fn nothing(&self) -> Address {
        0
    }

    fn only(&self, _: usize, _: Address) -> Option<u32> {
        None
    }

    fn join(&self, _: usize, vector: u32, known: Address) -> Option<Address> {
        Some(10 * known + vector)
    }

    fn host(&self, known: Address) -> Address {
        known
    }
}

#[test]
fn the_search_reports_what_trying_all_whole_combinations_would() {
    let mut arrays = Arrays::new(&[10; 3], 64);
    let keys = &mut KeySequence::new(4);
    for (array, vector) in (0..30).map(|number| (number / 10, number as u32 % 10)) {
        let key = keys.next_key();
        // In a vector of 64 bits, between 9 and 162 random bits are set, with repetitions.
        (0..9 + 17 * vector).for_each(|throw| arrays.set(array, vector, hash(throw, key) >> 26));
    }
    let all: Vec<_> = arrays.arrays.iter().map(|array| arrays.zeros(array)).collect();
    let background = arrays.background(&all);
    let (report, search) = arrays.report(&Digits, 20, u64::MAX);
    let expected = (0..1000).filter_map(|host| {
        let words = Digits.vectors(host).enumerate().map(|(array, it)| arrays.vector(array, it)[0]);
        let both = words.fold(u64::MAX, |and, word| and & word);
        let estimate = linear_count(both.count_zeros(), 64) - background;
        (estimate >= 20.0).then_some((host, estimate))
    });
    assert_eq!(report, expected.collect::<Vec<_>>());
    assert!(report.len() > 100 && search.tried < 1000, "{} {search:?}", report.len());
}
