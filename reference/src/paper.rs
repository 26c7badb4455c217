//! A model of the paper's scheme, which follows the paper line by line and is as slow as the published algorithms.
//!
//! [`PaperModel`] is the test oracle for the fast code at small sizes. With the fast code, it shares only the hash
//! functions and the code that computes positions and columns from hashes. Recorders are plain integers, candidate
//! tuples grow by brute force, and union estimators are built as arrays. Where the paper is incorrect, the model
//! contains the correction and marks it as a deviation.

use srlg_core::counter::RowsParams;
use srlg_core::finder::RsraParams;
use srlg_core::{Address, Config, ConfigError, Ipv4Pair};

/// Maximum value of a recorder, which is also its initial value.
const UNTOUCHED: u16 = u16::MAX;

/// A model of the paper's scheme: RSRA and SLEA as nested arrays of 16-bit integers.
#[derive(Clone, Debug)]
pub struct PaperModel {
    finder: RsraParams,
    counter: RowsParams,
    /// Rough estimators: `rsra[i][j]` is the estimator in row i and column j.
    pub rsra: Vec<Vec<Vec<u16>>>,
    /// Rows of the SLEA: `slea[i]` is row i.
    pub slea: Vec<Vec<u16>>,
}

/// A candidate tuple: one hot column per row, and the address that the bits of these columns spell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Hot columns, one per row.
    pub columns: Vec<u32>,
    /// Address that the bits of the columns spell. It has more than 32 bits if the tuple does not spell a valid
    /// address.
    pub address: u64,
}

impl PaperModel {
    /// Creates a model for `config`. All recorders are untouched.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first rule that `config` breaks.
    ///
    /// # Panics
    /// Panics if `config` does not have the paper's scheme.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let params = config.validate()?;
        let (finder, counter) = (
            *params.finder().rsra().expect("the paper's scheme"),
            *params.counter().rows().expect("the paper's scheme"),
        );
        let estimator = vec![UNTOUCHED; finder.width() as usize];
        let row = vec![estimator; finder.columns() as usize];
        Ok(Self {
            finder,
            counter,
            rsra: vec![row; finder.rows() as usize],
            slea: vec![vec![UNTOUCHED; counter.row_len() as usize]; counter.rows() as usize],
        })
    }

    /// Scans a pair whose contact was `late` slices ago (algorithms 3 and 6). Deviation: the paper sets recorders to 0,
    /// whereas this model lowers them to `late`.
    pub fn scan(&mut self, pair: Ipv4Pair, late: u16) {
        if let Some(slot) = self.finder.slot(pair.peer) {
            for (row, column) in (0..).zip(self.columns(pair.inside)) {
                let recorder = &mut self.rsra[row][column as usize][slot as usize];
                *recorder = late.min(*recorder);
            }
        }
        let position = self.counter.position(pair.peer) as usize;
        for row in 0..self.slea.len() {
            let start = self.linear_start(row, pair.inside);
            let recorder = &mut self.slea[row][start + position];
            *recorder = late.min(*recorder);
        }
    }

    /// Adds 1 to every recorder. Deviation: the paper does not define the successor of the maximum. Here, a recorder at
    /// the maximum keeps its value.
    pub fn next_slice(&mut self) {
        let rough = self.rsra.iter_mut().flatten().flatten();
        for recorder in rough.chain(self.slea.iter_mut().flatten()) {
            *recorder = recorder.saturating_add(1);
        }
    }

    /// Merges `other` into this model by taking the minimum of each recorder (algorithms 2 and 7). Deviation: the paper
    /// takes the maximum, which loses pairs that only one node saw.
    pub fn merge(&mut self, other: &Self) {
        let ours = self.rsra.iter_mut().flatten().flatten().chain(self.slea.iter_mut().flatten());
        let theirs = other.rsra.iter().flatten().flatten().chain(other.slea.iter().flatten());
        for (recorder, &word) in ours.zip(theirs) {
            *recorder = word.min(*recorder);
        }
    }

    /// Returns `HSE(row)`: the columns whose rough estimator has at least `weight` recorders whose age is below
    /// `window`.
    #[must_use]
    pub fn hot(&self, row: usize, window: u16, weight: u32) -> Vec<u32> {
        let is_hot = |estimator: &[u16]| {
            estimator.iter().filter(|&&age| age < window).count() as u32 >= weight
        };
        let columns = (0..).zip(&self.rsra[row]);
        columns.filter(|(_, estimator)| is_hot(estimator)).map(|(column, _)| column).collect()
    }

    /// Returns the candidate tuples, which grow row by row (algorithm 4 for rows 0 to 2, algorithm 5 for all further
    /// rows). Deviation: the paper compares `B(0)` with `B(1)` in every row, whereas this model compares `B(i-1)` with
    /// `B(i)` in row i.
    #[must_use]
    pub fn tuples(&self, window: u16, weight: u32) -> Vec<Tuple> {
        let hot: Vec<Vec<u32>> =
            (0..self.rsra.len()).map(|row| self.hot(row, window, weight)).collect();
        let first = |&base: &u32| hot[1].iter().map(move |&column| vec![base, column]);
        let mut reading: Vec<Vec<u32>> = hot[0].iter().flat_map(first).collect();
        for hot in &hot[2..] {
            let mut storing = Vec::new();
            for tuple in &reading {
                for &column in hot {
                    let grown: Vec<u32> = tuple.iter().copied().chain([column]).collect();
                    if self.overlaps(&grown) {
                        storing.push(grown);
                    }
                }
            }
            reading = storing;
        }
        reading.into_iter().map(|columns| self.spell(columns)).collect()
    }

    /// Returns whether the left q-δ bits of `B(i-1)` are equal to the right q-δ bits of `B(i)`. Here, i is the index of
    /// the last row of the tuple.
    fn overlaps(&self, columns: &[u32]) -> bool {
        let last = columns.len() - 1;
        let bits = |row: usize| columns[0] ^ columns[row];
        let shared = self.finder.column_bits() - self.finder.bit_stride();
        bits(last - 1) >> self.finder.bit_stride() == bits(last) & ((1 << shared) - 1)
    }

    /// Returns the tuple of `columns`. Its address consists of the bits of `B(1)`, `B(2)` and so on, each shifted to
    /// its place in the address (equation 7, `eqt_RHFG_bits_from_xor_cid`).
    fn spell(&self, columns: Vec<u32>) -> Tuple {
        let bits = |row: usize| u64::from(columns[0] ^ columns[row]);
        let placed = (1..columns.len()).map(|row| {
            let shift = (row as u32 - 1) * self.finder.bit_stride();
            match bits(row) {
                0 => 0,
                bits if shift < Address::BITS => bits << shift,
                _ => u64::MAX, // The bits exceed an address.
            }
        });
        let address = placed.fold(0, |address, bits| address | bits);
        Tuple { columns, address }
    }

    /// Returns the hosts that the tuples spell and whose union estimator USRE is hot, in ascending order. Deviation:
    /// the column of row 0 must be equal to `RHFG[0](inside)`.
    #[must_use]
    pub fn candidates(&self, window: u16, weight: u32) -> Vec<Address> {
        let regained = self.tuples(window, weight).into_iter().filter_map(|tuple| {
            let address = Address::try_from(tuple.address).ok()?;
            (self.finder.base_column(address) == tuple.columns[0]).then_some(address)
        });
        let is_hot = |&host: &Address| {
            self.union_rough(host).iter().filter(|&&age| age < window).count() as u32 >= weight
        };
        let mut hosts: Vec<Address> = regained.filter(is_hot).collect();
        hosts.sort_unstable();
        hosts
    }

    /// Returns the union estimator USRE of `host`: for each recorder, the maximum age in the rough estimators of all
    /// rows.
    fn union_rough(&self, host: Address) -> Vec<u16> {
        let estimators =
            (0..).zip(self.columns(host)).map(|(row, column)| &self.rsra[row][column as usize]);
        estimators.fold(vec![0; self.finder.width() as usize], |union, estimator| {
            union.iter().zip(estimator).map(|(&a, &b)| a.max(b)).collect()
        })
    }

    /// Returns `|USLE|^k` of `host` (the first part of algorithm 8). Deviation: the loop in the paper reads only row 0.
    #[must_use]
    pub fn union_weight(&self, host: Address, window: u16) -> u32 {
        let width = self.counter.width() as usize;
        let mut union = vec![0; width];
        for (row, recorders) in self.slea.iter().enumerate() {
            let start = self.linear_start(row, host);
            for (age, &recorder) in union.iter_mut().zip(&recorders[start..start + width]) {
                *age = recorder.max(*age);
            }
        }
        union.iter().filter(|&&age| age < window).count() as u32
    }

    /// Returns the estimated cardinality of `host` (algorithm 8, equations 12 and 9). Deviations: the corrected weight
    /// is used, and the estimate is at least 0. Returns `None` if the union is full.
    #[must_use]
    pub fn cardinality(&self, host: Address, window: u16) -> Option<f64> {
        let width = f64::from(self.counter.width());
        let factor = |row: &Vec<u16>| {
            row.iter().filter(|&&age| age < window).count() as f64 / row.len() as f64
        };
        let background: f64 = self.slea.iter().map(factor).product();
        let union_weight = f64::from(self.union_weight(host, window));
        if union_weight == width || background == 1.0 {
            return None;
        }
        let weight = ((union_weight - width * background) / (1.0 - background)).max(0.0);
        Some(width * libm::log(width / (width - weight)))
    }

    /// Returns `RHFG(inside)`, the column of a host in each row. In row 0, the column is a hash of the address. In row
    /// i, it is this hash xored with `B(i)`. Deviation: for `B(i)`, the paper shifts the address by iδ bits, whereas
    /// this model shifts it by (i-1)δ bits.
    fn columns(&self, inside: Address) -> Vec<u32> {
        let base = self.finder.base_column(inside);
        let q = self.finder.column_bits();
        let shifted = |shift| u64::from(inside).checked_shr(shift).unwrap_or(0);
        let bits = |i: u32| shifted((i - 1) * self.finder.bit_stride()) % (1 << q);
        (0..self.finder.rows()).map(|i| if i == 0 { base } else { bits(i) as u32 ^ base }).collect()
    }

    /// Returns the index of the recorder in `row` at which the linear estimator of `inside` starts.
    fn linear_start(&self, row: usize, inside: Address) -> usize {
        (self.counter.column(row as u32, inside) * self.counter.stride()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use srlg_core::{RsraSizes, Scheme};

    /// Returns `model` with one bit per recorder, as in the paper's estimators RE and LE for windows of one slice.
    fn bits(model: &PaperModel) -> PaperModel {
        let mut bits = model.clone();
        let rough = bits.rsra.iter_mut().flatten().flatten();
        for recorder in rough.chain(bits.slea.iter_mut().flatten()).filter(|age| **age > 0) {
            *recorder = UNTOUCHED;
        }
        bits
    }

    #[test]
    fn a_window_of_one_slice_needs_one_bit_per_recorder() {
        let finder = RsraSizes { column_bits: 12, bit_stride: 11, ..RsraSizes::PAPER };
        let scheme = Scheme::Paper { finder, rows: 3, columns: 64, stride: 16 };
        let config =
            Config { scheme, threshold: 64, linear_width: 256, window: 2, ..Config::paper() };
        let mut model = PaperModel::new(config).unwrap();
        for host in [1_u32, 2, 3] {
            let pairs =
                (0..200).map(|peer: u32| Ipv4Pair { inside: host, peer: peer * 7919 + host });
            pairs.for_each(|pair| model.scan(pair, 0));
            if host < 3 {
                model.next_slice();
            }
        }
        let (ages, bits) = (&model, &bits(&model));
        let [candidates, of_bits] = [ages, bits].map(|model| model.candidates(1, 3));
        assert_eq!((candidates, of_bits), (vec![3], vec![3]));
        for host in 1..=4 {
            assert_eq!(ages.cardinality(host, 1), bits.cardinality(host, 1));
        }
        // A window of two slices needs the ages.
        assert_eq!([ages, bits].map(|model| model.candidates(2, 3)), [vec![2, 3], vec![3]]);
    }
}
