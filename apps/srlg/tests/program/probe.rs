//! A probe under test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Configuration of a probe.
pub(crate) struct ProbeConfig<'a> {
    pub(crate) name: &'a str,
    /// Folder of the credentials, in which the configuration is written.
    pub(crate) folder: &'a Path,
    pub(crate) broker: &'a str,
    pub(crate) state: &'a Path,
    /// Keys of the top level.
    pub(crate) general: &'a str,
    /// Further keys of `[probe]`, and tables such as `[input]`.
    pub(crate) tables: &'a str,
}

impl ProbeConfig<'_> {
    /// Writes the configuration and returns its path.
    pub(crate) fn write(&self) -> PathBuf {
        let Self { name, folder, broker, state, general, tables } = self;
        let path = folder.join(format!("{name}.toml"));
        let [folder, state] = [folder, state].map(|path| path.display());
        let text = format!(
            "{general}state = '{state}'\n[probe]\nname = '{name}'\nfolder = '{folder}'\nbroker = '{broker}'\n{tables}"
        );
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes the configuration and returns the command that starts the probe.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_srlg"));
        command.args(["probe", "--config"]).arg(self.write());
        command
    }
}
