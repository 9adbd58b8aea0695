//! Reading records back: from memory until they are durable, from the disk afterwards.

use crate::block::{self, Found, HEADER, Header};
use crate::disk::Disk;
use crate::error::{Damage, ReadError};
use crate::frame::{FRAME, Frame, Part, frame_at};
use crate::log::RecoveryLog;
use crate::lsn::{ExtentIndex, Lsn};
use crate::{MAX_BLOCK, PAGE};
use alloc::vec;
use alloc::vec::Vec;

/// The block that was read last: records are mostly read in the order in which they were written.
#[derive(Default)]
pub(crate) struct Reader {
    /// Header, frames and zeros; empty before the first read.
    block: Vec<u8>,
    start: Lsn,
    /// Bytes of header and frames.
    used: usize,
}

/// A block, wherever it was found.
struct View<'a> {
    start: Lsn,
    /// Header and frames.
    used: &'a [u8],
}

impl View<'_> {
    fn next(&self) -> Lsn {
        Lsn(self.start.0 + self.used.len().next_multiple_of(PAGE) as u64)
    }
}

impl RecoveryLog {
    /// Reads the record at `lsn`, which [`append`](Self::append), the replay or [`read_extent`](Self::read_extent)
    /// gave, into `into`, replacing what is there.
    ///
    /// # Errors
    /// [`ReadError::NoRecord`] for a released or never written place; damage is named.
    pub fn read(
        &mut self,
        disk: &(impl Disk + ?Sized),
        lsn: Lsn,
        into: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let mut reader = core::mem::take(&mut self.reader);
        let result = self.read_with(&mut reader, disk, lsn, into);
        self.reader = reader;
        result
    }

    /// Gives every record that starts in a live extent to `visit`, in order.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_extent(
        &self,
        disk: &(impl Disk + ?Sized),
        extent: ExtentIndex,
        visit: &mut dyn FnMut(Lsn, &[u8]),
    ) -> Result<(), ReadError> {
        let mut at = self.geometry.start(extent);
        let end = self.geometry.start(extent.next()).min(self.end());
        while at < end {
            at = self.read_block(disk, at, visit)?;
        }
        Ok(())
    }

    /// Gives every record that starts in the block at `at` to `visit`, in order, and says where the next block starts:
    /// what roll-forward looks through, a block at a time so that it never holds up traffic.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_block(
        &self,
        disk: &(impl Disk + ?Sized),
        at: Lsn,
        visit: &mut dyn FnMut(Lsn, &[u8]),
    ) -> Result<Lsn, ReadError> {
        let (mut reader, mut rest) = (Reader::default(), Reader::default());
        let mut large = Vec::new();
        let block = self.view(&mut reader, disk, at, |_| Ok(at))?;
        for (offset, frame) in frames(block.used) {
            let lsn = Lsn(block.start.0 + offset as u64);
            match frame.part {
                Part::Whole => visit(lsn, &block.used[offset + FRAME..][..frame.length]),
                Part::First => {
                    self.read_with(&mut rest, disk, lsn, &mut large)?;
                    visit(lsn, &large);
                }
                Part::Middle | Part::Last => {}
            }
        }
        Ok(block.next())
    }

    fn read_with(
        &self,
        reader: &mut Reader,
        disk: &(impl Disk + ?Sized),
        lsn: Lsn,
        into: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        into.clear();
        let block = self.view(reader, disk, lsn, |disk| self.find_block(disk, lsn))?;
        let mut at = (lsn.0 - block.start.0) as usize;
        let mut part = frame_part(block.used, at, into).ok_or(ReadError::NoRecord(lsn))?;
        if matches!(part, Part::Middle | Part::Last) {
            return Err(ReadError::NoRecord(lsn));
        }
        let mut next = block.next();
        while !matches!(part, Part::Whole | Part::Last) {
            let block = self.view(reader, disk, next, |_| Ok(next))?;
            at = HEADER;
            part = frame_part(block.used, at, into).ok_or(ReadError::NoRecord(lsn))?;
            next = block.next();
        }
        Ok(())
    }

    /// The block that holds `lsn`. `start` finds where it starts if it is on the disk and not read yet.
    fn view<'a, D: Disk + ?Sized>(
        &'a self,
        reader: &'a mut Reader,
        disk: &D,
        lsn: Lsn,
        start: impl FnOnce(&D) -> Result<Lsn, ReadError>,
    ) -> Result<View<'a>, ReadError> {
        if lsn < self.geometry.start(self.space.start) || lsn >= self.end() {
            return Err(ReadError::NoRecord(lsn));
        }
        if lsn >= self.durable {
            return self.in_memory(lsn).ok_or(ReadError::NoRecord(lsn));
        }
        if !reader.holds(lsn) {
            let start = start(disk)?;
            self.load(reader, disk, start)?;
        }
        Ok(View { start: reader.start, used: &reader.block[..reader.used] })
    }

    fn in_memory(&self, lsn: Lsn) -> Option<View<'_>> {
        let sent = self
            .in_flight
            .iter()
            .map(|block| View { start: block.header().lsn, used: &block.bytes()[..block.header().length] });
        let waiting = self
            .full
            .iter()
            .chain([&self.filling])
            .map(|block| View { start: block.lsn(), used: block.bytes() });
        sent.chain(waiting).find(|view| view.start <= lsn && lsn < view.next())
    }

    /// The frame's word tells how far back its block starts.
    fn find_block<D: Disk + ?Sized>(&self, disk: &D, lsn: Lsn) -> Result<Lsn, ReadError> {
        let (extent, offset) = (self.geometry.extent(lsn), self.geometry.offset(lsn));
        if self.geometry.rest(lsn) < FRAME as u64 {
            return Err(ReadError::NoRecord(lsn));
        }
        let mut word = [0; FRAME];
        disk.read(extent, offset, &mut word)?;
        let frame = Frame::decode(word).ok_or(ReadError::NoRecord(lsn))?;
        let page = offset / PAGE as u64;
        let first = page.checked_sub(frame.page as u64).ok_or(ReadError::NoRecord(lsn))?;
        Ok(Lsn(self.geometry.start(extent).0 + first * PAGE as u64))
    }

    fn load<D: Disk + ?Sized>(&self, reader: &mut Reader, disk: &D, start: Lsn) -> Result<(), ReadError> {
        let (extent, offset) = (self.geometry.extent(start), self.geometry.offset(start));
        let damaged = |what: &str| Damage { file: disk.name(extent), offset, what: what.into() };
        reader.used = 0;
        if reader.block.is_empty() {
            reader.block = vec![0; MAX_BLOCK];
        }
        let first_page = &mut reader.block[..PAGE];
        disk.read(extent, offset, first_page)?;
        let header = match Header::find(first_page, start) {
            Found::Header(header) if header.log_id == self.log_id => header,
            _ => return Err(damaged("no block starts here any more").into()),
        };
        if header.size() > PAGE {
            disk.read(extent, offset + PAGE as u64, &mut reader.block[PAGE..header.size()])?;
        }
        if block::verify(&reader.block[..header.size()]).is_none() {
            return Err(damaged("the block's checksum is wrong").into());
        }
        (reader.start, reader.used) = (start, header.length);
        Ok(())
    }
}

impl Reader {
    fn holds(&self, lsn: Lsn) -> bool {
        self.used > 0 && self.start <= lsn && lsn.0 < self.start.0 + self.used as u64
    }
}

/// Appends the bytes of the frame at `at` to `into`.
fn frame_part(used: &[u8], at: usize, into: &mut Vec<u8>) -> Option<Part> {
    let frame = (at >= HEADER).then(|| frame_at(used, at, used.len()))??;
    into.extend_from_slice(&used[at + FRAME..][..frame.length]);
    Some(frame.part)
}

/// The frames of a block with their offsets.
fn frames(used: &[u8]) -> impl Iterator<Item = (usize, Frame)> {
    let mut at = HEADER;
    core::iter::from_fn(move || {
        let frame = frame_at(used, at, used.len())?;
        let offset = at;
        at += FRAME + frame.length;
        Some((offset, frame))
    })
}
