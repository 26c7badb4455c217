//! Names of exporters and of their interfaces.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use srlg_input::contact::{IpNet, Networks, deserialize_networks};

/// An `[[exporter]]` of the configuration: the names of an exporter and of its interfaces.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Exporter {
    /// Name of the exporter.
    pub name: String,
    /// Addresses or networks from which the exporter sends. If several networks contain an address, the one with the
    /// longest prefix applies.
    #[serde(deserialize_with = "deserialize_networks")]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<String>", extend("x-form" = "network")))]
    pub networks: Vec<IpNet>,
    /// Names of the exporter's interfaces, by SNMP index (`ifIndex`).
    #[serde(deserialize_with = "deserialize_interfaces")]
    #[cfg_attr(feature = "schemars", schemars(
        with = "BTreeMap<String, String>",
        extend("x-form" = "table of interface indexes and names, such as `{ 7 = \"transit-a\" }`")
    ))]
    pub interfaces: BTreeMap<u32, String>,
}

fn deserialize_interfaces<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u32, String>, D::Error> {
    let interfaces = BTreeMap::<String, String>::deserialize(deserializer)?;
    let interface = |(index, name): (String, String)| match index.parse() {
        Ok(index) => Ok((index, name)),
        Err(_) => Err(D::Error::custom(format!(
            "interfaces: keys must be interface indexes such as 7, got {index:?}"
        ))),
    };
    interfaces.into_iter().map(interface).collect()
}

/// Names of exporters and of their interfaces. Of the networks that contain the address of an exporter, the one with
/// the longest prefix determines its name.
#[derive(Clone, Debug)]
pub struct ExporterNames {
    exporters: Arc<[Exporter]>,
    /// Indexes into `exporters`.
    by_network: Arc<Networks<usize>>,
}

impl ExporterNames {
    pub fn new(exporters: Vec<Exporter>) -> Self {
        let networks = exporters
            .iter()
            .enumerate()
            .flat_map(|(at, exporter)| exporter.networks.iter().map(move |network| (*network, at)));
        Self { by_network: Arc::new(Networks::new(networks)), exporters: exporters.into() }
    }

    /// Returns all configured exporters, in the order of the configuration.
    #[must_use]
    pub fn all(&self) -> &[Exporter] {
        &self.exporters
    }

    fn get(&self, exporter: IpAddr) -> Option<&Exporter> {
        self.exporters.get(*self.by_network.get(exporter.into())?)
    }

    /// Returns the name of the exporter with this address.
    #[must_use]
    pub fn name(&self, exporter: IpAddr) -> Option<&str> {
        Some(&self.get(exporter)?.name)
    }

    /// Returns the name of the interface `index` of the exporter with this address.
    #[must_use]
    pub fn interface(&self, exporter: IpAddr, index: u32) -> Option<&str> {
        self.get(exporter)?.interfaces.get(&index).map(String::as_str)
    }

    /// Returns the exporter with this address, including its name if it has one.
    #[must_use]
    pub fn named(&self, address: IpAddr) -> NamedExporter {
        NamedExporter { name: self.name(address).map(str::to_owned), address }
    }
}

impl Default for ExporterNames {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

/// An exporter with its name. The displayed form is `edge-fra-1 (192.0.2.1)`, or only the address if the exporter has
/// no name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedExporter {
    /// Name of the exporter in the configuration, if it has one.
    pub name: Option<String>,
    /// Address of the exporter.
    pub address: IpAddr,
}

impl fmt::Display for NamedExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} ({})", self.address),
            None => self.address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notification::{InterfaceShare, Notification};

    #[test]
    fn the_longest_network_names_an_exporter_and_its_interfaces() {
        let exporters = serde_json::json!([
            { "name": "core", "networks": ["192.0.2.0/24", "2001:db8::/32"], "interfaces": { "7": "any" } },
            {
                "name": "edge",
                "networks": ["192.0.2.1"],
                "interfaces": { "7": "transit-a", "4294967295": "last" },
            },
        ]);
        let names = ExporterNames::new(serde_json::from_value(exporters).unwrap());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for (exporter, name, seven, last) in [
            ("192.0.2.1", Some("edge"), Some("transit-a"), Some("last")),
            ("::ffff:192.0.2.1", Some("edge"), Some("transit-a"), Some("last")),
            ("192.0.2.2", Some("core"), Some("any"), None),
            ("2001:db8::1", Some("core"), Some("any"), None),
            ("198.51.100.1", None, None, None),
        ] {
            let exporter = address(exporter);
            let interface = |index| names.interface(exporter, index);
            assert_eq!((names.name(exporter), interface(7)), (name, seven), "{exporter}");
            assert_eq!((interface(u32::MAX), interface(8)), (last, None), "{exporter}");
        }
        let (edge, other) = (address("192.0.2.1"), address("198.51.100.1"));
        let mut notification = Notification { exporters: vec![other], ..Notification::sample() };
        notification.top_interfaces[0] =
            InterfaceShare { exporter: edge, interface: 7, name: None, share: 1.0 };
        names.name_exporters_of(&mut notification);
        assert_eq!(notification.exporter_names, [(edge, "edge".to_owned())].into());
        assert_eq!(notification.top_interfaces[0].name.as_deref(), Some("transit-a"));
        let shown = [edge, other].map(|exporter| names.named(exporter).to_string());
        assert_eq!(shown, ["edge (192.0.2.1)", "198.51.100.1"]);
    }
}
