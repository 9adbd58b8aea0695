//! The files of the workspace, read once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::SourceFile;

/// Directories that are not ours to judge: built, installed or run-time things.
const NOT_OURS: [&str; 6] = ["target", ".git", ".venv", "data", "node_modules", "__pycache__"];

/// Where the workspace stands.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Text files of the workspace by their kind.
#[derive(Debug, Default)]
pub struct Tree {
    /// Rust and Python sources.
    pub sources: Vec<SourceFile>,
    /// Markdown documents.
    pub documents: Vec<SourceFile>,
    /// Every file's path relative to the root, with `/`.
    pub paths: Vec<String>,
}

impl Tree {
    /// Reads the tree under `root`.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let mut tree = Tree::default();
        tree.enter(root, root)?;
        tree.paths.sort();
        tree.sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn enter(&mut self, root: &Path, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if !entry.file_type()?.is_dir() {
                self.take(root, &entry.path())?;
            } else if !NOT_OURS.iter().any(|skipped| name == *skipped) {
                self.enter(root, &entry.path())?;
            }
        }
        Ok(())
    }

    fn take(&mut self, root: &Path, file: &Path) -> io::Result<()> {
        let path = file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned();
        let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let of_kind = match extension {
            "rs" | "py" => Some(&mut self.sources),
            "md" => Some(&mut self.documents),
            _ => None,
        };
        if let Some(list) = of_kind {
            list.push(SourceFile { path: path.clone(), text: fs::read_to_string(file)? });
        }
        self.paths.push(path);
        Ok(())
    }
}
