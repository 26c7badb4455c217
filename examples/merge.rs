//! Merges the data of two sites to find a host that neither site finds alone.
//!
//! Run it with `cargo run --release --example merge`.

use std::net::Ipv4Addr;
use std::ops::Range;

use srlg::state::Delta;
use srlg::{Config, Device, Error, Ipv4Pair, SliceReport, SlidingDetector};

/// Returns contacts of one inside host with a range of peers.
fn contacts(peers: Range<u32>) -> Vec<Ipv4Pair> {
    let host = Ipv4Addr::new(10, 0, 0, 1);
    let peer = |number| Ipv4Addr::from_bits(u32::from(Ipv4Addr::new(198, 51, 0, 0)) + number);
    peers.map(|number| Ipv4Pair::new(host, peer(number))).collect()
}

fn print(site: &str, report: &SliceReport) {
    for point in &report.super_points {
        println!("{site}: {} {:.0} ±{:.0}", point.host, point.cardinality, point.std_error);
    }
    if report.super_points.is_empty() {
        println!("{site}: no super points");
    }
}

fn main() -> Result<(), Error> {
    // All detectors have the same configuration, so that they can be merged. They report hosts with 1,024 peers or
    // more.
    let config = Config { threshold: 1024, window: 60, ..Config::default() };
    let detector = || SlidingDetector::new(config, Device::Auto);
    let (mut west, mut east, mut centre, mut witness) =
        (detector()?, detector()?, detector()?, detector()?);

    // The host has 1,500 peers. Each site sees 900 of them, so 300 are seen at both sites and must count once.
    let (at_west, at_east) = (contacts(0..900), contacts(600..1500));
    west.ingest(&at_west)?;
    east.ingest(&at_east)?;
    // For comparison, one detector sees all the traffic.
    witness.ingest(&at_west)?;
    witness.ingest(&at_east)?;

    // At the end of a slice, each site sends the changes of that slice as bytes, over any network.
    let messages = [west.delta(1)?.to_bytes()?, east.delta(1)?.to_bytes()?];
    // Here the messages arrive twice and in a different order, which does not change the result.
    for bytes in messages.iter().chain(messages.iter().rev()) {
        let delta = Delta::from_bytes(bytes, centre.params())?;
        centre.merge_delta(&delta)?;
    }

    print("west", &west.close_slice()?);
    print("east", &east.close_slice()?);
    let merged = centre.close_slice()?;
    print("merged", &merged);
    assert_eq!(merged, witness.close_slice()?, "the report of one detector that saw all traffic");
    println!("the merged report equals that of one detector that saw all traffic");
    Ok(())
}
