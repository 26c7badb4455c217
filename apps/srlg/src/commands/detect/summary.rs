//! Summary of a run, printed to standard error.

use std::io::{self, Write};

use srlg_input::Status;

use super::Totals;

/// Maximum background at which the paper's estimate is reliable; see `docs/limits.md`.
const CLEAR_BACKGROUND: f64 = 0.01;

pub(super) fn print(totals: &Totals, status: &Status) {
    // Write errors are ignored, because they cannot be reported elsewhere.
    let _nobody_listens = write(&mut io::stderr().lock(), totals, status);
}

fn write(to: &mut impl Write, totals: &Totals, status: &Status) -> io::Result<()> {
    let seconds = totals.wall.as_secs_f64();
    let rate = |count: u64| count as f64 / seconds / 1e6;
    write_status(to, status)?;
    writeln!(
        to,
        "dropped    {} too late, {} from the future, {} outside of the view",
        totals.too_late, totals.future, totals.unmeasured
    )?;
    if totals.without_port > 0 {
        writeln!(to, "ports      {} contacts without a port ignored", totals.without_port)?;
    }
    if totals.refused > 0 {
        let refused = totals.refused;
        writeln!(
            to,
            "ipv6       {refused} contacts ignored, because the preset paper supports only IPv4"
        )?;
    }
    if !totals.sampled.is_empty() {
        let sampled = totals.sampled;
        writeln!(to, "sampling   {sampled}")?;
    }
    writeln!(to, "pairs      {}", totals.pairs)?;
    writeln!(to, "slices     {} reported, {} in overload", totals.slices, totals.overloaded)?;
    let packets = status.packets.as_ref().map_or(0, |packets| packets.packets);
    let records = status.flows.as_ref().map_or(packets, |flows| flows.records);
    let unit = if status.flows.is_some() { "records" } else { "packets" };
    let (units, pairs) = (rate(records), rate(totals.pairs));
    writeln!(to, "time       {seconds:.2} s, {units:.2} M {unit}/s, {pairs:.2} M pairs/s")?;
    let recorders = totals.recorder_bytes as f64 / 1e6;
    let device = totals.device;
    writeln!(to, "memory     {recorders:.1} MB of recorders on {device}, {}", peak_memory())?;
    write_warnings(to, totals)
}

fn write_status(to: &mut impl Write, status: &Status) -> io::Result<()> {
    let Status { packets, flows, sockets, drops, exporters, broker } = status;
    if let Some(packets) = packets {
        writeln!(to, "packets    {packets}")?;
    }
    if let Some(drops) = drops {
        writeln!(to, "lost       {drops}")?;
    }
    if let Some(sockets) = sockets {
        writeln!(to, "sockets    {sockets}")?;
    }
    if let Some(broker) = broker {
        writeln!(to, "broker     {broker}")?;
    }
    if let Some(flows) = flows {
        writeln!(to, "exports    {flows}")?;
    }
    exporters.iter().try_for_each(|exporter| writeln!(to, "exporter   {exporter}"))
}

fn write_warnings(to: &mut impl Write, totals: &Totals) -> io::Result<()> {
    if totals.background > CLEAR_BACKGROUND {
        writeln!(
            to,
            "srlg: warning: contacts of other hosts filled {:.1} % of an estimator; above {:.1} %, \
             the paper's estimate reports false super points; use --preset default",
            totals.background * 100.0,
            CLEAR_BACKGROUND * 100.0
        )?;
    }
    if totals.future > 0 {
        writeln!(
            to,
            "srlg: warning: {} contacts with a time in the future were dropped",
            totals.future
        )?;
    }
    Ok(())
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    match kib {
        Some(kib) => format!("process peak {:.1} MB", kib as f64 * 1024.0 / 1e6),
        None => "process peak unknown".to_owned(),
    }
}
