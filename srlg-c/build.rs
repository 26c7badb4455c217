//! Sets the soname of the shared library. The number in the soname must be increased if programs that were built with
//! an older version of the library cannot use the new version.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsrlg.so.0");
}
