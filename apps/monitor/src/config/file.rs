//! The shape of the file, as TOML has it.
//!
//! Shape: texts keep their places, so that what is wrong with them is told with its line.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::sinks::SinkOptions;

/// A value, with its place in the file.
pub type Text = Spanned<String>;

/// Holds a configuration as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// Networks whose hosts are inside; none: all.
    pub inside: Vec<Text>,
    /// Length of a slice, by which windows move: `1s` where it is absent.
    pub slice: Option<Text>,
    /// How long after its end a slice waits for contacts on their way: `100ms` where it is absent.
    pub grace: Option<Text>,
    /// Where views are counted: `cpu` where it is absent, `cuda`, `cuda:1`, `auto`.
    pub device: Option<Text>,
    /// Address of the page and of the metrics.
    pub http: Option<Text>,
    /// Whether others than this machine may ask there: there are no accounts.
    pub http_public: bool,
    /// Folder of the state that outlives a restart.
    pub state: Option<Text>,
    /// Time between two checkpoints: `10s` where it is absent.
    pub checkpoint: Option<Text>,
    /// Where contacts come from.
    pub input: InputFile,
    /// Views; without any `fan-in`, `fan-out`, and `outside` where something is inside.
    pub view: Vec<ViewFile>,
    /// Rules.
    pub rule: Vec<RuleFile>,
    /// What starts no alert.
    pub allow: Vec<AllowFile>,
    /// What networks are called.
    pub network: Vec<NetworkFile>,
    /// Where notices go.
    pub sink: Vec<Spanned<SinkOptions>>,
    /// How long notices are kept: `30d` where it is absent.
    pub keep: Option<Text>,
}

/// Says where contacts come from, as the options of the same names do.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct InputFile {
    /// UDP addresses.
    pub listen: Vec<Text>,
    /// Networks of exporters.
    pub exporters: Vec<Text>,
    /// Bytes that the kernel keeps.
    pub receive_buffer: Option<u32>,
    /// Threads.
    pub receivers: Option<u32>,
    /// File of templates.
    pub templates: Option<String>,
    /// Interface.
    pub interface: Option<String>,
    /// Filter of packets.
    pub filter: Option<String>,
    /// Addresses before or after a translation.
    pub nat: Option<Text>,
    /// How times are taken.
    pub timestamps: Option<Text>,
    /// Packets one of which is looked at, where exporters do not say.
    pub sampling: Option<u32>,
}

/// Says what a view measures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ViewFile {
    /// Its name.
    pub name: Text,
    /// `inside` or `outside`.
    pub measure: Option<Text>,
    /// `any`, `source` or `destination`.
    pub role: Option<Text>,
    /// `all`, `initiated` or `tcp-syn`.
    pub only: Option<Text>,
    /// Bits of an address that make a host.
    pub host_prefix4: Option<u8>,
    /// The same in IPv6.
    pub host_prefix6: Option<u8>,
    /// Bits of an address that make an opposite host.
    pub peer_prefix4: Option<u8>,
    /// The same in IPv6: 64 where it is absent.
    pub peer_prefix6: Option<u8>,
    /// Distinct pairs of the longest window that the detector is sized for.
    pub pairs: Option<Spanned<u64>>,
    /// Bytes that the detector may take: 64,000,000 where it is absent.
    pub memory: Option<usize>,
}

/// Says when alerts start and end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleFile {
    /// Its name.
    pub name: Text,
    /// Views; without any all.
    #[serde(default)]
    pub views: Vec<Text>,
    /// Networks of hosts; without any all.
    #[serde(default)]
    pub networks: Vec<Text>,
    /// Opposite hosts that start an alert, by the length of the window.
    pub thresholds: Spanned<BTreeMap<String, f64>>,
    /// Part of a threshold below which an alert ends.
    pub down: Option<f64>,
    /// Slices at the threshold, of the last `of`, that start an alert.
    #[serde(rename = "for")]
    pub for_slices: Option<u32>,
    /// See `for`.
    #[serde(rename = "of")]
    pub of_slices: Option<u32>,
    /// Time below `down` after which an alert ends.
    pub hold: Option<Text>,
    /// Time after which an alert that goes on is told again.
    pub repeat: Option<Text>,
}

/// Says what starts no alert: one of `hosts`, `peers`, or `ports` of `hosts`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AllowFile {
    /// Why, for people.
    pub why: Text,
    /// Views; without any all.
    #[serde(default)]
    pub views: Vec<Text>,
    /// Networks of hosts about which there is no alert.
    #[serde(default)]
    pub hosts: Vec<Text>,
    /// Networks of opposite hosts that do not count.
    #[serde(default)]
    pub peers: Vec<Text>,
    /// Ports at `hosts` to which contacts do not count.
    #[serde(default)]
    pub ports: Vec<u16>,
}

/// Says what networks are called.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkFile {
    /// Their label.
    pub label: String,
    /// The networks.
    pub networks: Vec<Text>,
}
