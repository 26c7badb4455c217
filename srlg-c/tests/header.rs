//! A test that the committed header equals the header that cbindgen generates from the sources.

use std::path::Path;

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bindings = cbindgen::generate(folder).unwrap();
    let changed = bindings.write_to_file(folder.join("include/srlg.h"));
    assert!(!changed, "include/srlg.h was out of date. It was just written: commit it");
}
