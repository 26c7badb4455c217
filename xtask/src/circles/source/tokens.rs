//! Paths among tokens that are not parsed: what macros are called with, and their rules.

use syn::Macro;
use syn::buffer::{Cursor, TokenBuffer};

/// All paths among the tokens of `call`, also those of one name. Fields and methods are none.
pub(super) fn paths(call: &Macro) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    search(TokenBuffer::new2(call.tokens.clone()).begin(), &mut paths);
    paths
}

fn search(mut rest: Cursor<'_>, paths: &mut Vec<Vec<String>>) {
    let mut dots = 0;
    while let Some((_, next)) = rest.token_tree() {
        let dot = after(rest, '.').is_some();
        if let Some((inner, _, _, next)) = rest.any_group() {
            search(inner, paths);
            rest = next;
        } else if let Some((path, next)) = path(rest) {
            paths.extend((dots != 1).then_some(path));
            rest = next;
        } else {
            rest = next;
        }
        dots = if dot { dots + 1 } else { 0 };
    }
}

/// The path at the beginning of `rest`, and what follows it.
fn path(rest: Cursor<'_>) -> Option<(Vec<String>, Cursor<'_>)> {
    let (first, mut rest) = rest.ident()?;
    let mut path = vec![first.to_string()];
    let further = |rest| after(after(rest, ':')?, ':')?.ident();
    while let Some((name, next)) = further(rest) {
        path.push(name.to_string());
        rest = next;
    }
    Some((path, rest))
}

/// What follows the character `punct`, where `rest` begins with it.
fn after(rest: Cursor<'_>, punct: char) -> Option<Cursor<'_>> {
    rest.punct().filter(|(found, _)| found.as_char() == punct).map(|(_, rest)| rest)
}
