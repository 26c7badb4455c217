//! Views of one direction whose hosts no view counts in the opposite direction.

use std::fmt;

use srlg_input::contact::{Prefixes, Role, Side};

use crate::config::file::PREFIXES;
use srlg_alerts::manager::view::{ViewConfig, counts_opposite, is_of_addresses};

/// A fan-in view whose hosts no view counts in the opposite direction. Without this count, a busy server looks like the
/// target of a flood. Alerts of fan-out views need no such count, because their contacts show whether they are replies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneWay {
    pub(crate) view: String,
    measure: Side,
    prefixes: Prefixes,
}

impl OneWay {
    pub(super) fn of(views: &[ViewConfig]) -> impl Iterator<Item = Self> {
        let is_one_way = |it: &&ViewConfig| {
            let is_fan_in = it.view.role == Role::Destination && is_of_addresses(&it.view);
            is_fan_in && !views.iter().any(|other| counts_opposite(&it.view, &other.view))
        };
        let of = |it: &ViewConfig| Self {
            view: it.name.clone(),
            measure: it.view.measure,
            prefixes: it.view.prefixes,
        };
        views.iter().filter(is_one_way).map(of)
    }
}

impl fmt::Display for OneWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { view, measure, prefixes } = self;
        write!(
            f,
            "view {view}: no view counts its hosts in the opposite direction, so the probable cause of its alerts (kind) can be unknown; add [[view]] name = \"{view}-opposite\", role = \"source\""
        )?;
        if *measure == Side::Outside {
            f.write_str(", measure = \"outside\"")?;
        }
        let keys = |of: &Prefixes| {
            let Prefixes { host4, host6, peer4, peer6 } = *of;
            [
                ("host-prefix4", host4),
                ("host-prefix6", host6),
                ("peer-prefix4", peer4),
                ("peer-prefix6", peer6),
            ]
        };
        for ((key, length), (_, default)) in keys(prefixes).into_iter().zip(keys(&PREFIXES)) {
            if length != default {
                write!(f, ", {key} = {length}")?;
            }
        }
        Ok(())
    }
}
