//! Tests of failures and their errors.

use std::time::{Duration, Instant};

use srlg_input::live::{Capture, CaptureOptions, LiveError};

use crate::network::{Network, alone, without_permission};

fn open(interface: &str, filter: Option<&str>) -> Result<Capture, LiveError> {
    let filter = filter.map(ToOwned::to_owned);
    Capture::open(interface, &CaptureOptions { filter, ..CaptureOptions::default() })
}

/// Reads until the capture fails, and returns the error. Asserts that the next call returns the same error.
fn end_of(live: &mut Capture) -> LiveError {
    let begin = Instant::now();
    let error = loop {
        match live.next_contacts() {
            Ok(_) => assert!(
                begin.elapsed() < Duration::from_secs(60),
                "the capture does not end: {live:?}"
            ),
            Err(error) => break error,
        }
    };
    assert_eq!(live.next_contacts(), Err(error.clone()), "the end stays the end");
    error
}

#[test]
fn an_unknown_interface_is_refused_with_the_known_ones() {
    alone("errors::an_unknown_interface_is_refused_with_the_known_ones", || {
        let network = Network::new();
        let error = open("eth9", None).unwrap_err();
        let LiveError::NoInterface { interface, present } = error else { panic!("{error}") };
        assert_eq!(interface, "eth9");
        for name in [network.listening(), "lo", "any"] {
            assert!(present.iter().any(|it| it == name), "{present:?}");
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
            let error = open(network.listening(), Some(filter)).unwrap_err();
            // The texts of the reasons come from libpcap.
            let is_right = matches!(&error, LiveError::Filter { filter: it, reason: said } if it == filter && said.contains(reason));
            assert!(is_right, "{error}");
        }
    });
}

#[test]
fn missing_capture_permissions_are_explained() {
    without_permission("errors::missing_capture_permissions_are_explained", || {
        let network = Network::new();
        let error = open(network.listening(), None).unwrap_err();
        assert!(matches!(error, LiveError::Permission { .. }), "{error}");
        let unknown = open("eth9", None).unwrap_err();
        assert!(matches!(unknown, LiveError::NoInterface { .. }), "{unknown}");
    });
}

#[test]
fn all_interfaces_are_captured_on_at_once() {
    alone("errors::all_interfaces_are_captured_on_at_once", || {
        let mut live = open("any", None).unwrap();
        assert_eq!(live.next_contacts(), Ok(&[][..]));
    });
}

#[test]
fn capturing_ends_when_the_interface_is_deleted() {
    alone("errors::capturing_ends_when_the_interface_is_deleted", || {
        let network = Network::new();
        let interface = network.listening();
        let mut live = open(interface, None).unwrap();
        assert_eq!(live.next_contacts(), Ok(&[][..]));
        network.ip(&["link", "delete", "dev", interface]);
        let error = end_of(&mut live);
        assert_eq!(error, LiveError::Gone { interface: interface.to_owned() });
        // A new interface with the same name is a different interface.
        let _again = Network::new();
        assert_eq!(live.next_contacts(), Err(error));
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
        // Either libpcap or this library notices first that the interface is gone.
        let (LiveError::Gone { interface } | LiveError::Failed { interface, .. }) = &error else {
            panic!("{error}");
        };
        assert_eq!(interface, again.listening());
    });
}

#[test]
fn texts_of_errors() {
    let [interface, reason] = ["eth9", "a reason"].map(str::to_owned);
    let name = || interface.clone();
    let errors = [
        LiveError::Size { option: "snap_length", value: 61, least: 62, most: 262_144 },
        LiveError::NoInterface { interface: name(), present: vec!["lo".into(), "any".into()] },
        LiveError::NoInterface { interface: name(), present: Vec::new() },
        LiveError::Permission { interface: name(), reason: reason.clone() },
        LiveError::Down { interface: name() },
        LiveError::Gone { interface: name() },
        LiveError::LinkType { interface: name(), number: 189, name: "USB_LINUX".into() },
        LiveError::Filter { filter: "tcp and and".into(), reason: reason.clone() },
        LiveError::Failed { interface, reason },
    ];
    let texts = errors.iter().map(|error| format!("{error:?}\n    {error}\n"));
    insta::assert_snapshot!(texts.collect::<String>());
}

#[test]
fn capturing_requires_an_interface_that_is_up() {
    alone("errors::capturing_requires_an_interface_that_is_up", || {
        let network = Network::new();
        let interface = network.listening();
        let mut live = open(interface, None).unwrap();
        network.ip(&["link", "set", "dev", interface, "down"]);
        let down = LiveError::Down { interface: interface.to_owned() };
        assert_eq!(end_of(&mut live), down);
        assert_eq!(open(interface, None).unwrap_err(), down);
        network.ip(&["link", "set", "dev", interface, "up"]);
        assert!(open(interface, None).is_ok());
    });
}
