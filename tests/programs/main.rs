//! Tests of whole processes: the examples as a user runs them, and a process that is killed while it saves.

mod checkpoints;
mod examples;
