//! Artificial overviews, and a small HTTP client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use srlg_alerts::status::overview::{
    DatagramCounts, ExporterOverview, NetworkOverview, Overview, SinkOverview, SiteOverview,
    SpoolOverview, TopHost, ViewOverview,
};
use srlg_alerts::status::problems::{ProblemCounts, ProblemKind};
use srlg_input::Contact;
use srlg_input::contact::Sampling;
use srlg_notify::store::Store;
use srlg_web::server::{Visitors, Web};
use tokio::sync::watch::{Sender, channel};

pub(crate) fn overview(now_ms: u64) -> Overview {
    let top = TopHost {
        host: "192.0.2.7".parse().unwrap(),
        label: Some("<b>shop</b>".to_owned()),
        cardinality: 2_000.0,
        std_error: 9.0,
        is_lower_bound: false,
        is_alert: true,
        line: vec![0, 1_000, 2_000],
    };
    let view = ViewOverview {
        name: "fan-in".to_owned(),
        super_points: 2,
        top: vec![top.clone(), top],
        slices: 7,
        alerts: [0, 0, 1, 0],
        ..ViewOverview::default()
    };
    let mut problems = ProblemCounts::default();
    problems.add(ProblemKind::Held, 6);
    let exporter = ExporterOverview {
        address: "198.51.100.1".parse().unwrap(),
        name: Some("edge-1".to_owned()),
        datagrams: 3,
        records: 90,
        contacts: 80,
        lost: Some(5),
        templates: 2,
        problems,
        waiting_since_ms: Some(now_ms),
        last_seen_ms: Some(now_ms),
        is_silent: false,
        skew_ms: -1_500,
        sampling: sampling([10]),
    };
    let sink = SinkOverview { name: "hook".to_owned(), failed: 4, ..SinkOverview::default() };
    Overview {
        started_ms: now_ms,
        now_ms,
        slice_ms: 1_000,
        is_live: true,
        views: vec![view],
        exporters: vec![exporter],
        sinks: vec![sink],
        is_last_reload_good: true,
        is_learning: false,
        ..Overview::default()
    }
}

pub(crate) fn network() -> NetworkOverview {
    NetworkOverview {
        closed: [("complete", 1)].into(),
        refused: [("slice", 1)].into(),
        sites: vec![SiteOverview {
            spool: Some(SpoolOverview::default()),
            datagrams: Some(DatagramCounts::default()),
            ..SiteOverview::default()
        }],
        ..NetworkOverview::default()
    }
}

pub(crate) fn start(overview: Overview) -> (Web, Sender<Arc<Overview>>) {
    start_with(overview, &Store::open(None).unwrap())
}

pub(crate) fn start_with(overview: Overview, store: &Store) -> (Web, Sender<Arc<Overview>>) {
    let (overviews, latest) = channel(Arc::new(overview));
    let address = "127.0.0.1:0".parse().unwrap();
    (Web::start(address, Visitors::default(), latest, store).unwrap(), overviews)
}

pub(crate) fn send(address: SocketAddr, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    stream
}

pub(crate) fn ask(address: SocketAddr, path: &str, host: &str) -> TcpStream {
    send(address, &format!("GET {path} HTTP/1.1\r\nHost: {host}"))
}

/// Reads a response. Returns its status, its head in lower case, and its body.
pub(crate) fn answer(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), head.to_lowercase(), body.to_owned())
}

pub(crate) fn get(web: &Web, path: &str) -> (u16, String, String) {
    answer(ask(web.address(), path, &format!("localhost:{}", web.address().port())))
}

/// Returns the sampling of contacts with these rates. A rate of 0 means that the rate is unknown.
pub(crate) fn sampling<const N: usize>(rates: [u32; N]) -> Sampling {
    let mut sampling = Sampling::default();
    for rate in rates {
        let host = srlg_input::contact::Host::from([192, 0, 2, 1]);
        let mut contact = Contact::new(0, host, host);
        (contact.exporter, contact.sampling) = (Some(host), std::num::NonZeroU32::new(rate));
        sampling.add(&contact);
    }
    sampling
}
