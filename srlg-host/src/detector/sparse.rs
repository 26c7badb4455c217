//! Detectors that list their first pairs, and have recorders only if they need them.

use std::collections::HashMap;

use srlg_core::{Ages, Config};

use super::SlidingDetector;
use crate::backend::PairsOfAges;
use crate::device::Device;
use crate::error::Error;
use crate::open;
use crate::sparse::SparseBackend;
use crate::state::SlicePairs;

impl SlidingDetector {
    /// Creates a detector that lists its first `most_pairs` distinct pairs, and allocates recorders only when it needs
    /// them. A pair with an IPv6 address counts as four.
    ///
    /// The recorders are allocated when there are more pairs, when a slice is closed, and when the detector is queried,
    /// saved or merged with recorders. From then on, the detector equals one that was created by [`new`](Self::new),
    /// bit for bit. Ingestion into a list takes several times
    /// as long as ingestion into recorders, and only one thread at a time adds pairs. On a GPU, the recorders are
    /// allocated at once.
    ///
    /// Use this for many detectors of which most see few pairs, such as one per group of a query, and for nodes that
    /// only [pass their pairs on](Self::take_pairs).
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
    ///
    /// let mut detector = SlidingDetector::sparse(Config::default(), Device::Cpu, 100_000)?;
    /// let pairs: Vec<Ipv4Pair> = (0..5000).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    /// detector.ingest(&pairs)?;
    /// assert!(detector.memory_bytes() < 1_000_000);
    /// assert_eq!(detector.close_slice()?.super_points[0].host.to_string(), "0.0.0.7");
    /// assert!(detector.memory_bytes() > 31_000_000);
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Config`] if `config` breaks a rule, or another error if a GPU cannot be used. Any operation
    /// that allocates the recorders returns [`Error::OutOfMemory`] if they do not fit into memory. The list then stays
    /// and keeps all pairs.
    pub fn sparse(config: Config, device: Device, most_pairs: usize) -> Result<Self, Error> {
        let params = config.validate()?;
        let on_cpu = |params| Ok(Box::new(SparseBackend::new(params, most_pairs)) as Box<_>);
        Ok(Self::with_backend(params, open::backend_or(device, params, on_cpu)?))
    }

    /// Returns the maximum memory of a list of up to `most_pairs` pairs, in bytes. While it grows, it needs half as
    /// much again.
    #[must_use]
    pub const fn list_bytes(most_pairs: usize) -> usize {
        SparseBackend::list_bytes(most_pairs)
    }

    /// Returns whether the detector has a list of pairs and no recorders.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        !self.backend.shared().has_recorders()
    }

    /// Returns the listed pairs by slice, the oldest slice first, or `None` if the detector has no list.
    ///
    /// If slices are in epochs because the window has more than 511 slices, contacts are assigned to the newest slice
    /// of their epoch. Pairs that have left the window are not returned.
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn pairs(&self) -> Result<Option<Vec<SlicePairs>>, Error> {
        let pairs = self.backend.settled()?.pairs();
        Ok(pairs.map(|pairs| self.by_slice(pairs)))
    }

    /// Returns the listed pairs like [`pairs`](Self::pairs), and begins a new list.
    ///
    /// A node that counts nothing itself calls this at the end of each slice and sends the result. If the result is
    /// `None`, the slice had more pairs than the list takes, or states were merged, and the node sends the
    /// [`delta`](Self::delta) of the slice. The recorders are then kept until as many slices as a window have had a
    /// list, so that a flood does not allocate them again and again. Without recorders, the detector forgets the pairs.
    /// With recorders, pairs are both listed and recorded.
    ///
    /// ```
    /// # use srlg_host as srlg;
    /// use srlg::{Config, Device, Ipv4Pair, SlidingDetector};
    ///
    /// let mut node = SlidingDetector::sparse(Config::default(), Device::Cpu, 1000)?;
    /// let flood = |peers| (0..peers).map(|peer| Ipv4Pair { inside: 7, peer }).collect::<Vec<_>>();
    /// node.ingest(&flood(1000))?;
    /// assert_eq!(node.take_pairs()?.unwrap()[0].len(), 1000);
    /// node.skip_to(1)?;
    /// node.ingest(&flood(1001))?;
    /// assert!(node.take_pairs()?.is_none());
    /// assert!(node.delta(1)?.recorders() > 1001);
    /// # Ok::<(), srlg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error only if a GPU fails.
    pub fn take_pairs(&mut self) -> Result<Option<Vec<SlicePairs>>, Error> {
        let pairs = self.backend.exclusive()?.take_pairs();
        Ok(pairs.map(|pairs| self.by_slice(pairs)))
    }

    fn by_slice(&self, pairs: Vec<PairsOfAges>) -> Vec<SlicePairs> {
        let (running, params) = (self.slice(), self.params());
        let oldest = running.saturating_sub(u64::from(params.window()) - 1);
        // Several slices of an epoch have the same ages. The newest one is inserted last.
        let key = |ages: Ages| [ages.finder, ages.counter];
        let slices =
            (oldest..=running).map(|slice| (key(params.ages_between(slice, running)), slice));
        let slices: HashMap<[u32; 2], u64> = slices.collect();
        let of_slice =
            |PairsOfAges { ages, v4, v6 }| Some(SlicePairs::of(*slices.get(&key(ages))?, v4, v6));
        let mut pairs: Vec<_> = pairs.into_iter().filter_map(of_slice).collect();
        pairs.sort_by_key(SlicePairs::slice);
        pairs
    }
}
