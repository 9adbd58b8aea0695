//! Chores of the house: what the tidy tests look at. Each rule is a pure function from what it reads to a list of
//! [`Violation`]s; `tests/tidy.rs` runs every rule over this workspace and fails on the first list that is not empty.

mod changelog;
mod dependency;
mod file_rule;
mod function;
mod link;
mod masked;
mod purity;
mod tree;

pub use changelog::changelog;
pub use dependency::{Edge, EdgeKind, dependencies, edges};
pub use file_rule::{SourceFile, file_rules, long_files};
pub use function::{Lengths, lengths, shape};
pub use link::links;
pub use masked::{masked, without_tests, words};
pub use purity::{PURE_CRATES, purity};
pub use tree::{Tree, workspace_root};

/// A rule that is broken, and where: `file:line: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation(pub String);

impl Violation {
    fn at(path: &str, line: usize, what: &str) -> Violation {
        Violation(format!("{path}:{line}: {what}"))
    }

    fn of(path: &str, what: &str) -> Violation {
        Violation(format!("{path}: {what}"))
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
