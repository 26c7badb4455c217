//! From what is written to what is meant.
//!
//! Shape: a part of the file at a time; what is wrong is noted, and the rest is looked at all the same.

mod input;
mod rules;
mod views;

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use srlg_host::Device;
use srlg_input::contact::{Networks, parse_network};
use toml::Spanned;

use super::Config;
use super::file::{File, Text};
use super::problem::Problems;
use crate::sinks::SinkOptions;
use crate::web;

/// The least that a detector reports.
const LEAST_THRESHOLD: u32 = 8;

/// Makes a configuration of a file.
pub(super) fn resolve(file: File) -> Result<Config, Problems> {
    let mut it = Resolver { problems: Problems::default(), slice: Duration::from_secs(1) };
    it.slice = it.time(file.slice.as_ref(), it.slice);
    if it.slice.is_zero() || !it.slice.subsec_nanos().is_multiple_of(1_000_000) {
        let slice = it.slice;
        it.problems.add(
            span(file.slice.as_ref()),
            format!("slice is {slice:?}: give a whole number of milliseconds, at least 1"),
        );
    }
    let grace = it.time(file.grace.as_ref(), Duration::from_millis(100));
    let checkpoint = it.time(file.checkpoint.as_ref(), Duration::from_secs(10));
    let keep = it.time(file.keep.as_ref(), Duration::from_secs(30 * 86_400));
    let device = file.device.as_ref();
    let device =
        device.map_or(Some(Device::Cpu), |text| it.parse(text, "cpu, cuda, cuda:N or auto"));
    let inside = it.networks(&file.inside);
    let views = it.views(&file.view, &inside);
    let views = it.view_configs(views, &file);
    let labels: Vec<(IpNet, String)> = file
        .network
        .iter()
        .flat_map(|network| {
            let networks = it.networks(&network.networks);
            networks.into_iter().map(|of| (of, network.label.clone())).collect::<Vec<_>>()
        })
        .collect();
    let http = file
        .http
        .as_ref()
        .and_then(|text| it.parse(text, "an address and a port, as 127.0.0.1:8080"));
    if let Some(Err(error)) = http.map(|http| web::check(http, file.http_public)) {
        it.problems.add(span(file.http.as_ref()), error.to_string());
    }
    let source = it.source(&file.input);
    let sinks = it.sinks(file.sink);
    let Resolver { problems, slice } = it;
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Config {
        source,
        slice,
        grace,
        device: device.unwrap_or(Device::Cpu),
        views,
        labels: Networks::new(labels),
        http,
        http_public: file.http_public,
        state: file.state.map(|path| path.into_inner().into()),
        checkpoint,
        keep,
        sinks,
    })
}

struct Resolver {
    problems: Problems,
    slice: Duration,
}

fn span(text: Option<&Text>) -> Range<usize> {
    text.map_or(0..0, Text::span)
}

impl Resolver {
    /// A value that is `expected`.
    fn parse<T: FromStr>(&mut self, text: &Text, expected: &str) -> Option<T> {
        let value = text.get_ref().parse().ok();
        if value.is_none() {
            self.problems.add(text.span(), format!("{:?}: give {expected}", text.get_ref()));
        }
        value
    }

    /// Sinks, each of which could be but for what is outside of the file.
    fn sinks(&mut self, sinks: Vec<Spanned<SinkOptions>>) -> Vec<SinkOptions> {
        let mut list: Vec<SinkOptions> = Vec::new();
        for sink in sinks {
            let (span, sink) = (sink.span(), sink.into_inner());
            let name = sink.name();
            if list.iter().any(|other| other.name() == name) {
                let text = format!("two sinks are called {name}: give each a name of its own");
                self.problems.add(span, text);
            } else if let Err(error) = sink.check() {
                self.problems.add(span, format!("in the sink {name}: {error:#}"));
            }
            list.push(sink);
        }
        list
    }

    /// A value that says itself what is wrong.
    fn named<T: FromStr<Err: Display>>(&mut self, text: Option<&Text>, default: T) -> T {
        let Some(text) = text else { return default };
        text.get_ref().parse().unwrap_or_else(|error: T::Err| {
            self.problems.add(text.span(), error.to_string());
            default
        })
    }

    fn time(&mut self, text: Option<&Text>, default: Duration) -> Duration {
        let Some(text) = text else { return default };
        humantime::parse_duration(text.get_ref()).unwrap_or_else(|error| {
            self.problems.add(
                text.span(),
                format!("{:?} is no time ({error}): give one as 90s or 5m", text.get_ref()),
            );
            default
        })
    }

    fn networks(&mut self, texts: &[Text]) -> Vec<IpNet> {
        let mut networks = Vec::new();
        for text in texts {
            match parse_network(text.get_ref()) {
                Ok(network) => networks.push(network),
                Err(error) => self.problems.add(text.span(), error.to_string()),
            }
        }
        networks
    }
}
