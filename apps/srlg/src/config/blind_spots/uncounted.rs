//! Scans that no view counts: those of the ports of one host, and those from outside whose packets look like replies.

use std::fmt;

use srlg_input::ViewOptions;
use srlg_input::contact::{ContactFilter, HostKey, PeerKey, Role, Side};

use srlg_alerts::manager::view::ViewConfig;

/// No view counts the ports of inside hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortScans;

impl PortScans {
    /// Returns `None` if a view counts ports, or if there are no views, as in a probe.
    pub(super) fn of(views: &[ViewConfig]) -> Option<Self> {
        let finds_port_scans = views.iter().any(|view| finds_port_scans(&view.view));
        (!finds_port_scans && !views.is_empty()).then_some(Self)
    }
}

/// Returns whether `view` counts the ports on which inside hosts are contacted, or those that outside hosts contact.
fn finds_port_scans(view: &ViewOptions) -> bool {
    let role = match view.measure {
        Side::Inside => Role::Destination,
        Side::Outside => Role::Source,
    };
    let counts_ports = view.host == HostKey::Address && view.peer != PeerKey::Address;
    counts_ports && [role, Role::Any].contains(&view.role) && view.only != ContactFilter::Replies
}

/// Views of the inside hosts that outside hosts contact, none of which counts replies.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyScans {
    pub(super) views: Vec<String>,
    /// Smallest threshold of the views.
    pub(super) threshold: f64,
}

impl ReplyScans {
    /// Returns `None` if a view counts replies, or if no view counts scans from outside.
    pub(super) fn of(views: &[ViewConfig]) -> Option<Self> {
        let of_scans = || views.iter().filter(|view| finds_outside_scans(&view.view));
        let thresholds = of_scans().flat_map(|view| view.rules.rules());
        let thresholds = thresholds.flat_map(|rule| rule.windows.values());
        let threshold = thresholds.map(|terms| terms.threshold).reduce(f64::min)?;
        let counts_replies = of_scans().any(|view| counts_replies(view.view.only));
        let views = of_scans().map(|view| view.name.clone()).collect();
        (!counts_replies).then_some(Self { views, threshold })
    }
}

/// Returns whether `view` counts the inside hosts that an outside host contacts.
fn finds_outside_scans(view: &ViewOptions) -> bool {
    let is_of_hosts = view.host == HostKey::Address && view.peer == PeerKey::Address;
    is_of_hosts && view.measure == Side::Outside && view.role != Role::Destination
}

fn counts_replies(only: ContactFilter) -> bool {
    use ContactFilter::{All, NoRefusals, Replies};
    [All, NoRefusals, Replies].contains(&only)
}

impl fmt::Display for PortScans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a scan of up to {} ports of one host is not found, because no view counts ports; to find it, add [[view]] name = \"ports\", role = \"destination\", peer = \"port\", only = \"initiated\" (a [[view]] replaces the default views)",
            u16::MAX
        )
    }
}

impl fmt::Display for ReplyScans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { views, threshold } = self;
        let (noun, verb) = if views.len() > 1 { ("views", "count") } else { ("view", "counts") };
        let views = views.join(", ");
        write!(
            f,
            "a scan from outside by packets that look like replies, such as SYN-ACKs, is not found: {noun} {views} {verb} no replies, because a server that answers {threshold} clients would look like a scanner; to find it, add [[view]] name = \"outside-replies\", measure = \"outside\", role = \"source\", only = \"replies\" and [[view]] name = \"outside-requests\", measure = \"outside\", role = \"destination\", only = \"no-replies\", both with host-prefix6 = 64, peer-prefix6 = 128 (a [[view]] replaces the default views)"
        )
    }
}
