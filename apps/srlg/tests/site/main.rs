//! Tests of one site: alerts, the service, sinks and the web page.
//!
//! Tests that open a state twice are in other test programs. In this program, a child process that a parallel test
//! forks may hold the lock of the state until it calls `exec`.

mod acting;
#[path = "../program/alertmanager.rs"]
mod alertmanager;
mod attacks;
mod clock;
mod crowd;
#[path = "../program/disk.rs"]
mod disk;
mod exporter;
#[path = "../program/faketime.rs"]
mod faketime;
mod full_disk;
#[path = "../program/gobgp_recipe.rs"]
mod gobgp_recipe;
#[path = "../program/http.rs"]
mod http;
#[path = "../program/manager.rs"]
mod manager;
#[path = "../program/process.rs"]
mod process;
#[path = "../program/site.rs"]
mod running;
mod service;
mod silence;
mod sinks;
mod states;
mod web;
