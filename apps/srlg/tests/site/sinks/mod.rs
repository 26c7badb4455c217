//! Sinks with real files, sockets and programs.

mod access;
mod alertmanager;
mod files;
mod gobgp;
mod http;
pub(crate) mod made;
mod mail;
mod others;
mod severe;
mod smtp;
