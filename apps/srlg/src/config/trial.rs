//! A dry run of a configuration, which checks its files, addresses and programs.
//!
//! Invariant: a dry run opens no connection and leaves no file behind.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;

use anyhow::{Error, Result};
use srlg_input::InputOptions;
use srlg_input::live::{check_broker, check_templates};
use toml::de::DeTable;

use super::PORTS_OF_ANSWERS;
use super::document::{NO_LINE, Problems};
use super::file::{File, General};
use super::source::SourceOptions;
use crate::features::missing;
#[cfg(feature = "network")]
use crate::network::connect::{AUTHORITY_FILE, Access};
use crate::network::options::{NetworkOptions, ProbeOptions};
use crate::network::subjects::{COLLECTOR, check_name};
use srlg_alerts::origins::{Content, Database};
use srlg_notify::store::Store;
use srlg_system::machine;
use srlg_system::machine::{AddressState, Transport};
use srlg_web::server::tokens::Tokens;

/// Checks the local resources that `file` refers to, except the device. Adds errors to `problems` and returns notes and
/// warnings. A source in `given` overrides the source of the file.
pub(super) fn run(file: &File<'_>, given: &SourceOptions, problems: &mut Problems) -> Problems {
    let mut trial = Trial { file, problems, notes: Problems::default() };
    trial.try_general();
    trial.try_views();
    match &file.tables.network {
        Some(_) if given.is_given() => {
            let text = "the configuration has a network, so `srlg collect` accepts no input; remove the input options";
            trial.problems.add(NO_LINE, text);
        }
        Some(network) => {
            let NetworkOptions { folder, broker, .. } = network;
            trial.try_access("network", folder, broker, COLLECTOR);
        }
        None if given.is_given() => {
            let mut input = file.tables.input.clone();
            given.replace(&mut input);
            trial.try_input(&input, |_| NO_LINE);
        }
        None => trial.try_input_of_file(),
    }
    if let Some(ProbeOptions { name, folder, broker, .. }) = &file.tables.probe
        && check_name(name).is_ok()
    {
        trial.try_access("probe", folder, broker, name);
    }
    for (at, sink) in file.tables.sinks.iter().enumerate() {
        if let Err((key, error)) = sink.try_out(file.general.state.as_deref()) {
            let text = format!("sink {}: {error:#}", sink.name());
            trial.problems.add(file.span("sink", at, key), text);
        }
    }
    trial.notes
}

struct Trial<'a, 'i> {
    file: &'a File<'i>,
    problems: &'a mut Problems,
    notes: Problems,
}

impl Trial<'_, '_> {
    fn add<T>(&mut self, span: Range<usize>, tried: Result<T>) -> Option<T> {
        tried.map_err(|error| self.problems.add(span, format!("{error:#}"))).ok()
    }

    fn try_general(&mut self) {
        let General { http, http_tokens, as_file, country_file, state, .. } = &self.file.general;
        if let Some(state) = state {
            self.add(self.file.span_in("state", ""), try_state(state));
        }
        if let Some(http) = http {
            self.try_address(self.file.span_in("http", ""), *http, Transport::Tcp);
        }
        if let Some(path) = http_tokens {
            self.add(self.file.span_in("http-tokens", ""), Tokens::read(path));
        }
        for (key, path, content) in
            [("as-file", as_file, Content::As), ("country-file", country_file, Content::Country)]
        {
            let Some(path) = path else { continue };
            let span = self.file.span_in(key, "");
            if let Some(database) = self.add(span.clone(), Database::open(path, content)) {
                self.notes.add(span, format!("note: {key}: {database}"));
            }
        }
    }

    fn try_views(&mut self) {
        for (at, view) in self.file.tables.views.iter().enumerate() {
            if view.options.takes_ports_of_answers() {
                let text = format!("warning: view {}: {PORTS_OF_ANSWERS}", view.name);
                self.notes.add(self.file.span("view", at, "name"), text);
            }
        }
    }

    fn try_address(&mut self, span: Range<usize>, address: SocketAddr, transport: Transport) {
        let state = self.add(span.clone(), machine::try_address(address, transport));
        if state == Some(AddressState::InUse) {
            let text = format!("note: {address} is in use, perhaps by a running srlg");
            self.notes.add(span, text);
        }
    }

    fn try_input_of_file(&mut self) {
        let file = self.file;
        let keys = file.keys.get("input").and_then(|input| input.get_ref().as_table());
        if keys.is_none_or(DeTable::is_empty) {
            let network = if file.is_of_probe() { "" } else { "add [network], or " };
            let text = format!(
                "no input configured; {network}set one of input, listen, listen-tcp, interface and url in [input] or as an option"
            );
            self.problems.add(file.span_in("input", ""), text);
        }
        self.try_input(&file.tables.input, |key| file.span_in("input", key));
    }

    fn try_input(&mut self, input: &InputOptions, span: impl Fn(&str) -> Range<usize>) {
        for path in input.input.iter().filter(|path| path.as_path() != Path::new("-")) {
            self.add(span("input"), machine::try_input(path));
        }
        for address in &input.sockets.listen {
            self.try_address(span("listen"), *address, Transport::Udp);
        }
        for address in &input.sockets.listen_tcp {
            self.try_address(span("listen-tcp"), *address, Transport::Tcp);
        }
        if let Some(path) = &input.sockets.templates {
            let state = self.file.general.state.as_deref();
            let tried = machine::try_file(path, state);
            self.add(span("templates"), tried.and_then(|()| Ok(check_templates(path)?)));
        }
        self.add(span("url"), check_broker(input).map_err(Error::from));
        if let Some(name) = &input.interface {
            if !cfg!(feature = "live") {
                self.problems.add(span("interface"), missing("interface", "live"));
            } else if !Path::new("/sys/class/net").join(name).exists() && name != "any" {
                self.problems.add(span("interface"), format!("interface {name} not found"));
            }
        }
    }

    /// Checks the credentials of `client` in `folder`, which the table `table` names, and that there is a state folder.
    #[cfg(feature = "network")]
    fn try_access(&mut self, table: &str, folder: &Path, broker: &str, client: &str) {
        let access = Access { folder: folder.to_owned(), broker: broker.to_owned() };
        let span = self.file.span_in(table, "folder");
        // If it is not known whether the file exists, reading it gives the reason.
        if folder.join(AUTHORITY_FILE).try_exists().unwrap_or(true) {
            self.add(span.clone(), access.authority());
            self.add(span, access.key(client));
        } else {
            let folder = folder.display();
            let text = match table {
                "network" => {
                    format!("{folder} has no {AUTHORITY_FILE}; run `srlg setup` with this file")
                }
                _ => format!(
                    "{folder} has no {AUTHORITY_FILE}; copy it and {client}.nk from the folder that `srlg setup` created"
                ),
            };
            self.problems.add(span, text);
        }
        if self.file.general.state.is_none() {
            let text = format!(
                "[{table}] requires a state folder, because slices would be lost without it; set state"
            );
            self.problems.add(self.file.span_in(table, ""), text);
        }
    }

    #[cfg(not(feature = "network"))]
    fn try_access(&mut self, table: &str, _: &Path, _: &str, _: &str) {
        let span = self.file.span_in(table, "");
        self.problems.add(span, missing(&format!("[{table}]"), "network"));
    }
}

/// Checks that the folder `state` can be used, and that any database in it belongs to this program.
fn try_state(state: &Path) -> Result<()> {
    machine::try_folder(state)?;
    Store::check(state)
}
