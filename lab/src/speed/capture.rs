//! Measurement of the ingest rate from a capture file, in pairs and in bytes per second. The time includes parsing, as
//! in `srlg detect`.
//!
//! The file contains [`Backbone`] traffic with a mean of ten packets per pair. It is a temporary file, which is deleted
//! after the measurement. It is read from the page cache and not from a disk. Both hosts of a packet are counted, so
//! each packet yields two pairs. Slices start but are not closed, because closes are measured separately.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use srlg_host::SlidingDetector;
use srlg_host::ingest::PairBatch;
use srlg_host::time::{Placement, SliceClock};
use srlg_input::capture::Reader;
use srlg_traffic::synthetic::Backbone;

use super::{Metric, PAIRS_PER_CALL, Setting};
use crate::generate::{write_pcap_header, write_pcap_packet};
use crate::sample::{Sample, seconds, timed};

/// Approximate size of a packet record in the capture file, in bytes.
const RECORD: u32 = 91;
const PACKETS_PER_PAIR: u32 = 10;
/// Duration of the capture in seconds. Each second is a slice.
const SLICES: u32 = 10;

pub(super) fn measure(setting: &Setting<'_>, metrics: &mut Vec<Metric>) -> Result<()> {
    let mut file = tempfile::tempfile().context("cannot create a temporary file")?;
    let bytes = write(setting, &mut file).context("cannot write a temporary file")?;
    let mut pairs = 0;
    let seconds = seconds(setting.options.repeat, || {
        let mut detector = setting.detector()?;
        file.rewind()?;
        let input = file.try_clone()?;
        timed(|| {
            pairs = read(input, &mut detector)?;
            Ok(detector.flush()?)
        })
    })?;
    for (metric, unit, work) in
        [("capture_pairs", "M pairs/s", f64::from(pairs)), ("capture_bytes", "MB/s", bytes as f64)]
    {
        let sample = Sample::rate(work / 1e6, &seconds);
        metrics.push(Metric::new(metric, unit, 1, sample).load(pairs));
    }
    Ok(())
}

/// Writes a capture file and returns its size in bytes.
fn write(setting: &Setting<'_>, file: &mut File) -> Result<u64> {
    let wanted = setting.options.capture;
    let model = Backbone {
        seed: setting.options.seed,
        slices: SLICES,
        period: SLICES,
        pairs: (wanted / RECORD / PACKETS_PER_PAIR).max(1),
        packets_per_pair: PACKETS_PER_PAIR,
        planted: Vec::new(),
    };
    let mut out = BufWriter::with_capacity(1 << 20, &mut *file);
    write_pcap_header(&mut out)?;
    for (second, packets) in (0..).zip(model.slices()) {
        for (packet, &pair) in (0..).zip(&packets) {
            let offset_us: u64 = packet * 1_000_000 / packets.len() as u64;
            write_pcap_packet(&mut out, second * 1_000_000 + offset_us, pair)?;
        }
    }
    out.flush()?;
    drop(out);
    Ok(file.metadata()?.len())
}

/// Ingests a capture file and returns the number of ingested pairs.
fn read(input: File, detector: &mut SlidingDetector) -> Result<u32> {
    let mut clock = SliceClock::new(Duration::from_secs(1), 0, Duration::MAX)?;
    let mut reader = Reader::new(input)?;
    let (mut batch, mut pairs) = (detector.pair_batch(PAIRS_PER_CALL)?, 0);
    while let Some(contacts) = reader.next_contacts()? {
        for contact in contacts {
            match clock.place(contact.time_ns) {
                Placement::Running => {}
                Placement::Start { slice } | Placement::Ahead { slice } => {
                    ingest(detector, &mut batch)?;
                    detector.skip_to(slice)?;
                }
                other => bail!("expected a capture in order of time, got {other:?}"),
            }
            let (source, destination) = (contact.source, contact.destination);
            batch.extend([(source, destination), (destination, source)]);
            pairs += 2;
            if batch.len() + 2 > PAIRS_PER_CALL {
                ingest(detector, &mut batch)?;
            }
        }
    }
    ingest(detector, &mut batch)?;
    Ok(pairs)
}

fn ingest(detector: &SlidingDetector, batch: &mut PairBatch) -> Result<()> {
    batch.ingest(detector)?;
    batch.clear();
    Ok(())
}
