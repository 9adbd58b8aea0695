//! Timers by number, in a hierarchical wheel: O(1) to arm and re-arm, nothing to do while they are not due.
//!
//! Seven levels of 64 slots; a slot of level `l` spans 64^l ms. An entry lies on the level of the highest digit (base
//! 64) in which its time differs from the present, so it moves down a level at most six times. Re-arming is lazy: to a
//! later time it only overwrites a number, and the entry moves when its old slot comes up. (After Varghese and Lauck.)
//!
//! Pure: the present is an argument.

const LEVELS: usize = 7;
const SLOTS: usize = 64;
const DIGIT_BITS: u32 = SLOTS.trailing_zeros();

/// Times from here on are treated as this one: 2^42 ms since the Unix epoch is the year 2109.
const LATEST: u64 = (1 << (DIGIT_BITS * LEVELS as u32)) - 1;

const NEVER: u64 = u64::MAX;
const FIRED: u64 = u64::MAX - 1;
const NO_KEY: u32 = u32::MAX;
const NO_BUCKET: u16 = u16::MAX;

/// Timers numbered by small dense keys, one time each.
#[derive(Debug)]
pub(crate) struct TimerWheel {
    entries: Vec<Entry>,
    /// First key of each bucket's list; bucket = level * SLOTS + slot.
    heads: [u32; LEVELS * SLOTS],
    /// A bit for each slot of a level whose list is not empty.
    occupied: [u64; LEVELS],
    /// The first millisecond not yet expired; no bucket starts before it.
    now: u64,
}

/// 24 bytes, counted in the memory of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// When, or NEVER, or FIRED. In a list: never before the bucket's start.
    due: u64,
    next: u32,
    prev: u32,
    /// The list it is in, or NO_BUCKET.
    bucket: u16,
}

impl Entry {
    const OFF: Entry = Entry { due: NEVER, next: NO_KEY, prev: NO_KEY, bucket: NO_BUCKET };
}

impl TimerWheel {
    /// No timers; the first millisecond to expire is `now_ms`.
    pub(crate) fn new(now_ms: u64) -> TimerWheel {
        TimerWheel {
            entries: Vec::new(),
            heads: [NO_KEY; LEVELS * SLOTS],
            occupied: [0; LEVELS],
            now: now_ms.min(LATEST),
        }
    }

    /// Arms `key` for `due_ms` in place of what it was armed for; a time in the past is due at once.
    pub(crate) fn set(&mut self, key: u32, due_ms: u64) {
        if key as usize >= self.entries.len() {
            self.entries.resize(key as usize + 1, Entry::OFF);
        }
        let due = due_ms.clamp(self.now, LATEST);
        let entry = &mut self.entries[key as usize];
        entry.due = due;
        let bucket = entry.bucket;
        if bucket == NO_BUCKET {
            self.link(key, due);
        } else if due < self.start_of(bucket) {
            self.unlink(key);
            self.link(key, due);
        }
    }

    /// Disarms `key`, also if it has fired and was not taken yet.
    pub(crate) fn clear(&mut self, key: u32) {
        if let Some(entry) = self.entries.get_mut(key as usize) {
            entry.due = NEVER;
        }
    }

    /// Pushes the keys due up to and including `now_ms` in the order of their times. Each is then to be taken with
    /// [`TimerWheel::take_fired`], for what is done for one may disarm another.
    pub(crate) fn expire(&mut self, now_ms: u64, fired: &mut Vec<u32>) {
        while let Some((start, bucket)) = self.first_bucket().filter(|(start, _)| *start <= now_ms) {
            self.now = start;
            self.empty_bucket(bucket, fired);
        }
        self.now = self.now.max(now_ms.saturating_add(1)).min(LATEST);
    }

    /// Whether `key` has fired and was neither disarmed nor armed anew since; once.
    pub(crate) fn take_fired(&mut self, key: u32) -> bool {
        let due = &mut self.entries[key as usize].due;
        let fired = *due == FIRED;
        if fired {
            *due = NEVER;
        }
        fired
    }

    /// When [`TimerWheel::expire`] has something to do next: no timer is due before, perhaps none is due then.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.first_bucket().map(|(start, _)| start)
    }

    /// The bucket that starts first; of two that start at once the coarser one, whose entries belong below.
    fn first_bucket(&self) -> Option<(u64, u16)> {
        (0..LEVELS)
            .rev()
            .filter(|level| self.occupied[*level] != 0)
            .map(|level| (level * SLOTS) as u16 + self.occupied[level].trailing_zeros() as u16)
            .map(|bucket| (self.start_of(bucket), bucket))
            .min_by_key(|(start, _)| *start)
    }

    /// The first millisecond of a bucket: the digits above its level are those of the present.
    fn start_of(&self, bucket: u16) -> u64 {
        let (level, slot) = (u32::from(bucket) / SLOTS as u32, u64::from(bucket) % SLOTS as u64);
        let above = self.now >> (DIGIT_BITS * (level + 1)) << (DIGIT_BITS * (level + 1));
        above | slot << (DIGIT_BITS * level)
    }

    fn bucket_for(&self, due: u64) -> u16 {
        let differing = (self.now ^ due) | 1;
        let level = differing.ilog2() / DIGIT_BITS;
        let slot = due >> (DIGIT_BITS * level) & (SLOTS as u64 - 1);
        (level as usize * SLOTS) as u16 + slot as u16
    }

    /// Takes every entry out of a bucket that starts now: due ones fire, the others find their place anew.
    fn empty_bucket(&mut self, bucket: u16, fired: &mut Vec<u32>) {
        let mut key = std::mem::replace(&mut self.heads[bucket as usize], NO_KEY);
        self.set_occupied(bucket, false);
        while key != NO_KEY {
            let entry = &mut self.entries[key as usize];
            let (this, due) = (key, entry.due);
            key = entry.next;
            entry.bucket = NO_BUCKET;
            if due == self.now {
                entry.due = FIRED;
                fired.push(this);
            } else if due <= LATEST {
                self.link(this, due);
            }
        }
    }

    fn link(&mut self, key: u32, due: u64) {
        let bucket = self.bucket_for(due);
        let next = std::mem::replace(&mut self.heads[bucket as usize], key);
        if next != NO_KEY {
            self.entries[next as usize].prev = key;
        }
        let entry = &mut self.entries[key as usize];
        (entry.next, entry.prev, entry.bucket) = (next, NO_KEY, bucket);
        self.set_occupied(bucket, true);
    }

    fn unlink(&mut self, key: u32) {
        let Entry { next, prev, bucket, .. } = self.entries[key as usize];
        match self.entries.get_mut(prev as usize) {
            Some(before) => before.next = next,
            None => self.heads[bucket as usize] = next,
        }
        if let Some(after) = self.entries.get_mut(next as usize) {
            after.prev = prev;
        }
        self.set_occupied(bucket, self.heads[bucket as usize] != NO_KEY);
    }

    fn set_occupied(&mut self, bucket: u16, occupied: bool) {
        let (level, slot) = (bucket as usize / SLOTS, bucket as usize % SLOTS);
        self.occupied[level] = self.occupied[level] & !(1 << slot) | u64::from(occupied) << slot;
    }
}

#[cfg(test)]
mod tests;
