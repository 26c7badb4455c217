//! Counts of all launches and copies of the process, and the report that lists them.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::isa::{Entry, Op};

/// Counts of an entry point, and of each of its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Number of launches.
    pub(crate) launches: u64,
    /// Number of threads in all launches.
    pub(crate) threads: u64,
    /// For each instruction, how often a warp executed it.
    pub(crate) warps: Vec<u64>,
    /// For each instruction, how often a thread executed it.
    pub(crate) lanes: Vec<u64>,
    /// For each instruction, the number of 32-byte sectors that the threads of a warp accessed, summed over executions.
    pub(crate) sectors: Vec<u64>,
    /// For each instruction, the maximum number of threads of a warp at one address, summed over executions.
    pub(crate) conflicts: Vec<u64>,
}

impl Counts {
    /// Creates the counts of `code` instructions.
    pub(crate) fn new(code: usize) -> Self {
        let [warps, lanes, sectors, conflicts] = std::array::from_fn(|_| vec![0; code]);
        Self { launches: 0, threads: 0, warps, lanes, sectors, conflicts }
    }

    fn add(&mut self, other: &Self) {
        fn add(sums: &mut [u64], counts: &[u64]) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        self.launches += other.launches;
        self.threads += other.threads;
        add(&mut self.warps, &other.warps);
        add(&mut self.lanes, &other.lanes);
        add(&mut self.sectors, &other.sectors);
        add(&mut self.conflicts, &other.conflicts);
    }
}

/// A copy or a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    ToDevice,
    FromDevice,
    Fill,
}

/// Number and size of the transfers of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    transfers: u64,
    bytes: u64,
}

/// An instruction that raced, by its entry point and place in the text. The order is that of the report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Race {
    entry: String,
    line: u32,
    opcode: String,
    is_write: bool,
}

/// All counts of the process.
struct Stats {
    /// Counts of the entry points with each name. Modules that define the same name are assumed to be equal.
    entries: BTreeMap<String, (Arc<Entry>, Counts)>,
    races: BTreeMap<Race, u64>,
    /// Transfers, indexed by [`Transfer`].
    traffic: [Traffic; 3],
}

static STATS: Mutex<Stats> = Mutex::new(Stats {
    entries: BTreeMap::new(),
    races: BTreeMap::new(),
    traffic: [const { Traffic { transfers: 0, bytes: 0 } }; 3],
});

fn stats() -> MutexGuard<'static, Stats> {
    // Counts that are incomplete after a panic are better than none.
    STATS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the counts of a launch.
pub(crate) fn add_launch(entry: &Arc<Entry>, counts: &Counts) {
    let mut stats = stats();
    let new = || (entry.clone(), Counts::new(entry.code.len()));
    stats.entries.entry(entry.name.clone()).or_insert_with(new).1.add(counts);
}

/// Counts a race of instruction `pc` with an earlier access of another thread.
pub(crate) fn add_race(entry: &Entry, pc: usize, is_write: bool) {
    let origin = &entry.origins[pc];
    let (line, opcode) = (origin.line, origin.opcode.clone());
    let race = Race { entry: entry.name.clone(), line, opcode, is_write };
    *stats().races.entry(race).or_default() += 1;
}

/// Counts a transfer of `bytes` bytes.
pub(crate) fn add_transfer(transfer: Transfer, bytes: usize) {
    let traffic = &mut stats().traffic[transfer as usize];
    traffic.transfers += 1;
    traffic.bytes += bytes as u64;
}

/// Returns the report of the process: a table of entry points, the races, the counts of each instruction if
/// `has_detail`, and the transfers.
pub(crate) fn report(has_detail: bool) -> String {
    let (mut text, stats) = (String::new(), stats());
    stats.write(&mut text, has_detail).expect("writing to a string does not fail");
    text
}

impl Stats {
    fn write(&self, to: &mut String, has_detail: bool) -> fmt::Result {
        write!(to, "{:<16}{:>9}{:>13}{:>17}", "entry", "launches", "threads", "instructions")?;
        write!(to, "{:>16}{:>7}{:>15}", "of warps", "lanes", "loads")?;
        writeln!(to, "{:>15}{:>14}{:>8}", "stores", "atomics", "code%")?;
        for (entry, counts) in self.entries.values() {
            write_row(to, entry, counts)?;
        }
        for (race, count) in &self.races {
            let Race { entry, line, opcode, is_write } = race;
            let order = match is_write {
                true => "a write after another thread's weak read",
                false => "a weak read after another thread's write",
            };
            writeln!(to, "race in {entry}, line {line} ({opcode}): {order}, {count} times")?;
        }
        if has_detail {
            for (entry, counts) in self.entries.values() {
                write_detail(to, entry, counts)?;
            }
        }
        let [up, down, fills] = self.traffic;
        write!(to, "\ncopies to the device {} ({} bytes), ", up.transfers, up.bytes)?;
        write!(to, "from it {} ({} bytes), ", down.transfers, down.bytes)?;
        writeln!(to, "fills {} ({} bytes)", fills.transfers, fills.bytes)
    }
}

/// Writes the row of an entry point.
fn write_row(to: &mut String, entry: &Entry, counts: &Counts) -> fmt::Result {
    let sum = |counts: &[u64]| counts.iter().sum::<u64>();
    // Counts the executions by threads of all instructions that `is_counted` accepts.
    let of = |is_counted: fn(&Op) -> bool| -> u64 {
        let counted = entry.code.iter().zip(&counts.lanes);
        counted.filter(|(inst, _)| is_counted(&inst.op)).map(|(_, count)| count).sum()
    };
    let (lanes, warps) = (sum(&counts.lanes), sum(&counts.warps));
    let lanes_of_warp = lanes as f64 / warps.max(1) as f64;
    let loads = of(|op| matches!(op, Op::Load { .. }));
    let stores = of(|op| matches!(op, Op::Store { .. }));
    let atomics = of(|op| matches!(op, Op::Atom { .. }));
    let reached = counts.warps.iter().filter(|&&count| count > 0).count();
    let reached = 100.0 * reached as f64 / entry.code.len() as f64;
    write!(to, "{:<16}{:>9}{:>13}", entry.name, counts.launches, counts.threads)?;
    write!(to, "{lanes:>17}{warps:>16}{lanes_of_warp:>7.2}")?;
    writeln!(to, "{loads:>15}{stores:>15}{atomics:>14}{reached:>7.0}%")
}

/// Writes a line for each instruction of an entry point.
fn write_detail(to: &mut String, entry: &Entry, counts: &Counts) -> fmt::Result {
    let name = &entry.name;
    writeln!(to, "\n{name}: line, opcode, of threads, of warps, sectors, conflicts")?;
    for (at, origin) in entry.origins.iter().enumerate() {
        write!(to, "{:>6} {:<26}", origin.line, origin.opcode)?;
        write!(to, "{:>14}{:>13}", counts.lanes[at], counts.warps[at])?;
        writeln!(to, "{:>13}{:>13}", counts.sectors[at], counts.conflicts[at])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn launches_of_an_entry_point_are_added_up() {
        let text = ".target sm_70\n.visible .entry k(.param .align 8 .b8 p[8]) { trap; ret; }";
        let entry = parse(text).unwrap().entry("k").unwrap();
        let mut stats =
            Stats { entries: BTreeMap::new(), races: BTreeMap::new(), traffic: Default::default() };
        let mut sums = Counts::new(entry.code.len());
        let mut once = Counts::new(entry.code.len());
        (once.launches, once.threads, once.warps[0], once.lanes[0]) = (1, 64, 2, 64);
        sums.add(&once);
        sums.add(&once);
        assert_eq!((sums.launches, sums.threads, sums.warps[0], sums.lanes[0]), (2, 128, 4, 128));
        stats.entries.insert("k".to_owned(), (entry, sums));
        let mut text = String::new();
        stats.write(&mut text, true).unwrap();
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["k", "2", "128", "128", "4", "32.00", "0", "0", "0", "50%"]);
        assert!(rows.contains(&vec!["2", "trap", "128", "4", "0", "0"]));
    }
}
