//! A log's extents as files of one directory.

use ferrymq_recovery_log::{Disk, DiskError, DiskFault, ExtentFile, ExtentIndex, PAGE};
use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, flock};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Zeros written at once while an extent is created: large enough for the device's full rate.
const ZEROS: usize = 1 << 20;

/// The extents of one log: `00000000.extent` and so on, one `lock` that keeps a second server out.
///
/// Writes go past the page cache and are durable on return (`O_DIRECT | O_DSYNC`). Where the file system refuses that,
/// they are buffered and followed by `fdatasync`.
#[derive(Debug)]
pub struct FileDisk {
    directory: PathBuf,
    way: WriteWay,
    /// Files in use. Entries follow a rename.
    files: Mutex<BTreeMap<ExtentIndex, Arc<ExtentFiles>>>,
    /// Holds the lock while it is open.
    _lock: File,
}

/// How writes become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteWay {
    /// `O_DIRECT | O_DSYNC`.
    Direct,
    /// Through the page cache, then `fdatasync`.
    Buffered,
}

/// Why a log's directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenDiskError {
    /// Another process holds the lock.
    #[error("{} is in use by another ferrymq process{}", .directory.display(), owner(.process))]
    InUse {
        /// The log's directory.
        directory: PathBuf,
        /// The process number that the other one left there, empty if unknown.
        process: String,
    },
    /// The system refused.
    #[error("{call} {}: {error}", .path.display())]
    Io {
        /// What was tried.
        call: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
}

fn owner(process: &str) -> String {
    if process.is_empty() { String::new() } else { format!(" (process {process})") }
}

/// One extent, opened for both directions.
#[derive(Debug)]
struct ExtentFiles {
    /// Through the page cache, for its read-ahead. The kernel drops cached pages that a direct write replaces.
    reader: File,
    writer: File,
}

impl FileDisk {
    /// Opens `directory`, creating it if needed, and keeps it locked while the disk lives.
    ///
    /// # Errors
    /// [`OpenDiskError::InUse`] where another process has it open.
    pub fn open(directory: &Path) -> Result<FileDisk, OpenDiskError> {
        fs::create_dir_all(directory).map_err(refused("create", directory))?;
        let lock = lock(directory)?;
        if let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_directory(parent).map_err(refused("sync", parent))?;
        }
        let way = probe(directory).map_err(refused("write a first page into", directory))?;
        tracing::info!(directory = %directory.display(), ?way, "recovery log directory opened");
        Ok(FileDisk { directory: directory.to_owned(), way, files: Mutex::default(), _lock: lock })
    }

    /// How writes become durable here.
    pub fn write_way(&self) -> WriteWay {
        self.way
    }

    fn path(&self, extent: ExtentIndex) -> PathBuf {
        self.directory.join(format!("{:08}.extent", extent.0))
    }

    /// An extent's name while it is being created.
    fn path_of_new(&self, extent: ExtentIndex) -> PathBuf {
        self.directory.join(format!("{:08}.new", extent.0))
    }

    fn file(&self, extent: ExtentIndex) -> Result<Arc<ExtentFiles>, DiskError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(&extent) {
            return Ok(file.clone());
        }
        let path = self.path(extent);
        let opened = Arc::new(open_extent(&path, self.way).map_err(|error| fault("open", &path, &error))?);
        files.insert(extent, opened.clone());
        Ok(opened)
    }

    fn sync_names(&self) -> Result<(), DiskError> {
        sync_directory(&self.directory).map_err(|error| fault("sync", &self.directory, &error))
    }

    /// What a directory entry is, leftovers removed.
    fn entry(&self, path: &Path) -> io::Result<Option<ExtentFile>> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        let (Some(index), Some(kind)) = (stem, path.extension()) else {
            return Ok(None);
        };
        if kind == "new" {
            fs::remove_file(path)?;
        }
        if kind != "extent" {
            return Ok(None);
        }
        Ok(Some(ExtentFile { extent: ExtentIndex(index), size: fs::metadata(path)?.len() }))
    }
}

impl Disk for FileDisk {
    fn extents(&self) -> Result<Vec<ExtentFile>, DiskError> {
        let listed = fs::read_dir(&self.directory).and_then(|entries| {
            entries.map(|entry| self.entry(&entry?.path())).filter_map(Result::transpose).collect()
        });
        listed.map_err(|error| fault("list", &self.directory, &error))
    }

    fn create(&self, extent: ExtentIndex, size: u64) -> Result<(), DiskError> {
        let new = self.path_of_new(extent);
        let created =
            fill_with_zeros(&new, size, self.way).and_then(|()| fs::rename(&new, self.path(extent)));
        if let Err(error) = created {
            // What little could be written must not keep the disk full.
            let _ = fs::remove_file(&new);
            return Err(fault("create", &self.path(extent), &error));
        }
        self.sync_names()
    }

    fn read(&self, extent: ExtentIndex, offset: u64, into: &mut [u8]) -> Result<(), DiskError> {
        let result = self.file(extent)?.reader.read_exact_at(into, offset);
        result.map_err(|error| fault("read", &self.path(extent), &error))
    }

    fn write(&self, extent: ExtentIndex, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let file = self.file(extent)?;
        let written = file.writer.write_all_at(bytes, offset).and_then(|()| match self.way {
            WriteWay::Direct => Ok(()),
            WriteWay::Buffered => file.writer.sync_data(),
        });
        written.map_err(|error| fault("write", &self.path(extent), &error))
    }

    fn rename(&self, from: ExtentIndex, to: ExtentIndex) -> Result<(), DiskError> {
        let (old, new) = (self.path(from), self.path(to));
        fs::rename(&old, &new).map_err(|error| fault("rename", &old, &error))?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.remove(&from) {
            files.insert(to, file);
        }
        drop(files);
        self.sync_names()
    }

    fn remove(&self, extent: ExtentIndex) -> Result<(), DiskError> {
        let path = self.path(extent);
        self.files.lock().unwrap_or_else(PoisonError::into_inner).remove(&extent);
        fs::remove_file(&path).map_err(|error| fault("remove", &path, &error))?;
        self.sync_names()
    }

    fn name(&self, extent: ExtentIndex) -> String {
        self.path(extent).display().to_string()
    }
}

/// Takes the lock, or tells who has it.
fn lock(directory: &Path) -> Result<File, OpenDiskError> {
    let path = directory.join("lock");
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let mut file = options.open(&path).map_err(refused("open", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let process = format!("{}\n", std::process::id());
            let left = file.set_len(0).and_then(|()| file.write_all(process.as_bytes()));
            left.map_err(refused("write", &path))?;
            Ok(file)
        }
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut process = String::new();
            // Only for the message: the lock alone decides.
            let _ = file.take(20).read_to_string(&mut process);
            Err(OpenDiskError::InUse { directory: directory.to_owned(), process: process.trim().to_owned() })
        }
        Err(error) => Err(refused("lock", &path)(error.into())),
    }
}

fn refused(call: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenDiskError {
    move |error| OpenDiskError::Io { call, path: path.to_owned(), error }
}

/// Finds out whether the file system takes direct writes, by one.
fn probe(directory: &Path) -> io::Result<WriteWay> {
    let path = directory.join("probe.new");
    let direct = writer_options(WriteWay::Direct).create(true).truncate(true).open(&path).and_then(|file| {
        let zeros = Zeros::new(PAGE);
        file.write_all_at(zeros.bytes(), 0)
    });
    let way = match direct {
        Ok(()) => WriteWay::Direct,
        Err(error) if is_refusal(&error) => WriteWay::Buffered,
        Err(error) => return Err(error),
    };
    fs::remove_file(&path)?;
    if way == WriteWay::Buffered {
        tracing::warn!(directory = %directory.display(), "no direct writes on this file system: buffered, fdatasync");
    }
    Ok(way)
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENOSYS))
}

fn writer_options(way: WriteWay) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    if way == WriteWay::Direct {
        options.custom_flags((OFlags::DIRECT | OFlags::DSYNC).bits() as i32);
    }
    options
}

fn open_extent(path: &Path, way: WriteWay) -> io::Result<ExtentFiles> {
    Ok(ExtentFiles { reader: File::open(path)?, writer: writer_options(way).open(path)? })
}

/// Writes a file full of zeros. Merely reserved blocks would make each first write to them a journal commit.
fn fill_with_zeros(path: &Path, size: u64, way: WriteWay) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if way == WriteWay::Direct {
        options.custom_flags(OFlags::DIRECT.bits() as i32);
    }
    let file = options.open(path)?;
    // Neighbouring blocks, and an answer about space before the work.
    match fallocate(&file, FallocateFlags::empty(), 0, size) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
        Err(error) => return Err(error.into()),
    }
    let zeros = Zeros::new(ZEROS);
    let mut at = 0;
    while at < size {
        let length = (size - at).min(ZEROS as u64);
        file.write_all_at(&zeros.bytes()[..length as usize], at)?;
        at += length;
    }
    file.sync_all()
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn fault(call: &str, path: &Path, error: &io::Error) -> DiskError {
    let fault = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => DiskFault::Full,
        _ => DiskFault::Failed,
    };
    DiskError { fault, what: format!("{call} {}: {error}", path.display()) }
}

/// Zeros at an address that direct writes accept.
struct Zeros {
    storage: Vec<u8>,
    start: usize,
}

impl Zeros {
    fn new(length: usize) -> Zeros {
        let storage = vec![0; length + PAGE];
        let start = storage.as_ptr().align_offset(PAGE);
        Zeros { storage, start }
    }

    fn bytes(&self) -> &[u8] {
        &self.storage[self.start..self.storage.len() - (PAGE - self.start)]
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::Scratch;
