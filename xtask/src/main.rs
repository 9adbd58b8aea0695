//! `cargo run -p xtask`: what the tidy rules say of this workspace, in figures. The rules themselves are tests.

use std::process::ExitCode;

use xtask::{Tree, lengths, long_files, workspace_root};

fn main() -> ExitCode {
    match Tree::read(&workspace_root()) {
        Ok(tree) => report(&tree),
        Err(error) => {
            eprintln!("the workspace can't be read: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn report(tree: &Tree) {
    let functions = lengths(&tree.sources);
    let (count, median, tenth) = (functions.count(), functions.median(), functions.nine_in_ten());
    println!(
        "{} sources, {count} functions: median {median} lines, nine in ten within {tenth}",
        tree.sources.len()
    );
    for (lines, path) in long_files(&tree.sources) {
        println!("{path}: {lines} lines; which second noun lives there?");
    }
}
