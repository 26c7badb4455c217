//! Tests of the behaviour of detectors on the CPU. Each file of tests covers one guarantee, and the test names are
//! sentences.

mod adversary;
mod closing;
mod dev_traces;
mod estimates;
mod families;
mod family_ways;
mod feeds;
mod fixture;
mod flood;
mod format;
mod hostile_bytes;
mod intervals;
mod json;
mod kept;
mod largest;
mod merged_nodes;
mod merging;
mod merging_bytes;
mod mesh;
mod overload;
mod paper_errata;
mod peers;
mod sliding;
mod small;
mod texts;
