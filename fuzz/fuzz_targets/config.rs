//! A fuzz target that parses arbitrary text as a configuration. A valid configuration must define a valid network, whose
//! description must be the same after it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use srlg_cli::config::Config;
use srlg_cli::network::{Network, NetworkVersion, VersionId};

fuzz_target!(|text: &str| {
    match Config::parse(text) {
        Ok(config) => {
            let network = Network::of(&config, 7);
            assert!(network.is_of(&config));
            let id = VersionId { number: 1, tag: 2 };
            let version = NetworkVersion { id, first_slice: 0, network };
            let json = version.to_json().expect("JSON has no limits");
            assert_eq!(NetworkVersion::from_json(&json, "output").expect("as written"), version);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(!problems.to_string().is_empty());
        }
    }
});
