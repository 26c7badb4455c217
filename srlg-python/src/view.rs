//! The arguments of a detector that select contacts, and turn them into hosts and peers.

use std::fmt::Display;
use std::str::FromStr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use srlg_input::contact::{
    BadPrefix, BadView, ContactFilter, Packing, PeerKey, Prefixes, parse_network,
};
use srlg_input::{View, ViewOptions};

/// The arguments of a view, with the names and values of Python.
#[derive(Clone, IntoPyObject)]
pub(crate) struct ViewArguments {
    pub(crate) inside: Option<Vec<String>>,
    pub(crate) measure: String,
    pub(crate) role: String,
    pub(crate) only: String,
    pub(crate) host: String,
    pub(crate) peer: String,
    pub(crate) host_prefix4: u8,
    pub(crate) host_prefix6: u8,
    pub(crate) peer_prefix4: u8,
    pub(crate) peer_prefix6: u8,
}

/// A view, and how it names hosts and peers.
pub(crate) struct Selection {
    pub(crate) view: View,
    pub(crate) names: Names,
    /// Columns without which the view would count nothing.
    pub(crate) required: &'static [&'static str],
}

/// The packings of the hosts and of the peers of a report.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Names {
    pub(crate) hosts: Packing,
    pub(crate) peers: Packing,
}

impl ViewArguments {
    /// Returns the names of the arguments that have other values than by default.
    pub(crate) fn set(&self) -> Vec<&'static str> {
        let Self { inside, measure, role, only, host, peer, .. } = self;
        let texts = [
            ("measure", measure, "inside"),
            ("role", role, "any"),
            ("only", only, "all"),
            ("host", host, "address"),
            ("peer", peer, "address"),
        ];
        let prefixes = [
            ("host_prefix4", self.host_prefix4, 32),
            ("host_prefix6", self.host_prefix6, 128),
            ("peer_prefix4", self.peer_prefix4, 32),
            ("peer_prefix6", self.peer_prefix6, 128),
        ];
        let inside = inside.iter().map(|_| "inside");
        let texts = texts.iter().filter(|(_, value, usual)| *value != usual).map(|it| it.0);
        let prefixes = prefixes.iter().filter(|(_, value, usual)| value != usual).map(|it| it.0);
        inside.chain(texts).chain(prefixes).collect()
    }

    pub(crate) fn selection(&self) -> PyResult<Selection> {
        let networks = self.inside.iter().flatten().map(|network| parse_network(network));
        let inside =
            networks.collect::<Result<_, _>>().map_err(|error| invalid("inside", error))?;
        let options = ViewOptions {
            inside,
            measure: choice("measure", &self.measure)?,
            role: choice("role", &self.role)?,
            only: choice("only", &self.only)?,
            host: choice("host", &self.host)?,
            peer: choice("peer", &self.peer)?,
            prefixes: Prefixes {
                host4: self.host_prefix4,
                host6: self.host_prefix6,
                peer4: self.peer_prefix4,
                peer6: self.peer_prefix6,
            },
        };
        let names = Names { hosts: options.hosts(), peers: options.peers() };
        let has_ports = [names.hosts, names.peers].iter().any(|it| it.key() != PeerKey::Address);
        let required: &[&str] = match options.only {
            ContactFilter::NoReplies | ContactFilter::Replies => {
                &["protocol", "source_port", "destination_port"]
            }
            ContactFilter::All if has_ports => &["protocol", "destination_port"],
            ContactFilter::All => &[],
            _ if has_ports => &["protocol", "destination_port", "tcp_flags"],
            _ => &["tcp_flags"],
        };
        let view = View::new(&options).map_err(|error| bad_view(&error))?;
        Ok(Selection { view, names, required })
    }
}

/// Returns the exception for `error`, with the names of Python.
fn bad_view(error: &BadView) -> PyErr {
    let text = error.to_string();
    PyValueError::new_err(match error {
        BadView::Prefix(BadPrefix { name, .. }) => {
            let (side, version) = name.split_at(name.len() - 1);
            text.replacen(name, &format!("{side}_prefix{version}"), 1)
        }
        _ => text.replace("-prefix", "_prefix"),
    })
}

fn choice<T: FromStr<Err: Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| invalid(name, error))
}

pub(crate) fn invalid(name: &str, error: impl Display) -> PyErr {
    PyValueError::new_err(format!("{name}: {error}"))
}

/// Reads the argument `inside`: a network or a list of networks, each a str or an object of ipaddress.
pub(crate) fn networks(inside: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = inside.py();
    let text = |network: &Bound<'_, PyAny>| Ok(network.str()?.to_str()?.to_owned());
    let is_one =
        inside.is_instance_of::<PyString>() || inside.hasattr(intern!(py, "network_address"))?;
    if is_one {
        return Ok(vec![text(inside)?]);
    }
    let Ok(networks) = inside.try_iter() else {
        let kind = inside.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "inside: must be a network or a list of networks, got {kind}"
        )));
    };
    let networks: Vec<_> = networks.map(|network| text(&network?)).collect::<PyResult<_>>()?;
    if networks.is_empty() {
        return Err(invalid("inside", "must contain a network; leave it out to count all hosts"));
    }
    Ok(networks)
}
