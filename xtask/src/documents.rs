//! What documentation of public items has to have: a verb first, the names of its parameters, its errors.
//!
//! Shape: sources of the crates that are published, as syn reads them; [`Items`] hands each public item to [`faults`].
//! That there is any documentation is rustc's to say (`missing_docs`), and that what is public can be reached, too
//! (`unreachable_pub`). Invariant: an item of which nothing is said here has all of it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, Meta, Pat, ReturnType, Signature, Visibility, parse_file};

use crate::sources::{documentation, is_test, of_programs};

/// Words that end as verbs do, and are none.
const NOUNS: [&str; 19] = [
    "As",
    "Bins",
    "Bits",
    "Bytes",
    "Cells",
    "Columns",
    "Epochs",
    "Hosts",
    "Its",
    "Lengths",
    "Packets",
    "Pairs",
    "Params",
    "Positions",
    "Recorders",
    "Slices",
    "Tags",
    "This",
    "Words",
];

/// Verbs that are nouns where `of` follows.
const EITHER: [&str; 8] =
    ["Ages", "Captures", "Counts", "Estimates", "Names", "Places", "Records", "Sizes"];

pub(crate) fn run(root: &Path) -> Result<()> {
    let (mut count, mut found) = (0, 0);
    for path in of_programs(root)?.into_iter().filter(|path| is_published(path)) {
        let text = fs::read_to_string(root.join(&path))?;
        let file = parse_file(&text).with_context(|| format!("cannot read {}", path.display()))?;
        let mut items = Items::default();
        items.visit_file(&file);
        count += items.count;
        for fault in items.faults {
            println!("{}: {fault}", path.display());
            found += 1;
        }
    }
    if found > 0 {
        bail!("{found} faults in the documentation of {count} public items");
    }
    println!("{count} public items say what they do, with their parameters and errors");
    Ok(())
}

/// Whether the source is of a package that is published: `src` of the root, and of the folders `srlg-*`.
fn is_published(path: &Path) -> bool {
    let mut parts = path.iter().filter_map(|part| part.to_str());
    match parts.next() {
        Some("src") => true,
        Some(folder) => folder.starts_with("srlg-") && parts.next() == Some("src"),
        None => false,
    }
}

#[derive(Default)]
struct Items {
    count: u32,
    faults: Vec<String>,
}

impl Items {
    fn item(&mut self, name: &str, attributes: &[Attribute], signature: Option<&Signature>) {
        if is_hidden(attributes) {
            return;
        }
        self.count += 1;
        let text = documentation(attributes);
        let new = faults(&text, signature).into_iter().map(|fault| format!("{name}: {fault}"));
        self.faults.extend(new);
    }
}

/// What the documentation lacks.
fn faults(text: &str, signature: Option<&Signature>) -> Vec<String> {
    let mut faults = Vec::new();
    if !begins_with_verb(text) {
        let first = text.split_whitespace().next().unwrap_or_default();
        faults.push(format!("the first word is no verb but {first:?}"));
    }
    let Some(signature) = signature else { return faults };
    for parameter in signature.inputs.iter().filter_map(named) {
        if !has_in_code(text, &parameter) {
            faults.push(format!("the parameter `{parameter}` is not named in backticks"));
        }
    }
    if returns_result(&signature.output) && !text.contains("# Errors") {
        faults.push("its errors are not told under `# Errors`".to_owned());
    }
    faults
}

/// Whether the text begins with a verb in the third person, by its form: "Counts what", but not "Counts of".
fn begins_with_verb(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let word = words.next().unwrap_or_default().trim_end_matches([',', '.', ':', ';']);
    let is_noun = NOUNS.contains(&word) || EITHER.contains(&word) && words.next() == Some("of");
    word.starts_with(|first: char| first.is_ascii_uppercase()) && word.ends_with('s') && !is_noun
}

/// Whether the text has this word in code; a block of code is an example, and names nothing.
fn has_in_code(text: &str, word: &str) -> bool {
    let prose: String = text.split("```").step_by(2).collect();
    let mut code = prose.split('`').skip(1).step_by(2);
    code.any(|code| {
        code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
    })
}

/// The name of a parameter, but of those that begin with `_`.
fn named(argument: &FnArg) -> Option<String> {
    let FnArg::Typed(argument) = argument else { return None };
    let Pat::Ident(name) = &*argument.pat else { return None };
    let name = name.ident.to_string();
    (!name.starts_with('_')).then_some(name)
}

fn returns_result(output: &ReturnType) -> bool {
    let ReturnType::Type(_, output) = output else { return false };
    let syn::Type::Path(path) = &**output else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Result")
}

/// Whether the item is no part of the documentation, or of a test.
fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("doc") => list.tokens.to_string() == "hidden",
        _ => false,
    }) || is_test(attributes)
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

impl<'ast> Visit<'ast> for Items {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_hidden(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_public(&item.vis) {
            self.item(&item.sig.ident.to_string(), &item.attrs, Some(&item.sig));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_public(&item.vis) {
            self.item(&item.sig.ident.to_string(), &item.attrs, Some(&item.sig));
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_public(&item.vis) {
            self.item(&item.ident.to_string(), &item.attrs, None);
            visit::visit_item_trait(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.item(&item.sig.ident.to_string(), &item.attrs, Some(&item.sig));
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if is_public(&item.vis) {
            self.item(&item.ident.to_string(), &item.attrs, None);
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if is_public(&item.vis) {
            self.item(&item.ident.to_string(), &item.attrs, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of the items in `source`.
    fn faults_in(source: &str) -> Vec<String> {
        let mut items = Items::default();
        items.visit_file(&parse_file(source).unwrap());
        items.faults
    }

    #[test]
    fn item_with_verb_parameters_and_errors_has_no_fault() {
        let source = "/// Reads `count` of `pairs[i]`.\n///\n/// # Errors\n/// When there are fewer.\n\
            pub fn read(pairs: &[u8], count: usize, _: u8, _later: u8) -> Result<(), ()> {}\n\
            /// Holds pairs.\npub struct Pairs;\n\
            impl Pairs {\n/// Ages the pairs by `step`.\npub fn age(&mut self, step: u32) {}\n}";
        assert_eq!(faults_in(source), [""; 0]);
    }

    #[test]
    fn item_that_begins_with_no_verb_is_told() {
        for text in [
            "The pairs.",
            "Pairs of hosts.",
            "Counts of hosts.",
            "Its pairs.",
            "`Pairs` of hosts.",
            "returns",
            "",
        ] {
            let first = text.split(' ').next().unwrap();
            let expected = [format!("Pairs: the first word is no verb but {first:?}")];
            assert_eq!(faults_in(&format!("/// {text}\npub struct Pairs;")), expected);
        }
        for text in ["Counts hosts.", "Counts, adds.", "Tells of hosts.", "Names what pairs of."] {
            assert_eq!(faults_in(&format!("/// {text}\npub enum Pairs {{}}")), [""; 0], "{text}");
        }
    }

    #[test]
    fn parameter_that_is_not_named_is_told() {
        for text in [
            "Takes one.",
            "Takes the count.",
            "Takes `counts`.",
            "Takes.\n/// ```\n/// `count`\n/// ```",
        ] {
            let source = format!("pub trait Take {{\n/// {text}\nfn take(&self, count: u32);\n}}");
            let expected = ["take: the parameter `count` is not named in backticks"];
            assert_eq!(faults_in(&format!("/// Takes.\n{source}")), expected, "{text}");
        }
    }

    #[test]
    fn errors_that_are_not_told_are_told() {
        let expected = ["read: its errors are not told under `# Errors`"];
        assert_eq!(faults_in("/// Reads.\npub fn read() -> io::Result<()> {}"), expected);
        assert_eq!(faults_in("/// Reads.\npub fn read() -> Option<()> {}"), [""; 0]);
    }

    #[test]
    fn item_that_is_no_part_of_the_documentation_is_passed_over() {
        let source = "pub(crate) fn a(count: u32) {}\nstruct B;\n#[doc(hidden)]\npub fn c(count: u32) {}\n\
            #[cfg(test)]\nmod tests {\npub fn d(count: u32) {}\n}";
        assert_eq!(faults_in(source), [""; 0]);
    }
}
