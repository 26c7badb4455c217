//! The examples in `README.md` and `docs/library.md`, which run as tests.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct Library;
