//! The functions of the header for reports.
#![allow(unsafe_code, reason = "C passes pointers")]
#![allow(clippy::missing_safety_doc, reason = "`pointer` documents the contract")]

use srlg_host::SliceReport;

use crate::handle::Table;
use crate::pointer::output_struct;
use crate::status::{Failure, Status, guard};
use crate::values::{Health, Peers, Report, Summary, SuperPoint};

pub(crate) static REPORTS: Table<SliceReport> = Table::new(3, "srlg_report");

/// Writes the summary of a report: its slice, the numbers of super points and candidates, and the duration of the
/// close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_summary(report: Report, summary: *mut Summary) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(summary, "summary") }?;
        REPORTS.read(report.id, |report| {
            out.write(report);
            Ok(())
        })
    })
}

/// Writes the super point at `index`, which starts at 0. Super points are sorted by cardinality, largest first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_super_point(
    report: Report,
    index: u64,
    super_point: *mut SuperPoint,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(super_point, "super_point") }?;
        REPORTS.read(report.id, |report| {
            out.write(super_point_of(report, index)?);
            Ok(())
        })
    })
}

/// Writes the sampled peers of the super point at `index`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_peers(
    report: Report,
    index: u64,
    peers: *mut Peers,
) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(peers, "peers") }?;
        REPORTS.read(report.id, |report| {
            out.write(&*super_point_of(report, index)?.peers);
            Ok(())
        })
    })
}

fn super_point_of(report: &SliceReport, index: u64) -> Result<&srlg_host::SuperPoint, Failure> {
    let points = &report.super_points;
    let point = usize::try_from(index).ok().and_then(|index| points.get(index));
    point.ok_or_else(|| {
        let text = format!("index: the report has {} super points, got {index}", points.len());
        Failure::new(Status::Argument, text)
    })
}

/// Writes the health of the detector at the close of the report's slice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn srlg_report_health(report: Report, health: *mut Health) -> Status {
    guard(|| {
        // SAFETY: the contract of this call.
        let out = unsafe { output_struct(health, "health") }?;
        REPORTS.read(report.id, |report| {
            out.write(&report.health);
            Ok(())
        })
    })
}

/// Frees a report as soon as no call uses it.
#[unsafe(no_mangle)]
pub extern "C" fn srlg_report_free(report: Report) -> Status {
    guard(|| REPORTS.remove(report.id).map(drop))
}
