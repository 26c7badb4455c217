//! Measurements of the time per network look-up.

use std::hint::black_box;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use ipnet::IpNet;
use srlg_input::contact::{Host, Networks};

use crate::number;

const ROUNDS: u32 = 9;

/// Returns an address whose bits are a hash of `number`. IPv6 addresses are in 2000::/3.
fn address(is_ipv6: bool, number: u64) -> IpAddr {
    // The mixing function is SplitMix64.
    let scattered = |number: u64| {
        let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    };
    let [high, low] = [2 * number, 2 * number + 1].map(scattered);
    if is_ipv6 {
        Ipv6Addr::from_bits(1 << 125 | u128::from(high) << 61 | u128::from(low)).into()
    } else {
        IpAddr::from((low as u32).to_be_bytes())
    }
}

/// Returns `count` networks, whose prefix lengths are 16 to 24 for IPv4 and 32 to 48 for IPv6.
fn networks(is_ipv6: bool, count: u64) -> Vec<IpNet> {
    let network = |number| {
        let length = if is_ipv6 { 32 + number % 17 } else { 16 + number % 9 };
        IpNet::new(address(is_ipv6, number + (1 << 32)), length as u8).unwrap().trunc()
    };
    (0..count).map(network).collect()
}

fn address_in(networks: &[IpNet], number: u64) -> IpAddr {
    let network = networks[(number as usize * 7_919) % networks.len()];
    match (network, address(matches!(network, IpNet::V6(_)), number)) {
        (IpNet::V4(net), IpAddr::V4(host)) => (net.network().to_bits()
            | host.to_bits() & net.hostmask().to_bits())
        .to_be_bytes()
        .into(),
        (IpNet::V6(net), IpAddr::V6(host)) => (net.network().to_bits()
            | host.to_bits() & net.hostmask().to_bits())
        .to_be_bytes()
        .into(),
        _ => unreachable!("the host is of the family of the network"),
    }
}

/// Returns the minimum time per host over all rounds, in nanoseconds.
fn lookups(hosts: &[Host], is_inside: impl Fn(Host) -> bool) -> f64 {
    let round = || {
        let start = Instant::now();
        for _ in 0..16 {
            black_box(hosts.iter().filter(|host| is_inside(**host)).count());
        }
        start.elapsed().as_nanos() as f64 / (16 * hosts.len()) as f64
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "a measurement"]
fn lookups_in_networks() {
    for is_ipv6 in [false, true] {
        let family = if is_ipv6 { "IPv6" } else { "IPv4" };
        let any: Vec<_> = (0..1 << 14).map(|number| address(is_ipv6, number).into()).collect();
        let nothing = lookups(&any, |host| number(host) & 1 == 1);
        println!("no networks of {family}: {nothing:.1} ns, which is part of all that follow");
        for count in [1, 10, 1_000, 10_000] {
            let networks = networks(is_ipv6, count);
            let start = Instant::now();
            let table = Networks::new(networks.iter().map(|network| (*network, ())));
            let built = start.elapsed();
            let inside: Vec<_> =
                (0..1 << 14).map(|number| address_in(&networks, number).into()).collect();
            assert!(inside.iter().all(|host| table.get(*host).is_some()));
            let naive =
                |host: Host| networks.iter().any(|network| network.contains(&IpAddr::from(host)));
            assert!(any[..1_000].iter().all(|host| table.get(*host).is_some() == naive(*host)));
            let [any, inside] =
                [&any, &inside].map(|hosts| lookups(hosts, |host| table.get(host).is_some()));
            println!(
                "{count} networks of {family}: {any:.1} ns anywhere, {inside:.1} ns inside, \
                 built in {built:.1?}"
            );
        }
    }
}
