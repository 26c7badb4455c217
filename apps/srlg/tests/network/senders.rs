//! A collector of fifty sites must close slices in time, and its memory must not grow.
//!
//! `SRLG_SECONDS=600` sets the duration in seconds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, message::PublishMessage};
use futures_util::future::join_all;
use serde_json::Value;
use srlg_cli::network::connect::Access;
use srlg_cli::network::payload::{Payload, ViewState, state_bytes};
use srlg_cli::network::subjects::{PART_HEADER, Part, delta};
use srlg_cli::network::{NetworkVersion, bucket};
use srlg_host::{Device, IpPair, SlidingDetector};
use srlg_system::now_ms;

use crate::net::{run, start_broker};
use crate::network_traffic::Random;
use crate::process::Process;

const SITES: usize = 50;

/// Number of pairs per view, site and slice. One pair in ten belongs to the host that all sites see.
const PAIRS: u32 = 5_000;

/// Length of a slice. At least half of the slices must close before the next slice ends, so that the collector keeps
/// up. Individual slices may take longer, because the senders and the broker use the same processors.
const IN_TIME: Duration = Duration::from_secs(1);

fn pairs(random: &mut Random) -> Vec<IpPair> {
    let pair = |index| {
        let inside = if index % 10 == 0 { 0 } else { random.below(65_536) as u32 };
        IpPair { inside: 0x0A00_0000 + inside, peer: random.below(1 << 32) as u32 }
    };
    (0..PAIRS).map(pair).collect()
}

/// Returns the payloads of each slice of a site. A slice with several parts has several payloads.
fn prepare(version: &NetworkVersion, site: usize, first: u64, slices: u64) -> Vec<Vec<Vec<u8>>> {
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
            detector.ingest(&pairs(&mut random)).unwrap();
            let parts = detector.delta(1).unwrap().into_parts(state_bytes(network.part_bytes));
            let delta = |bytes: Vec<u8>| ViewState { view, bytes: bytes.into() };
            states.extend(parts.unwrap().into_iter().map(delta));
        }
        Payload { version: *id, slice, states }.pack(network.part_bytes)
    };
    (first..first + slices).map(&mut of_slice).collect()
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

#[test]
#[ignore = "ten minutes: cargo test --release -p srlg-cli --test network senders -- --ignored --nocapture"]
fn a_collector_of_fifty_sites_closes_in_time_in_flat_memory() {
    let names: Vec<String> = (0..SITES).map(name).collect();
    let Some((folder, broker)) = start_broker(&names) else { return };
    let folder = folder.path();
    let seconds = std::env::var("SRLG_SECONDS").map_or(600, |text| text.parse().unwrap());
    let [config, reports] = ["srlg.toml", "reports.ndjson"].map(|name| folder.join(name));
    let text = format!(
        "inside = ['10.0.0.0/8']\nstate = '{0}/state'\nhttp = '127.0.0.1:0'\n\
         [network]\nprobes = {names:?}\nfolder = '{0}'\nbroker = '{1}'\n\
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
    assert_eq!(version.network.views.len(), 3);

    // The time to prepare one site predicts the time to prepare all sites.
    let begun = Instant::now();
    drop(prepare(&version, 0, 1, 20));
    let all = begun.elapsed() * (SITES as u32 * u32::try_from(seconds).unwrap()) / 20;
    let first = (now_ms() + all.as_millis() as u64) / 1_000 + 10;
    println!("preparation takes about {all:.0?}");
    let halves: Vec<Vec<_>> = std::thread::scope(|scope| {
        let prepare = |half: usize| {
            let (version, sites) = (&version, half * SITES / 2..(half + 1) * SITES / 2);
            scope.spawn(move || sites.map(|site| prepare(version, site, first, seconds)).collect())
        };
        let threads = [prepare(0), prepare(1)];
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let payloads: Vec<Vec<Vec<Vec<u8>>>> = halves.into_iter().flatten().collect();
    assert!(now_ms() < first * 1_000, "the preparation took too long");

    let process = collector.id();
    let reports = File::open(reports).unwrap();
    let mut closes = Closes { reports, rest: String::new(), seen: BTreeMap::new(), incomplete: 0 };
    let mut resident = Vec::new();
    let used = processor_seconds(process);
    run(async {
        let links = join_all(names.iter().map(links)).await;
        let streams: Vec<_> =
            links.iter().map(|link| jetstream::new(link.client.clone())).collect();
        for second in 0..seconds {
            let end_ms = (first + second + 1) * 1_000;
            while now_ms() < end_ms {
                tokio::time::sleep(Duration::from_millis(20)).await;
                closes.update();
            }
            resident.push(resident_bytes(process));
            let send = |(site, stream): (usize, &jetstream::Context)| {
                let (parts, stream) = (&payloads[site][second as usize], stream.clone());
                async move {
                    for (number, payload) in (1..).zip(parts) {
                        let part = Part { number, count: parts.len() as u32 };
                        let message = PublishMessage::build()
                            .payload(payload.clone().into())
                            .header(PART_HEADER, part.to_string().as_str());
                        let sent = stream.send_publish(delta(&name(site)), message).await;
                        sent.unwrap().await.unwrap();
                    }
                }
            };
            join_all(streams.iter().enumerate().map(send)).await;
        }
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
    assert_eq!((closes.seen.len() as u64, closes.incomplete), (seconds, 0));
    assert!(Duration::from_millis(median) <= IN_TIME, "closed after {median} ms");
    assert!(late <= 1.05 * early, "memory grew from {early} to {late}");
    collector.terminate();
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");
}
