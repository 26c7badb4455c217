//! Upper bounds of the GPU resources that each workload may use.
//!
//! [`WORKS`] contains the recorded counts of all workloads, and a [`Count`] has the current counts of one workload.
//! [`fault`] describes counts above their bounds. A commit that changes a count on purpose must update the count here
//! and in docs/gpu.md, and its message must give the reason.

use std::fmt;
use std::iter::Sum;

use super::report::Sums;

const HERE: &str = "xtask/src/gpu_model/bounds.rs";

/// Ratio of a bound to the recorded count. Counts of the same PTX vary only with the order in which its threads run.
const MARGIN: f64 = 1.02;

const WARP: f64 = 32.0;

/// Number of warp instructions that an H200 issues per microsecond: four per cycle on each of 132 multiprocessors, at
/// 1,700 cycles per microsecond.
const ISSUED_PER_MICROSECOND: f64 = 132.0 * 4.0 * 1700.0;

/// Number of 32-byte sectors at random addresses that the L2 cache of an H200 can transfer per microsecond.
const SECTORS_PER_MICROSECOND: f64 = 65_000.0;

#[rustfmt::skip] // a table
pub(super) const WORKS: [Work; 6] = [
    Work { name: "distinct", what: "scan of new pairs",           unit: "pair",  noted: [361.0, 2.292, 1.736, 0.031, 8.0] },
    Work { name: "repeated", what: "scan of repeated pairs",      unit: "pair",  noted: [333.0, 2.292, 0.0, 0.031, 8.0] },
    Work { name: "half-sip", what: "scan of new pairs (HalfSip)", unit: "pair",  noted: [1184.0, 2.292, 2.018, 0.031, 8.0] },
    Work { name: "ip6",      what: "scan of new IPv6 pairs",      unit: "pair",  noted: [728.0, 4.042, 2.020, 0.032, 32.0] },
    Work { name: "paper",    what: "scan of new pairs (paper)",   unit: "pair",  noted: [546.0, 5.287, 0.0, 4.186, 8.0] },
    Work { name: "close",    what: "close of 5 M pairs",          unit: "close", noted: [3.769e9, 7.005e6, 66_200.0, 5.009e6, 1.420e6] },
];

/// Names of the counts, in the order of [`Work::noted`].
const WHAT: [&str; 5] =
    ["instructions", "sectors loaded", "swaps", "other atomics", "bytes copied"];

/// A workload of the program `gpu_model`, with its recorded counts.
#[derive(Debug)]
pub(super) struct Work {
    /// Name of the workload, which is passed to the program as an argument.
    pub(super) name: &'static str,
    /// Description of the workload, as the subject of a sentence.
    what: &'static str,
    unit: &'static str,
    /// Recorded counts per unit: thread instructions, 32-byte sectors that loads access, compare-and-swaps, other
    /// atomics, and bytes copied to and from the device.
    noted: [f64; 5],
}

/// GPU resources that a kernel or a workload uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    counts: [f64; 5],
    /// Time of the kernels according to the model, in microseconds.
    microseconds: f64,
}

impl Usage {
    /// Returns the usage per unit, where `sums` is the total of `units` units.
    pub(super) fn of(sums: &Sums, units: f64) -> Self {
        let [issued, loaded, sectors, swaps, atomics] =
            [sums.issued, sums.loaded, sums.sectors, sums.swaps, sums.atomics]
                .map(|count| count as f64 / units);
        let times = [issued / ISSUED_PER_MICROSECOND, sectors / SECTORS_PER_MICROSECOND];
        Self {
            counts: [issued * WARP, loaded, swaps, atomics, 0.0],
            microseconds: times[0].max(times[1]),
        }
    }

    /// Returns the usage of copies per unit, where `bytes` is the total of `units` units. The time is 0, because the
    /// model covers only kernels.
    pub(super) fn of_copies(bytes: u64, units: f64) -> Self {
        Self { counts: [0.0, 0.0, 0.0, 0.0, bytes as f64 / units], microseconds: 0.0 }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, usage| Self {
            counts: std::array::from_fn(|number| sum.counts[number] + usage.counts[number]),
            microseconds: sum.microseconds + usage.microseconds,
        })
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.iter().try_for_each(|&count| write!(formatter, "{:>15}", short(count)))?;
        match self.microseconds {
            0.0 => write!(formatter, "{:>16}", ""),
            rate if rate < 0.01 => write!(formatter, "{:>12.1} G/s", 1e-3 / rate),
            time => write!(formatter, "{time:>13.1} µs"),
        }
    }
}

pub(super) const HEADER: &str = "per pair or per close         instructions  \
                                 sectors loaded          swaps  other atomics   bytes copied    by the model";

/// The current counts of a workload.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) work: &'static Work,
    pub(super) usage: Usage,
}

impl Count {
    /// Returns the name, the current value and the recorded value of each count.
    fn pairs(&self) -> impl Iterator<Item = (&'static str, f64, f64)> {
        let (now, noted) = (self.usage.counts, self.work.noted);
        (0..WHAT.len()).map(move |number| (WHAT[number], now[number], noted[number]))
    }

    /// Returns a hint to update the recorded counts if some of them exceed the current counts by more than the margin.
    pub(super) fn slack(&self) -> Option<String> {
        let Work { what, unit, .. } = self.work;
        let small = self.pairs().filter(|(_, now, noted)| now * MARGIN < *noted);
        let small: Vec<String> = small
            .map(|(of, now, noted)| {
                format!("now {} {of} per {unit}, noted {}", short(now), short(noted))
            })
            .collect();
        (!small.is_empty())
            .then(|| format!("{what}: {}; write the new counts into {HERE}", small.join(", ")))
    }

    fn above(&self) -> impl Iterator<Item = String> {
        let Work { what, unit, .. } = self.work;
        // The addition ensures that a small increase of a count near zero is not a fault.
        let above = self.pairs().filter(|(_, now, noted)| *now > noted * MARGIN + 0.001);
        above.map(move |(of, now, noted)| {
            let (now, bound) = (short(now), short(noted * MARGIN));
            format!("{what} takes {now} {of} per {unit} with a bound of {bound}")
        })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:27}{}", self.work.what, self.usage)
    }
}

/// Returns one line that lists all counts above their bounds, or `None` if all counts are within their bounds.
pub(super) fn fault(counts: &[Count]) -> Option<String> {
    let above = counts.iter().flat_map(Count::above).collect::<Vec<_>>().join("; ");
    let way_out = format!("reduce the cost, or raise the bound in {HERE} and give the reason");
    (!above.is_empty()).then(|| format!("{above}; {way_out}"))
}

/// Formats a count with at least three digits.
fn short(count: f64) -> String {
    match count {
        small if small < 10.0 => format!("{small:.3}"),
        large if large >= 1000.0 => format!("{large:.0}"),
        other => format!("{other:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static WORK: Work =
        Work { name: "distinct", what: "a scan", unit: "pair", noted: [100.0, 2.0, 1.0, 0.0, 0.0] };

    fn count(counts: [f64; 5]) -> Count {
        Count { work: &WORK, usage: Usage { counts, microseconds: 1.0 } }
    }

    #[test]
    fn counts_may_be_a_margin_above_the_noted_ones_and_no_more() {
        assert_eq!(fault(&[count([102.0, 2.0, 1.0, 0.001, 0.0])]), None);
        let fault = fault(&[count([102.2, 2.0, 1.3, 0.01, 0.0])]);
        insta::assert_snapshot!(fault.expect("three faults"));
    }

    #[test]
    fn counts_far_below_the_noted_ones_ask_for_new_notes() {
        assert_eq!(count([99.0, 2.0, 1.0, 0.0, 0.0]).slack(), None);
        insta::assert_snapshot!(count([90.0, 2.0, 1.0, 0.0, 0.0]).slack().expect("a hint"));
    }

    #[test]
    fn a_kernel_takes_as_long_as_what_takes_longest() {
        let usage = |issued, sectors| {
            Usage::of(&Sums { issued, sectors, ..Sums::default() }, 1.0).microseconds
        };
        assert_eq!(usage(897_600, 65_000), 1.0);
        assert_eq!(usage(897_600, 130_000), 2.0);
        assert_eq!(usage(8_976_000, 65_000), 10.0);
    }
}
