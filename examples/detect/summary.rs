//! The last summary, on standard error.

use srlg_capture::Counts;

use crate::session::Totals;

/// Background up to which the paper's estimate is clear: see docs/measurements.md.
const CLEAR_BACKGROUND: f64 = 0.01;

/// Prints what became of every packet, and what it cost.
pub fn print(totals: &Totals, counts: &Counts) {
    let seconds = totals.wall.as_secs_f64();
    let rate = |count: u64| count as f64 / seconds / 1e6;
    eprintln!("packets    {counts}");
    eprintln!(
        "dropped    {} too late, {} from the future, {} with no measured endpoint",
        totals.too_late, totals.future, totals.unmeasured
    );
    eprintln!("pairs      {}", totals.pairs);
    eprintln!("slices     {} reported, {} in overload", totals.slices, totals.overloaded);
    if totals.background > CLEAR_BACKGROUND {
        eprintln!(
            "detect: warning: other hosts' contacts set up to {:.1} % of an estimator, beyond {:.1} % \
             false super points appear: narrow --inside or shorten --window",
            totals.background * 100.0,
            CLEAR_BACKGROUND * 100.0
        );
    }
    eprintln!(
        "time       {seconds:.2} s, {:.2} M packets/s, {:.2} M pairs/s",
        rate(counts.packets),
        rate(totals.pairs)
    );
    eprintln!(
        "memory     {:.1} MB of recorders, {}",
        totals.recorder_bytes as f64 / 1e6,
        peak_memory()
    );
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
