//! From the parts of a configuration to one that is whole.
//!
//! Shape: one part after the other; everything that is wrong is a problem, and the rest is checked all the same.

mod rules;
mod views;

use std::time::Duration;

use srlg_input::contact::Networks;
use toml::Spanned;

use super::Config;
use super::document::Problems;
use super::file::{File, General, LabelTable, Tables};
use crate::show::web;

/// The least that a detector reports.
const LEAST_THRESHOLD: u32 = 8;

/// Makes a configuration of `file`, which was read with `problems`.
pub(super) fn resolve(file: File<'_>, problems: Problems) -> Result<Config, Problems> {
    let mut it = Resolver { problems, slice: file.general.slice, file: &file };
    it.check_general();
    let views = it.views();
    it.check_sinks();
    let labels = file.tables.labels.iter().enumerate();
    let labels = labels.flat_map(|(at, LabelTable { name, networks })| {
        it.require("label", at, "name", name.is_empty());
        it.require("label", at, "networks", networks.is_empty());
        networks.iter().map(move |network| (*network, name.clone()))
    });
    let labels = Networks::new(labels.collect::<Vec<_>>());
    if it.problems.len() > 0 {
        return Err(it.problems);
    }
    let File { general, tables: Tables { input, network, sinks, .. }, .. } = file;
    Ok(Config { source: input, network, general, views, labels, sinks })
}

struct Resolver<'a, 'i> {
    problems: Problems,
    slice: Duration,
    file: &'a File<'i>,
}

impl Resolver<'_, '_> {
    /// Notes a problem with `key` of the table number `at` of those called `name`.
    fn add(&mut self, name: &str, at: usize, key: &str, text: String) {
        self.problems.add(self.file.span(name, at, key), text);
    }

    /// Notes that `key` of a table is missing, if it is.
    fn require(&mut self, name: &str, at: usize, key: &str, is_missing: bool) {
        if is_missing {
            self.add(name, at, key, format!("missing field `{key}`"));
        }
    }

    fn check_general(&mut self) {
        let General { slice, http, http_public, .. } = &self.file.general;
        let span = |key| self.file.keys.get(key).map_or(0..0, Spanned::span);
        if slice.is_zero() || !slice.subsec_nanos().is_multiple_of(1_000_000) {
            self.problems.add(
                span("slice"),
                format!("slice is {slice:?}: give a whole number of milliseconds, at least 1"),
            );
        }
        if let Some(Err(error)) = http.map(|http| web::check(http, *http_public)) {
            self.problems.add(span("http"), error.to_string());
        }
    }

    /// Checks all of sinks but what is outside of the file.
    fn check_sinks(&mut self) {
        let sinks = &self.file.tables.sinks;
        for (at, sink) in sinks.iter().enumerate() {
            let name = sink.name();
            if sinks[..at].iter().any(|other| other.name() == name) {
                let text = format!("two sinks are called {name}: give each a name of its own");
                self.add("sink", at, "", text);
            } else if let Err(error) = sink.check() {
                self.add("sink", at, "", format!("in the sink {name}: {error:#}"));
            }
        }
    }
}
