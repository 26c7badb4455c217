//! Tests of inputs: generated files, files from other tools, flow exports, and command-line options.
//!
//! The files from other tools are not part of this repository. `SRLG_DATA` names the folder that contains `captures/`
//! and `flows/`. If it is not set, the tests that need these files report that they are skipped.

mod captures;
mod commands;
mod exports;
mod reader;
mod texts;
