//! The changelog says what came when.

use crate::Violation;

/// Whether `text` has a heading for a version, or for what is not released yet.
pub fn changelog(text: &str) -> Vec<Violation> {
    let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
    if headings.map(|h| h.trim_start_matches('[')).any(is_version) {
        return Vec::new();
    }
    vec![Violation::of("CHANGELOG.md", "no heading `## Unreleased` or `## x.y.z`")]
}

fn is_version(heading: &str) -> bool {
    let number = heading.split([' ', ']']).next().unwrap_or_default();
    let parts: Vec<&str> = number.split('.').collect();
    heading.starts_with("Unreleased") || (parts.len() == 3 && parts.iter().all(|p| p.parse::<u32>().is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_with_a_heading_passes() {
        for text in
            ["# C\n## Unreleased\n- x", "## [Unreleased]\n", "## 0.1.0 - 2026-11-21\n", "## [1.2.3]\n"]
        {
            assert_eq!(changelog(text), [], "{text}");
        }
    }

    #[test]
    fn a_changelog_without_a_heading_is_found() {
        for text in ["", "# Changelog\n", "## Soon\n", "## 1.2\n"] {
            assert_eq!(changelog(text).len(), 1, "{text}");
        }
    }
}
