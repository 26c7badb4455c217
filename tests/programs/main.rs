//! Whole processes: the examples as a user runs them, and one that is killed while it saves.

mod checkpoints;
mod contacts;
mod detect_cli;
#[path = "../example.rs"]
mod example;
mod examples;

use example::{example, output, steady};
