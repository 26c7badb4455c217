//! Names of networks, exporters and origins in notifications.

use srlg_input::contact::Networks;

use crate::exporters::ExporterNames;
use crate::notification::Notification;
use crate::origins::OriginLookup;

/// Names by which notifications call networks, exporters, and the ASes and countries of peers.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Labels of networks.
    pub labels: Networks<String>,
    /// Names of exporters.
    pub exporters: ExporterNames,
    /// Databases of ASes and countries.
    pub origins: OriginLookup,
}

impl ExporterNames {
    pub(crate) fn name_exporters_of(&self, notification: &mut Notification) {
        for it in &mut notification.top_interfaces {
            it.name = self.interface(it.exporter, it.interface).map(str::to_owned);
        }
        let interfaces = notification.top_interfaces.iter().map(|it| it.exporter);
        let exporters = notification.exporters.iter().copied().chain(interfaces);
        let name = |exporter| Some((exporter, self.name(exporter)?.to_owned()));
        notification.exporter_names = exporters.filter_map(name).collect();
    }
}
