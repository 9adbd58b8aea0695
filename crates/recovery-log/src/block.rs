//! A block: 64 bytes of header, frames, zeros up to the page.

use crate::lsn::{ExtentIndex, Geometry, Lsn};
use crate::{MAX_BLOCK, PAGE};

/// Bytes of a header.
pub(crate) const HEADER: usize = 64;
/// The only block format this version reads and writes.
pub(crate) const FORMAT: u16 = 1;
const MAGIC: [u8; 4] = *b"FMQL";
/// The checksum's own place in the header.
const CHECKSUM: usize = HEADER - 4;

/// What a block says about itself. Everything is little-endian, in the order of the fields:
/// magic 4, format 2, flags 1, extent shift 1, log id 8, term 8, sequence 8, LSN 8, pages back to durable 4, extents back
/// to the log's start 4, length 4, frames 4, checksum of the block before 4, checksum of this block 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The writer starts a block only when the one before it is durable.
    pub(crate) one_at_a_time: bool,
    pub(crate) geometry: Geometry,
    /// Random, chosen when the log was created.
    pub(crate) log_id: u64,
    /// Greater after each restart.
    pub(crate) term: u64,
    /// Blocks before this one since the log was created.
    pub(crate) sequence: u64,
    /// Where this block stands; a recycled extent's stale blocks say otherwise.
    pub(crate) lsn: Lsn,
    /// Everything below was durable when this block was sealed, `<= lsn`.
    pub(crate) durable: Lsn,
    /// The extent where the log started when this block was sealed, not after this block's.
    pub(crate) log_start: ExtentIndex,
    /// Bytes of header and frames, `HEADER..=MAX_BLOCK`; zeros follow up to the page.
    pub(crate) length: usize,
    /// Frames that start in this block.
    pub(crate) frames: u32,
    /// Checksum of the block before: the chain.
    pub(crate) previous: u32,
}

/// What stands at a place where a header could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No header of a block that belongs here: zeros, a stale block of a recycled extent, or anything else.
    Nothing,
    /// A header of another format.
    Format(u16, u64),
    /// A header that says that it belongs here. Its block is not checked yet.
    Header(Header),
}

impl Header {
    /// What everything before was proven durable by this block's existence.
    pub(crate) fn proves(&self) -> Lsn {
        if self.one_at_a_time { self.lsn } else { self.durable }
    }

    /// Bytes on disk: whole pages.
    pub(crate) fn size(&self) -> usize {
        self.length.next_multiple_of(PAGE)
    }

    /// Looks for a header at the start of `bytes` (at least [`HEADER`]), which stand at `lsn`.
    pub(crate) fn find(bytes: &[u8], lsn: Lsn) -> Found {
        let mut fields = Fields(bytes);
        if fields.take::<4>() != MAGIC {
            return Found::Nothing;
        }
        let format = u16::from_le_bytes(fields.take());
        let [flags] = fields.take();
        let [shift] = fields.take();
        let log_id = fields.u64();
        if format != FORMAT {
            return Found::Format(format, log_id);
        }
        Self::decode_rest(fields, flags, shift, log_id, lsn).map_or(Found::Nothing, Found::Header)
    }

    fn decode_rest(mut fields: Fields<'_>, flags: u8, shift: u8, log_id: u64, at: Lsn) -> Option<Header> {
        let geometry = Geometry::from_shift(shift)?;
        let header = Header {
            one_at_a_time: flags == 1,
            geometry,
            log_id,
            term: fields.u64(),
            sequence: fields.u64(),
            lsn: Lsn(fields.u64()),
            durable: Lsn(at.0.checked_sub(u64::from(fields.u32()) * PAGE as u64)?),
            log_start: ExtentIndex(geometry.extent(at).0.checked_sub(u64::from(fields.u32()))?),
            length: fields.u32() as usize,
            frames: fields.u32(),
            previous: fields.u32(),
        };
        let whole =
            (HEADER..=MAX_BLOCK).contains(&header.length) && header.size() as u64 <= geometry.rest(at);
        (flags <= 1 && header.lsn == at && whole).then_some(header)
    }

    /// Writes the header into the first bytes of `block` and returns the checksum. `block` is whole pages, its bytes
    /// beyond `length` are zero.
    pub(crate) fn seal(&self, block: &mut [u8]) -> u32 {
        let extent = self.geometry.extent(self.lsn);
        assert!(block.len() == self.size() && self.durable <= self.lsn && self.log_start <= extent);
        let mut header = [0; HEADER];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            header[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC);
        put(&FORMAT.to_le_bytes());
        put(&[u8::from(self.one_at_a_time), self.geometry.shift()]);
        put(&self.log_id.to_le_bytes());
        put(&self.term.to_le_bytes());
        put(&self.sequence.to_le_bytes());
        put(&self.lsn.0.to_le_bytes());
        put(&distance((self.lsn.0 - self.durable.0) / PAGE as u64).to_le_bytes());
        put(&distance(extent.0 - self.log_start.0).to_le_bytes());
        put(&(self.length as u32).to_le_bytes());
        put(&self.frames.to_le_bytes());
        put(&self.previous.to_le_bytes());
        assert_eq!(at, CHECKSUM, "the checksum is the header's last field");
        block[..HEADER].copy_from_slice(&header);
        let checksum = checksum(block);
        block[CHECKSUM..HEADER].copy_from_slice(&checksum.to_le_bytes());
        checksum
    }
}

/// The checksum of a whole block if it is the one it carries.
pub(crate) fn verify(block: &[u8]) -> Option<u32> {
    let stored = u32::from_le_bytes(block.get(CHECKSUM..HEADER)?.try_into().ok()?);
    (checksum(block) == stored).then_some(stored)
}

/// CRC32C over the block as if its checksum field were absent.
fn checksum(block: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block[..CHECKSUM]), &block[HEADER..])
}

/// Distances are of writes in flight and of live extents: 2^32 pages are 16 TiB, 2^32 extents of 64 KiB are 256 TiB.
fn distance(units: u64) -> u32 {
    u32::try_from(units).expect("a log spans less than its format can say")
}

/// Takes fields from the front; callers give at least [`HEADER`] bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        let (taken, rest) = self.0.split_at(N);
        field.copy_from_slice(taken);
        self.0 = rest;
        field
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// The extent shift in a header of this format, wherever it stands.
pub(crate) fn extent_shift(header: &[u8; HEADER]) -> Option<u8> {
    (header[..4] == MAGIC && header[4..6] == FORMAT.to_le_bytes()).then_some(header[7])
}
