//! The configuration reference as Markdown.

use std::fmt::Write as _;

use super::COMMAND;
use super::keys::{Default, Key, Table};
use super::samples::{self, Effect, Reload};

const INTRO: &str = "# Configuration

This page lists every key of the configuration file, which is in TOML format. `srlg run`, `srlg probe` and `srlg collect` read it with `--config FILE`, and `srlg check --config FILE` reports all mistakes with their line numbers. [An example](srlg.example.toml) contains common keys. The [JSON schema](srlg.schema.json) lets editors complete and check the file.

`kill -HUP` makes a running `srlg` reload the file. The column *Reload* says whether a reload is enough to change a key:

| Reload | Meaning |
|---|---|
| yes | The new value takes effect with the next slice. |
| yes, if it fits | The new value takes effect with the next slice if the detector of the view is large enough. A longer window, or a lower count below which alerts end (`down` times the threshold), may need a restart. |
| restart | The change is logged and takes effect at the next start. In a network, a change to `slice`, `grace`, `inside` or `[[view]]` makes `srlg collect` ignore the whole new file. |
| …; restart with `[network]` | In a network, the change needs a restart of `srlg collect`, because probes also use the value. Until then, the whole new file is ignored. |

Forms of values:

| Form | Examples |
|---|---|
| time | `\"100ms\"`, `\"10s\"`, `\"5m\"`, `\"1h 30m\"`, `\"30days\"` |
| network | `\"198.51.100.0/24\"`, `\"2001:db8::/32\"`, or a single address |
| address:port | `\"127.0.0.1:8462\"`, `\"[::]:2055\"` |
| host:port | `\"broker.example\"`, `\"broker.example:4222\"` |
| file, folder | A path; relative paths are resolved against the working directory of `srlg` |
";

pub(super) fn write(tables: &[Table]) -> String {
    let mut page = format!(
        "<!-- Generated from the types of the configuration. Do not edit; regenerate with {COMMAND} -->\n\n"
    );
    page += INTRO;
    for table in tables {
        let Table { heading, intro, .. } = table;
        write!(page, "\n## {heading}\n\n{intro}\n\n").unwrap();
        page += "| Key | Value | Default | Reload | Description |\n|---|---|---|---|---|\n";
        table.keys.iter().for_each(|key| page += &row(table.name, key));
    }
    page
}

fn row(table: &str, key: &Key) -> String {
    let Key { name, form, default, description, .. } = key;
    let default = match default {
        Default::Required => "required".to_owned(),
        Default::Value(value) => format!("`{value}`"),
        Default::Words(words) => words.clone(),
        Default::None => "–".to_owned(),
    };
    let cells = [form, &default, &reload(samples::of(table).reload(name)), description];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| `{name}` | {} |\n", cells.join(" | "))
}

fn reload(Reload { alone, network }: Reload) -> String {
    let text = match alone {
        Effect::Applied => "yes",
        Effect::AppliedIfItFits => "yes, if it fits",
        Effect::Restart => "restart",
    };
    let is_other = network == Some(Effect::Restart) && alone != Effect::Restart;
    let in_network = if is_other { "; restart with `[network]`" } else { "" };
    format!("{text}{in_network}")
}
