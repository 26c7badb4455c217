//! Gives the shared library the name under which programs load it: its number changes when old programs can no longer use it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsrlg.so.0");
}
