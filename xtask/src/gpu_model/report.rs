//! Parser of the interpreter's reports, which list counts by kernel and PTX line.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// The counts of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    /// Number of instructions that warps issued.
    pub(super) issued: u64,
    /// Number of 32-byte sectors that loads accessed.
    pub(super) loaded: u64,
    /// Number of 32-byte sectors that all instructions accessed.
    pub(super) sectors: u64,
    /// Number of compare-and-swaps that threads executed.
    pub(super) swaps: u64,
    /// Number of atomics that threads executed, except compare-and-swaps.
    pub(super) atomics: u64,
}

/// An opcode with three counts: executions by threads, executions by warps, and accessed sectors.
type Line<'a> = (&'a str, [u64; 3]);

/// Returns the counts of one round for each kernel. The reports `one` and `two` cover one and two rounds.
pub(super) fn difference(one: &str, two: &str) -> Result<Vec<(String, Sums)>> {
    let (one, two) = (lines(one)?, lines(two)?);
    let mut kernels: BTreeMap<&str, Sums> = BTreeMap::new();
    for (place, (opcode, counts)) in two {
        let before = one.get(&place).map_or([0; 3], |&(_, counts)| counts);
        let [threads, warps, sectors] =
            std::array::from_fn(|number| counts[number].saturating_sub(before[number]));
        let sums = kernels.entry(place.0).or_default();
        sums.issued += warps;
        sums.sectors += sectors;
        let is_atomic = opcode.starts_with("atom.") || opcode.starts_with("red.");
        match opcode {
            _ if is_atomic && opcode.contains(".cas.") => sums.swaps += threads,
            _ if is_atomic => sums.atomics += threads,
            _ if opcode.starts_with("ld.") => sums.loaded += sectors,
            _ => {}
        }
    }
    let kernels = kernels.into_iter().filter(|(_, sums)| sums.issued > 0);
    Ok(kernels.map(|(name, sums)| (name.to_owned(), sums)).collect())
}

/// Returns the number of bytes that one round copies to and from the device. The reports `one` and `two` cover one and
/// two rounds.
pub(super) fn copied(one: &str, two: &str) -> Result<u64> {
    let bytes = |report: &str| -> Result<u64> {
        let line = report.lines().find(|line| line.starts_with("copies to the device "));
        let words =
            line.context("the report does not list copies")?.split(|letter| " (".contains(letter));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let numbers = words.windows(2).filter(|two| two[1].starts_with("bytes"));
        // The numbers are bytes copied to the device, copied from the device, and filled on the device.
        let numbers: Vec<u64> = numbers
            .map(|two| two[0].parse())
            .collect::<Result<_, _>>()
            .context("cannot read the number of copied bytes")?;
        let [to, from, _] = numbers[..] else {
            bail!("the report lists copies in an unknown format")
        };
        Ok(to + from)
    };
    Ok(bytes(two)?.saturating_sub(bytes(one)?))
}

/// Returns the counts of a report, by kernel and PTX line.
fn lines(report: &str) -> Result<BTreeMap<(&str, &str), Line<'_>>> {
    let (mut lines, mut kernel) = (BTreeMap::new(), None);
    for line in report.lines() {
        if let Some((name, _)) = line.split_once(": line, opcode") {
            kernel = Some(name);
        } else if let (Some(kernel), [place, opcode, threads, warps, sectors, _]) =
            (kernel, line.split_whitespace().collect::<Vec<_>>().as_slice())
        {
            let number = |text: &str| {
                text.parse::<u64>()
                    .with_context(|| format!("{kernel}, line {place}: {text} is not a count"))
            };
            let counts = [number(threads)?, number(warps)?, number(sectors)?];
            lines.insert((kernel, *place), (*opcode, counts));
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "entry launches\ntouch 1 2 3\n
touch: line, opcode, of threads, of warps, sectors, conflicts
    10 ld.param.b64               32            1            0            0
    11 ld.relaxed.sys.global.b64  32            1            7            0
    12 atom.relaxed.sys.global.cas.b64 20       1           15           20
";
    const TWO: &str = "entry launches\ntouch 1 2 3\n
age: line, opcode, of threads, of warps, sectors, conflicts
     5 st.b16                     64            2            4            0
touch: line, opcode, of threads, of warps, sectors, conflicts
    10 ld.param.b64               96            3            0            0
    11 ld.relaxed.sys.global.b64  96            3           27            0
    12 atom.relaxed.sys.global.cas.b64 50       3           40           60
    13 red.relaxed.sys.global.add.u32  9        1            1            9
";

    #[test]
    fn bytes_of_a_round_are_those_to_the_device_and_from_it() {
        let of = |up: u32, down: u32| {
            format!(
                "copies to the device 3 ({up} bytes), from it 2 ({down} bytes), fills 9 (77 bytes)\n"
            )
        };
        assert_eq!(copied(&of(100, 20), &of(150, 24)).unwrap(), 54);
        assert!(copied(&of(1, 1), "nothing").is_err());
    }

    #[test]
    fn a_round_is_what_two_have_more_than_one() {
        let touch = Sums { issued: 7, loaded: 20, sectors: 46, swaps: 30, atomics: 9 };
        let age = Sums { issued: 2, sectors: 4, ..Sums::default() };
        let expected = vec![("age".to_owned(), age), ("touch".to_owned(), touch)];
        assert_eq!(difference(ONE, TWO).unwrap(), expected);
        assert_eq!(difference(ONE, ONE).unwrap(), vec![]);
        assert!(difference(ONE, &TWO.replace("27", "many")).is_err());
    }
}
