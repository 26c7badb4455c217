//! The chore `cargo xtask links`, which finds dead links in the Markdown files that git tracks.
//!
//! A link is dead if its file is missing or outside the repository, or if the file has no heading with the link's
//! anchor. Anchors follow the rules of GitHub. Links to other sites are not checked.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

#[derive(Default)]
struct Document {
    anchors: Vec<String>,
    links: Vec<String>,
}

pub(crate) fn run(root: &Path) -> Result<()> {
    let mut documents = BTreeMap::new();
    for path in tracked(root)? {
        let text = fs::read_to_string(root.join(&path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        documents.insert(path, Document::of(&text));
    }
    let mut count = 0;
    let mut dead = 0;
    for (path, document) in &documents {
        for link in &document.links {
            count += 1;
            if let Some(problem) = problem(root, &documents, path, link) {
                eprintln!("{}: {link}: {problem}", path.display());
                dead += 1;
            }
        }
    }
    ensure!(dead == 0, "{dead} of {count} links are dead; fix the links above");
    println!("all {count} links in {} documents are valid", documents.len());
    Ok(())
}

/// Returns the Markdown files that git tracks, relative to `root`.
fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git").args(["ls-files", "*.md"]).current_dir(root).output();
    let output = output.context("cannot run git")?;
    ensure!(
        output.status.success(),
        "cannot list the Markdown files: git ls-files failed; run this command in a checkout"
    );
    Ok(String::from_utf8(output.stdout)?.lines().map(PathBuf::from).collect())
}

impl Document {
    fn of(text: &str) -> Self {
        let mut document = Self::default();
        let (mut heading, mut seen) = (None, HashMap::new());
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let before = seen.entry(anchor.clone()).or_insert(0);
                    let number = if *before == 0 { String::new() } else { format!("-{before}") };
                    document.anchors.push(anchor + &number);
                    *before += 1;
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(dest_url.into_string());
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    document.links.extend(["src=\"", "srcset=\"", "href=\""].iter().flat_map(
                        |name| {
                            html.split(name)
                                .skip(1)
                                .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
                        },
                    ));
                }
                _ => {}
            }
        }
        document
    }
}

/// Returns the anchor that GitHub creates for a heading. It consists of the letters, digits, hyphens and underscores of
/// the heading, in lower case. Spaces become hyphens.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Returns a description of the problem with `link` in the document at `path`, or `None` if the link is valid.
fn problem(
    root: &Path,
    documents: &BTreeMap<PathBuf, Document>,
    path: &Path,
    link: &str,
) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = link.split_once('#').map_or((link, None), |(file, at)| (file, Some(at)));
    let target = match file {
        "" => path.to_owned(),
        file => match normal(&path.parent().unwrap_or(Path::new("")).join(file)) {
            Some(target) => target,
            None => return Some("the link leaves the repository".to_owned()),
        },
    };
    if !root.join(&target).exists() {
        return Some(format!("{} does not exist", target.display()));
    }
    let fragment = fragment?;
    match documents.get(&target) {
        Some(document) if document.anchors.iter().any(|anchor| anchor == fragment) => None,
        Some(_) => Some(format!("{} has no heading with this anchor", target.display())),
        None => Some("only Markdown files have headings".to_owned()),
    }
}

/// Returns `path` without `..` components, or `None` if the path is absolute or leaves the repository.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::Normal(name) => normal.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_found_and_dead_ones_reported() {
        let text = "# A `b` (c), d-e!\n## Twice\n## Twice\n[x](#a-b-c-d-e) [y](other.md#twice-1) <img src=\"p.svg\">\n\n```sh\n# none\n[z](none)\n```\n";
        let document = Document::of(text);
        assert_eq!(document.anchors, ["a-b-c-d-e", "twice", "twice-1"]);
        assert_eq!(document.links, ["#a-b-c-d-e", "other.md#twice-1", "p.svg"]);
        let folder = std::env::temp_dir();
        let documents = BTreeMap::from([(PathBuf::from("one.md"), document)]);
        let problem = |link: &str| problem(&folder, &documents, Path::new("docs/two.md"), link);
        assert_eq!(problem("https://example.net/x"), None);
        let dead = ["no-such-file.md", "../../shared/x.md", "/etc/passwd"];
        insta::assert_snapshot!(dead.map(|link| problem(link).unwrap()).join("\n"));
        assert_eq!(normal(Path::new("docs/../one.md")).unwrap(), Path::new("one.md"));
        assert_eq!(normal(Path::new("../one.md")), None);
    }
}
