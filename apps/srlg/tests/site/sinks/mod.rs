//! Sinks against real files, sockets and programs.

mod access;
mod alertmanager;
mod files;
mod gobgp;
mod http;
mod made;
mod others;
