//! A monitor under load: its memory during an hour of traffic with attacks, its losses at several rates of NetFlow v9
//! records, and its processor time per captured packet. The tests run only on Linux.

#[cfg(feature = "live")]
mod capture;
mod exports;
mod hour;

use std::fs;

/// Returns the next pseudo-random number, which is the same on all machines.
fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    *random
}

/// Returns a memory value of a process from `/proc`, in bytes. `name` is `VmRSS` for the current value or `VmHWM` for
/// the peak since the last reset.
fn memory_bytes(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

/// Returns the number before the last occurrence of `what` in `text`.
fn number_before(text: &str, what: &str) -> u64 {
    let before = text.rsplit_once(what).unwrap_or_else(|| panic!("no {what:?} in:\n{text}")).0;
    before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}
