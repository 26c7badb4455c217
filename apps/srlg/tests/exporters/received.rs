//! `contacts` or `detect` as a receiver of exports, and comparisons of the received pairs with the expected pairs.

use std::path::Path;

use crate::process::Process;
use crate::{Pairs, becomes, output, pairs, srlg, steady};

pub(crate) struct Collector {
    program: Process,
    pub(crate) port: u16,
}

impl Collector {
    /// Starts `program` and waits until it is ready to receive exports over UDP.
    pub(crate) fn start(program: &str, more: &[&str]) -> Self {
        Self::start_with("--listen", program, more)
    }

    /// Starts `program` and waits until it is ready to receive exports on a socket, which the option `listen` requests.
    pub(crate) fn start_with(listen: &str, program: &str, more: &[&str]) -> Self {
        let mut command = srlg(program);
        command.args([listen, "127.0.0.1:0", "--exporters", "127.0.0.0/8"]).args(more);
        let mut program = Process::start_printing(&mut command);
        let port = program.wait_for_text_after("127.0.0.1:").parse().unwrap();
        Self { program, port }
    }

    pub(crate) fn wait_for(&self, is: impl Fn(&Self) -> bool) {
        assert!(becomes(|| is(self)), "{}", self.log());
    }

    /// Returns the standard output so far, in whole lines.
    pub(crate) fn printed(&self) -> String {
        self.program.printed()
    }

    /// Returns the standard error so far, in whole lines.
    pub(crate) fn log(&self) -> String {
        self.program.log()
    }

    /// Interrupts the program and returns its standard output and standard error. Panics if the exit status is not 0.
    pub(crate) fn stop(mut self) -> (String, String) {
        self.program.signal("INT");
        let (code, log) = self.program.end();
        assert_eq!(code, Some(0), "{log}");
        (self.printed(), log)
    }
}

pub(crate) fn pairs_of(file: &Path) -> Pairs {
    pairs(&output("contacts", &["--input", file.to_str().unwrap()]).0)
}

/// Asserts that the summary matches the snapshot `name`, in which all counts of lost data are 0. In the snapshot, N
/// replaces all other numbers, and texts that depend on the time of the export are left out.
pub(crate) fn assert_whole(name: &str, logged: &str) {
    let logged = steady(logged);
    // The first line ends with the port and is skipped.
    let lines = logged.lines().skip(1).map(|line| {
        let words = line.split_inclusive([' ', ',', ';', ')']).map(|word| {
            let number = word.trim_end_matches([' ', ',', ';', ')']);
            let is_counted = number != "0" && number.parse::<f64>().is_ok();
            if is_counted { word.replace(number, "N") } else { word.to_owned() }
        });
        // An sFlow agent sends counter samples at irregular times. The clock is stated only if it differs by at least
        // 50 ms, and some exporters round the time of an export down to whole seconds.
        words.collect::<String>().replace(" (other-sample N)", "").replace("; clock # s", "") + "\n"
    });
    insta::assert_snapshot!(name, lines.collect::<String>());
}

/// Asserts that `contacts` receives exactly the `expected` pairs from the exporter `name`.
pub(crate) fn assert_pairs(name: &str, expected: &Pairs, export: impl FnMut(&Collector)) {
    assert_pairs_within(1, name, expected, export);
}

/// Like [`assert_pairs`], with up to `attempts` attempts, because some exporters lose flows on a busy machine.
pub(crate) fn assert_pairs_within(
    attempts: u32,
    name: &str,
    expected: &Pairs,
    mut export: impl FnMut(&Collector),
) {
    for left in (0..attempts).rev() {
        let collector = Collector::start("contacts", &[]);
        export(&collector);
        // All sent datagrams are received before the program exits.
        let (printed, logged) = collector.stop();
        let found = pairs(&printed);
        if left > 0 && found.len() < expected.len() {
            eprintln!("{name} exported {} of {} pairs; trying again", found.len(), expected.len());
            continue;
        }
        let others: Vec<_> = found.symmetric_difference(expected).take(3).collect();
        assert!(others.is_empty(), "{} of {}, {others:?}: {logged}", found.len(), expected.len());
        return assert_whole(name, &logged);
    }
}

/// Maximum number of pairs in the last datagram. Some exporters send the last datagram only when it is full or when
/// they exit.
const LAST: usize = 30;

/// Returns a function that checks whether all `expected` pairs have arrived, apart from up to [`LAST`] pairs in the
/// last datagram.
pub(crate) fn almost_all(expected: &Pairs, collector: &Collector) -> impl FnMut() -> bool {
    move || {
        let (printed, least) = (collector.printed(), expected.len() - LAST);
        // Counting lines is faster than counting pairs, and there are at least as many lines.
        printed.lines().count() > least && pairs(&printed).len() >= least
    }
}
