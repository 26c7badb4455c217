//! What each work took when it was last looked at, and how much more it may take.
//!
//! Shape: [`WORKS`], the one place of all bounds; [`Count`], a work with what it takes now;
//! [`fault`], the line for counts above their bounds. A change that alters a count on purpose writes
//! the new one here, and why into the commit.

use std::fmt;

/// Where the bounds are, for a change that raises one.
const HERE: &str = "xtask/src/instructions/bounds.rs";

/// A bound as a multiple of the noted count. The same program counts the same within 0.1 %, and so
/// do those of rustc 1.95 and 1.96; compilers to come, with another LLVM, get fifty times as much.
/// A benchmark on a shared machine would not show so small a change.
const MARGIN: f64 = 1.05;

/// Works of the program, in its words, with their counts.
#[rustfmt::skip] // a table
pub(super) const WORKS: [Work; 9] = [
    Work { name: "distinct",   what: "ingest of distinct pairs",              unit: "pair",      noted: 83.3 },
    Work { name: "packets",    what: "ingest of packets, 20 per pair",        unit: "packet",    noted: 20.2 },
    Work { name: "calls",      what: "ingest of one pair per call",           unit: "pair",      noted: 295.4 },
    Work { name: "half-sip",   what: "ingest of distinct pairs, half-sip",    unit: "pair",      noted: 183.7 },
    Work { name: "ip6",        what: "ingest of distinct IPv6 pairs",         unit: "pair",      noted: 127.1 },
    Work { name: "ip6-packets", what: "ingest of IPv6 packets, 20 per pair",  unit: "packet",    noted: 36.4 },
    Work { name: "paper",      what: "ingest of distinct pairs, paper",       unit: "pair",      noted: 182.6 },
    Work { name: "sweeps",     what: "close of an empty window",              unit: "recorder",  noted: 1.71 },
    Work { name: "candidates", what: "search and estimate, 500 k pairs",      unit: "candidate", noted: 215_300.0 },
];

/// Something that the program can do, and what it takes.
#[derive(Debug)]
pub(super) struct Work {
    /// Its argument of the program.
    pub(super) name: &'static str,
    /// What it stands for, as the subject of a sentence.
    what: &'static str,
    unit: &'static str,
    /// Instructions per unit when last looked at.
    noted: f64,
}

impl Work {
    /// The most instructions that a unit may take.
    fn bound(&self) -> f64 {
        self.noted * MARGIN
    }
}

/// Heads the columns of all [`Count`]s.
pub(super) const HEADER: &str = "instructions                                   taken       bound";

/// What a work takes now.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) work: &'static Work,
    /// Per unit.
    pub(super) instructions: f64,
}

impl Count {
    /// A hint, for a count so small that its bound would let it grow by twice the margin.
    pub(super) fn slack(&self) -> Option<String> {
        let Work { what, noted, .. } = self.work;
        (self.instructions * MARGIN < *noted).then(|| {
            let (now, noted) = (short(self.instructions), short(*noted));
            format!("{what}: now {now}, noted {noted}: write the new count into {HERE}")
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

/// One line on all `counts` that are above their bounds, if there are any.
pub(super) fn fault(counts: &[Count]) -> Option<String> {
    let above = counts.iter().filter(|count| count.is_above_bound()).map(|count| {
        let Work { what, unit, .. } = count.work;
        let (taken, bound) = (short(count.instructions), short(count.work.bound()));
        format!("{what} takes {taken} instructions per {unit}, the bound is {bound}")
    });
    let above = above.collect::<Vec<_>>().join("; ");
    let way_out = format!("make it cheaper, or raise the bound in {HERE} and say why");
    (!above.is_empty()).then(|| format!("{above}: {way_out}"))
}

/// With three digits or more.
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
        let fault = fault(&[Count { work: &WORK, instructions: 105.1 }]).expect("a fault");
        assert_eq!(
            fault,
            "ingest takes 105.1 instructions per pair, the bound is 105.0: make it cheaper, or \
             raise the bound in xtask/src/instructions/bounds.rs and say why"
        );
    }

    #[test]
    fn all_counts_above_their_bounds_are_named_in_one_line() {
        let counts = [(&WORK, 200.0), (&OTHER, 4.0)];
        let counts = counts.map(|(work, instructions)| Count { work, instructions });
        let fault = fault(&counts).expect("two faults");
        assert!(fault.starts_with("ingest takes 200.0") && !fault.contains('\n'));
        assert!(fault.contains("; close takes 4.00 instructions per recorder, the bound is 2.10:"));
    }

    #[test]
    fn count_far_below_the_noted_one_asks_for_a_new_note() {
        assert_eq!(Count { work: &WORK, instructions: 96.0 }.slack(), None);
        let slack = Count { work: &WORK, instructions: 90.0 }.slack().expect("a hint");
        assert!(slack.starts_with("ingest: now 90.0, noted 100.0") && slack.ends_with(HERE));
    }

    #[test]
    fn the_file_that_a_fault_names_is_there() {
        assert!(crate::root().join(HERE).is_file());
    }
}
