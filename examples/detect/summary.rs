//! The last summary, on standard error.

use std::io::{self, Write};

use srlg_capture::Counts;

use crate::session::Totals;

/// Background up to which the paper's estimate is clear: see docs/measurements.md.
const CLEAR_BACKGROUND: f64 = 0.01;

/// Prints what became of every packet, and what it cost.
pub fn print(totals: &Totals, counts: &Counts) {
    // Nobody is left to tell where standard error is closed or full.
    let _nobody_listens = write(&mut io::stderr().lock(), totals, counts);
}

fn write(to: &mut impl Write, totals: &Totals, counts: &Counts) -> io::Result<()> {
    let seconds = totals.wall.as_secs_f64();
    let rate = |count: u64| count as f64 / seconds / 1e6;
    writeln!(to, "packets    {counts}")?;
    writeln!(
        to,
        "dropped    {} too late, {} from the future, {} with no measured endpoint",
        totals.too_late, totals.future, totals.unmeasured
    )?;
    if totals.refused > 0 {
        let refused = totals.refused;
        writeln!(to, "ipv6       {refused} contacts left out: the preset paper takes IPv4 alone")?;
    }
    writeln!(to, "pairs      {}", totals.pairs)?;
    writeln!(to, "slices     {} reported, {} in overload", totals.slices, totals.overloaded)?;
    let (packets, pairs) = (rate(counts.packets), rate(totals.pairs));
    writeln!(to, "time       {seconds:.2} s, {packets:.2} M packets/s, {pairs:.2} M pairs/s")?;
    let recorders = totals.recorder_bytes as f64 / 1e6;
    let device = totals.device;
    writeln!(to, "memory     {recorders:.1} MB of recorders on {device}, {}", peak_memory())?;
    write_warnings(to, totals)
}

fn write_warnings(to: &mut impl Write, totals: &Totals) -> io::Result<()> {
    if totals.background > CLEAR_BACKGROUND {
        writeln!(
            to,
            "detect: warning: other hosts' contacts set up to {:.1} % of an estimator; beyond {:.1} % \
             the paper's estimate reports false super points: use --preset default",
            totals.background * 100.0,
            CLEAR_BACKGROUND * 100.0
        )?;
    }
    if totals.future > 0 {
        writeln!(
            to,
            "detect: warning: {} packets have time stamps from the future and were dropped",
            totals.future
        )?;
    }
    Ok(())
}

/// Peak memory of this process, where the system tells.
pub fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match kib {
        Some(kib) => format!("process peak {:.1} MB", kib as f64 * 1024.0 / 1e6),
        None => "process peak unknown on this system".to_owned(),
    }
}
