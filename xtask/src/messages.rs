//! Every message that people may read, in a table: errors, lines of logs, help of commands.
//!
//! Shape: sources without tests, as syn reads them; attributes `error`, macros that tell or fail, contexts of errors, and
//! documentation of options. What is printed is for reading: each must be understood by somebody who sees that line alone.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ExprMethodCall, Lit, LitStr, Macro, parse_file};

use crate::sources::{documentation, is_test, of_programs};

/// Macros that tell people something.
const MACROS: [&str; 9] =
    ["anyhow", "bail", "debug", "ensure", "eprintln", "error", "format", "info", "warn"];

/// Methods the argument of which is told.
const METHODS: [&str; 3] = ["context", "with_context", "expect"];

pub(crate) fn run(root: &Path) -> Result<()> {
    println!("| where | how | message |\n|---|---|---|");
    let mut count = 0;
    for path in of_programs(root)? {
        let text = fs::read_to_string(root.join(&path))?;
        let file = parse_file(&text).with_context(|| format!("cannot read {}", path.display()))?;
        let mut messages = Messages::default();
        messages.visit_file(&file);
        for (how, message) in messages.found {
            let message = message.replace('\n', " ").replace('|', "\\|");
            println!("| {} | {how} | {message} |", path.display());
            count += 1;
        }
    }
    eprintln!("{count} messages");
    Ok(())
}

#[derive(Default)]
struct Messages {
    found: Vec<(String, String)>,
    /// Whether what is visited is the argument of a method that tells it.
    is_told: bool,
}

impl Messages {
    fn add(&mut self, how: &str, message: String) {
        // A formatter of values alone is no message.
        if message.chars().filter(|c| c.is_alphabetic()).count() > 6 && message.contains(' ') {
            self.found.push((how.to_owned(), message));
        }
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        for attribute in attributes {
            if attribute.path().is_ident("error")
                && let Ok(text) = attribute.parse_args_with(first)
            {
                self.add("#[error]", text);
            }
        }
    }

    /// Help of clap: documentation of what has an attribute `arg` or `command`, or is a field or a variant of it.
    fn help(&mut self, attributes: &[Attribute]) {
        self.add("help", documentation(attributes).trim().to_owned());
    }
}

/// The first string among the arguments of a macro or an attribute.
fn first(input: syn::parse::ParseStream<'_>) -> syn::Result<String> {
    while !input.is_empty() {
        if input.peek(LitStr) {
            let text = input.parse::<LitStr>()?.value();
            // The rest is of no interest, but has to be read.
            input.step(|cursor| {
                let mut rest = *cursor;
                while let Some((_, next)) = rest.token_tree() {
                    rest = next;
                }
                Ok(((), rest))
            })?;
            return Ok(text);
        }
        input.step(|cursor| match cursor.token_tree() {
            Some((_, rest)) => Ok(((), rest)),
            None => Err(cursor.error("the end")),
        })?;
    }
    Err(input.error("no string"))
}

fn is_of_clap(attributes: &[Attribute]) -> bool {
    let names = ["Args", "Parser", "Subcommand", "ValueEnum"];
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let mut is = false;
        let _ = attribute.parse_nested_meta(|meta| {
            is |= meta
                .path
                .segments
                .last()
                .is_some_and(|last| names.contains(&&*last.ident.to_string()));
            Ok(())
        });
        is
    })
}

impl<'ast> Visit<'ast> for Messages {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.attributes(&item.attrs);
        if is_of_clap(&item.attrs) {
            item.fields.iter().for_each(|field| self.help(&field.attrs));
        }
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if is_of_clap(&item.attrs) {
            item.variants.iter().for_each(|variant| self.help(&variant.attrs));
        }
        visit::visit_item_enum(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.attributes(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        let Some(last) = item.path.segments.last() else { return };
        let name = last.ident.to_string();
        if MACROS.contains(&&*name)
            && let Ok(text) = item.parse_body_with(first)
        {
            self.add(if self.is_told { "context" } else { &name }, text);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let before = self.is_told;
        self.is_told |= METHODS.contains(&&*call.method.to_string());
        for argument in &call.args {
            match argument {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if self.is_told => {
                    self.add("context", text.value());
                }
                other => self.visit_expr(other),
            }
        }
        self.is_told = before;
    }
}
