//! A disk in memory that tears, flips and refuses, for tests.

use crate::disk::{Disk, DiskError, DiskFault, ExtentFile};
use crate::lsn::ExtentIndex;
use crate::task::Write;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

/// The unit in which a disk writes whole or not at all.
const SECTOR: usize = 512;

/// What is on it is what a crash leaves. Clone it to keep a crash state.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    extents: RefCell<BTreeMap<ExtentIndex, Vec<u8>>>,
    /// Refuses every change from now on, with this fault.
    pub refuses: Cell<Option<DiskFault>>,
}

impl MemoryDisk {
    /// Performs those sectors of a write that `keep` chooses: a torn write.
    pub fn tear(&self, write: &Write, keep: &mut dyn FnMut(usize) -> bool) {
        let mut extents = self.extents.borrow_mut();
        let extent = extents.get_mut(&write.extent()).expect("the extent exists");
        for (sector, bytes) in write.bytes().chunks(SECTOR).enumerate() {
            if keep(sector) {
                let at = write.offset() as usize + sector * SECTOR;
                extent[at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    /// Changes the bytes of an extent behind the log's back.
    pub fn damage(&self, extent: ExtentIndex, change: &mut dyn FnMut(&mut Vec<u8>)) {
        change(self.extents.borrow_mut().get_mut(&extent).expect("the extent exists"));
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<ExtentIndex, Vec<u8>>) -> Option<T>,
    ) -> Result<T, DiskError> {
        if let Some(fault) = self.refuses.get() {
            return Err(DiskError { fault, what: format!("refused: {fault:?}") });
        }
        let absent = DiskError { fault: DiskFault::Failed, what: "no such extent or place".into() };
        change(&mut self.extents.borrow_mut()).ok_or(absent)
    }
}

impl Disk for MemoryDisk {
    fn extents(&self) -> Result<Vec<ExtentFile>, DiskError> {
        let extents = self.extents.borrow();
        Ok(extents.iter().map(|(&extent, bytes)| ExtentFile { extent, size: bytes.len() as u64 }).collect())
    }

    fn create(&self, extent: ExtentIndex, size: u64) -> Result<(), DiskError> {
        self.change(|extents| extents.insert(extent, vec![0; size as usize]).is_none().then_some(()))
    }

    fn read(&self, extent: ExtentIndex, offset: u64, into: &mut [u8]) -> Result<(), DiskError> {
        let extents = self.extents.borrow();
        let bytes = extents.get(&extent).and_then(|bytes| bytes.get(offset as usize..)?.get(..into.len()));
        into.copy_from_slice(bytes.expect("the log reads only what exists"));
        Ok(())
    }

    fn write(&self, extent: ExtentIndex, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.change(|extents| {
            let place = extents.get_mut(&extent)?.get_mut(offset as usize..)?.get_mut(..bytes.len())?;
            place.copy_from_slice(bytes);
            Some(())
        })
    }

    fn rename(&self, from: ExtentIndex, to: ExtentIndex) -> Result<(), DiskError> {
        self.change(|extents| {
            let bytes = extents.remove(&from)?;
            extents.insert(to, bytes).is_none().then_some(())
        })
    }

    fn remove(&self, extent: ExtentIndex) -> Result<(), DiskError> {
        self.change(|extents| extents.remove(&extent).map(|_| ()))
    }

    fn name(&self, extent: ExtentIndex) -> String {
        format!("{:08}.extent", extent.0)
    }
}
