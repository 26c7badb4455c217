//! The paper's scheme with one bit per recorder.
//!
//! In a discrete window, a recorder was touched or not. The paper's estimators RE and LE therefore consist of bits
//! instead of 16-bit ages, as those of the rivals do. Their reports are the same, so a detector with ages stands for
//! them.

use srlg_core::{Address, Config, Ipv4Pair, RsraSizes, Scheme};
use srlg_host::Error;

use crate::options::{Preset, Synthetic};
use crate::system::{Srlg, System};

/// A detector of the paper's scheme whose memory is counted in bits.
pub(super) struct Bits(Srlg);

impl Bits {
    /// Creates a detector with the sizes of the paper, but 2^`doublings` times as many recorders.
    pub(super) fn new(options: &Synthetic, doublings: u32) -> Result<Self, Error> {
        let mut config = Config { window: 1, ..options.config(Preset::Paper) };
        if let Scheme::Paper { finder: RsraSizes { column_bits, .. }, columns, .. } =
            &mut config.scheme
        {
            *column_bits += doublings;
            *columns <<= doublings;
        }
        Ok(Self(Srlg::new("paper as bits", config)?))
    }
}

impl System for Bits {
    fn name(&self) -> String {
        self.0.name()
    }

    fn ingest(&mut self, pairs: &[Ipv4Pair]) {
        self.0.ingest(pairs);
    }

    fn close_slice(&mut self) -> Vec<(Address, f64)> {
        self.0.close_slice()
    }

    fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes() / u16::BITS as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        synthetic: Synthetic,
    }

    #[test]
    fn bits_report_what_ages_do_in_a_sixteenth_of_the_memory() {
        let options = Line::parse_from(["bits", "--threshold", "64"]).synthetic;
        let config = Config { window: 1, ..options.config(Preset::Paper) };
        let mut ages = Srlg::new("paper", config).unwrap();
        let mut bits = Bits::new(&options, 0).unwrap();
        assert_eq!(bits.memory_bytes(), ages.memory_bytes() / 16);
        let pairs: Vec<_> = (0..4000)
            .map(|number| Ipv4Pair { inside: number / 100, peer: number * 7919 })
            .collect();
        for pairs in [&pairs[..2000], &pairs[2000..]] {
            ages.ingest(pairs);
            bits.ingest(pairs);
            let reports = [ages.close_slice(), bits.close_slice()];
            assert_eq!(reports[0].len(), 20);
            assert_eq!(reports[0], reports[1]);
        }
        let larger = Bits::new(&options, 2).unwrap().memory_bytes() as f64;
        // Only the end of each row is not doubled: the last linear estimator has 2^14 recorders.
        assert!((3.9..4.0).contains(&(larger / bits.memory_bytes() as f64)), "{larger}");
    }
}
