//! Whole processes: the examples as a user runs them, and one that is killed while it saves.

mod checkpoints;
mod examples;
