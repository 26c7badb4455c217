//! What a detector does on the CPU: a file per promise, and tests named by sentences.

mod adversary;
mod dev_traces;
mod estimates;
mod format;
mod hostile_bytes;
mod merging;
mod merging_bytes;
mod overload;
mod paper_errata;
mod sliding;
mod small;
