//! A fuzz target that loads arbitrary bytes as the saved state of a flow decoder. If the first byte is even, the magic
//! bytes and the checksum are added. A loaded state must be within the limits, and must be the same after it is saved.
#![no_main]

use libfuzzer_sys::fuzz_target;
use srlg_input::flow::{Decoder, DecoderOptions};

fuzz_target!(|input: &[u8]| {
    let Some((selector, content)) = input.split_first() else { return };
    let mut state = content.to_vec();
    if selector % 2 == 0 {
        state = [b"SRLGFLW\x01", content].concat();
        let checksum = crc32fast::hash(&state);
        state.extend(checksum.to_be_bytes());
    }
    let options = DecoderOptions {
        sources: 4,
        templates: 8,
        fields: 64,
        template_bytes: 1 << 16,
        samplers: 4,
        ..DecoderOptions::default()
    };
    let mut decoder = Decoder::new(options).expect("valid options");
    if decoder.load(&state).is_err() {
        assert_eq!((decoder.exporters().count(), decoder.templates().len()), (0, 0));
        return;
    }
    assert!(decoder.exporters().count() <= options.sources);
    assert!(decoder.templates().values().sum::<usize>() <= options.sources * options.templates);
    let mut again = Decoder::new(options).expect("valid options");
    again.load(&decoder.save()).expect("as saved");
    assert_eq!(again.templates(), decoder.templates());
});
