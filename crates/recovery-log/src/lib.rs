//! The recovery log: extents, blocks, records as bytes, group commit and the restart scan
