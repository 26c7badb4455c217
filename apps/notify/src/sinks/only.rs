//! The notifications that a sink wants.

use serde::Deserialize;
use srlg_alerts::notification::{Kind, Notification};
use srlg_alerts::{Severity, Status};

/// Notifications that a sink wants. A notification must match all lists that are not empty.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Only {
    /// Least severity: `info` (busy servers), `warning`, `major` or `critical`.
    #[cfg_attr(feature = "schemars", schemars(with = "String", extend("default" = "warning")))]
    pub severity: Severity,
    /// Wanted kinds, such as `flood`. [default: all kinds]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<String>"))]
    pub kinds: Vec<Kind>,
    /// Names of wanted views. [default: all views]
    pub views: Vec<String>,
    /// Names of wanted rules. [default: all rules]
    pub rules: Vec<String>,
    /// Names of wanted labels. [default: all hosts]
    pub labels: Vec<String>,
    /// `start`, `update` and `end`. [default: all]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<String>"))]
    pub status: Vec<Status>,
}

impl Only {
    /// Returns whether the sink wants `notification`. If `is_known`, an earlier notification of the alert was sent, so
    /// that the sink wants the end of the alert unless it wants no ends at all.
    pub(super) fn wants(&self, notification: &Notification, is_known: bool) -> bool {
        let Self { severity, kinds, views, rules, labels, status } = self;
        let is_end = notification.status == Status::End;
        let label = notification.label.as_ref();
        is_in(status, &notification.status)
            && (is_end && is_known
                || notification.severity >= *severity
                    && is_in(kinds, &notification.kind)
                    && is_in(views, &notification.view)
                    && is_in(rules, &notification.rule)
                    && (labels.is_empty() || label.is_some_and(|label| labels.contains(label))))
    }

    /// Returns whether the sink wants neither starts nor updates.
    pub(super) fn lacks_starts(&self) -> bool {
        self.status == [Status::End]
    }
}

/// Returns whether `list` contains `item` or is empty.
fn is_in<T: PartialEq>(list: &[T], item: &T) -> bool {
    list.is_empty() || list.contains(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_selects_notifications() {
        let sample = Notification::sample();
        for (only, wants) in [
            ("", true),
            ("severity = 'critical'", true),
            ("kinds = ['scan', 'flood']", true),
            ("kinds = ['scan']", false),
            ("views = ['fan-in']", true),
            ("views = ['fan-out']", false),
            ("rules = ['servers']", true),
            ("rules = ['default']", false),
            ("labels = ['web servers']", true),
            ("labels = ['customers']", false),
            ("status = ['start', 'end']", true),
            ("status = ['end']", false),
            ("kinds = ['flood']\nviews = ['fan-out']", false),
        ] {
            let only: Only = toml::from_str(only).unwrap();
            assert_eq!(only.wants(&sample, false), wants, "{only:?}");
        }
        let major = Only { severity: Severity::Major, ..Only::default() };
        let small = Notification { severity: Severity::Warning, ..sample };
        let end = Notification { status: Status::End, ..small.clone() };
        let wants = [(&small, true), (&end, false), (&end, true)];
        assert_eq!(wants.map(|(it, is_known)| major.wants(it, is_known)), [false, false, true]);
        let starts = Only { status: vec![Status::Start], ..Only::default() };
        assert!(!starts.wants(&end, true));
    }
}
