//! An alert as it is written: what it is, what else is known, and a sentence for people.

use std::net::IpAddr;

use serde::Serialize;
use srlg_alert::{Alert, Status};

use crate::watch::Told;

/// Peers that are written.
const MOST_PEERS: usize = 32;

/// A host is a server, or a peer of peers, where both directions are alike within this factor.
const ALIKE: f64 = 3.0;

/// What an alert is probably about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One host, to many.
    Scan,
    /// Many hosts, to one, or to those of a network.
    Flood,
    /// As many from as to.
    ServerOrP2p,
    /// The other direction is not known.
    Unknown,
}

/// An alert, with all that is known.
#[derive(Clone, Debug, Serialize)]
pub struct Notice {
    /// The alert.
    #[serde(flatten)]
    pub alert: Alert,
    /// What the alert is probably about.
    pub kind: Kind,
    /// Opposite hosts in the other direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opposite: Option<f64>,
    /// Length of the window.
    pub window_ms: u64,
    /// How the contacts were sampled.
    pub sampling: String,
    /// Between which counts that without sampling lies; without an upper one where a rate is unknown.
    pub unsampled: (f64, Option<f64>),
    /// Up to 32 opposite hosts, those seen last first.
    pub peers: Vec<IpAddr>,
    /// A sentence.
    pub text: String,
}

impl Notice {
    /// Makes the notice of what was told by a view in which hosts receive (`is_fan_in`) or send; `opposite` is the count of
    /// the other direction, where it is watched.
    #[must_use]
    pub fn new(told: Told, is_fan_in: bool, opposite: Option<f64>, window_ms: u64) -> Self {
        let Told { alert, peers, sampling } = told;
        let count = if alert.status == Status::End { alert.peak } else { alert.cardinality };
        let kind = match opposite {
            None => Kind::Unknown,
            Some(opposite) if opposite * ALIKE >= count => Kind::ServerOrP2p,
            Some(_) if is_fan_in => Kind::Flood,
            Some(_) => Kind::Scan,
        };
        let peers = peers.into_iter().take(MOST_PEERS).map(|peer| peer.host).collect();
        let unsampled = (alert.cardinality, sampling.unsampled_most(alert.cardinality));
        let text = text(&alert, is_fan_in, window_ms);
        let sampling = sampling.to_string();
        Self { alert, kind, opposite, window_ms, sampling, unsampled, peers, text }
    }
}

fn text(alert: &Alert, is_fan_in: bool, window_ms: u64) -> String {
    let Alert { subject, cardinality, std_error, threshold, start_ms, peak, .. } = alert;
    let did = if is_fan_in { "was contacted by" } else { "contacted" };
    let seconds = window_ms as f64 / 1e3;
    let whom = match subject {
        srlg_alert::Subject::Host(host) => host.to_string(),
        srlg_alert::Subject::Network { network, hosts, .. } => {
            format!("each of {hosts} hosts of {network}, or the largest of them,")
        }
    };
    if alert.status == Status::End {
        let lasted = alert.until_ms.unwrap_or(alert.now_ms).saturating_sub(*start_ms) / 1_000;
        return format!(
            "{subject}: over after {lasted} s, in which at most {peak:.0} hosts were counted"
        );
    }
    let at_least = if alert.is_lower_bound { "at least " } else { "" };
    format!(
        "{whom} {did} {at_least}{cardinality:.0} ± {std_error:.0} hosts in the last {seconds} s (threshold {threshold})"
    )
}
