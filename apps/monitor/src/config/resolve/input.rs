//! The part `[input]`: the options of the command of the same names.

use clap::{Args as _, FromArgMatches as _};
use srlg_input::InputOptions;

use super::{Resolver, span};
use crate::config::file::{InputFile, Text};

impl Resolver {
    /// The input, by the options of the command of the same names.
    pub(super) fn source(&mut self, file: &InputFile) -> InputOptions {
        let mut arguments = vec!["input".to_owned()];
        let mut give = |name: &str, value: String| arguments.push(format!("--{name}={value}"));
        let texts =
            |texts: &[Text]| texts.iter().map(|it| it.get_ref().clone()).collect::<Vec<_>>();
        texts(&file.listen).into_iter().for_each(|it| give("listen", it));
        texts(&file.exporters).into_iter().for_each(|it| give("exporters", it));
        for (name, value) in [
            ("receive-buffer", file.receive_buffer.map(|it| it.to_string())),
            ("receivers", file.receivers.map(|it| it.to_string())),
            ("templates", file.templates.clone()),
            ("interface", file.interface.clone()),
            ("filter", file.filter.clone()),
            ("nat", file.nat.as_ref().map(|it| it.get_ref().clone())),
            ("timestamps", file.timestamps.as_ref().map(|it| it.get_ref().clone())),
            ("sampling", file.sampling.map(|it| it.to_string())),
        ] {
            value.into_iter().for_each(|it| give(name, it));
        }
        let command =
            InputOptions::augment_args(clap::Command::new("input").disable_help_flag(true));
        let read = command
            .try_get_matches_from(arguments)
            .and_then(|matches| InputOptions::from_arg_matches(&matches));
        read.unwrap_or_else(|error| {
            let first = file.listen.first().or(file.exporters.first()).or(file.nat.as_ref());
            let text = error.render().to_string();
            let lines: Vec<&str> =
                text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
            let told = lines.iter().take_while(|line| !line.starts_with("Usage"));
            let told = told.copied().collect::<Vec<_>>().join(" ");
            let told = told.strip_prefix("error: ").unwrap_or(&told).replace("--", "");
            self.problems
                .add(span(first.or(file.timestamps.as_ref())), format!("in [input]: {told}"));
            InputOptions::default()
        })
    }
}
