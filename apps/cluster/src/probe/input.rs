//! Where contacts come from: a capture, a capture that goes on, or generated traffic.
//!
//! Shape: [`Args::read`] drives a [`Measurement`] through the whole input. Invariant: equal files, or
//! equal options of generated traffic, give equal slices, so that a probe that is started again
//! on them goes on where it was.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use clap::ArgGroup;
use srlg_capture::{Counts, Reader};
use srlg_contact::{View, ViewOptions};
use tracing::warn;

use super::Measured;
use super::measure::Measurement;
use super::traffic::Traffic;
use crate::network::Network;

/// Contacts that wait between reading and measuring a capture that goes on.
const WAITING: usize = 1 << 16;

/// So often time passes while no packet comes.
const TICK: Duration = Duration::from_millis(20);

/// What a probe reads.
#[derive(Debug, clap::Args)]
#[group(id = "source", required = true, args = ["input", "generate"])]
#[command(group(ArgGroup::new("contacts").args(["input"])))]
pub struct Args {
    /// pcap, pcapng, CSV with the header time_ms,src,dst, a log of Zeek, Suricata or an AWS VPC, gzip of any; - is standard input
    #[arg(long, value_name = "FILE|-")]
    pub input: Option<PathBuf>,

    /// What is measured.
    #[command(flatten)]
    pub view: ViewOptions,

    /// The input goes on now: a slice ends by this machine's clock, whether packets come or not
    #[arg(long, requires = "input", conflicts_with = "pace")]
    pub live: bool,

    /// With --live, how long after its end a slice waits for packets on their way
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = humantime::parse_duration, requires = "live")]
    pub grace: Duration,

    /// Generated traffic.
    #[command(flatten)]
    pub generated: Traffic,
}

impl Args {
    /// Takes the measurement through the whole input.
    pub(super) fn read(&self, network: &Network, measurement: Measurement) -> Result<Measured> {
        let Some(path) = &self.input else {
            return self.generate(network, measurement);
        };
        let name = || path.display().to_string();
        let reader = Reader::new(open(path)?).with_context(name)?;
        if self.live {
            return self.follow(reader, measurement).with_context(name);
        }
        self.read_file(reader, measurement).with_context(name)
    }

    fn generate(&self, network: &Network, mut measurement: Measurement) -> Result<Measured> {
        let length = network.slice_ms * 1_000_000;
        let family = self.generated.family;
        let first = self.generated.first_slice.unwrap_or(now()? / length);
        for (slice, pairs) in (first..).zip(self.generated.slices()) {
            let start = slice.saturating_mul(length);
            // A slice without any pair is a slice as well.
            measurement.take(start, pairs.into_iter().map(|pair| family.hosts(pair)))?;
        }
        Ok(Measured { totals: measurement.finish()?, counts: None })
    }

    fn read_file(&self, mut reader: Reader, mut measurement: Measurement) -> Result<Measured> {
        let view = View::new(&self.view)?;
        while let Some(contact) = reader.next_contact()? {
            measurement.take(contact.time_ns, view.pairs(&contact))?;
        }
        let counts = ended(&reader);
        Ok(Measured { totals: measurement.finish()?, counts: Some(counts) })
    }

    /// Reads in a thread of its own, so that slices end while no packet comes.
    fn follow(&self, mut reader: Reader, mut measurement: Measurement) -> Result<Measured> {
        let view = View::new(&self.view)?;
        let grace = u64::try_from(self.grace.as_nanos()).unwrap_or(u64::MAX);
        let (sender, receiver) = sync_channel(WAITING);
        let reading =
            thread::Builder::new().name("read".to_owned()).spawn(move || -> Result<Counts> {
                while let Some(contact) = reader.next_contact()? {
                    if sender.send(contact).is_err() {
                        break;
                    }
                }
                Ok(ended(&reader))
            })?;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(contact) => measurement.take(contact.time_ns, view.pairs(&contact))?,
                Err(RecvTimeoutError::Timeout) => measurement.pass(now()?.saturating_sub(grace))?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let counts = reading.join().map_err(|_| anyhow::anyhow!("the reading thread failed"))??;
        Ok(Measured { totals: measurement.finish()?, counts: Some(counts) })
    }
}

/// Tells of an early end; what became of all packets.
fn ended(reader: &Reader) -> Counts {
    if let Some(truncation) = reader.truncation() {
        warn!("{truncation}");
    }
    reader.counts().clone()
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(Box::new(file))
}

/// This machine's clock, nanoseconds since the Unix epoch.
fn now() -> Result<u64> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_nanos())?)
}
