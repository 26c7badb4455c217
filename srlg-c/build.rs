//! Sets the soname of the shared library. The number in the soname changes whenever older programs can no longer use
//! the library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsrlg.so.0");
}
