use super::*;

/// The imports within the circles of a target of these files, of which the first is the root.
fn found(name: &str, files: &[(&str, &str)]) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("srlg-circles-{}-{name}", std::process::id()));
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let target = source::read(&folder.join(files[0].0));
    std::fs::remove_dir_all(&folder).unwrap();
    let target = target.unwrap();
    let graph = Graph::new(&target);
    let imports = graph.circles().into_iter().flat_map(|circle| {
        graph.within(&circle).map(|import| shown(&import, &folder)).collect::<Vec<_>>()
    });
    imports.collect()
}

/// A target of which `a.rs` imports `B` of `b.rs`, and the text of `b.rs` is `b`.
fn beside_a(name: &str, b: &str) -> Vec<String> {
    let root = "mod a; mod b;";
    found(name, &[("lib.rs", root), ("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", b)])
}

const BOTH: [&str; 2] = ["a.rs imports B of b.rs", "b.rs imports A of a.rs"];

#[test]
fn files_that_name_items_of_each_other_are_a_circle_however_they_do() {
    for (number, way) in [
        "use super::a::A;",
        "use crate::a::{self, A as Other};",
        "use crate::{a::A};",
        "fn f() { use crate::a::A; }",
        "fn f() { crate::a::A::new() }",
        "use crate::a; fn f(_: Vec<a::A>) {}",
        "impl super::a::A for B {}",
        "fn f() { <u8 as super::a::A>::g() }",
        "use super::a::*; fn f(_: A) {}",
        "mod inner { use super::super::a::A; }",
        "fn f() { assert!(matches!(x, [crate::a::A { .. }])) }",
        "pub use super::a::*; g!(0..A);",
        "macro_rules! m { () => { $crate::a::A } }",
        "pub use super::a::A; impl A {}",
        "#[cfg(any(test, unix))] use super::a::A;",
    ]
    .into_iter()
    .enumerate()
    {
        let found = beside_a(&format!("way-{number}"), &format!("pub struct B; {way}"));
        assert_eq!(found, BOTH, "{way}");
    }
}

#[test]
fn what_is_no_import_makes_no_circle() {
    for (number, other) in [
        "use crate::a;",
        "use super::a::*;",
        "pub use crate::a::A;",
        "pub(crate) use super::a::A as Other;",
        "use std::a::A;",
        "use ::a::A;",
        "pub use super::a::*; fn f() { x.A(); g!(x.A, 0..x.A) }",
        "#[cfg(test)] use super::a::A;",
        "#[cfg(all(unix, test))] mod checks { use crate::a::A; }",
        "#[test] fn f() { crate::a::A::new() }",
        "impl B { #[cfg(test)] fn f(_: crate::a::A) {} }",
        "mod tests; mod model_tests;",
    ]
    .into_iter()
    .enumerate()
    {
        let found = beside_a(&format!("other-{number}"), &format!("pub struct B; {other}"));
        assert_eq!(found, [""; 0], "{other}");
    }
}

#[test]
fn re_exports_stand_for_the_file_that_defines_the_item() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::*; pub struct Root;"),
        ("a.rs", "use crate::Renamed; pub struct A;"),
        ("b/mod.rs", "mod inner; pub(crate) use self::inner::Item as Renamed; use crate::Root;"),
        ("b/inner.rs", "pub struct Item(crate::a::A);"),
    ];
    let expected = ["a.rs imports Item of b/inner.rs", "b/inner.rs imports A of a.rs"];
    assert_eq!(found("re-exports", &files), expected);
}

#[test]
fn re_exports_of_each_other_end() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub use crate::b::*; fn f(_: Missing) {}"),
        ("b.rs", "pub use crate::a::*; pub(crate) use own; macro_rules! own { () => {} }"),
    ];
    assert_eq!(found("endless", &files), [""; 0]);
}

#[test]
fn macros_are_items_and_make_items() {
    let files = [
        ("main.rs", "mod a; mod b; mod c;"),
        ("a.rs", "macro_rules! rule { () => {} } pub(crate) use rule; use crate::b::Made;"),
        ("b.rs", "make! { Made } crate::a::rule!(); crate::exported!();"),
        ("c.rs", "#[macro_export] macro_rules! exported { () => {} } use crate::b::Made;"),
    ];
    let expected = [
        "a.rs imports Made of b.rs",
        "b.rs imports rule of a.rs",
        "b.rs imports exported of c.rs",
        "c.rs imports Made of b.rs",
    ];
    assert_eq!(found("macros", &files), expected);
}

#[test]
fn circles_that_do_not_touch_are_told_apart_and_rings_are_whole() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e; mod beside;"),
        ("a.rs", "pub struct A(crate::b::B);"),
        ("b.rs", "pub struct B(crate::c::C);"),
        ("c.rs", "pub struct C(crate::a::A, crate::d::D);"),
        ("d.rs", "pub struct D(crate::e::E);"),
        ("e.rs", "pub struct E(crate::d::D);"),
        ("beside.rs", "use crate::a::A;"),
    ];
    let expected = [
        "a.rs imports B of b.rs",
        "b.rs imports C of c.rs",
        "c.rs imports A of a.rs",
        "d.rs imports E of e.rs",
        "e.rs imports D of d.rs",
    ];
    assert_eq!(found("two", &files), expected);
}

#[test]
fn a_name_that_is_function_and_module_means_both() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub mod part; pub fn part() {} use crate::b::B;"),
        ("a/part.rs", "pub struct Part(crate::b::B);"),
        ("b.rs", "pub struct B; use crate::a::part::Part; fn f() { crate::a::part() }"),
    ];
    let expected = [
        "a.rs imports B of b.rs",
        "b.rs imports part of a.rs",
        "b.rs imports Part of a/part.rs",
        "a/part.rs imports B of b.rs",
    ];
    assert_eq!(found("both", &files), expected);
}

#[test]
fn a_module_without_a_file_is_named() {
    let folder = std::env::temp_dir().join(format!("srlg-circles-{}-lost", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("lib.rs"), "mod lost;").unwrap();
    let error = source::read(&folder.join("lib.rs")).err().unwrap().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.starts_with("cannot read ") && error.ends_with("lost/mod.rs"), "{error}");
}

#[test]
fn what_a_module_around_defines_is_not_imported() {
    let files = [
        ("lib.rs", "mod a; pub struct Root; fn f(_: a::A) {}"),
        ("a.rs", "mod part; use part::Part; pub struct A(crate::Root);"),
        ("a/part.rs", "use crate::Root; pub struct Part(super::A);"),
    ];
    assert_eq!(found("around", &files), [""; 0]);
}
