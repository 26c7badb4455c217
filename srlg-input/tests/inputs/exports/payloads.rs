//! Tests of the decoder on payload files from exporters of many vendors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use srlg_input::flow::Reason;
use srlg_traffic::trace::recorded;

use crate::exports::build::RECEIVED_NS;
use crate::exports::{contacts, decoder};

/// An export: its name, the suffixes of its file names, and the counts of flows, options and contacts.
type Export = (&'static str, &'static [&'static str], u64, u64, usize);

/// Exports from the project logstash-codec-netflow. In each export, files that contain templates come first.
///
/// If the project states the number of records, the same number is expected here. Some records are not contacts:
/// Barracuda flows without packets and octets, nProbe flows between zero addresses, reverse directions of multicasts,
/// and one Ixia direction.
const EXPORTS: &[Export] = &[
    ("ipfix_test_barracuda", &["_tpl", "_data256"], 8, 0, 8),
    ("ipfix_test_barracuda_extended_uniflow", &["_tpl256", "_data256"], 2, 0, 0),
    ("ipfix_test_ixia_tpldata256", &[""], 1, 0, 1),
    ("ipfix_test_ixia_tpldata271", &[""], 2, 0, 1),
    ("ipfix_test_viptela", &["_tpl257", "_data257"], 1, 0, 1),
    ("ipfix_test_vmware_vds", &["_tpl", "_data264"], 1, 0, 1),
    ("ipfix_test_vmware_vds", &["_tpl", "_data266"], 2, 0, 2),
    ("ipfix_test_vmware_vds", &["_tpl", "_data266_267"], 2, 0, 2),
    ("netflow5_test_invalid02", &[""], 0, 0, 0),
    ("netflow5_test_microtik", &[""], 30, 0, 30),
    ("netflow9_test_0length_fields_tpl_data", &[""], 10, 0, 5),
    ("netflow9_test_cisco_1941K9", &[""], 29, 0, 29),
    ("netflow9_test_cisco_aci", &["_tpl256-258", "_data256"], 3, 0, 3),
    ("netflow9_test_cisco_asr9k", &["_opttpl256", "_data256"], 0, 19, 0),
    ("netflow9_test_cisco_asr9k", &["_tpl260", "_data260"], 21, 0, 21),
    ("netflow9_test_cisco_asr9k_opttpl257", &[""], 0, 0, 0),
    ("netflow9_test_cisco_asr9k_opttpl334", &[""], 0, 0, 0),
    ("netflow9_test_cisco_asr9k_tpl266", &[""], 0, 0, 0),
    ("netflow9_test_fortigate_fortios_521", &["_tpl", "_data256", "_data257"], 1, 1, 1),
    ("netflow9_test_h3c", &["_tpl3281", "_data3281"], 16, 0, 16),
    ("netflow9_test_h3c_netstream_varstring", &["_tpl3281", "_data3281"], 1, 0, 1),
    ("netflow9_test_juniper_srx_tplopt", &[""], 0, 1, 0),
    ("netflow9_test_macaddr", &["_tpl", "_data"], 29, 1, 29),
    ("netflow9_test_nprobe", &["_tpl", "_data"], 1, 1, 1),
    ("netflow9_test_nprobe_dpi", &[""], 1, 0, 0),
    ("netflow9_test_ubnt_edgerouter", &["_tpl", "_data1024", "_data1025"], 16, 0, 16),
];

/// Exports whose files are in the folder `captures`.
const ELSEWHERE: &[Export] = &[
    ("payload_netflow5", &[""], 2, 0, 2),
    ("payload_netflow5_test_invalid01", &[""], 0, 0, 0),
    ("payload_netflow5_test_juniper_mx80", &[""], 29, 0, 29),
    ("payload_netflow9_test_cisco_asa_1", &["_tpl", "_data"], 14, 0, 14),
    ("payload_netflow9_test_valid01", &[""], 7, 0, 7),
    ("payload_ipfix", &[""], 6, 1, 6),
    ("payload_ipfix_test_openbsd_pflow", &["_tpl", "_data"], 26, 0, 26),
];

#[test]
fn payloads_hold_the_flows_that_are_known_of_them() {
    for (name, exports) in [("flows/payloads", EXPORTS), ("captures", ELSEWHERE)] {
        let Some(folder) = recorded(name) else { return };
        check(&folder, exports);
    }
}

fn check(folder: &Path, exports: &[Export]) {
    for (name, files, flows, options, found) in exports {
        let mut decoder = decoder();
        let mut all = Vec::new();
        for file in *files {
            let payload = fs::read(folder.join(format!("{name}{file}.dat"))).unwrap();
            all.extend(contacts(&mut decoder, RECEIVED_NS, &payload));
        }
        let counts = decoder.counts();
        let records = (counts.records - counts.of(Reason::Options), counts.of(Reason::Options));
        println!("{name}: {records:?} {}: {counts}", all.len());
        assert_eq!((records, all.len()), ((*flows, *options), *found), "{name}: {counts}");
    }
}

#[test]
fn every_payload_is_known() {
    let Some(folder) = recorded("flows/payloads") else { return };
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        uses.insert(path.file_stem().unwrap().to_string_lossy().into_owned(), 0);
    }
    for (name, files, ..) in EXPORTS {
        files.iter().for_each(|file| *uses.get_mut(&format!("{name}{file}")).expect(name) += 1);
    }
    assert!(uses.values().all(|count| *count > 0), "{uses:?}");
}
