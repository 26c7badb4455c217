//! The confusion matrix: incidents by their actual and their reported cause.

use std::fmt::{self, Write as _};

use srlg_alerts::notification::Kind;

/// Actual cause of an incident, as known from its scenario or from the description of its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    Flood,
    Reflection,
    Scan,
    PortScan,
    Worm,
    /// A host with malware that contacts random addresses.
    Infected,
    /// A server, a proxy or a gateway.
    Server,
    Resolver,
    P2p,
    /// A busy client.
    Client,
    /// A host that receives background radiation of the Internet.
    Background,
}

impl Truth {
    const ALL: [Self; 11] = [
        Self::Flood,
        Self::Reflection,
        Self::Scan,
        Self::PortScan,
        Self::Worm,
        Self::Infected,
        Self::Server,
        Self::Resolver,
        Self::P2p,
        Self::Client,
        Self::Background,
    ];

    /// Returns the correct kind, if there is one.
    const fn kind(self) -> Option<Kind> {
        match self {
            Self::Flood => Some(Kind::Flood),
            Self::Reflection => Some(Kind::Reflection),
            Self::Scan | Self::Infected => Some(Kind::Scan),
            Self::PortScan => Some(Kind::PortScan),
            Self::Worm => Some(Kind::Worm),
            Self::Server => Some(Kind::Server),
            Self::Resolver => Some(Kind::Resolver),
            Self::P2p => Some(Kind::P2p),
            Self::Client | Self::Background => None,
        }
    }

    const fn is_attack(self) -> bool {
        matches!(
            self,
            Self::Flood
                | Self::Reflection
                | Self::Scan
                | Self::PortScan
                | Self::Worm
                | Self::Infected
        )
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flood => "Flood",
            Self::Reflection => "Reflection",
            Self::Scan => "Scan",
            Self::PortScan => "Scan of ports",
            Self::Worm => "Worm",
            Self::Infected => "Malware",
            Self::Server => "Server",
            Self::Resolver => "Resolver",
            Self::P2p => "P2P host",
            Self::Client => "Client",
            Self::Background => "Background radiation",
        })
    }
}

/// Number of incidents with the same actual and the same reported cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    truth: Truth,
    kind: Kind,
    incidents: usize,
}

/// Incidents by their actual and their reported cause, without zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matrix {
    entries: Vec<Entry>,
}

impl Matrix {
    pub(crate) fn add(&mut self, truth: Truth, kind: Kind, incidents: usize) {
        match self.entries.iter_mut().find(|it| (it.truth, it.kind) == (truth, kind)) {
            Some(entry) => entry.incidents += incidents,
            None => self.entries.push(Entry { truth, kind, incidents }),
        }
    }

    fn get(&self, truth: Truth, kind: Kind) -> usize {
        let entry = self.entries.iter().find(|it| (it.truth, it.kind) == (truth, kind));
        entry.map_or(0, |it| it.incidents)
    }

    /// Returns the fraction of incidents whose reported cause is correct.
    pub(crate) fn correct(&self) -> f64 {
        let correct = self.entries.iter().filter(|it| it.truth.kind() == Some(it.kind));
        let sum = |incidents: usize| incidents as f64;
        sum(correct.map(|it| it.incidents).sum())
            / sum(self.entries.iter().map(|it| it.incidents).sum())
    }

    /// Returns the number of attacks whose reported cause is not an attack.
    pub(crate) fn disguised(&self) -> usize {
        let attacks = self.entries.iter().filter(|it| it.truth.is_attack() && it.kind.is_benign());
        attacks.map(|it| it.incidents).sum()
    }

    /// Returns a table in Markdown.
    pub(crate) fn table(&self) -> String {
        let kinds = Kind::ALL.into_iter();
        let kinds: Vec<_> =
            kinds.filter(|kind| self.entries.iter().any(|it| it.kind == *kind)).collect();
        let mut table = "| Cause |".to_owned();
        kinds.iter().for_each(|kind| write!(table, " `{kind}` |").unwrap());
        table += "\n|---|";
        kinds.iter().for_each(|_| table += "---|");
        table += "\n";
        for truth in Truth::ALL {
            if !self.entries.iter().any(|it| it.truth == truth) {
                continue;
            }
            write!(table, "| {truth} |").unwrap();
            for kind in &kinds {
                match self.get(truth, *kind) {
                    0 => table += " |",
                    incidents => write!(table, " {incidents} |").unwrap(),
                }
            }
            table += "\n";
        }
        table
    }
}
