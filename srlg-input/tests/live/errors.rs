//! What goes wrong, and what the error says.

use std::time::{Duration, Instant};

use srlg_input::live::{Capture, CaptureOptions, LiveError};

use crate::namespace::{alone, without_permission};
use crate::network::Network;

fn open(interface: &str, filter: Option<&str>) -> Result<Capture, LiveError> {
    let filter = filter.map(ToOwned::to_owned);
    Capture::open(interface, &CaptureOptions { filter, ..CaptureOptions::default() })
}

/// The error with which capturing ends within 5 s, and once more.
fn end_of(live: &mut Capture) -> LiveError {
    let begin = Instant::now();
    let error = loop {
        match live.next_contact() {
            Ok(_) => assert!(begin.elapsed() < Duration::from_secs(5), "it goes on: {live:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(live.next_contact(), Err(error.clone()), "the end stays the end");
    error
}

#[test]
fn an_unknown_interface_is_refused_with_the_known_ones() {
    alone("errors::an_unknown_interface_is_refused_with_the_known_ones", || {
        let network = Network::new();
        let error = open("eth9", None).unwrap_err();
        assert!(matches!(&error, LiveError::NoInterface { interface, .. } if interface == "eth9"));
        let said = error.to_string();
        assert!(said.starts_with("there is no interface \"eth9\": give one of "), "{said}");
        for present in [network.listening(), "lo", "any"] {
            assert!(said.contains(present), "{said}");
        }
    });
}

#[test]
fn a_bad_filter_is_refused_with_the_reason() {
    alone("errors::a_bad_filter_is_refused_with_the_reason", || {
        let network = Network::new();
        for (filter, reason) in [
            ("tcp and and udp", "syntax error"),
            ("tcp dst prot 80", "unknown host 'prot'"),
            ("vlan 5000", "VLAN tag 5000 greater than maximum 4095"),
            ("tcp\0", "invalid input string"),
        ] {
            let said = open(network.listening(), Some(filter)).unwrap_err().to_string();
            let begin = format!("filter {filter:?} is refused (");
            assert!(said.starts_with(&begin) && said.contains(reason), "{said}");
            assert!(said.ends_with("): give an expression as man 7 pcap-filter describes it"));
        }
    });
}

#[test]
fn who_may_not_capture_is_told_what_is_needed() {
    without_permission("errors::who_may_not_capture_is_told_what_is_needed", || {
        let network = Network::new();
        let error = open(network.listening(), None).unwrap_err();
        assert!(matches!(error, LiveError::Permission { .. }), "{error}");
        let said = error.to_string();
        assert!(said.starts_with("no permission to capture on listening ("), "{said}");
        assert!(said.contains("run `setcap cap_net_raw+ep PROGRAM` as root"), "{said}");
        let unknown = open("eth9", None).unwrap_err();
        assert!(matches!(unknown, LiveError::NoInterface { .. }), "{unknown}");
    });
}

#[test]
fn all_interfaces_are_captured_on_at_once() {
    alone("errors::all_interfaces_are_captured_on_at_once", || {
        let mut live = open("any", None).unwrap();
        assert_eq!(live.next_contact(), Ok(None));
    });
}

#[test]
fn capturing_ends_when_the_interface_is_deleted() {
    alone("errors::capturing_ends_when_the_interface_is_deleted", || {
        let network = Network::new();
        let interface = network.listening();
        let mut live = open(interface, None).unwrap();
        assert_eq!(live.next_contact(), Ok(None));
        network.ip(&["link", "delete", "dev", interface]);
        let error = end_of(&mut live);
        assert_eq!(error, LiveError::Gone { interface: interface.to_owned() });
        assert!(error.to_string().starts_with("interface listening disappeared"), "{error}");
        // One of the same name is another.
        let _again = Network::new();
        assert_eq!(live.next_contact(), Err(error));
        assert!(open(interface, None).is_ok());
    });
}

#[test]
fn capturing_ends_when_an_interface_of_the_same_name_takes_the_place() {
    alone("errors::capturing_ends_when_an_interface_of_the_same_name_takes_the_place", || {
        let network = Network::new();
        let mut live = open(network.listening(), None).unwrap();
        network.ip(&["link", "delete", "dev", network.listening()]);
        let again = Network::new();
        let error = end_of(&mut live);
        assert!(error.to_string().contains(again.listening()), "{error}");
    });
}

#[test]
fn capturing_ends_when_the_interface_goes_down_and_does_not_begin_on_one() {
    alone("errors::capturing_ends_when_the_interface_goes_down_and_does_not_begin_on_one", || {
        let network = Network::new();
        let interface = network.listening();
        let mut live = open(interface, None).unwrap();
        network.ip(&["link", "set", "dev", interface, "down"]);
        let down = LiveError::Down { interface: interface.to_owned() };
        assert_eq!(end_of(&mut live), down);
        assert_eq!(open(interface, None).unwrap_err(), down);
        let said =
            "interface listening is down: run `ip link set dev listening up`, then open it again";
        assert_eq!(down.to_string(), said);
        network.ip(&["link", "set", "dev", interface, "up"]);
        assert!(open(interface, None).is_ok());
    });
}
