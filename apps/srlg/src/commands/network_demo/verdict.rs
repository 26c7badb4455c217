//! Merged super points beside the truth, and whether they agree.
//!
//! The bound: estimates are unbiased and nearly normal, so one is further than five standard errors from the
//! truth with a probability of 6e-7. A host has to be reported when its true cardinality is so far above θ, must not be when it
//! is so far below, and may be or not in between. Of a host that is not reported nobody has told the standard
//! error: it is taken for that of the largest relative one that was.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;

use anyhow::{Context, Result};
use serde_json::Value;
use srlg_traffic::family::{Family, number};

/// Standard errors that an estimate may be off.
const BOUND: f64 = 5.0;

/// A reported super point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) host: IpAddr,
    pub(super) cardinality: f64,
    pub(super) std_error: f64,
}

/// Exact cardinalities by the number of a host.
pub(super) struct Truth {
    pub(super) family: Family,
    pub(super) whole: BTreeMap<u32, u32>,
    /// What each probe sees.
    pub(super) probes: Vec<BTreeMap<u32, u32>>,
}

impl Truth {
    fn of(&self, host: IpAddr) -> f64 {
        self.whole.get(&number(host)).copied().unwrap_or(0).into()
    }
}

/// The super points of `slice` in reports of a line per view and slice, once it is there.
pub(super) fn report(reports: &str, slice: u64) -> Result<Option<Vec<Point>>> {
    // What has no end yet is being written.
    let whole = reports.rfind('\n').map_or("", |end| &reports[..end]);
    for line in whole.lines() {
        let report: Value = serde_json::from_str(line).context("a report is no JSON")?;
        if report["slice"] == slice && report["view"] == "fan-in" {
            let points =
                report["super_points"].as_array().context("a report has no super points")?;
            return points
                .iter()
                .map(point)
                .collect::<Option<_>>()
                .context("a super point of a report is incomplete")
                .map(Some);
        }
    }
    Ok(None)
}

fn point(value: &Value) -> Option<Point> {
    Some(Point {
        host: value["host"].as_str()?.parse().ok()?,
        cardinality: value["cardinality"].as_f64()?,
        std_error: value["std_error"].as_f64()?,
    })
}

/// What the standard errors do not allow for.
pub(super) fn faults(truth: &Truth, points: &[Point], threshold: u32) -> Vec<String> {
    let mut faults = Vec::new();
    let theta = f64::from(threshold);
    for &Point { host, cardinality, std_error } in points {
        let exact = truth.of(host);
        if (cardinality - exact).abs() > BOUND * std_error {
            faults.push(format!(
                "{host}: {cardinality:.0} ± {std_error:.0} is more than {BOUND} standard errors off {exact}"
            ));
        }
    }
    let relative =
        points.iter().map(|point| point.std_error / point.cardinality).fold(0.0, f64::max);
    for (&host, &exact) in &truth.whole {
        let (host, exact) = (truth.family.host(host), f64::from(exact));
        let clear = exact - theta > BOUND * relative * exact;
        if clear && points.iter().all(|point| point.host != host) {
            faults.push(format!("{host}: {exact} opposite hosts, and it was not reported"));
        }
    }
    faults
}

/// The table: what each probe had, the truth, and the merged estimate.
pub(super) fn print(
    out: &mut impl Write,
    names: &[&str],
    truth: &Truth,
    points: &[Point],
) -> io::Result<()> {
    write!(out, "\nsuper point           ")?;
    names.iter().try_for_each(|name| write!(out, "{name:>8}"))?;
    writeln!(out, "    true   merged          error")?;
    for &Point { host, cardinality, std_error } in points {
        let exact = truth.of(host);
        write!(out, "{host:<22}", host = host.to_string())?;
        for probe in &truth.probes {
            write!(out, "{:>8}", probe.get(&number(host)).copied().unwrap_or(0))?;
        }
        let error = (cardinality / exact - 1.0) * 100.0;
        writeln!(out, "{exact:>8}{cardinality:>9.0} ±{std_error:<5.0}{error:>+7.1}%")?;
    }
    writeln!(out, "\n{} super points; the counts of {} are exact", points.len(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(hosts: &[(u32, u32)]) -> Truth {
        Truth { family: Family::V4, whole: hosts.iter().copied().collect(), probes: Vec::new() }
    }

    fn reported(host: u32, cardinality: f64, std_error: f64) -> Point {
        Point { host: Family::V4.host(host), cardinality, std_error }
    }

    #[test]
    fn an_answer_within_five_standard_errors_has_no_fault() {
        let points = [reported(1, 2049.0, 10.0), reported(2, 1030.0, 8.0)];
        assert_eq!(
            faults(&truth(&[(1, 2000), (2, 1020), (3, 1050), (4, 1)]), &points, 1024),
            [""; 0]
        );
    }

    #[test]
    fn what_is_off_missed_or_invented_is_a_fault() {
        let off = faults(&truth(&[(1, 2000)]), &[reported(1, 2051.0, 10.0)], 1024);
        let missed = faults(&truth(&[(1, 2000), (2, 1200)]), &[reported(1, 2000.0, 10.0)], 1024);
        let invented = faults(&truth(&[]), &[reported(9, 1100.0, 10.0)], 1024);
        assert_eq!([off.len(), missed.len(), invented.len()], [1, 1, 1]);
        assert!(missed[0].contains("0.0.0.2") && invented[0].contains("0.0.0.9"));
    }

    #[test]
    fn a_report_is_found_by_its_slice_once_its_line_is_whole() {
        let line = r#"{"view":"fan-in","slice":7,"super_points":[{"host":"0.0.0.1","cardinality":5.5,"std_error":0.5}]}"#;
        let other = r#"{"view":"fan-in","slice":6,"super_points":[]}"#;
        assert_eq!(report(&format!("{other}\n{line}"), 7).unwrap(), None);
        let found = report(&format!("{other}\n{line}\n"), 7).unwrap().unwrap();
        assert_eq!(found, [reported(1, 5.5, 0.5)]);
        assert!(report("nonsense\n", 7).is_err());
    }
}
