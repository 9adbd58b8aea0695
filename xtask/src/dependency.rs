//! The dependency rule of DESIGN.md section 3: which crate may know which. What is not listed is forbidden.

use serde_json::Value;

use crate::Violation;

/// What a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// In the product.
    Normal,
    /// In the tests only.
    Dev,
    /// In a build script.
    Build,
}

/// One line of a `[dependencies]` table. Names without the prefix `ferrymq-` where `ours`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The crate that depends.
    pub from: String,
    /// What it depends on.
    pub to: String,
    /// Whether `to` is a crate of this workspace.
    pub ours: bool,
    /// What for.
    pub kind: EdgeKind,
}

/// Every crate of the workspace and the crates of ours that it may know.
const ALLOWED: &[(&str, &[&str])] = &[
    ("message", &[]),
    ("topic", &[]),
    ("mqtt-proto", &[]),
    ("recovery-log", &[]),
    ("queue-manager", &["message", "topic", "selector"]),
    ("engine", &["queue-manager", "recovery-log", "replication", "message"]),
    ("transport", &[]),
    ("mqtt", &["mqtt-proto", "transport", "engine", "message", "topic"]),
    (
        "server",
        &["message", "topic", "mqtt-proto", "queue-manager", "recovery-log", "engine", "transport", "mqtt"],
    ),
    ("bench", &["mqtt-proto", "amqp-proto", "transport"]),
    ("xtask", &[]),
];

/// The crates from elsewhere that a pure crate may use: each `no_std`, without clock, thread, socket, file or random
/// source. A crate that is not named here is not pure and is free in what it uses.
const ALLOWED_FROM_ELSEWHERE: &[(&str, &[&str])] = &[
    ("message", &["triomphe"]),
    ("topic", &["hashbrown", "smallvec", "thiserror"]),
    ("mqtt-proto", &["thiserror"]),
    ("queue-manager", &["hashbrown", "slab", "smallvec", "thiserror"]),
    ("recovery-log", &["crc32c", "thiserror"]),
];

/// What the tests of pure crates may use beside that.
const ALLOWED_IN_PURE_TESTS: &[&str] = &["proptest"];

/// The edges in the output of `cargo metadata --no-deps`; an error names what is missing in it.
pub fn edges(metadata: &str) -> Result<Vec<Edge>, String> {
    let value: Value = serde_json::from_str(metadata).map_err(|e| e.to_string())?;
    let packages = value["packages"].as_array().ok_or("no packages")?;
    let members: Vec<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut out = Vec::new();
    for package in packages {
        let from = short(package["name"].as_str().ok_or("a package without a name")?);
        for dependency in package["dependencies"].as_array().ok_or("a package without dependencies")? {
            let to = dependency["name"].as_str().ok_or("a dependency without a name")?;
            let kind = kind(&dependency["kind"]);
            out.push(Edge { from: from.into(), to: short(to).into(), ours: members.contains(&to), kind });
        }
    }
    Ok(out)
}

fn short(name: &str) -> &str {
    name.strip_prefix("ferrymq-").unwrap_or(name)
}

fn kind(value: &Value) -> EdgeKind {
    match value.as_str() {
        Some("dev") => EdgeKind::Dev,
        Some("build") => EdgeKind::Build,
        _ => EdgeKind::Normal,
    }
}

/// Which of `edges` are not in the tables.
pub fn dependencies(edges: &[Edge]) -> Vec<Violation> {
    edges.iter().filter(|edge| !is_allowed(edge)).map(forbidden).collect()
}

fn is_allowed(edge: &Edge) -> bool {
    let to = edge.to.as_str();
    if edge.ours && edge.kind == EdgeKind::Dev && edge.from == to {
        return true; // a crate's tests may switch on its own features
    }
    if edge.ours {
        return row(ALLOWED, &edge.from).is_some_and(|allowed| allowed.contains(&to));
    }
    let Some(allowed) = row(ALLOWED_FROM_ELSEWHERE, &edge.from) else {
        return row(ALLOWED, &edge.from).is_some();
    };
    allowed.contains(&to) || (edge.kind == EdgeKind::Dev && ALLOWED_IN_PURE_TESTS.contains(&to))
}

fn row<'a>(table: &[(&str, &'a [&'a str])], name: &str) -> Option<&'a [&'a str]> {
    table.iter().find(|(from, _)| *from == name).map(|(_, allowed)| *allowed)
}

fn forbidden(edge: &Edge) -> Violation {
    Violation::of(
        &format!("crates/{}/Cargo.toml", edge.from),
        &format!(
            "{} -> {} ({:?}) is not in the table of xtask/src/dependency.rs (DESIGN.md section 3)",
            edge.from, edge.to, edge.kind
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, ours: bool, kind: EdgeKind) -> Edge {
        Edge { from: from.into(), to: to.into(), ours, kind }
    }

    #[test]
    fn edges_are_read_from_cargo_metadata() {
        let metadata = r#"{"packages": [
            {"name": "ferrymq-topic", "dependencies": [{"name": "proptest", "kind": "dev"}]},
            {"name": "ferrymq-mqtt", "dependencies": [{"name": "ferrymq-topic", "kind": null}]}]}"#;
        let expected =
            [edge("topic", "proptest", false, EdgeKind::Dev), edge("mqtt", "topic", true, EdgeKind::Normal)];
        assert_eq!(edges(metadata).expect("valid"), expected);
    }

    #[test]
    fn metadata_that_is_not_metadata_is_an_error() {
        assert!(edges("{}").is_err());
        assert!(edges("no json").is_err());
    }

    #[test]
    fn the_queue_manager_may_not_know_a_protocol() {
        let bad = [edge("queue-manager", "mqtt-proto", true, EdgeKind::Normal)];
        assert_eq!(dependencies(&bad).len(), 1);
        let in_tests = [edge("queue-manager", "mqtt-proto", true, EdgeKind::Dev)];
        assert_eq!(dependencies(&in_tests).len(), 1);
    }

    #[test]
    fn the_recovery_log_may_not_know_a_message() {
        assert_eq!(dependencies(&[edge("recovery-log", "message", true, EdgeKind::Normal)]).len(), 1);
    }

    #[test]
    fn a_pure_crate_may_not_use_what_is_not_listed() {
        assert_eq!(dependencies(&[edge("topic", "rustix", false, EdgeKind::Normal)]).len(), 1);
        assert_eq!(dependencies(&[edge("topic", "proptest", false, EdgeKind::Normal)]).len(), 1);
        assert!(dependencies(&[edge("topic", "proptest", false, EdgeKind::Dev)]).is_empty());
    }

    #[test]
    fn a_crate_without_a_row_may_use_nothing() {
        assert_eq!(dependencies(&[edge("newcomer", "bytes", false, EdgeKind::Normal)]).len(), 1);
    }

    #[test]
    fn a_crate_may_name_itself_for_its_tests_only() {
        assert!(dependencies(&[edge("topic", "topic", true, EdgeKind::Dev)]).is_empty());
        assert_eq!(dependencies(&[edge("topic", "topic", true, EdgeKind::Normal)]).len(), 1);
    }

    #[test]
    fn a_listed_edge_is_allowed() {
        assert!(dependencies(&[edge("mqtt", "engine", true, EdgeKind::Normal)]).is_empty());
        assert!(dependencies(&[edge("transport", "libc", false, EdgeKind::Normal)]).is_empty());
    }
}
