//! Tests of the output and the error messages of `plans`, which is run with tiny sizes.

use crate::program::{failure, fresh, objects, program, run};
use approx::assert_abs_diff_eq;
use std::fs;

/// Command line for two plans: the first is rejected, and the second is measured.
const TINY: &str = "plans --thresholds 32 --loads 10k --memories 41k,200k --windows 10 --hosts 200";

#[test]
fn plans_that_are_accepted_are_measured_and_keep_what_they_promise() {
    let rows = objects(&mut program(TINY));
    insta::assert_snapshot!(rows[0]["refused"].as_str().unwrap());
    let measured = &rows[1..];
    assert_eq!(measured.len(), 2, "a row for each traffic");
    for (row, traffic) in measured.iter().zip(["small", "tailed"]) {
        assert!(row["traffic"] == traffic && row["refused"].is_null());
        // In each window, 22 hosts of each kind have a quarter of the load.
        assert_eq!(row["hosts"], 220);
        assert_eq!((&row["missed"], &row["is_broken"]), (&0.into(), &false.into()));
        let ratio = row["rms_error"].as_f64().unwrap() / row["acting_std_error"].as_f64().unwrap();
        let noise = row["rms_noise"].as_f64().unwrap();
        assert_abs_diff_eq!(ratio, 1.0, epsilon = 0.1 + 3.0 * noise);
    }
}

#[test]
fn everything_follows_from_the_seed() {
    let errors = |seed| objects(program(TINY).args(["--seed", seed]))[1]["rms_error"].clone();
    assert_eq!(errors("5"), errors("5"));
    assert_ne!(errors("5"), errors("6"));
}

#[test]
fn the_page_gets_a_row_for_each_threshold_or_the_table_of_sizes() {
    let page = fresh("sizing.md");
    let places = ["sizes", "plans"].map(|name| format!("<!-- table: {name} -->\n<!-- end -->\n"));
    fs::write(&page, places.concat()).unwrap();
    for more in [&["--table"][..], &[]] {
        let output = program(TINY).arg("--write").arg(&page).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = fs::read_to_string(&page).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn impossible_measurements_are_one_clear_line() {
    insta::assert_snapshot!(failure(&run("plans --hosts 2M")));
}
