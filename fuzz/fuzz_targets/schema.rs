//! A fuzz target that parses arbitrary text as a Protobuf schema. A schema of the resulting layout must have the same
//! layout.
#![no_main]

use srlg_input::messages::Layout;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(layout) = Layout::parse(text) else { return };
    assert_eq!(Layout::parse(&layout.schema()).expect("a valid schema"), layout);
});
