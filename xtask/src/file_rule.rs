//! What a file may be called, how long it may be and what may not stand in it (STYLE.md).

use crate::{Violation, masked, words};

/// Names for a role instead of a thing.
const ROLE_NAMES: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "manager", "managers", "misc"];
/// Lines; a longer file has a second noun in it.
const LONGEST: usize = 500;
/// Lines; a longer file is named by [`long_files`].
const LONG: usize = 400;
/// Folders whose code may be `unsafe`: those that talk to the operating system.
const UNSAFE_CRATES: [&str; 4] = ["crates/transport/", "crates/engine/", "crates/server/", "crates/bench/"];

/// A text file with its path relative to the workspace, with `/`.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As `crates/topic/src/lib.rs`.
    pub path: String,
    /// The whole of it.
    pub text: String,
}

impl SourceFile {
    /// Whether the file holds nothing but tests.
    pub fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs") || self.path.starts_with("interop/")
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// What in `file` is against the rules.
pub fn file_rules(file: &SourceFile) -> Vec<Violation> {
    let mut out = Vec::new();
    out.extend(name(file));
    out.extend(length(file));
    if file.is_rust() {
        let code = masked(&file.text);
        out.extend(first_line(file));
        out.extend(ignored_tests(file, &code));
        out.extend(unfinished(file, &code));
        out.extend(unsafe_code(file, &code));
        out.extend(sleeps(file, &test_code(file, &code)));
    } else if file.is_test() {
        out.extend(sleeps(file, &file.text));
    }
    out
}

/// The files that are longer than is good, with their lines.
pub fn long_files(files: &[SourceFile]) -> Vec<(usize, &str)> {
    let sized = files.iter().map(|f| (f.text.lines().count(), f.path.as_str()));
    sized.filter(|(lines, _)| *lines > LONG).collect()
}

fn name(file: &SourceFile) -> Option<Violation> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let in_folder = file.path.split('/').any(|part| ROLE_NAMES.contains(&part));
    (in_folder || ROLE_NAMES.contains(&stem))
        .then(|| Violation::of(&file.path, "named for a role, not for a thing"))
}

fn length(file: &SourceFile) -> Option<Violation> {
    let lines = file.text.lines().count();
    (lines > LONGEST)
        .then(|| Violation::of(&file.path, &format!("{lines} lines, at most {LONGEST} are allowed")))
}

fn first_line(file: &SourceFile) -> Option<Violation> {
    (!file.text.starts_with("//!")).then(|| Violation::at(&file.path, 1, "does not start with a `//!` line"))
}

fn ignored_tests(file: &SourceFile, code: &str) -> Vec<Violation> {
    let bare = lines_with(code, "#[ignore]");
    bare.map(|line| Violation::at(&file.path, line, "#[ignore] without a reason")).collect()
}

fn unfinished(file: &SourceFile, code: &str) -> Vec<Violation> {
    let found = ["todo!", "unimplemented!"].into_iter().flat_map(|mark| lines_with(code, mark));
    found.map(|line| Violation::at(&file.path, line, "unfinished code")).collect()
}

fn unsafe_code(file: &SourceFile, code: &str) -> Vec<Violation> {
    if UNSAFE_CRATES.iter().any(|folder| file.path.starts_with(folder)) {
        return Vec::new();
    }
    let found = words(code).filter(|(_, word)| *word == "unsafe");
    found
        .map(|(line, _)| Violation::at(&file.path, line, "unsafe code outside the crates that may have it"))
        .collect()
}

/// The part of masked `code` that is tests, on the same lines.
fn test_code(file: &SourceFile, code: &str) -> String {
    if file.is_test() {
        return code.to_owned();
    }
    let product = crate::without_tests(code);
    let kept = code.bytes().zip(product.bytes()).map(|(c, p)| if c == p && c != b'\n' { b' ' } else { c });
    String::from_utf8_lossy(&kept.collect::<Vec<_>>()).into_owned()
}

fn sleeps(file: &SourceFile, code: &str) -> Vec<Violation> {
    let found = code.lines().enumerate().filter(|(_, line)| calls(line, "sleep("));
    let at = found.map(|(index, _)| index + 1);
    at.map(|line| Violation::at(&file.path, line, "a test waits for an event, it does not sleep")).collect()
}

/// Whether `line` has `call` other than as the end of a longer name.
fn calls(line: &str, call: &str) -> bool {
    let before = line.match_indices(call).map(|(at, _)| line[..at].chars().next_back());
    before.into_iter().any(|c| !c.is_some_and(|c| c == '_' || c.is_alphanumeric()))
}

fn lines_with<'a>(code: &'a str, mark: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.lines().enumerate().filter(move |(_, line)| line.contains(mark)).map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    fn found(path: &str, text: &str) -> usize {
        file_rules(&file(path, text)).len()
    }

    #[test]
    fn a_tidy_file_passes() {
        assert_eq!(found("crates/topic/src/filter.rs", "//! Filters.\nfn f() {}\n"), 0);
    }

    #[test]
    fn a_file_named_for_a_role_is_found() {
        assert_eq!(found("crates/topic/src/utils.rs", "//! X.\n"), 1);
        assert_eq!(found("crates/topic/src/helpers/filter.rs", "//! X.\n"), 1);
        assert_eq!(found("interop/common.py", ""), 1);
        assert_eq!(found("crates/queue-manager/src/queue.rs", "//! X.\n"), 0);
    }

    #[test]
    fn a_long_file_is_found() {
        let of = |lines: usize| format!("//! X.\n{}", "\n".repeat(lines - 1));
        assert_eq!(found("crates/topic/src/filter.rs", &of(500)), 0);
        assert_eq!(found("crates/topic/src/filter.rs", &of(501)), 1);
        assert_eq!(long_files(&[file("a.rs", &of(400)), file("b.rs", &of(401))]), [(401, "b.rs")]);
    }

    #[test]
    fn a_file_without_a_first_line_is_found() {
        assert_eq!(found("crates/topic/src/filter.rs", "use core::fmt;\n"), 1);
    }

    #[test]
    fn an_ignored_test_needs_a_reason() {
        assert_eq!(found("crates/topic/tests/a.rs", "//! X.\n#[test]\n#[ignore]\nfn f() {}\n"), 1);
        assert_eq!(found("crates/topic/tests/a.rs", "//! X.\n#[test]\n#[ignore = \"slow\"]\nfn f() {}\n"), 0);
    }

    #[test]
    fn unfinished_code_is_found() {
        assert_eq!(
            found("crates/topic/src/a.rs", "//! X.\nfn f() { todo!() }\nfn g() { unimplemented!() }\n"),
            2
        );
        assert_eq!(found("crates/topic/src/a.rs", "//! X.\n// todo!\n"), 0);
    }

    #[test]
    fn unsafe_code_has_its_places() {
        assert_eq!(found("crates/mqtt/src/a.rs", "//! X.\nfn f() { unsafe { g() } }\n"), 1);
        assert_eq!(found("crates/transport/src/a.rs", "//! X.\nfn f() { unsafe { g() } }\n"), 0);
        assert_eq!(found("crates/mqtt/src/a.rs", "//! X.\n#![forbid(unsafe_code)]\n"), 0);
    }

    #[test]
    fn tests_do_not_sleep_and_products_may() {
        let product = "//! X.\nfn f() { sleep(d) }\n";
        assert_eq!(found("crates/bench/src/a.rs", product), 0);
        assert_eq!(found("crates/bench/tests/a.rs", product), 1);
        let inside = "//! X.\nfn f() { sleep(d) }\n#[cfg(test)]\nmod tests {\n fn t() { sleep(d) }\n}\n";
        let list = file_rules(&file("crates/bench/src/a.rs", inside));
        assert_eq!(list.len(), 1);
        assert!(list[0].0.starts_with("crates/bench/src/a.rs:5: "));
        assert_eq!(found("interop/test_a.py", "time.sleep(1)\n"), 1);
        assert_eq!(found("interop/test_a.py", "fall_asleep()\n"), 0);
    }
}
