//! Puts fragmented records together again.

use crate::frame::{Frame, Part};
use crate::lsn::Lsn;
use alloc::vec::Vec;

/// A frame with its bytes and its place.
pub(crate) struct Fragment<'a> {
    pub(crate) lsn: Lsn,
    pub(crate) frame: Frame,
    pub(crate) bytes: &'a [u8],
}

/// The record that is being put together, if one is.
#[derive(Default)]
pub(crate) struct Assembly {
    /// Where it started. Its bytes so far are in `buffer`.
    open: Option<Lsn>,
    buffer: Vec<u8>,
    /// A record started since the log's oldest extent did; before, fragments of released records are passed over.
    started: bool,
}

impl Assembly {
    /// Takes the next frame; returns the record that it completes.
    pub(crate) fn take<'a>(
        &'a mut self,
        fragment: Fragment<'a>,
    ) -> Result<Option<(Lsn, &'a [u8])>, &'static str> {
        let Fragment { lsn, frame, bytes } = fragment;
        if matches!(frame.part, Part::Whole | Part::First) {
            self.started = true;
            if self.open.is_some() {
                return Err("a record begins before the one before it ends");
            }
        }
        match frame.part {
            Part::Whole => return Ok(Some((lsn, bytes))),
            Part::First => {
                self.open = Some(lsn);
                self.buffer.clear();
            }
            Part::Middle | Part::Last if self.open.is_none() => {
                return if self.started {
                    Err("a fragment without its record's beginning")
                } else {
                    Ok(None)
                };
            }
            Part::Middle | Part::Last => {}
        }
        self.buffer.extend_from_slice(bytes);
        if frame.part != Part::Last {
            return Ok(None);
        }
        Ok(self.open.take().map(|lsn| (lsn, &self.buffer[..])))
    }

    /// The run that wrote the open record ended before it was whole.
    pub(crate) fn abandon(&mut self) {
        self.open = None;
    }

    /// Where the open record started.
    pub(crate) fn unfinished(&self) -> Option<Lsn> {
        self.open
    }
}
