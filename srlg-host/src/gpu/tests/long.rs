//! Lists that are longer than the pinned memory that they pass through: they come in several runs.

use srlg_core::Config;

use super::simulated::Simulated;
use super::{contacts, cpu, on};

// A pair touches a recorder in each of five rows of the counter: some 15,000, whose numbers take 60,000 bytes where
// 30,720 pass at once. More than 20,479 would be no list.
#[test]
fn delta_of_more_recorders_than_one_copy_takes_is_that_of_the_cpu() {
    let mut one = cpu(Config::paper());
    one.ingest(&contacts(75, 40)).unwrap();
    let mut tested = on(&Simulated::new(6), Config::paper()).unwrap();
    tested.ingest(&contacts(75, 40)).unwrap();
    let delta = one.delta(1).unwrap();
    assert!((14_000..20_000).contains(&delta.recorders()), "{}", delta.recorders());
    // Not assert_eq: a failure would print all of them.
    assert!(tested.delta(1).unwrap() == delta);
}
