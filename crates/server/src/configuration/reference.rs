//! The reference document, made from the table of keys.

use std::fmt::Write;

use toml::{Table, Value};

use super::{Key, SECTIONS, Section};

const INTRODUCTION: &str = "\
# Configuration

<!-- Made by `ferrymq config reference` from crates/server/src/configuration; a test compares the two. -->

`ferrymq serve --config FILE` reads a file in [TOML](https://toml.io). `ferrymq config check FILE` says what is wrong
with one, by file, line and word; `ferrymq config show` prints what would hold, defaults included. A key that is not
in this document is an error, and after an error nothing has changed. Examples:
[one queue manager](../../examples/ferrymq.toml), [two of them](../../examples/two-queue-managers.toml),
[open to the network](../../examples/open-to-the-network.toml).
";

/// The document, in Markdown.
pub fn reference() -> String {
    let mut text = String::from(INTRODUCTION);
    for section in SECTIONS {
        write_section(&mut text, section);
    }
    text
}

fn write_section(text: &mut String, section: &Section) {
    let defaults = (section.defaults)();
    let heading = heading(section);
    let _ = write!(
        text,
        "\n## {heading}\n\n{}\n\n| key | default | unit, range | |\n|---|---|---|---|\n",
        section.about.trim()
    );
    for key in section.keys {
        let _ = writeln!(text, "{}", row(key, &defaults));
    }
}

fn heading(section: &Section) -> String {
    match section.path {
        "" => "Top of the file".into(),
        path @ ("queue_manager" | "queue_manager.listener") => format!("`[[{path}]]`"),
        path => format!("`[{path}]`"),
    }
}

fn row(key: &Key, defaults: &Table) -> String {
    let default = defaults.get(key.name).map(Value::to_string).unwrap_or_default();
    let range =
        key.range.as_ref().map(|range| format!(", {} to {}", range.start(), range.end())).unwrap_or_default();
    format!("| `{}` | `{default}` | {}{range} | {} |", key.name, key.unit, key.about.trim())
}
