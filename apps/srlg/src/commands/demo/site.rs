//! The demonstration of one site: an exporter and `srlg run`.

use anyhow::Result;

use super::node::Node;
use super::{CONFIG_FILE, INPUT, Stage};

/// Settings of a site. Slices are shorter than the default, so that alerts start sooner.
const SITE: &str = "slice = '500ms'\n";

/// Starts the site on `stage` and plays the attacks.
pub(super) fn play(mut stage: Stage<'_>) -> Result<()> {
    stage.configure(SITE, INPUT)?;
    let mut site = Node::start(stage.folder, "srlg run", &["run", "--config", CONFIG_FILE])?;
    let (page, to) = (site.page()?, site.receives_at()?);
    stage.play(&format!("an exporter sends NetFlow v9 to {to}"), &page, &[to], vec![site])
}
