//! Incidents in recorded captures and flow exports, which contain ports and TCP flags.
//!
//! The test requires the captures in the folder that `SRLG_DATA` names, and is skipped with a message without them.

use std::path::Path;

use srlg_alerts::Status;
use srlg_alerts::notification::Kind;
use srlg_cli::config::Config;
use srlg_cli::measure::monitor::Monitor;
use srlg_input::{Event, Input};
use srlg_traffic::trace::recorded;

use crate::matrix::Truth;
use crate::table::Setting;

/// A recording of one attack, which must raise one incident.
pub(crate) struct Capture {
    path: &'static str,
    /// Whether the packets contain flow exports, which are those of another capture.
    pub(crate) is_export: bool,
    /// Inside network.
    inside: &'static str,
    /// Setting with which the attack is found, unless the default configuration finds it.
    setting: Option<Setting>,
    view: &'static str,
    host: &'static str,
    pub(crate) truth: Truth,
    pub(crate) kind: Kind,
}

/// Returns a recording of SYN-ACKs that servers sent to a victim.
const fn syn_acks(path: &'static str, is_export: bool) -> Capture {
    Capture {
        path,
        is_export,
        inside: "10.10.10.0/24",
        setting: None,
        view: "replies-in",
        host: "10.10.10.10",
        truth: Truth::Flood,
        kind: Kind::Flood,
    }
}

pub(crate) const CAPTURES: [Capture; 8] = [
    syn_acks("captures/pcap_usec_ddos_synack.pcap", false),
    syn_acks("flows/softflowd_synack_v5.pcap", true),
    syn_acks("flows/softflowd_synack_v9.pcap", true),
    syn_acks("flows/softflowd_synack_ipfix.pcap", true),
    syn_acks("flows/softflowd_synack_ipfix_biflow.pcap", true),
    syn_acks("flows/pmacctd_synack_v9.pcap", true),
    syn_acks("flows/pmacctd_synack_sflow_1in4.pcap", true),
    Capture {
        path: "cases/fetched/e2e_synscan.pcap.gz",
        is_export: false,
        inside: "64.13.134.0/24",
        setting: Some(Setting::Ports),
        view: "ports",
        host: "64.13.134.52",
        truth: Truth::PortScan,
        kind: Kind::PortScan,
    },
];

/// Replays `capture` from the folder `data` and returns the view, the host and the last kind of each incident.
fn replay(data: &Path, capture: &Capture) -> Vec<(String, String, Kind)> {
    let Capture { path, is_export, inside, setting, .. } = capture;
    let path = data.join(path);
    let tables = setting.map_or("", Setting::text);
    let config = format!(
        "inside = ['{inside}']\n[input]\ninput = [{path:?}]\nexports = {is_export}\n{tables}"
    );
    let config = Config::parse(&config).unwrap();
    let mut monitor = Monitor::new(&config, 1).unwrap();
    let mut input = Input::open(&config.source).unwrap();
    let mut notified = Vec::new();
    while let Some(event) = input.next_event().unwrap() {
        let Event::Contacts(contacts) = event else { continue };
        for contact in contacts {
            monitor.ingest(contact).unwrap();
        }
        notified.extend(monitor.notifications().unwrap());
    }
    monitor.finish().unwrap();
    notified.extend(monitor.notifications().unwrap());
    let starts = notified.iter().filter(|it| it.status == Status::Start);
    let incidents = starts.map(|start| {
        let last = notified.iter().rfind(|it| it.id == start.id).unwrap_or(start);
        (start.view.clone(), start.host.to_string(), last.kind)
    });
    incidents.collect()
}

#[test]
fn each_recorded_attack_with_ports_raises_one_incident_of_its_kind() {
    let Some(data) = recorded(".") else { return };
    for capture in &CAPTURES {
        let Capture { path, view, host, kind, .. } = capture;
        let expected = [((*view).to_owned(), (*host).to_owned(), *kind)];
        assert_eq!(replay(&data, capture), expected, "{path}");
    }
}
