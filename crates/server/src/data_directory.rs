//! The folder of all data, for one server at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Holds the lock; says who has it.
const LOCK_FILE: &str = "ferrymq.lock";

/// A data directory that is this server's as long as the value lives. The kernel ends the lock with the process,
/// however it ends.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    _lock: File,
}

/// Why a data directory can't be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    /// Another server has it.
    #[error(
        "the data in {} is in use by another ferrymq{owner}: stop that one, or choose another folder with --data-dir",
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// ` (process 42)`, if known.
        owner: String,
    },
    /// The system refuses.
    #[error("cannot {what} {}: {error}", path.display())]
    System {
        /// What was tried.
        what: &'static str,
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl DataDirectory {
    /// Creates the folder if it is missing, and locks it.
    ///
    /// # Errors
    /// When another server has it, or the system refuses.
    pub fn open(path: &Path) -> Result<DataDirectory, DataDirectoryError> {
        fs::create_dir_all(path).map_err(system("create the data directory", path))?;
        let path = path.canonicalize().map_err(system("find the data directory", path))?;
        let lock = lock(&path)?;
        Ok(DataDirectory { path, _lock: lock })
    }

    /// The folder of a queue manager, created if it is missing.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn of_queue_manager(&self, name: &str) -> Result<PathBuf, DataDirectoryError> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(system("create", &path))?;
        Ok(path)
    }
}

fn lock(folder: &Path) -> Result<File, DataDirectoryError> {
    let path = folder.join(LOCK_FILE);
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open.map_err(system("open", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            return Err(DataDirectoryError::InUse { path: folder.into(), owner: owner(&mut file) });
        }
        Err(errno) => return Err(system("lock", &path)(errno.into())),
    }
    write_owner(&mut file).map_err(system("write", &path))?;
    Ok(file)
}

fn write_owner(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn owner(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok()) {
        Some(process) => format!(" (process {process})"),
        None => String::new(),
    }
}

fn system(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DataDirectoryError {
    move |error| DataDirectoryError::System { what, path: path.into(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fresh folder; what is left of the last run goes first.
    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ferrymq-server-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_second_server_is_refused_and_told_who_is_first() {
        let path = folder("second");
        let first = DataDirectory::open(&path).unwrap();
        let refused = DataDirectory::open(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("(process {})", std::process::id())), "{refused}");
        assert!(refused.contains("--data-dir"), "{refused}");
        drop(first);
        assert!(DataDirectory::open(&path).is_ok());
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_named() {
        let path = folder("file");
        fs::write(&path, "not a folder").unwrap();
        let refused = DataDirectory::open(&path.join("below")).unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("cannot create the data directory {}", path.display())),
            "{refused}"
        );
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn each_queue_manager_has_a_folder() {
        let path = folder("queue-managers");
        let directory = DataDirectory::open(&path).unwrap();
        assert!(directory.of_queue_manager("QM1").unwrap().is_dir());
        fs::remove_dir_all(path).unwrap();
    }
}
