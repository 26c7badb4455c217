//! Tests of the output and the error messages of `giants`, which is run with tiny sizes.

use crate::program::{failure, objects, program, run};

#[test]
fn giants_are_estimated_within_their_stated_errors() {
    let small = "giants --load 20k --window 10 --trials 4 --memory 500k --cardinalities 1024,300k";
    let rows = objects(&mut program(small));
    assert_eq!(rows.len(), 6);
    for row in rows {
        let of = |name: &str| row[name].as_f64().unwrap();
        assert_eq!((of("trials"), of("beyond"), of("bounds_above")), (4.0, 0.0, 0.0));
        // The mean square of four errors exceeds 4 times its expectation with a probability of 1 in 1,000.
        assert!(of("rmse") < 2.2 * of("stated") && of("stated") < 6.0, "{row}");
    }
}

#[test]
fn what_foreigners_cover_is_beyond_range_with_a_bound() {
    let covered = "--lines 520 --linear-width 4096 --cardinalities 1024";
    let line = format!("giants --load 156k --window 4 --trials 20 {covered}");
    let rows = objects(&mut program(&line));
    let sum = |name: &str| rows.iter().map(|row| row[name].as_u64().unwrap()).sum::<u64>();
    assert!(sum("beyond") > 5, "{rows:?}");
    assert_eq!(sum("bounds_above"), 0, "{rows:?}");
}

#[test]
fn sizes_that_break_a_rule_are_refused() {
    insta::assert_snapshot!(failure(&run("giants --lines 9")));
}
