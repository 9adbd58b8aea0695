//! The purity rule: pure crates are `no_std`, without unsafe code, and know no clock, thread, file or random source.

use crate::{SourceFile, Violation, masked, without_tests, words};

/// Folders under `crates/` whose crates are pure state machines (DESIGN.md section 3).
pub const PURE_CRATES: [&str; 5] = ["message", "topic", "mqtt-proto", "queue-manager", "recovery-log"];

/// Attributes that the crate's first file must have.
const ATTRIBUTES: [&str; 2] = ["#![no_std]", "#![forbid(unsafe_code)]"];

/// Words that a pure crate's code does not say outside its tests.
const FORBIDDEN: [&str; 6] = ["std", "Instant", "SystemTime", "rand", "getrandom", "thread_rng"];

/// Where pure crates among `sources` are not pure.
pub fn purity(sources: &[SourceFile]) -> Vec<Violation> {
    PURE_CRATES.iter().flat_map(|name| crate_purity(name, sources)).collect()
}

fn crate_purity(name: &str, sources: &[SourceFile]) -> Vec<Violation> {
    let folder = format!("crates/{name}/src/");
    let root = format!("{folder}lib.rs");
    let mut out = Vec::new();
    match sources.iter().find(|s| s.path == root) {
        Some(file) => out.extend(missing_attributes(file)),
        None => out.push(Violation::of(&root, "a pure crate without a lib.rs")),
    }
    let files = sources.iter().filter(|s| s.path.starts_with(&folder) && !s.is_test());
    out.extend(files.flat_map(forbidden_words));
    out
}

fn missing_attributes(file: &SourceFile) -> Vec<Violation> {
    let code = masked(&file.text);
    let absent = ATTRIBUTES.iter().filter(|a| !code.lines().any(|line| line.trim() == **a));
    absent.map(|a| Violation::of(&file.path, &format!("a pure crate says {a}"))).collect()
}

fn forbidden_words(file: &SourceFile) -> Vec<Violation> {
    let code = without_tests(&masked(&file.text));
    let found = words(&code).filter(|(_, word)| FORBIDDEN.contains(word));
    found.map(|(line, word)| Violation::at(&file.path, line, &format!("`{word}` in a pure crate"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURE: &str = "//! Doc.\n#![no_std]\n#![forbid(unsafe_code)]\n";

    fn house(topic: &str) -> Vec<SourceFile> {
        let text = |name: &str| if name == "topic" { topic.to_owned() } else { PURE.to_owned() };
        PURE_CRATES
            .iter()
            .map(|name| SourceFile { path: format!("crates/{name}/src/lib.rs"), text: text(name) })
            .collect()
    }

    #[test]
    fn pure_crates_pass() {
        let tests =
            format!("{PURE}// std::time is not here\n#[cfg(test)]\nmod tests {{ use std::vec::Vec; }}\n");
        assert_eq!(purity(&house(&tests)), []);
    }

    #[test]
    fn a_missing_attribute_is_found_even_if_a_comment_has_it() {
        assert_eq!(purity(&house("//! #![no_std]\n// #![no_std]\n#![forbid(unsafe_code)]\n")).len(), 1);
        assert_eq!(purity(&house("//! Doc.\n#![no_std]\n")).len(), 1);
    }

    #[test]
    fn a_clock_is_found() {
        let found = purity(&house(&format!("{PURE}extern crate std;\nuse std::time::Instant;\n")));
        assert_eq!(found.len(), 3);
        assert!(found[0].0.starts_with("crates/topic/src/lib.rs:4: "));
    }

    #[test]
    fn a_random_source_is_found() {
        assert_eq!(purity(&house(&format!("{PURE}fn f() -> u8 {{ rand::random() }}\n"))).len(), 1);
    }

    #[test]
    fn a_missing_crate_is_found() {
        let mut sources = house(PURE);
        sources.remove(0);
        assert_eq!(purity(&sources).len(), 1);
    }
}
