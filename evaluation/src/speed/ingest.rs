//! Pairs per second into the running slice: srlg, what users have today, and what the machine
//! could do, by turns.
//!
//! Ordinary memory comes in batches, as a program collects them. The detector's slices end
//! as the traffic's do, which is no part of the time. On a GPU only srlg runs; pairs in pinned
//! memory and on the GPU itself are measured alone.

use std::iter;

use anyhow::Result;
use srlg_core::IpPair;
use srlg_host::Device;

use super::Setting;
use super::entrants::{self, MINIMUM, Own, Share, rate};
#[cfg(feature = "cuda")]
use super::gpu;
use super::race::{self, Place, ratio};
use super::report::{Metric, Report};
use super::traffic::{self, Traffic};
use crate::peers::Peer;
use crate::sample::Sample;

/// Pairs of a pinned buffer, of which there are as many as it takes.
const PAIRS_PER_BUFFER: usize = 1 << 22;
/// Threads that ingest.
const THREADS: [u32; 2] = [1, 2];

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    for traffic in traffic::all(setting) {
        if setting.device == Device::Cpu {
            for threads in THREADS {
                contest(setting, &traffic, &entrants::split(&traffic, threads), report)?;
            }
        } else {
            for threads in THREADS {
                let mut own = [own(setting, &traffic, threads)?];
                race::run(&mut own, setting.options.repeat)?;
                tell(setting, &traffic, &own[0], report);
            }
        }
        family(setting, &traffic, report)?;
        pinned(setting, &traffic, report)?;
        #[cfg(feature = "cuda")]
        if let Device::Cuda(ordinal) = setting.device {
            gpu::resident(setting, ordinal, &traffic, report)?;
        }
    }
    Ok(())
}

fn own<'a>(setting: &Setting<'_>, traffic: &'a Traffic, threads: u32) -> Result<Place<'a>> {
    Own::place(setting, &traffic.slices, threads, entrants::pairs)
}

/// The same pairs, of IPv6 hosts, and half of the inside hosts of either family: what they cost more.
fn family(setting: &Setting<'_>, traffic: &Traffic, report: &mut Report<'_>) -> Result<()> {
    if setting.config.validate()?.finder().cells().is_none() {
        return Ok(()); // the paper's scheme takes none
    }
    let (v6, mixed) = (traffic.v6(), traffic.mixed());
    for threads in THREADS {
        let mut places = [
            own(setting, traffic, threads)?,
            Own::place(setting, &v6, threads, entrants::pairs)?,
            Own::place(setting, &mixed, threads, entrants::batches)?,
        ];
        race::run(&mut places, setting.options.repeat)?;
        let [v4, v6, mixed] = &places;
        for (family, place) in [("ip6", v6), ("mixed", mixed)] {
            let name = format!("ingest_{family}_{}", traffic.name);
            let rate = place.rate(f64::from(setting.pairs) / 1e6);
            let metric = Metric::new(&name, "M pairs/s", threads, rate);
            report.add(&metric.load(setting.pairs));
            let ratio = ratio(place, &[v4]);
            let metric = Metric::new(&format!("{name}_ratio"), "times", threads, ratio);
            report.add(&metric.load(setting.pairs).detail("of", "srlg, IPv4"));
        }
    }
    Ok(())
}

/// All systems, with a thread for each of `shares`, and the limits where they are comparable.
fn contest(
    setting: &Setting<'_>,
    traffic: &Traffic,
    shares: &[Share],
    report: &mut Report<'_>,
) -> Result<()> {
    let threads = shares.len() as u32;
    let mut places: Vec<_> =
        Peer::ALL.into_iter().map(|peer| entrants::peer(setting, peer, shares)).collect();
    places.push(own(setting, traffic, threads)?);
    // These touch random places, as distinct pairs do.
    if traffic.name == "distinct" {
        places.extend(entrants::touches(setting, threads)?);
    }
    race::run(&mut places, setting.options.repeat)?;
    let (peers, others) = places.split_at(Peer::ALL.len());
    let (srlg, limits) = (&others[0], &others[1..]);
    for place in [srlg].into_iter().chain(peers) {
        tell(setting, traffic, place, report);
    }
    let exact = peers.iter().zip(Peer::ALL).filter(|(_, peer)| peer.is_exact());
    let best: Vec<_> = exact.map(|(place, _)| place).collect();
    let to_best = ("best exact map", ratio(srlg, &best));
    let to_each = peers.iter().map(|peer| (peer.system.as_str(), ratio(srlg, &[peer])));
    for (of, sample) in iter::once(to_best).chain(to_each) {
        let name = format!("ingest_{}_ratio", traffic.name);
        let metric = Metric::new(&name, "times", threads, sample).load(setting.pairs);
        report.add(&metric.detail("of", of));
    }
    limits.iter().for_each(|limit| add_limit(setting, srlg, limit, report));
    Ok(())
}

/// Touches per second, and the share of them that ingest reached.
fn add_limit(setting: &Setting<'_>, srlg: &Place<'_>, limit: &Place<'_>, report: &mut Report<'_>) {
    let sample = limit.rate(f64::from(setting.pairs) / 1e6);
    let metric = Metric::new("random_store_limit", "M/s", limit.threads, sample);
    let metric = metric.load(setting.pairs).system("machine");
    report.add(&metric.detail("kind", limit.system.as_str()));
    if limit.system == MINIMUM {
        let share = ratio(srlg, &[limit]).scaled(100.0);
        let metric = Metric::new("ingest_distinct_share", "%", limit.threads, share);
        report.add(&metric.load(setting.pairs).detail("of", "random_store_limit, minimum"));
    }
}

/// How fast a system was, and what it took.
fn tell(setting: &Setting<'_>, traffic: &Traffic, place: &Place<'_>, report: &mut Report<'_>) {
    let metric = |name: &str, unit, sample| {
        Metric::new(name, unit, place.threads, sample).load(setting.pairs).system(&place.system)
    };
    let rate = place.rate(f64::from(setting.pairs) / 1e6);
    report.add(&metric(&format!("ingest_{}", traffic.name), "M pairs/s", rate));
    let memory = Sample::of([place.entrant.memory_bytes() as f64]);
    let memory = metric("memory_bytes", "bytes", memory);
    report.add(&memory.detail("traffic", traffic.name));
}

/// Pinned memory is filled before the clock runs, as a program does that fills one buffer while
/// another is read.
fn pinned(setting: &Setting<'_>, traffic: &Traffic, report: &mut Report<'_>) -> Result<()> {
    let owner = setting.detector()?;
    let buffers = |slice: &Vec<IpPair>| {
        let buffer = |share: &[IpPair]| {
            let mut buffer = owner.pinned_pairs(share.len())?;
            buffer.fill(|pairs| pairs.copy_from_slice(share))?;
            Ok(buffer)
        };
        slice.chunks(PAIRS_PER_BUFFER).map(buffer).collect::<Result<Vec<_>>>()
    };
    let slices = traffic.slices.iter().map(buffers).collect::<Result<Vec<_>>>()?;
    let name = format!("ingest_pinned_{}", traffic.name);
    report.add(&rate(setting, &name, &slices, |detector, buffers| {
        buffers.iter().try_for_each(|buffer| Ok(detector.ingest_pinned(buffer)?))
    })?);
    Ok(())
}
