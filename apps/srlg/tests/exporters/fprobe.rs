//! fprobe, which exports the flows of an interface as NetFlow v5; tcpreplay sends packets there.

use std::fs;

use crate::becomes;
use crate::collector::Collector;
use crate::namespace::alone;
use crate::packets;
use crate::programs::{command, until};
use crate::received::{almost_all, assert_pairs, pairs_of};

const SENDING: &str = "sending";
const LISTENING: &str = "listening";

#[test]
fn its_netflow_v5_is_the_pairs_of_packets_on_an_interface() {
    let test = "fprobe::its_netflow_v5_is_the_pairs_of_packets_on_an_interface";
    alone(test, &["fprobe", "tcpreplay"], || {
        connect();
        let file = packets::file("fprobe", &[false]);
        let expected = pairs_of(&file);
        assert_pairs("fprobe", &expected, |collector| {
            let child = fprobe(collector);
            assert!(becomes(is_captured), "fprobe does not capture");
            let args = ["--preload-pcap", "-i", SENDING, "--pps=4000", file.to_str().unwrap()];
            assert!(command("tcpreplay", &args).status().unwrap().success());
            until(child, almost_all(&expected, collector));
        });
    });
}

/// Makes the pair of interfaces, and nothing else that would send: a host of IPv6 looks for routers and neighbours.
fn connect() {
    // Where there is no IPv6 there is no such file, and no such host.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    ip(&["link", "add", "name", SENDING, "type", "veth", "peer", "name", LISTENING]);
    for name in [SENDING, LISTENING] {
        ip(&["link", "set", "dev", name, "up"]);
    }
}

fn ip(args: &[&str]) {
    assert!(command("ip", args).status().unwrap().success(), "ip {args:?}");
}

/// Starts fprobe, which exports flows that were idle for a second.
fn fprobe(collector: &Collector) -> std::process::Child {
    let to = format!("127.0.0.1:{}", collector.port);
    let timeouts = ["-s", "1", "-g", "1", "-d", "1", "-e", "1"];
    // It stays in the foreground. Its queue is 100 flows by default, and the rest is lost.
    let options = [&["-l", "2", "-i", LISTENING, "-f", "ip", "-q", "10000"][..], &timeouts];
    command("fprobe", &[&options.concat()[..], &[&to]].concat()).spawn().unwrap()
}

/// Whether a program captures on an interface of this network. fprobe says nothing when it has begun, the kernel does.
fn is_captured() -> bool {
    let sockets = fs::read_to_string("/proc/self/net/packet").unwrap();
    // Of each socket the fifth column is its interface: 0 until it is bound to one.
    sockets.lines().skip(1).any(|line| line.split_whitespace().nth(4).is_some_and(|it| it != "0"))
}
