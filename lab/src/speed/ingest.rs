//! Measurement of the rate at which pairs are ingested into the running slice. Three kinds of entrants run in turn:
//! srlg, common alternatives, and the limits of the machine.
//!
//! Pairs in ordinary memory are passed in batches, as an application would pass them. The detector starts a new slice
//! for each slice of traffic, and the time to start it is not measured. On a GPU, only srlg is measured. Ingest from
//! pinned memory and from GPU memory is measured separately.

use std::iter;

use anyhow::Result;
use srlg_core::Ipv4Pair;
use srlg_host::Device;
use srlg_host::ingest::Pair;

use super::entrants::{self, MINIMUM, Place, Share, race, rate, ratio};
#[cfg(feature = "cuda")]
use super::gpu;
use super::traffic::{self, Traffic};
use super::{Metric, Setting};
use crate::peers::Peer;
use crate::sample::Sample;

/// Maximum number of pairs in a pinned buffer. The number of buffers depends on the traffic.
const PAIRS_PER_BUFFER: usize = 1 << 22;
const THREADS: [u32; 2] = [1, 2];

/// Minimum number of rounds in which one and two threads are compared. This ratio varies more than others.
const LEAST_TURNS: u32 = 8;

pub(super) fn measure(setting: &Setting<'_>, metrics: &mut Vec<Metric>) -> Result<()> {
    for traffic in traffic::all(setting) {
        if setting.device == Device::Cpu {
            for threads in THREADS {
                contest(setting, &traffic, &entrants::split(&traffic, threads), metrics)?;
            }
        } else {
            for threads in THREADS {
                let mut own = [own(setting, &traffic, threads)?];
                race(&mut own, setting.options.repeat)?;
                add_place(setting, &traffic, &own[0], metrics);
            }
        }
        second_thread(setting, traffic.name, &traffic.slices, metrics)?;
        family(setting, &traffic, metrics)?;
        pinned(setting, &traffic, metrics)?;
        #[cfg(feature = "cuda")]
        if let Device::Cuda(ordinal) = setting.device {
            gpu::resident(setting, ordinal, &traffic, metrics)?;
        }
    }
    Ok(())
}

fn own<'a>(setting: &Setting<'_>, traffic: &'a Traffic, threads: u32) -> Result<Place<'a>> {
    entrants::own(setting, &traffic.slices, threads, entrants::pairs)
}

/// Measures how much faster two threads ingest `slices` than one thread in the same race.
fn second_thread<P: Pair + Sync>(
    setting: &Setting<'_>,
    name: &str,
    slices: &[Vec<P>],
    metrics: &mut Vec<Metric>,
) -> Result<()> {
    let own = |threads| entrants::own(setting, slices, threads, entrants::pairs);
    let mut places = [own(1)?, own(2)?];
    race(&mut places, setting.options.repeat.max(LEAST_TURNS))?;
    let [one, two] = &places;
    let name = format!("ingest_{name}_threads_ratio");
    let metric = setting.metric(&name, "times", 2, ratio(two, &[one]));
    metrics.push(metric.detail("of", "srlg, one thread"));
    Ok(())
}

/// Measures the ingest rates of the pairs after conversion to IPv6 and to a mix of both families, and their ratios to
/// the IPv4 rate.
fn family(setting: &Setting<'_>, traffic: &Traffic, metrics: &mut Vec<Metric>) -> Result<()> {
    if setting.config.validate()?.finder().cells().is_none() {
        return Ok(()); // the paper's scheme does not support IPv6
    }
    let (v6, mixed) = (traffic.v6(), traffic.mixed());
    second_thread(setting, &format!("ip6_{}", traffic.name), &v6, metrics)?;
    for threads in THREADS {
        let mut places = [
            own(setting, traffic, threads)?,
            entrants::own(setting, &v6, threads, entrants::pairs)?,
            entrants::own(setting, &mixed, threads, entrants::batches)?,
        ];
        race(&mut places, setting.options.repeat)?;
        let [v4, v6, mixed] = &places;
        for (family, place) in [("ip6", v6), ("mixed", mixed)] {
            let name = format!("ingest_{family}_{}", traffic.name);
            let rate = place.rate(f64::from(setting.pairs) / 1e6);
            metrics.push(setting.metric(&name, "M pairs/s", threads, rate));
            let (name, ratio) = (format!("{name}_ratio"), ratio(place, &[v4]));
            let metric = setting.metric(&name, "times", threads, ratio);
            metrics.push(metric.detail("of", "srlg, IPv4"));
        }
    }
    Ok(())
}

/// Measures srlg and all alternatives to it with one thread per share. With distinct pairs, also measures the limits.
fn contest(
    setting: &Setting<'_>,
    traffic: &Traffic,
    shares: &[Share],
    metrics: &mut Vec<Metric>,
) -> Result<()> {
    let threads = shares.len() as u32;
    let mut places: Vec<_> =
        Peer::ALL.into_iter().map(|peer| entrants::peer(setting, peer, shares)).collect();
    places.push(own(setting, traffic, threads)?);
    // The limits are comparable because they touch random recorders, as distinct pairs do.
    if traffic.name == "distinct" {
        places.extend(entrants::touches(setting, threads)?);
    }
    race(&mut places, setting.options.repeat)?;
    let (peers, others) = places.split_at(Peer::ALL.len());
    let (srlg, limits) = (&others[0], &others[1..]);
    for place in [srlg].into_iter().chain(peers) {
        add_place(setting, traffic, place, metrics);
    }
    let exact = peers.iter().zip(Peer::ALL).filter(|(_, peer)| peer.is_exact());
    let best: Vec<_> = exact.map(|(place, _)| place).collect();
    let to_best = ("best exact map", ratio(srlg, &best));
    let to_each = peers.iter().map(|peer| (peer.system.as_str(), ratio(srlg, &[peer])));
    for (of, sample) in iter::once(to_best).chain(to_each) {
        let name = format!("ingest_{}_ratio", traffic.name);
        metrics.push(setting.metric(&name, "times", threads, sample).detail("of", of));
    }
    limits.iter().for_each(|limit| add_limit(setting, srlg, limit, metrics));
    Ok(())
}

/// Adds the rate of touches. For [`MINIMUM`], also adds the ingest rate as a share of this rate.
fn add_limit(
    setting: &Setting<'_>,
    srlg: &Place<'_>,
    limit: &Place<'_>,
    metrics: &mut Vec<Metric>,
) {
    let sample = limit.rate(f64::from(setting.pairs) / 1e6);
    let metric = setting.metric("random_store_limit", "M/s", limit.threads, sample);
    metrics.push(metric.system("machine").detail("kind", limit.system.as_str()));
    if limit.system == MINIMUM {
        let share = ratio(srlg, &[limit]).scaled(100.0);
        let metric = setting.metric("ingest_distinct_share", "%", limit.threads, share);
        metrics.push(metric.detail("of", "random_store_limit, minimum"));
    }
}

fn add_place(
    setting: &Setting<'_>,
    traffic: &Traffic,
    place: &Place<'_>,
    metrics: &mut Vec<Metric>,
) {
    let metric = |name: &str, unit, sample| {
        setting.metric(name, unit, place.threads, sample).system(&place.system)
    };
    let rate = place.rate(f64::from(setting.pairs) / 1e6);
    metrics.push(metric(&format!("ingest_{}", traffic.name), "M pairs/s", rate));
    // The same systems, shared among several threads, take nearly the same memory.
    if place.threads == 1 {
        let memory = Sample::of([place.memory_bytes as f64]);
        let memory = metric("memory_bytes", "bytes", memory);
        metrics.push(memory.detail("traffic", traffic.name));
    }
}

/// Measures ingest from pinned memory. The buffers are filled before the measurement, because an application would fill
/// one buffer while the detector reads another.
fn pinned(setting: &Setting<'_>, traffic: &Traffic, metrics: &mut Vec<Metric>) -> Result<()> {
    let owner = setting.detector()?;
    let buffers = |slice: &Vec<Ipv4Pair>| {
        let buffer = |share: &[Ipv4Pair]| {
            let mut buffer = owner.pinned_pairs(share.len())?;
            buffer.fill(|pairs| pairs.copy_from_slice(share))?;
            Ok(buffer)
        };
        slice.chunks(PAIRS_PER_BUFFER).map(buffer).collect::<Result<Vec<_>>>()
    };
    let slices = traffic.slices.iter().map(buffers).collect::<Result<Vec<_>>>()?;
    let name = format!("ingest_pinned_{}", traffic.name);
    metrics.push(rate(setting, &name, &slices, |detector, buffers| {
        buffers.iter().try_for_each(|buffer| Ok(detector.ingest_pinned(buffer)?))
    })?);
    Ok(())
}
