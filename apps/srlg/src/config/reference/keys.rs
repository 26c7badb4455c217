//! The tables of a configuration and their keys, read from the schema.

use serde_json::{Map, Value};

use super::{General, Tables, samples, schema};

/// A table of the configuration, or a type of sink.
pub(super) struct Table {
    /// Name of the table. The name is empty for the top level, and `sink TYPE` for a type of sink.
    pub(super) name: &'static str,
    pub(super) heading: String,
    pub(super) intro: String,
    pub(super) keys: Vec<Key>,
}

pub(super) struct Key {
    /// Name of the key, or its dotted path if it belongs to a nested table.
    pub(super) name: String,
    /// Form of the value, such as `time`, or `number` with its range.
    pub(super) form: String,
    pub(super) default: Default,
    pub(super) description: String,
    /// Minimum of the value, if the schema defines one above 0.
    pub(super) least: Option<u64>,
    /// Maximum of the value, if the schema defines one.
    pub(super) most: Option<u64>,
}

/// The value that applies if a key is missing.
pub(super) enum Default {
    Required,
    /// A value in TOML syntax.
    Value(String),
    /// A description of the value, such as `all hosts`.
    Words(String),
    None,
}

/// All tables except the top level, in the order of the page.
const TABLES: [&str; 10] = [
    "input",
    "network",
    "probe",
    "view",
    "network-views",
    "rule",
    "allow",
    "label",
    "exporter",
    "sink",
];

/// Types of sinks, with the names of their tables.
const SINKS: [(&str, &str); 6] = [
    ("file", "sink file"),
    ("webhook", "sink webhook"),
    ("alertmanager", "sink alertmanager"),
    ("syslog", "sink syslog"),
    ("mail", "sink mail"),
    ("exec", "sink exec"),
];

const TYPE: &str = "type";

pub(super) fn tables() -> Vec<Table> {
    let (general, all) = (schema::<General>(), schema::<Tables>());
    let all = all["properties"].as_object().unwrap();
    assert_eq!(all.len(), TABLES.len(), "every table must be in TABLES");
    let mut tables = vec![Table {
        name: "",
        heading: "Top level".to_owned(),
        intro: "Keys before the first table of the file.".to_owned(),
        keys: keys("", &general),
    }];
    for name in TABLES {
        let table = &all[name];
        let (heading, of) = match table.get("items") {
            Some(items) => (format!("`[[{name}]]`"), items),
            None => (format!("`[{name}]`"), table),
        };
        let keys = keys(name, of);
        tables.push(Table { name, heading, intro: intro(table), keys });
        if let Some(kinds) = of.get("oneOf") {
            add_sinks(kinds.as_array().unwrap(), &mut tables);
        }
    }
    tables
}

/// Adds the key `type` to the last table, and adds a table for each type of sink in `kinds`.
fn add_sinks(kinds: &[Value], tables: &mut Vec<Table>) {
    let name_of = |kind: &Value| kind["properties"][TYPE]["const"].clone();
    assert_eq!(kinds.len(), SINKS.len(), "every type of sink must be in SINKS");
    let names = SINKS.map(|(name, _)| format!("`{name}`"));
    let sinks = tables.last_mut().unwrap();
    sinks.keys.insert(
        0,
        Key {
            name: TYPE.to_owned(),
            form: one_of(&names),
            default: Default::Required,
            description: "Type of the sink. Each type has its own options.".to_owned(),
            least: None,
            most: None,
        },
    );
    for (name, table) in SINKS {
        let kind = kinds.iter().find(|kind| name_of(kind) == name).unwrap();
        let mut kind = kind.clone();
        kind["properties"].as_object_mut().unwrap().remove(TYPE);
        let (heading, intro) = (format!("`[[sink]]` of type `{name}`"), intro(&kind));
        tables.push(Table { name: table, heading, intro, keys: keys(table, &kind) });
    }
}

fn intro(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

/// Returns the keys in the `schema` of `table`. Required keys come first.
fn keys(table: &str, schema: &Value) -> Vec<Key> {
    let required = samples::of(table).required();
    let mut keys = Vec::new();
    add_keys("", schema, &required, &mut keys);
    keys.sort_by_key(|key| !matches!(key.default, Default::Required));
    keys
}

fn add_keys(before: &str, schema: &Value, required: &[String], keys: &mut Vec<Key>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let name = format!("{before}{name}");
        if schema.get("properties").is_some() {
            add_keys(&format!("{name}."), schema, required, keys);
        } else {
            keys.push(key(name, schema.as_object().unwrap(), required));
        }
    }
}

fn key(name: String, schema: &Map<String, Value>, required: &[String]) -> Key {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let (description, words) = split_default(text);
    let number = |key: &str| schema.get(key).and_then(Value::as_f64).map(|number| number as u64);
    // A minimum of 0 only states that the type is unsigned.
    let (least, most) = (number("minimum").filter(|least| *least > 0), number("maximum"));
    let default = match (words, schema.get("default").map(Value::to_string)) {
        (Some(words), None) => Default::Words(words),
        (None, Some(value)) => Default::Value(value),
        (None, None) if required.contains(&name) => Default::Required,
        (None, None) => Default::None,
        (Some(words), Some(value)) => panic!("{name} has two defaults: {words}, {value}"),
    };
    Key { form: form(schema, least, most), name, default, description, least, most }
}

/// Splits a description into its text and the default at its end.
fn split_default(text: &str) -> (String, Option<String>) {
    let (text, default) = match text.split_once("[default: ") {
        Some((text, default)) => (text.trim(), default.strip_suffix(']').map(str::to_owned)),
        None => (text, None),
    };
    let end = if text.is_empty() || text.ends_with('.') { "" } else { "." };
    (format!("{text}{end}"), default)
}

fn form(schema: &Map<String, Value>, least: Option<u64>, most: Option<u64>) -> String {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if let Some(names) = names(schema) {
        return one_of(&names);
    }
    let range = match (least, most) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        _ => String::new(),
    };
    match (text("type"), text("x-form")) {
        (Some("array"), Some(item)) => format!("list of {}", plural(item)),
        (Some("array"), None) => {
            let item = schema["items"].as_object().unwrap();
            format!("list of {}", plural(&form(item, None, None)))
        }
        (_, Some(form)) => form.to_owned(),
        (Some("boolean"), None) => "`true` or `false`".to_owned(),
        (Some("integer" | "number"), None) => format!("number{range}"),
        (Some(name), None) => name.to_owned(),
        (None, None) => panic!("{schema:?} has no type"),
    }
}

fn plural(form: &str) -> &str {
    match form {
        "address:port" => "addresses with ports",
        "file" => "files",
        "network" => "networks",
        "number" => "numbers",
        "port" => "ports",
        "string" => "strings",
        form => panic!("no plural is defined for the form {form}; add one here"),
    }
}

/// Returns the permitted strings of a value, if `schema` lists them.
fn names(schema: &Map<String, Value>) -> Option<Vec<String>> {
    let code = |name: &Value| name.as_str().map(|name| format!("`{name}`"));
    let names = match (schema.get("enum"), schema.get("oneOf")) {
        (Some(names), _) => names.as_array()?.iter().filter_map(code).collect(),
        (None, Some(choices)) => {
            let choices = choices.as_array()?.iter();
            choices.filter_map(|choice| code(choice.get("const")?)).collect()
        }
        (None, None) => return None,
    };
    Some(names)
}

fn one_of(names: &[String]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        names => names.concat(),
    }
}
