//! Tests of whole processes: examples that run as users run them, and a process that is killed while it saves
//! checkpoints.

mod checkpoints;
mod examples;
