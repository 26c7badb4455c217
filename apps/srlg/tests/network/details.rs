//! Watch lists and reports between processes: the collector asks the probes for the hosts with an alert, and the probes
//! report what their routers export of them. The simulation has the tests of their contents.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::net::Net;
use crate::network_traffic::PROBES;
use crate::process::PATIENCE;
use crate::routers::{Notifications, RULES, Router, start_collector, start_probe};

/// Lets `routers` export until there is a notification that `is` accepts, and returns it.
fn wait_for(
    notifications: &Notifications,
    routers: &mut [Router],
    is: impl Fn(&Value) -> bool,
) -> Value {
    let started = Instant::now();
    loop {
        routers.iter_mut().for_each(Router::export);
        let all = notifications.all();
        if let Some(notification) = all.iter().find(|notification| is(notification)) {
            return notification.clone();
        }
        assert!(started.elapsed() < PATIENCE, "{:?}", all.last());
        thread::sleep(Duration::from_millis(250));
    }
}

/// Returns the texts under `key` in `list`, in alphabetical order.
fn all_of<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let mut texts: Vec<_> =
        list.as_array().unwrap().iter().map(|it| it[key].as_str().unwrap()).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn notifications_have_the_reports_of_all_sites_and_name_routers_that_are_silent() {
    let Some(net) = Net::with_rules(RULES, 7) else { return };
    let sites = &PROBES[..2];
    let (_collector, notifications) = start_collector(&net, sites);
    let silent = "silent-after = '2s'\n";
    let start = |name: &&str| start_probe(&net, name, silent, None);
    let (_probes, addresses): (Vec<_>, Vec<_>) = sites.iter().map(start).unzip();
    let ips = ["127.0.0.2", "127.0.0.3"];
    let routers = ips.iter().zip(&addresses).map(|(ip, to)| Router::new(ip, to));
    let mut routers: Vec<_> = routers.collect();
    let both = wait_for(&notifications, &mut routers, |it| it["exporters"] == json!(ips));
    assert_eq!(all_of(&both["sites"], "site"), sites);
    assert_eq!(both["top_ports"][0][0], "tcp/445");
    let unconfirmed = wait_for(&notifications, &mut [], |it| it["why"] == "unconfirmed");
    let silent = [0, 1].map(|site| format!("{} at {}", ips[site], sites[site]));
    assert_eq!(all_of(&unconfirmed["silent"], "source"), silent);
}
