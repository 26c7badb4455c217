//! Sets the soname of the shared library. The number in the soname must be increased if the library can no longer be
//! used by programs that were built with an older version.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsrlg.so.0");
}
