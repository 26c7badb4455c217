//! One site: alerts of traffic, a service, sinks and the page.

mod attacks;
mod monitor;
mod service;
mod sinks;
mod states;
mod web;
