//! How fast connections may come. Pure: the present is an argument.

/// A bucket that fills at a rate: each accept takes one token, and as many as 100 ms bring may come in a burst.
#[derive(Debug)]
pub(crate) struct AcceptPace {
    per_s: Option<u32>,
    /// Thousandths of an accept: `0 <= tokens <= full`.
    tokens: u64,
    filled_ms: u64,
}

/// One accept in the bucket's unit, so that a rate a second fills it by the rate in each millisecond.
const ONE: u64 = 1_000;

impl AcceptPace {
    /// `per_s` accepts a second, at least one; `None`: no limit.
    pub(crate) fn new(per_s: Option<u32>, now_ms: u64) -> AcceptPace {
        let per_s = per_s.map(|rate| rate.max(1));
        let mut pace = AcceptPace { per_s, tokens: 0, filled_ms: now_ms };
        pace.tokens = pace.full();
        pace
    }

    fn full(&self) -> u64 {
        (u64::from(self.per_s.unwrap_or(0)) * 100).max(ONE)
    }

    /// Takes leave for one accept, or says when to ask again.
    pub(crate) fn admit(&mut self, now_ms: u64) -> Result<(), u64> {
        let Some(per_s) = self.per_s.map(u64::from) else { return Ok(()) };
        let passed = now_ms.saturating_sub(self.filled_ms);
        self.tokens = self.tokens.saturating_add(passed.saturating_mul(per_s)).min(self.full());
        self.filled_ms = now_ms;
        match self.tokens.checked_sub(ONE) {
            Some(rest) => self.tokens = rest,
            None => return Err(now_ms + (ONE - self.tokens).div_ceil(per_s)),
        }
        Ok(())
    }

    /// Gives back the leave for an accept that found nobody.
    pub(crate) fn give_back(&mut self) {
        self.tokens = (self.tokens + ONE).min(self.full());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(pace: &mut AcceptPace, now_ms: u64) -> usize {
        (0..100_000).take_while(|_| pace.admit(now_ms).is_ok()).count()
    }

    #[test]
    fn without_a_limit_all_are_admitted() {
        assert_eq!(admitted(&mut AcceptPace::new(None, 0), 0), 100_000);
    }

    #[test]
    fn over_ten_seconds_the_rate_is_kept_whatever_the_rhythm() {
        for step in [1, 7, 50, 100] {
            let mut pace = AcceptPace::new(Some(500), 0);
            let sum: usize = (0..10_000).step_by(step).map(|now| admitted(&mut pace, now as u64)).sum();
            assert!((4_900..=5_050).contains(&sum), "{sum} in steps of {step} ms");
        }
    }

    #[test]
    fn a_refusal_says_when_the_next_is_admitted() {
        let mut pace = AcceptPace::new(Some(3), 0);
        assert_eq!(admitted(&mut pace, 0), 1);
        let at = pace.admit(0).unwrap_err();
        assert!(pace.admit(at - 1).is_err());
        assert!(pace.admit(at).is_ok());
    }

    #[test]
    fn leave_not_used_is_given_back() {
        let mut pace = AcceptPace::new(Some(1), 0);
        assert!(pace.admit(0).is_ok());
        pace.give_back();
        assert!(pace.admit(0).is_ok());
    }
}
