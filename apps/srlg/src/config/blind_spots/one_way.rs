//! Views of one direction whose hosts no view counts in the opposite direction.

use std::fmt;

use srlg_input::ViewOptions;
use srlg_input::contact::{ContactFilter, Prefixes, Role, Side};

use crate::config::file::PREFIXES;
use srlg_alerts::manager::view::{ViewConfig, counts_opposite, is_of_addresses};

/// A view whose hosts no view counts in the opposite direction. Without this count, a busy server looks like the target
/// of a flood, and a gateway like a scanner.
#[derive(Clone, Debug, PartialEq)]
pub struct OneWay {
    pub(crate) view: String,
    /// Role of the hosts in the missing view.
    pub(super) role: Role,
    /// Contacts that the missing view counts.
    pub(super) only: ContactFilter,
    pub(super) measure: Side,
    pub(super) prefixes: Prefixes,
}

impl OneWay {
    pub(super) fn of(views: &[ViewConfig]) -> impl Iterator<Item = Self> {
        let is_one_way =
            |it: &&ViewConfig| !views.iter().any(|other| tells_cause(&it.view, &other.view));
        views.iter().filter(is_one_way).filter_map(|it| Self::new(&it.name, &it.view))
    }

    /// Returns `None` if the cause of the view's alerts does not depend on the opposite direction.
    fn new(name: &str, view: &ViewOptions) -> Option<Self> {
        let role = match (view.role, view.measure) {
            (Role::Destination, _) => Role::Source,
            (Role::Source, Side::Inside) => Role::Destination,
            // Outside hosts that contact many inside hosts are scanners, and not gateways of this network.
            (Role::Source, Side::Outside) | (Role::Any, _) => return None,
        };
        let only = match view.only {
            ContactFilter::NoReplies => ContactFilter::Replies,
            _ => ContactFilter::All,
        };
        let ViewOptions { measure, prefixes, .. } = *view;
        is_of_addresses(view).then(|| Self { view: name.to_owned(), role, only, measure, prefixes })
    }
}

/// Returns whether the counts of `other` show the cause of alerts of `view`. If `view` counts no replies, those of the
/// same conversations are missing in a view that counts other contacts, too.
fn tells_cause(view: &ViewOptions, other: &ViewOptions) -> bool {
    let has_replies = other.only == ContactFilter::Replies;
    counts_opposite(view, other) && (view.only != ContactFilter::NoReplies || has_replies)
}

impl fmt::Display for OneWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { view, role, only, measure, prefixes } = self;
        let counted = match (only, role) {
            (ContactFilter::Replies, Role::Source) => "the replies of its hosts",
            (ContactFilter::Replies, _) => "the replies to its hosts",
            _ => "its hosts in the opposite direction",
        };
        write!(
            f,
            "view {view}: no view counts {counted}, so the probable cause of its alerts (kind) can be unknown or wrong; add [[view]] name = \"{view}-opposite\", role = \"{role}\""
        )?;
        if *only != ContactFilter::All {
            write!(f, ", only = \"{only}\"")?;
        }
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
