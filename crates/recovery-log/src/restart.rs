//! The restart scan: finds the log's start and end by itself, replays it, and tells a torn end from damage.

mod assembly;
mod scan;
mod verdict;

pub(crate) use assembly::Assembly;
use assembly::Fragment;
use scan::Scan;
use verdict::{Decision, Later, Place, decide};

use crate::block::{self, FORMAT, Found, HEADER, Header};
use crate::config::Config;
use crate::disk::{Disk, ExtentFile};
use crate::error::{Damage, OpenError, RecordRefused};
use crate::frame::{FRAME, frame_at};
use crate::log::Foundation;
use crate::lsn::{ExtentIndex, Geometry, Lsn};
use crate::space::Space;
use crate::{MAX_BLOCK, PAGE};
use alloc::format;
use alloc::string::String;

/// What a restart found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Identifies the log.
    pub log_id: u64,
    /// The number of this run, 1 for a new log.
    pub term: u64,
    /// Bytes of an extent, which an existing log keeps.
    pub extent_size: u64,
    /// Extents that exist, spare ones included.
    pub extents: u64,
    /// Blocks that were read.
    pub blocks: u64,
    /// Records that were replayed.
    pub records: u64,
    /// Where writing goes on.
    pub end: Lsn,
    /// What stood there.
    pub log_end: LogEnd,
    /// A record whose last fragment was never written; it was never durable and is dropped.
    pub unfinished: Option<Lsn>,
}

/// What stood behind the last durable block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// The log was created now.
    New,
    /// Nothing: the last run wrote nothing more.
    Clean,
    /// A write that was under way, cut off.
    Torn,
    /// Writes that were under way and arrived out of order; they were erased.
    Overtaken,
}

/// Takes a record of the log, or says why it cannot.
pub type Replay<'a> = dyn FnMut(Lsn, &[u8]) -> Result<(), RecordRefused> + 'a;

/// Finds out what is there, changing nothing before all of it is accepted.
pub(crate) fn open<D: Disk + ?Sized>(
    disk: &D,
    config: &Config,
    replay: &mut Replay<'_>,
) -> Result<(Foundation, Restart), OpenError> {
    let configured = check(config)?;
    let mut files = disk.extents()?;
    files.sort_unstable();
    match files.first() {
        None => create(disk, config, configured),
        Some(&first) => Walk::new(disk, &files, first)?.run(config, replay),
    }
}

fn check(config: &Config) -> Result<Geometry, OpenError> {
    let block = config.block_size;
    if !(2 * PAGE..=MAX_BLOCK).contains(&block) || !block.is_multiple_of(PAGE) {
        return Err(OpenError::Config("a block is 8 KiB to 1 MiB, in whole pages of 4 KiB"));
    }
    if config.writes_in_flight == 0 {
        return Err(OpenError::Config("at least one write must be allowed in flight"));
    }
    Geometry::from_extent_size(config.extent_size)
        .ok_or(OpenError::Config("an extent is a power of two, 64 KiB to 4 GiB"))
}

fn create<D: Disk + ?Sized>(
    disk: &D,
    config: &Config,
    geometry: Geometry,
) -> Result<(Foundation, Restart), OpenError> {
    let extent = ExtentIndex(0);
    disk.create(extent, geometry.extent_size())?;
    let space = space(config, geometry, extent, extent, extent.next());
    let foundation = Foundation {
        geometry,
        log_id: config.new_log_id,
        term: 1,
        sequence: 0,
        previous: 0,
        end: Lsn(0),
        space,
    };
    let restart = Restart {
        log_id: config.new_log_id,
        term: 1,
        extent_size: geometry.extent_size(),
        extents: 1,
        blocks: 0,
        records: 0,
        end: Lsn(0),
        log_end: LogEnd::New,
        unfinished: None,
    };
    Ok((foundation, restart))
}

fn space(
    config: &Config,
    geometry: Geometry,
    first: ExtentIndex,
    start: ExtentIndex,
    ready: ExtentIndex,
) -> Space {
    Space {
        first,
        start,
        durable_start: start,
        ready,
        preparing: None,
        spare: config.spare_extents.max(1),
        extent_size: geometry.extent_size(),
        full: None,
    }
}

/// The way through the log, block by block.
struct Walk<'a, D: Disk + ?Sized> {
    scan: Scan<'a, D>,
    geometry: Geometry,
    first: ExtentIndex,
    /// One past the last extent that exists.
    ready: ExtentIndex,
    position: Lsn,
    /// The last block that was accepted, and its checksum.
    last: Option<(Header, u32)>,
    assembly: Assembly,
    blocks: u64,
    records: u64,
}

impl<'a, D: Disk + ?Sized> Walk<'a, D> {
    /// Checks that the files can be a log at all: one size, no gap.
    fn new(disk: &'a D, files: &[ExtentFile], first: ExtentFile) -> Result<Self, OpenError> {
        let geometry = geometry(disk, first)?;
        let mut expected = first.extent;
        for file in files {
            if file.extent != expected {
                return Err(damaged(disk, expected, 0, "the extent is missing, later ones exist".into()));
            }
            if file.size != geometry.extent_size() {
                let what = format!("the extent has {} bytes, not {}", file.size, geometry.extent_size());
                return Err(damaged(disk, expected, file.size, what));
            }
            expected = expected.next();
        }
        Ok(Walk {
            scan: Scan::new(disk, geometry),
            geometry,
            first: first.extent,
            ready: expected,
            position: geometry.start(first.extent),
            last: None,
            assembly: Assembly::default(),
            blocks: 0,
            records: 0,
        })
    }

    fn run(mut self, config: &Config, replay: &mut Replay<'_>) -> Result<(Foundation, Restart), OpenError> {
        let place = loop {
            match self.place()? {
                Place::Live(header, checksum) => self.accept(header, checksum, replay)?,
                other => break other,
            }
        };
        let log_end = self.end(place)?;
        self.check_start()?;
        Ok(self.finish(config, log_end))
    }

    /// What stands where the next block is expected.
    fn place(&mut self) -> Result<Place, OpenError> {
        let extent = self.geometry.extent(self.position);
        if extent == self.ready {
            // A block goes out only when the place after it exists.
            return Err(self.damage(extent, 0, "the extent is missing, the one before is full".into()));
        }
        let at_extent_start = self.geometry.offset(self.position) == 0;
        match Header::find(self.scan.bytes(self.position, HEADER)?, self.position) {
            Found::Nothing => Ok(Place::Nothing),
            Found::Format(found, id) if self.is_ours(id, at_extent_start) => Err(OpenError::Version {
                file: self.scan.disk().name(extent),
                offset: self.geometry.offset(self.position),
                found,
                known: FORMAT,
            }),
            Found::Header(header) if self.is_ours(header.log_id, at_extent_start) => self.judge(header),
            // Below an extent's start a header of another log is what some client wrote into a record.
            Found::Format(..) | Found::Header(_) => Ok(Place::Nothing),
        }
    }

    /// The start of an extent is never a record's bytes, so whatever is there is meant.
    fn is_ours(&self, log_id: u64, at_extent_start: bool) -> bool {
        at_extent_start || self.last.is_some_and(|(last, _)| last.log_id == log_id)
    }

    fn judge(&mut self, header: Header) -> Result<Place, OpenError> {
        if header.geometry != self.geometry {
            return Ok(Place::Torn);
        }
        let Some(checksum) = block::verify(self.scan.bytes(self.position, header.size())?) else {
            return Ok(Place::Torn);
        };
        Ok(match self.last.and_then(|(last, chain)| breaks(&last, chain, &header)) {
            Some(why) => Place::Foreign(why),
            None => Place::Live(header, checksum),
        })
    }

    /// Replays the records of a block and goes on behind it.
    fn accept(&mut self, header: Header, checksum: u32, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        if self.last.is_some_and(|(last, _)| last.term < header.term) {
            self.assembly.abandon();
        }
        let block = self.scan.bytes(self.position, header.size())?;
        let mut at = HEADER;
        for _ in 0..header.frames {
            let lsn = Lsn(self.position.0 + at as u64);
            let frame = frame_at(block, at, header.length);
            let fragment =
                frame.map(|frame| Fragment { lsn, frame, bytes: &block[at + FRAME..][..frame.length] });
            let taken = fragment.ok_or("a frame leaves its block").and_then(|fragment| {
                at += FRAME + fragment.frame.length;
                self.assembly.take(fragment)
            });
            match taken {
                Ok(Some((lsn, record))) => {
                    self.records += 1;
                    replay(lsn, record).map_err(|refused| OpenError::Replay { lsn, reason: refused.0 })?;
                }
                Ok(None) => {}
                Err(what) => return Err(self.damage_at(lsn, what.into())),
            }
        }
        if at != header.length {
            return Err(self.damage_at(self.position, "the frames do not fill the block".into()));
        }
        self.position = Lsn(self.position.0 + header.size() as u64);
        self.last = Some((header, checksum));
        self.blocks += 1;
        Ok(())
    }

    /// Decides whether the log ends here, and erases what was in flight behind its end.
    fn end(&mut self, place: Place) -> Result<LogEnd, OpenError> {
        let later = self.later()?;
        // The oldest extent of a log that has lived starts with a durable block.
        let lived = self.last.is_some() || self.first > ExtentIndex(0);
        let proof = if self.last.is_none() && lived { Later::Proof(self.position) } else { later };
        match decide(place, proof) {
            Decision::End(log_end) => {
                if let Later::Unproven(end) = later {
                    self.scan.erase(self.position, end)?;
                }
                Ok(log_end)
            }
            Decision::Refuse(what) => Err(self.damage_at(self.position, what)),
        }
    }

    /// Looks for whole blocks of this log behind the place where it may end.
    fn later(&mut self) -> Result<Later, OpenError> {
        let hole = self.position;
        let mut later = Later::Nothing;
        let mut at = Lsn(hole.0 + PAGE as u64);
        while self.geometry.extent(at) < self.ready {
            if let Some(header) = self.whole_block(at)? {
                if header.proves() > hole {
                    return Ok(Later::Proof(at));
                }
                later = Later::Unproven(Lsn(at.0 + header.size() as u64));
            }
            at = Lsn(at.0 + PAGE as u64);
        }
        Ok(later)
    }

    fn whole_block(&mut self, at: Lsn) -> Result<Option<Header>, OpenError> {
        let Found::Header(header) = Header::find(self.scan.bytes(at, HEADER)?, at) else {
            return Ok(None);
        };
        let known = self.last.is_none_or(|(last, _)| last.log_id == header.log_id);
        if !known || header.geometry != self.geometry {
            return Ok(None);
        }
        let whole = block::verify(self.scan.bytes(at, header.size())?).is_some();
        Ok(whole.then_some(header))
    }

    /// The last block tells where the log started: nothing before it may be missing.
    fn check_start(&self) -> Result<(), OpenError> {
        match self.last {
            Some((last, _)) if last.log_start < self.first => {
                Err(self.damage(last.log_start, 0, "the extent is missing, the log starts in it".into()))
            }
            _ => Ok(()),
        }
    }

    fn finish(self, config: &Config, log_end: LogEnd) -> (Foundation, Restart) {
        let (log_id, term, sequence, previous, start) = match self.last {
            Some((last, checksum)) => {
                (last.log_id, last.term + 1, last.sequence + 1, checksum, last.log_start)
            }
            None => (config.new_log_id, 1, 0, 0, self.first),
        };
        let (geometry, end) = (self.geometry, self.position);
        let space = space(config, geometry, self.first, start, self.ready);
        let restart = Restart {
            log_id,
            term,
            extent_size: geometry.extent_size(),
            extents: self.ready.0 - self.first.0,
            blocks: self.blocks,
            records: self.records,
            end,
            log_end,
            unfinished: self.assembly.unfinished(),
        };
        (Foundation { geometry, log_id, term, sequence, previous, end, space }, restart)
    }

    fn damage_at(&self, lsn: Lsn, what: String) -> OpenError {
        self.damage(self.geometry.extent(lsn), self.geometry.offset(lsn), what)
    }

    fn damage(&self, extent: ExtentIndex, offset: u64, what: String) -> OpenError {
        damaged(self.scan.disk(), extent, offset, what)
    }
}

/// Why a whole block of this log does not follow the one before it.
fn breaks(last: &Header, chain: u32, next: &Header) -> Option<&'static str> {
    if next.log_id != last.log_id {
        return Some("the block belongs to another log");
    }
    if next.sequence != last.sequence + 1 {
        return Some("the block's sequence number does not follow");
    }
    if next.term < last.term {
        return Some("the block's term goes back");
    }
    (next.previous != chain).then_some("the block does not chain to the one before it")
}

/// The first header tells the size of an extent; without one, the file does.
fn geometry<D: Disk + ?Sized>(disk: &D, first: ExtentFile) -> Result<Geometry, OpenError> {
    let by_size = Geometry::from_extent_size(first.size);
    if first.size < PAGE as u64 {
        return Err(damaged(disk, first.extent, first.size, "the extent is cut short".into()));
    }
    // The header's place is checked later; here only its shift counts, which any placement gives.
    let mut header = [0; HEADER];
    disk.read(first.extent, 0, &mut header)?;
    let told = block::extent_shift(&header).and_then(Geometry::from_shift);
    told.or(by_size).ok_or_else(|| {
        let what = format!("the extent has {} bytes, which is no power of two", first.size);
        damaged(disk, first.extent, first.size, what)
    })
}

fn damaged<D: Disk + ?Sized>(disk: &D, extent: ExtentIndex, offset: u64, what: String) -> OpenError {
    OpenError::Damaged(Damage { file: disk.name(extent), offset, what })
}
