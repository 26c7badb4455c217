//! Collectors, what is sent to them, and trees of them.

use std::time::{Duration, Instant};

use anyhow::Result;
use srlg_core::Config;
use srlg_host::state::Delta;
use srlg_host::{Device, SlidingDetector};

/// The slice in which all nodes and collectors are.
///
/// Ages of epochs make no difference to a slice that begins one.
const SLICE: u64 = 1 << 32;

/// A detector in the slice [`SLICE`] that has seen nothing.
pub(super) fn detector(config: Config) -> Result<SlidingDetector> {
    let mut detector = SlidingDetector::new(config, Device::Cpu)?;
    detector.skip_to(SLICE)?;
    Ok(detector)
}

/// What a node or a collector sends at the end of a slice.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    /// Recorders in it.
    pub(super) recorders: usize,
    /// From the end of the slice to the bytes.
    pub(super) time: Duration,
}

impl Sent {
    /// The delta of the running slice.
    pub(super) fn of(detector: &mut SlidingDetector) -> Result<Self> {
        let start = Instant::now();
        let delta = detector.delta(1)?;
        let bytes = delta.to_bytes()?;
        let time = start.elapsed();
        Ok(Self { bytes, recorders: delta.recorders(), time })
    }
}

/// A detector that merges what nodes, or other collectors, send of the running slice.
pub(super) struct Collector {
    pub(super) detector: SlidingDetector,
    /// In reading and merging.
    pub(super) time: Duration,
    /// Bytes that came in.
    pub(super) bytes: usize,
}

impl Collector {
    pub(super) fn new(config: Config) -> Result<Self> {
        Ok(Self { detector: detector(config)?, time: Duration::ZERO, bytes: 0 })
    }

    /// A collector of all that is sent.
    pub(super) fn of(config: Config, sent: &[Sent]) -> Result<Self> {
        let mut collector = Self::new(config)?;
        sent.iter().try_for_each(|sent| collector.take(&sent.bytes))?;
        Ok(collector)
    }

    /// Reads and merges a delta.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let start = Instant::now();
        let delta = Delta::from_bytes(bytes, self.detector.params())?;
        self.detector.merge_delta(&delta)?;
        self.time += start.elapsed();
        self.bytes += bytes.len();
        Ok(())
    }

    /// Closes the slice; how long that takes.
    pub(super) fn close(&mut self) -> Result<Duration> {
        let start = Instant::now();
        self.detector.close_slice()?;
        Ok(start.elapsed())
    }
}

/// What a tree of collectors costs. Collectors of a level work at the same time.
#[derive(Default)]
pub(super) struct Tree {
    levels: u32,
    collectors: usize,
    bytes: usize,
    /// Of the slowest collector of each level below the root, and of the slowest node.
    latency: Duration,
}

impl Tree {
    /// Collectors over collectors until one is left. Each merges what those below it send, and sends one delta up.
    pub(super) fn grow(
        &mut self,
        config: Config,
        nodes: &[Sent],
        fan_in: usize,
    ) -> Result<Collector> {
        self.latency = slowest(nodes.iter().map(|sent| sent.time));
        let mut level = self.level(config, nodes, fan_in)?;
        while level.len() > 1 {
            let send = |collector: &mut Collector| Sent::of(&mut collector.detector);
            let sent = level.iter_mut().map(send).collect::<Result<Vec<_>>>()?;
            let times = level.iter().zip(&sent);
            self.latency += slowest(times.map(|(collector, sent)| collector.time + sent.time));
            level = self.level(config, &sent, fan_in)?;
        }
        Ok(level.remove(0))
    }

    fn level(&mut self, config: Config, below: &[Sent], fan_in: usize) -> Result<Vec<Collector>> {
        let level = below.chunks(fan_in).map(|group| Collector::of(config, group));
        let level = level.collect::<Result<Vec<_>>>()?;
        self.levels += 1;
        self.collectors += level.len();
        self.bytes += level.iter().map(|collector| collector.bytes).sum::<usize>();
        Ok(level)
    }

    /// Levels, collectors, bytes to the root and on all links; milliseconds of the root, and from the nodes to the answer.
    pub(super) fn figures(&self, mut root: Collector) -> Result<[f64; 6]> {
        let last = root.time + root.close()?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let [levels, collectors] = [self.levels.into(), self.collectors as f64];
        let [to_root, all] = [root.bytes, self.bytes].map(|bytes| bytes as f64);
        Ok([levels, collectors, to_root, all, ms(last), ms(self.latency + last)])
    }
}

fn slowest(times: impl Iterator<Item = Duration>) -> Duration {
    times.max().unwrap_or_default()
}
