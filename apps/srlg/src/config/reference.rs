//! Generation of the configuration reference (`docs/configuration.md`) and of the JSON schema
//! (`docs/srlg.schema.json`).
//!
//! ```text
//! types of the file --[schemars]--> schema --[keys]--> tables of keys --[page]--> docs/configuration.md
//! samples --[Config::take_over]--> whether a reload is enough -----------^
//! ```
//!
//! Invariant: keys, forms, defaults and descriptions come from the types that parse the file. The effect of a reload
//! comes from the code that performs the reload. The tests check that the committed files are up to date.

mod keys;
mod page;
mod samples;

use std::fs;
use std::path::PathBuf;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::file::Tables;
use super::{Config, General};
use keys::{Key, Table};
use samples::{Effect, Reload};

/// The command that regenerates both files.
const COMMAND: &str = "INSTA_UPDATE=always cargo test -p srlg-cli --lib config::reference";

/// The whole configuration file.
#[derive(JsonSchema)]
#[schemars(title = "Configuration of srlg", deny_unknown_fields)]
#[expect(dead_code, reason = "the schema is derived from the types of the fields")]
struct Document {
    #[schemars(flatten)]
    general: General,
    #[schemars(flatten)]
    tables: Tables,
}

/// Returns the schema of `T` without empty defaults, and without null values, because TOML has no null.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

fn tidy(schema: &mut Value) {
    if let Value::Object(keys) = schema {
        let is_empty =
            |value: &Value| value.is_null() || [json!(""), json!([]), json!({})].contains(value);
        if keys.get("default").is_some_and(is_empty) {
            keys.remove("default");
        }
        if let Some(Value::String(text)) = keys.get_mut("description") {
            *text = without_repeatable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if let Some(Value::Array(types)) = keys.get_mut("type") {
            types.retain(|name| name != "null");
            if let [name] = &types[..] {
                let name = name.clone();
                keys["type"] = name;
            }
        }
        if let Some(Value::Array(choices)) = keys.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(choice)] = &mut choices[..] {
                let choice = std::mem::take(choice);
                keys.remove("anyOf");
                choice.into_iter().for_each(|(key, value)| {
                    keys.entry(key).or_insert(value);
                });
            }
        }
        keys.values_mut().for_each(tidy);
    } else if let Value::Array(values) = schema {
        values.iter_mut().for_each(tidy);
    }
}

/// Returns `text` without the note that a command-line option is repeatable, because a file contains a list instead.
fn without_repeatable(text: &str) -> String {
    let note = text.find(" (repeatable").and_then(|from| {
        let to = text[from..].find(')')?;
        Some(from..=from + to)
    });
    note.map_or(text.to_owned(), |note| [&text[..*note.start()], &text[note.end() + 1..]].concat())
}

fn docs(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../docs", name].iter().collect()
}

/// Asserts that the content of the file `name` in `docs` is `text`. If `INSTA_UPDATE` is `always`, writes the file
/// first.
fn check(name: &str, text: &str) {
    let path = docs(name);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, text).unwrap();
    }
    let is_same = fs::read_to_string(&path).is_ok_and(|committed| committed == text);
    assert!(is_same, "docs/{name} differs from the types of the configuration; run {COMMAND}");
}

#[test]
fn the_page_has_the_keys_of_the_types_and_what_a_reload_does() {
    check("configuration.md", &page::write(&keys::tables()));
}

#[test]
fn the_schema_is_that_of_the_types() {
    let schema = serde_json::to_string_pretty(&schema::<Document>()).unwrap();
    check("srlg.schema.json", &(schema + "\n"));
}

#[test]
fn every_key_has_a_description_and_a_sample_and_every_sample_has_a_key() {
    for table in keys::tables() {
        assert!(!table.intro.is_empty(), "{}", table.name);
        for Key { name, description, .. } in &table.keys {
            assert!(!description.is_empty(), "{}: {name}", table.name);
        }
        let mut keys: Vec<&str> = table.keys.iter().map(|key| key.name.as_str()).collect();
        let mut sampled: Vec<&str> = samples::of(table.name).keys().collect();
        keys.sort_unstable();
        sampled.sort_unstable();
        assert_eq!(keys, sampled, "{}", table.name);
    }
}

#[test]
fn required_keys_are_those_without_which_no_file_is_read() {
    for Table { name, .. } in keys::tables() {
        for document in samples::of(name).least() {
            let read = Config::parse(&document);
            assert!(read.is_ok(), "{name}: {document}: {}", read.unwrap_err());
        }
    }
}

#[test]
fn numbers_are_read_within_their_range_alone() {
    for Table { name: table, keys, .. } in keys::tables() {
        for Key { name, least, most, .. } in keys {
            let read = |value: u64| samples::of(table).with(&name, value).is_ok();
            if let Some(least) = least {
                assert!(
                    read(least) && !read(least - 1),
                    "{table}: the minimum of {name} must be {least}"
                );
            }
            if let Some(most) = most {
                assert!(
                    read(most) && !read(most + 1),
                    "{table}: the maximum of {name} must be {most}"
                );
            }
        }
    }
}

#[test]
fn a_reload_applies_a_key_or_reports_that_it_needs_a_restart() {
    let reload = |table: &str, key: &str| {
        let Reload { alone, network } = samples::of(table).reload(key);
        (alone, network)
    };
    assert_eq!(reload("", "slice"), (Effect::Restart, Some(Effect::Restart)));
    assert_eq!(reload("", "as-file"), (Effect::Applied, Some(Effect::Applied)));
    assert_eq!(reload("network", "deadline"), (Effect::Restart, None));
    assert_eq!(reload("rule", "hold"), (Effect::Applied, Some(Effect::Applied)));
    // Probes count contacts, so probes must know which peers to ignore.
    assert_eq!(reload("allow", "peers"), (Effect::Applied, Some(Effect::Restart)));
    assert_eq!(reload("rule", "thresholds"), (Effect::AppliedIfItFits, Some(Effect::Restart)));
}
