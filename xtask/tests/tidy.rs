//! The rules of the house over this workspace. Each fails with the list of what breaks it.

use std::process::Command;

use xtask::{
    Tree, Violation, changelog, dependencies, edges, file_rules, lengths, links, long_files, purity, shape,
    workspace_root,
};

fn tree() -> Tree {
    let tree = Tree::read(&workspace_root()).expect("the workspace is readable");
    assert!(
        tree.sources.len() > 10 && tree.paths.contains(&"Cargo.toml".to_owned()),
        "this is not the workspace"
    );
    tree
}

#[track_caller]
fn expect_none(violations: &[Violation]) {
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn crates_know_only_the_crates_that_the_design_lists() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(workspace_root());
    let output = command.output().expect("cargo metadata runs");
    let metadata = String::from_utf8(output.stdout).expect("cargo metadata is UTF-8");
    let edges = edges(&metadata).expect("cargo metadata is what it was");
    assert!(edges.iter().any(|edge| edge.ours), "no edge between our crates was found");
    expect_none(&dependencies(&edges));
}

#[test]
fn pure_crates_have_no_clock_no_random_source_and_no_unsafe_code() {
    expect_none(&purity(&tree().sources));
}

#[test]
fn files_are_named_for_things_and_are_short_and_finished() {
    let tree = tree();
    for (lines, path) in long_files(&tree.sources) {
        println!("warning: {path} has {lines} lines");
    }
    expect_none(&tree.sources.iter().flat_map(file_rules).collect::<Vec<_>>());
}

#[test]
fn functions_are_short() {
    let lengths = lengths(&tree().sources);
    assert!(lengths.count() > 50, "no functions were found");
    expect_none(&shape(&lengths));
}

#[test]
fn links_in_documents_lead_somewhere() {
    let tree = tree();
    expect_none(&links(&tree.documents, &tree.paths));
}

#[test]
fn the_changelog_names_a_version() {
    let text = std::fs::read_to_string(workspace_root().join("CHANGELOG.md")).expect("CHANGELOG.md is there");
    expect_none(&changelog(&text));
}
