//! What is there for tests alone.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

/// Whether `attributes` keep something for tests: `#[test]`, `#[cfg(test)]`, or a `cfg(all(..))`
/// with `test` in it.
pub(super) fn only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let tested = || attribute.parse_args().is_ok_and(|condition| asks_for_test(&condition));
        path.is_ident("test") || path.is_ident("cfg") && tested()
    })
}

fn asks_for_test(condition: &Meta) -> bool {
    match condition {
        Meta::List(all) if all.path.is_ident("all") => all
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|conditions| conditions.iter().any(asks_for_test)),
        condition => condition.path().is_ident("test"),
    }
}

/// Whether the file of a module called `name` holds tests.
pub(super) fn named(name: &str) -> bool {
    name == "tests" || name.ends_with("_tests")
}
