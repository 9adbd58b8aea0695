//! Links in documents point to files that are there.

use crate::{SourceFile, Violation};

/// Links of `documents` to files that are not among `paths` (relative to the workspace); other sites are not asked.
pub fn links(documents: &[SourceFile], paths: &[String]) -> Vec<Violation> {
    documents.iter().flat_map(|document| broken(document, paths)).collect()
}

fn broken(document: &SourceFile, paths: &[String]) -> Vec<Violation> {
    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let dead =
        targets(&document.text).into_iter().filter(|(_, target)| !exists(&resolve(folder, target), paths));
    dead.map(|(line, target)| {
        Violation::at(&document.path, line, &format!("link to {target}, which is not there"))
    })
    .collect()
}

/// The targets of `[text](target)` outside code, with their lines.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut out = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            out.extend(line_targets(line).into_iter().map(|target| (index + 1, target)));
        }
    }
    out
}

fn line_targets(line: &str) -> Vec<&str> {
    let ends = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = ends.map(|(target, _)| target.split('#').next().unwrap_or_default());
    files.filter(|t| !t.is_empty() && !t.contains("://") && !t.starts_with("mailto:")).collect()
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// A file, or a folder with files in it.
fn exists(path: &str, paths: &[String]) -> bool {
    let folder = format!("{path}/");
    path.is_empty() || paths.iter().any(|p| p == path || p.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<Violation> {
        let document = SourceFile { path: "docs/concepts/a.md".into(), text: text.into() };
        links(&[document], &["README.md".into(), "docs/concepts/b.md".into()])
    }

    #[test]
    fn live_links_pass() {
        assert_eq!(found("[b](b.md) [r](../../README.md#start) [here](#x) [web](https://a.b/c) [f](..)"), []);
    }

    #[test]
    fn a_dead_link_is_found_with_its_line() {
        let list = found("one\n[c](c.md) and [b](b.md) and [d](../d.md)\n");
        assert_eq!(list.len(), 2);
        assert!(list[0].0.starts_with("docs/concepts/a.md:2: "));
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(found("```\n[c](c.md)\n```\n"), []);
    }
}
