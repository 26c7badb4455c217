//! Upper bounds of the instruction counts of all workloads.
//!
//! [`WORKS`] contains the recorded counts of all workloads, and a [`Count`] has the current count of one workload.
//! [`fault`] describes counts above their bounds. A commit that changes a count on purpose must update the count here,
//! and its message must give the reason.

use std::fmt;

const HERE: &str = "xtask/src/instructions/bounds.rs";

/// Ratio of a bound to the recorded count. Counts of the same source differ by at most 0.1 % between runs and between
/// rustc 1.95 and 1.96. The margin of 5 % also allows for compilers with a newer LLVM.
const MARGIN: f64 = 1.05;

#[rustfmt::skip] // a table
pub(super) const WORKS: [Work; 9] = [
    Work { name: "distinct",   what: "ingest of distinct pairs",              unit: "pair",      noted: 81.5 },
    Work { name: "packets",    what: "ingest of packets, 20 per pair",        unit: "packet",    noted: 15.6 },
    Work { name: "calls",      what: "ingest of one pair per call",           unit: "pair",      noted: 283.1 },
    Work { name: "half-sip",   what: "ingest of distinct pairs (HalfSip)",    unit: "pair",      noted: 189.5 },
    Work { name: "ip6",        what: "ingest of distinct IPv6 pairs",         unit: "pair",      noted: 117.3 },
    Work { name: "ip6-packets", what: "ingest of IPv6 packets, 20 per pair",  unit: "packet",    noted: 39.1 },
    Work { name: "paper",      what: "ingest of distinct pairs (paper)",      unit: "pair",      noted: 184.7 },
    Work { name: "sweeps",     what: "close of an empty window",              unit: "recorder",  noted: 1.71 },
    Work { name: "candidates", what: "search and estimation, 500 k pairs",    unit: "candidate", noted: 140_600.0 },
];

/// A workload of the program `instructions`, with its recorded count.
#[derive(Debug)]
pub(super) struct Work {
    /// Name of the workload, which is passed to the program as an argument.
    pub(super) name: &'static str,
    /// Description of the workload, as the subject of a sentence.
    what: &'static str,
    unit: &'static str,
    /// Recorded number of instructions per unit.
    noted: f64,
}

impl Work {
    fn bound(&self) -> f64 {
        self.noted * MARGIN
    }
}

pub(super) const HEADER: &str = "instructions                                   taken       bound";

/// The current instruction count of a workload.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) work: &'static Work,
    pub(super) instructions: f64,
}

impl Count {
    /// Returns a hint to update the recorded count if it exceeds the current count by more than the margin.
    pub(super) fn slack(&self) -> Option<String> {
        let Work { what, noted, .. } = self.work;
        (self.instructions * MARGIN < *noted).then(|| {
            let (now, noted) = (short(self.instructions), short(*noted));
            format!("{what}: now {now}, noted {noted}; write the new count into {HERE}")
        })
    }

    fn is_above_bound(&self) -> bool {
        self.instructions > self.work.bound()
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Work { what, unit, .. } = self.work;
        let (taken, bound) = (short(self.instructions), short(self.work.bound()));
        write!(formatter, "{what:40} {taken:>11} {bound:>11} per {unit}")
    }
}

/// Returns one line that lists all counts above their bounds, or `None` if all counts are within their bounds.
pub(super) fn fault(counts: &[Count]) -> Option<String> {
    let above = counts.iter().filter(|count| count.is_above_bound()).map(|count| {
        let Work { what, unit, .. } = count.work;
        let (taken, bound) = (short(count.instructions), short(count.work.bound()));
        format!("{what} takes {taken} instructions per {unit} with a bound of {bound}")
    });
    let above = above.collect::<Vec<_>>().join("; ");
    let way_out = format!("reduce the cost, or raise the bound in {HERE} and give the reason");
    (!above.is_empty()).then(|| format!("{above}; {way_out}"))
}

/// Formats a count with at least three digits.
fn short(instructions: f64) -> String {
    match instructions {
        small if small < 10.0 => format!("{small:.2}"),
        large if large >= 1000.0 => format!("{large:.0}"),
        other => format!("{other:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static WORK: Work = Work { name: "distinct", what: "ingest", unit: "pair", noted: 100.0 };
    static OTHER: Work = Work { name: "sweeps", what: "close", unit: "recorder", noted: 2.0 };

    #[test]
    fn count_may_be_a_margin_above_the_noted_one_and_no_more() {
        assert_eq!(fault(&[Count { work: &WORK, instructions: 105.0 }]), None);
        let fault = fault(&[Count { work: &WORK, instructions: 105.1 }]);
        insta::assert_snapshot!(fault.expect("a fault"));
    }

    #[test]
    fn all_counts_above_their_bounds_are_named_in_one_line() {
        let counts = [(&WORK, 200.0), (&OTHER, 4.0)];
        let counts = counts.map(|(work, instructions)| Count { work, instructions });
        insta::assert_snapshot!(fault(&counts).expect("two faults"));
    }

    #[test]
    fn count_far_below_the_noted_one_asks_for_a_new_note() {
        assert_eq!(Count { work: &WORK, instructions: 96.0 }.slack(), None);
        let count = Count { work: &WORK, instructions: 90.0 };
        insta::assert_snapshot!(count.slack().expect("a hint"));
    }

    #[test]
    fn the_file_that_a_fault_names_is_there() {
        assert!(crate::root().join(HERE).is_file());
    }
}
