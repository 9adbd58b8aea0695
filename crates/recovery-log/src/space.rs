//! Which extents exist, which are live, and what to do about it.

use crate::disk::DiskError;
use crate::lsn::ExtentIndex;
use crate::task::Preparation;

/// The extents of a log: `first <= start`, `first < ready`, and all of `first..ready` exist on the disk.
pub(crate) struct Space {
    /// The oldest that exists. Those below `start` were released.
    pub(crate) first: ExtentIndex,
    /// The oldest that is live.
    pub(crate) start: ExtentIndex,
    /// `start` as the newest durable block tells it: a restart will not miss an extent below.
    pub(crate) durable_start: ExtentIndex,
    /// One past the newest that exists.
    pub(crate) ready: ExtentIndex,
    /// The one that is being changed: an order that is out.
    pub(crate) preparing: Option<Preparation>,
    /// Extents kept beyond the one being filled.
    pub(crate) spare: u64,
    pub(crate) extent_size: u64,
    /// Creating the next extent failed for lack of space.
    pub(crate) full: Option<DiskError>,
}

impl Space {
    /// What should be done next while `filling` is the extent being filled. One order at a time keeps the numbers that
    /// exist without a gap, whenever a crash comes.
    pub(crate) fn order(&mut self, filling: ExtentIndex) -> Option<Preparation> {
        if self.preparing.is_none() {
            self.preparing = self.reclaim(filling).or_else(|| self.create(filling));
            return self.preparing;
        }
        None
    }

    fn reclaim(&self, filling: ExtentIndex) -> Option<Preparation> {
        if self.first >= self.durable_start {
            return None;
        }
        if self.spares(filling) < self.spare {
            return Some(Preparation::Recycle { from: self.first, to: self.ready });
        }
        Some(Preparation::Remove { extent: self.first })
    }

    fn create(&self, filling: ExtentIndex) -> Option<Preparation> {
        let wanted = self.spares(filling) == 0 && self.full.is_none();
        wanted.then_some(Preparation::Create { extent: self.ready, size: self.extent_size })
    }

    /// Extents that exist beyond the one being filled; the filling one itself may not exist yet.
    fn spares(&self, filling: ExtentIndex) -> u64 {
        self.ready.0.saturating_sub(filling.0 + 1)
    }

    /// An order was carried out.
    pub(crate) fn prepared(&mut self, preparation: Preparation) {
        assert_eq!(self.preparing.take(), Some(preparation), "only the order that is out can be completed");
        match preparation {
            Preparation::Create { extent, .. } => self.ready = extent.next(),
            Preparation::Recycle { from, to } => {
                self.first = from.next();
                self.ready = to.next();
            }
            Preparation::Remove { extent } => self.first = extent.next(),
        }
        self.full = None;
    }

    /// The disk has no room for another extent. Writing goes on in those that exist.
    pub(crate) fn refused(&mut self, error: DiskError) {
        self.preparing = None;
        self.full = Some(error);
    }
}
