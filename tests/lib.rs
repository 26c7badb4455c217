//! Examples in the documents, which are tests.
#![cfg_attr(doctest, doc = include_str!("../docs/library.md"))]
