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

#[cfg(feature = "cuda")]
use super::gpu;
use super::own::{self, Own, rate};
use super::peers::Share;
use super::race::{self, Place, ratio};
use super::report::{Metric, Report};
use super::setting::Setting;
use super::traffic::{self, Traffic};
use super::{limits, peers};
use crate::sample::Sample;

/// Pairs of a pinned buffer, of which there are as many as it takes.
const PAIRS_PER_BUFFER: usize = 1 << 22;
/// Threads that ingest.
const THREADS: [u32; 2] = [1, 2];

pub(super) fn measure(setting: &Setting<'_>, report: &mut Report<'_>) -> Result<()> {
    for traffic in traffic::all(setting) {
        if setting.device == Device::Cpu {
            for threads in THREADS {
                contest(setting, &traffic, &peers::split(&traffic, threads), report)?;
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
    Ok(Place::new("srlg", threads, Own::new(setting, &traffic.slices, threads, own::pairs)?))
}

/// The same pairs, of IPv6 hosts, and half of the inside hosts of either family: what they cost more.
fn family(setting: &Setting<'_>, traffic: &Traffic, report: &mut Report<'_>) -> Result<()> {
    if setting.config.validate()?.finder().cells().is_none() {
        return Ok(()); // the paper's scheme takes none
    }
    let (v6, mixed) = (traffic.v6(), traffic.mixed());
    for threads in THREADS {
        let own6 = Own::new(setting, &v6, threads, own::pairs)?;
        let of_both = Own::new(setting, &mixed, threads, own::batches)?;
        let mut places = [
            own(setting, traffic, threads)?,
            Place::new("srlg", threads, own6),
            Place::new("srlg", threads, of_both),
        ];
        race::run(&mut places, setting.options.repeat)?;
        let [v4, v6, mixed] = &places;
        for (family, place) in [("ip6", v6), ("mixed", mixed)] {
            let name = format!("ingest_{family}_{}", traffic.name);
            let rate = place.rate(f64::from(setting.pairs) / 1e6);
            let metric = Metric::new(name.clone(), "M pairs/s", threads, rate);
            report.add(&metric.load(setting.pairs));
            let ratio = ratio(place, &[v4]);
            let metric = Metric::new(format!("{name}_ratio"), "times", threads, ratio);
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
    let (exact, mut places): (Vec<bool>, Vec<Place<'_>>) =
        peers::places(setting, shares).into_iter().unzip();
    let peers = places.len();
    places.push(own(setting, traffic, threads)?);
    // These touch random places, as distinct pairs do.
    if traffic.name == "distinct" {
        places.extend(limits::places(setting, threads)?);
    }
    race::run(&mut places, setting.options.repeat)?;
    let (peers, others) = places.split_at(peers);
    let (srlg, limits) = (&others[0], &others[1..]);
    for place in [srlg].into_iter().chain(peers) {
        tell(setting, traffic, place, report);
    }
    let best: Vec<_> = peers.iter().zip(&exact).filter(|it| *it.1).map(|it| it.0).collect();
    let to_best = ("best exact map", ratio(srlg, &best));
    let to_each = peers.iter().map(|peer| (peer.system.as_str(), ratio(srlg, &[peer])));
    for (of, sample) in iter::once(to_best).chain(to_each) {
        let name = format!("ingest_{}_ratio", traffic.name);
        let metric = Metric::new(name, "times", threads, sample).load(setting.pairs);
        report.add(&metric.detail("of", of));
    }
    limits::tell(setting, srlg, limits, report);
    Ok(())
}

/// How fast a system was, and what it took.
fn tell(setting: &Setting<'_>, traffic: &Traffic, place: &Place<'_>, report: &mut Report<'_>) {
    let metric = |name: String, unit, sample| {
        Metric::new(name, unit, place.threads, sample).load(setting.pairs).system(&place.system)
    };
    let rate = place.rate(f64::from(setting.pairs) / 1e6);
    report.add(&metric(format!("ingest_{}", traffic.name), "M pairs/s", rate));
    let memory = Sample::of([place.entrant.memory_bytes() as f64]);
    let memory = metric("memory_bytes".to_owned(), "bytes", memory);
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
    report.add(&rate(setting, name, &slices, |detector, buffers| {
        buffers.iter().try_for_each(|buffer| Ok(detector.ingest_pinned(buffer)?))
    })?);
    Ok(())
}
