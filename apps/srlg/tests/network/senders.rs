//! Collectors of many sites must close slices in time, and their memory must not grow. The sites are connections of
//! this process, which send slices to the broker as probes do.
//!
//! `SRLG_SECONDS=600` sets the duration in seconds. `SRLG_SITES=1000` and `SRLG_PAIRS=2000` set the number of sites
//! without sketches, and of their pairs per view and slice.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, message::PublishMessage};
use futures_util::future::join_all;
use serde_json::{Value, json};
use srlg_cli::network::connect::Access;
use srlg_cli::network::payload::{Payload, ViewState, state_bytes};
use srlg_cli::network::subjects::{PART_HEADER, Part, slice};
use srlg_cli::network::{NetworkVersion, bucket};
use srlg_host::ingest::PairBatch;
use srlg_host::state::SlicePairs;
use srlg_host::{Device, Ipv4Pair, SlidingDetector};
use srlg_system::now_ms;
use srlg_traffic::synthetic::mix;
use tokio::task::JoinSet;

use crate::net::{run, start_broker};
use crate::network_traffic::Random;
use crate::process::Process;

/// Length of a slice. At least half of the slices must close before the next slice ends, so that the collector keeps
/// up. Individual slices may take longer, because the senders and the broker use the same processors.
const IN_TIME: Duration = Duration::from_secs(1);

/// Number of sites with sketches.
const SITES_WITH_SKETCHES: usize = 50;

/// The messages of a site after a slice has ended.
#[derive(Clone, Default)]
struct Sent {
    payloads: Vec<Vec<u8>>,
    /// Whether the site sends everything twice.
    is_repeated: bool,
    /// Time after the end of the slice.
    delay: Duration,
}

/// Sites that send slices.
trait Sites: Sized {
    const VIEWS: usize;

    /// Returns the number of sites.
    fn sites() -> usize;

    /// Prepares the sites for `seconds` slices. Returns the first slice, which must not have begun.
    fn prepare(version: &NetworkVersion, seconds: u64) -> (Self, u64);

    /// Returns what the site sends of its slice number `second`, which is slice `slice`.
    fn slice(&self, site: usize, second: u64, slice: u64) -> Sent;
}

/// Fifty sites with sketches, which send deltas.
struct Deltas(Vec<Vec<Vec<Vec<u8>>>>);

impl Deltas {
    /// Number of pairs per view, site and slice. One pair in ten belongs to the host that all sites see.
    const PAIRS: u32 = 5_000;

    fn pairs(random: &mut Random) -> Vec<Ipv4Pair> {
        let pair = |index| {
            let inside = if index % 10 == 0 { 0 } else { random.below(65_536) as u32 };
            Ipv4Pair { inside: 0x0A00_0000 + inside, peer: random.below(1 << 32) as u32 }
        };
        (0..Self::PAIRS).map(pair).collect()
    }

    /// Returns the payloads of each slice of a site. A slice with several parts has several payloads.
    fn of_site(
        version: &NetworkVersion,
        site: usize,
        first: u64,
        slices: u64,
    ) -> Vec<Vec<Vec<u8>>> {
        let NetworkVersion { id, network, .. } = version;
        let mut random = Random(site as u64 + 1);
        let mut detectors: Vec<_> = network
            .views
            .iter()
            .map(|view| SlidingDetector::new(view.sizes, Device::Cpu).unwrap())
            .collect();
        let mut of_slice = |slice| {
            let mut states = Vec::new();
            for (view, detector) in (0..).zip(&mut detectors) {
                detector.skip_to(slice).unwrap();
                detector.ingest(&Self::pairs(&mut random)).unwrap();
                let parts = detector.delta(1).unwrap().into_parts(state_bytes(network.part_bytes));
                let delta = |bytes: Vec<u8>| ViewState { view, bytes: bytes.into() };
                states.extend(parts.unwrap().into_iter().map(delta));
            }
            Payload { version: *id, slice, states }.pack(network.part_bytes)
        };
        (first..first + slices).map(&mut of_slice).collect()
    }
}

impl Sites for Deltas {
    const VIEWS: usize = 3;

    fn sites() -> usize {
        SITES_WITH_SKETCHES
    }

    fn prepare(version: &NetworkVersion, seconds: u64) -> (Self, u64) {
        // The time to prepare one site predicts the time to prepare all sites.
        let begun = Instant::now();
        drop(Self::of_site(version, 0, 1, 20));
        let all =
            begun.elapsed() * (SITES_WITH_SKETCHES as u32 * u32::try_from(seconds).unwrap()) / 20;
        let first = (now_ms() + all.as_millis() as u64) / 1_000 + 10;
        println!("preparation takes about {all:.0?}");
        let halves: Vec<Vec<_>> = std::thread::scope(|scope| {
            let prepare = |half: usize| {
                let sites = half * SITES_WITH_SKETCHES / 2..(half + 1) * SITES_WITH_SKETCHES / 2;
                let of_site = move |site| Self::of_site(version, site, first, seconds);
                scope.spawn(move || sites.map(of_site).collect())
            };
            let threads = [prepare(0), prepare(1)];
            threads.map(|thread| thread.join().unwrap()).into()
        });
        (Self(halves.into_iter().flatten().collect()), first)
    }

    fn slice(&self, site: usize, second: u64, _: u64) -> Sent {
        Sent { payloads: self.0[site][second as usize].clone(), ..Sent::default() }
    }
}

/// A thousand sites without sketches, which send pairs. Some sites are silent, late, restarted or flooded, or repeat
/// what they have sent.
struct Pairs {
    version: NetworkVersion,
    /// Number of pairs per view, site and slice.
    count: u64,
}

impl Pairs {
    /// Returns a pair of a site. The hosts of the network have Zipf's distribution.
    fn pair(site: u64, number: u64) -> Ipv4Pair {
        let random = mix(site << 32 | number);
        let rank = 65_536_f64.powf((random >> 40) as f64 / f64::from(1 << 24));
        Ipv4Pair { inside: 0x0A00_0000 + rank as u32, peer: random as u32 }
    }

    /// Returns the pairs of a slice. They are chosen from five times as many pairs of the site.
    fn batch(&self, site: usize, second: u64, view: u8) -> PairBatch {
        let (site, mut batch) = (site as u64, PairBatch::new());
        let mut random = Random(site << 32 | second << 8 | u64::from(view));
        let is_flooded = site < 20 && second % 120 >= 90;
        for number in 0..self.count {
            let pair = match is_flooded && number % 2 == 0 {
                // A flood from forged sources.
                true => Ipv4Pair { inside: 0x0A01_0001, peer: random.below(1 << 32) as u32 },
                false => Self::pair(site, random.below(5 * self.count)),
            };
            let [inside, peer] = [pair.inside, pair.peer].map(Ipv4Addr::from_bits);
            batch.push((inside, peer));
        }
        batch
    }
}

impl Sites for Pairs {
    const VIEWS: usize = 2;

    fn sites() -> usize {
        number("SRLG_SITES", 1_000) as usize
    }

    fn prepare(version: &NetworkVersion, _: u64) -> (Self, u64) {
        let pairs = Self { version: version.clone(), count: number("SRLG_PAIRS", 2_000) };
        (pairs, now_ms() / 1_000 + 60)
    }

    fn slice(&self, site: usize, second: u64, slice: u64) -> Sent {
        let NetworkVersion { id, network, .. } = &self.version;
        let is_silent = site % 50 == 7 && second % 100 >= 50;
        let state = |view: u8| {
            let pairs = SlicePairs::new(&self.batch(site, second, view), slice).unwrap();
            ViewState { view, bytes: pairs.to_bytes().unwrap().into() }
        };
        let views = if is_silent { 0 } else { network.views.len() as u8 };
        let payload = Payload { version: *id, slice, states: (0..views).map(state).collect() };
        // A restarted probe sends what its spool has.
        let is_restarting = site as u64 == 100 + second / 100 && second % 100 == 30;
        let delay = match (is_restarting, site % 100 == 50) {
            (true, _) => Duration::from_secs(3),
            (false, true) => Duration::from_millis(300),
            _ => Duration::ZERO,
        };
        let is_repeated = is_restarting || site % 10 == 3;
        Sent { payloads: payload.pack(network.part_bytes), is_repeated, delay }
    }
}

/// Returns the report of a site without watched hosts.
fn report(version: &NetworkVersion, slice: u64) -> String {
    let (id, ms) = (version.id, (slice + 1) * 1_000);
    let spool = json!({ "slices": 60, "unsent": 1, "lost": 0 });
    let datagrams = json!({ "received": slice, "refused": 0, "dropped": 0 });
    let input =
        json!({ "datagrams": datagrams, "newest_ms": ms, "is_lost": false, "seen_from_ms": 0 });
    json!({
        "version": id, "slice": slice, "spool": spool, "input": input, "exporters": null, "hosts": []
    })
    .to_string()
}

/// Returns the number in the environment variable `name`, or `default`.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn name(site: usize) -> String {
    format!("site-{site}")
}

struct Closes {
    reports: File,
    /// Start of an incomplete line.
    rest: String,
    /// Time at which the close of each slice was seen, in milliseconds since the Unix epoch.
    seen: BTreeMap<u64, u64>,
    incomplete: usize,
}

impl Closes {
    fn update(&mut self) {
        self.reports.read_to_string(&mut self.rest).unwrap();
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(whole);
        for line in std::mem::replace(&mut self.rest, rest).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            self.incomplete += usize::from(line["closed"] != "complete");
            self.seen.insert(line["slice"].as_u64().unwrap(), now_ms());
        }
    }
}

fn resident_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

/// Returns the processor time of a process, in seconds. A clock tick is a hundredth of a second.
fn processor_seconds(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let ticks = stat.rsplit(") ").next().unwrap().split(' ').skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// Sends the parts of a slice and waits until the broker has stored them.
async fn send(stream: &jetstream::Context, name: &str, payloads: &[Vec<u8>]) {
    for (number, payload) in (1..).zip(payloads) {
        let part = Part { number, count: payloads.len() as u32 };
        let message = PublishMessage::build()
            .payload(payload.clone().into())
            .header(PART_HEADER, part.to_string().as_str());
        stream.send_publish(slice(name), message).await.unwrap().await.unwrap();
    }
}

#[test]
#[ignore = "ten minutes: cargo test --release -p srlg-cli --test network senders -- --ignored --nocapture"]
fn a_collector_of_fifty_sites_closes_in_time_in_flat_memory() {
    collect_in_time::<Deltas>();
}

#[test]
#[ignore = "ten minutes: cargo test --release -p srlg-cli --test network thousand -- --ignored --nocapture"]
fn a_collector_of_a_thousand_sites_closes_in_time_in_flat_memory() {
    collect_in_time::<Pairs>();
}

fn collect_in_time<S: Sites>() {
    let names: Vec<String> = (0..S::sites()).map(name).collect();
    let Some((folder, broker)) = start_broker(&names) else { return };
    let folder = folder.path();
    let seconds = number("SRLG_SECONDS", 600);
    let [config, reports] = ["srlg.toml", "reports.ndjson"].map(|name| folder.join(name));
    let view = |number| format!("[[view]]\nname = 'v{number}'\nrole = 'destination'\n");
    let views: String = (0..S::VIEWS).map(view).collect();
    let text = format!(
        "inside = ['10.0.0.0/8']\nstate = '{0}/state'\nhttp = '127.0.0.1:0'\n\
         [network]\nprobes = {names:?}\nfolder = '{0}'\nbroker = '{1}'\n\
         [[rule]]\nname = 'all'\nthresholds = {{ 60s = 1024 }}\n{views}\
         [[sink]]\ntype = 'file'\npath = '{0}/notifications.ndjson'\n",
        folder.display(),
        broker.address()
    );
    fs::write(&config, text).unwrap();
    let args = ["collect".as_ref(), "--config".as_ref(), config.as_os_str()];
    let mut collector =
        Process::srlg(args.into_iter().chain(["--reports".as_ref(), reports.as_os_str()]));
    collector.wait_for("the page is at");
    let links = |name: &String| {
        let access = Access { folder: folder.to_owned(), broker: broker.address() };
        let name = name.clone();
        async move { access.connect(&name).await.unwrap() }
    };
    let version = run(async {
        let link = links(&names[0]).await;
        bucket::read(&link.client).await.unwrap().unwrap().version
    });
    assert_eq!(version.network.views.len(), S::VIEWS);

    let (sites, first) = S::prepare(&version, seconds);
    assert!(now_ms() < first * 1_000, "the preparation took too long");

    let process = collector.id();
    let reports = File::open(reports).unwrap();
    let mut closes = Closes { reports, rest: String::new(), seen: BTreeMap::new(), incomplete: 0 };
    let (mut resident, mut prepared_ms) = (Vec::new(), Vec::new());
    let used = processor_seconds(process);
    run(async {
        let links = join_all(names.iter().map(links)).await;
        let streams: Vec<_> =
            links.iter().map(|link| jetstream::new(link.client.clone())).collect();
        assert!(now_ms() < first * 1_000, "the connections took too long");
        let mut sending = JoinSet::new();
        for second in 0..seconds {
            let slice = first + second;
            let sent: Vec<_> =
                (0..names.len()).map(|site| sites.slice(site, second, slice)).collect();
            let end_ms = (slice + 1) * 1_000;
            prepared_ms.push(end_ms.saturating_sub(now_ms()));
            while now_ms() < end_ms {
                tokio::time::sleep(Duration::from_millis(20)).await;
                closes.update();
            }
            resident.push(resident_bytes(process));
            for (site, (sent, stream)) in sent.into_iter().zip(&streams).enumerate() {
                let (stream, client, name) =
                    (stream.clone(), links[site].client.clone(), name(site));
                let report = report(&version, slice);
                sending.spawn(async move {
                    tokio::time::sleep(sent.delay).await;
                    client.publish(format!("srlg.report.{name}"), report.into()).await.unwrap();
                    for _ in 0..=usize::from(sent.is_repeated) {
                        send(&stream, &name, &sent.payloads).await;
                    }
                });
            }
            while let Some(done) = sending.try_join_next() {
                done.unwrap();
            }
        }
        sending.join_all().await;
    });
    let last = first + seconds - 1;
    let begun = Instant::now();
    while closes.seen.last_key_value().is_none_or(|(slice, _)| *slice < last) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the last slice did not close");
        std::thread::sleep(Duration::from_millis(20));
        closes.update();
    }
    let used = processor_seconds(process) - used;
    let mut lags: Vec<u64> =
        closes.seen.iter().map(|(slice, seen)| seen - (slice + 1) * 1_000).collect();
    lags.sort_unstable();
    let [median, longest] = [lags[lags.len() / 2], lags[lags.len() - 1]];
    // Windows are full after a minute, and a checkpoint is written every minute.
    let settled = &resident[resident.len().min(120) - 1..];
    let (early, late) = settled.split_at(settled.len() / 2);
    let [early, late] = [early, late].map(|it| it.iter().max().copied().unwrap_or(0) as f64);
    println!(
        "\n| slices | incomplete | closed after their end, median | longest | of a core | resident |\n\
         |---:|---:|---:|---:|---:|---:|\n\
         | {} | {} | {median} ms | {longest} ms | {:.2} | at most {:.0} MB, later {:.0} MB |",
        closes.seen.len(),
        closes.incomplete,
        used / seconds as f64,
        early / 1e6,
        late / 1e6
    );
    let least = prepared_ms.iter().min();
    println!("the senders were ready at least {least:?} ms before the end of a slice");
    assert_eq!((closes.seen.len() as u64, closes.incomplete), (seconds, 0));
    assert!(Duration::from_millis(median) <= IN_TIME, "closed after {median} ms");
    assert!(late <= 1.05 * early, "memory grew from {early} to {late}");
    collector.terminate();
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");
}
