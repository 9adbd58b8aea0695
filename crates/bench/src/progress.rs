//! The progress line: once a second, while a run goes on.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::latency::Latency;
use crate::load::{Observer, Progress};
use crate::meter::{Meter, Reading};

const SECOND_US: u64 = 1_000_000;

/// Tells an observer once a second how the run stands.
pub struct Ticker<'a> {
    observer: Observer<'a>,
    meter: Meter,
    begun_us: u64,
    last_us: u64,
    last_count: u64,
    last_reading: Reading,
}

impl<'a> Ticker<'a> {
    /// Starts with the first tick.
    pub fn new(observer: Observer<'a>, meter: Meter) -> Self {
        Self { observer, meter, begun_us: 0, last_us: 0, last_count: 0, last_reading: meter.read_cpu() }
    }

    /// Reports when a second has passed since the last report.
    pub fn tick(
        &mut self,
        now_us: u64,
        phase: &'static str,
        connections: (u32, u32),
        count: u64,
        latency: &Latency,
    ) {
        if self.begun_us == 0 {
            (self.begun_us, self.last_us) = (now_us, now_us);
        }
        let passed_us = now_us - self.last_us;
        if passed_us < SECOND_US {
            return;
        }
        let reading = self.meter.read_cpu();
        let (server, client) = reading.since(&self.last_reading);
        let busy = |time: Duration| time.as_micros() as f64 / passed_us as f64;
        (self.observer)(&Progress {
            phase,
            elapsed: Duration::from_micros(now_us - self.begun_us),
            connections,
            rate: (count - self.last_count) as f64 * SECOND_US as f64 / passed_us as f64,
            latency: latency.percentiles(),
            server_busy: server.map(busy),
            client_busy: busy(client),
        });
        (self.last_us, self.last_count, self.last_reading) = (now_us, count, reading);
    }

    /// Whether the last report was at `now_us`.
    pub fn ticked_at(&self, now_us: u64) -> bool {
        self.last_us == now_us
    }
}

/// The line for one report.
pub fn line(progress: &Progress) -> String {
    let latency = progress
        .latency
        .map_or_else(|| "warming up".to_owned(), |l| format!("p50 {} us p99 {} us", l.p50, l.p99));
    let server = progress.server_busy.map_or_else(|| "?".to_owned(), |busy| format!("{:.0}%", busy * 100.0));
    let (ready, wanted) = progress.connections;
    format!(
        "{:5.1} s  {}  {:.0}/s  {latency}  {ready}/{wanted} connections  server {server} client {:.0}%",
        progress.elapsed.as_secs_f64(),
        progress.phase,
        progress.rate,
        progress.client_busy * 100.0
    )
}

/// Writes the line to standard error: in place on a terminal, a line each otherwise.
pub fn show(progress: &Progress) {
    let mut stderr = std::io::stderr();
    // Nobody reads the progress when standard error is closed.
    let _ = match stderr.is_terminal() {
        true => write!(stderr, "\r\x1b[K{}", line(progress)),
        false => writeln!(stderr, "{}", line(progress)),
    };
}

/// Ends the line in place.
pub fn end() {
    if std::io::stderr().is_terminal() {
        let _ = writeln!(std::io::stderr());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_once_a_second_with_the_rate_since_the_last() {
        let mut rates = Vec::new();
        let mut observer = |p: &Progress| rates.push((p.rate, p.connections));
        let mut ticker = Ticker::new(&mut observer, Meter { server: None });
        for (now_us, count) in [(5, 0), (500_000, 90), (1_000_005, 100), (1_100_000, 200), (3_000_005, 500)] {
            ticker.tick(now_us, "running", (3, 4), count, &Latency::default());
        }
        assert_eq!(rates, [(100.0, (3, 4)), (200.0, (3, 4))]);
    }

    #[test]
    fn the_line_names_rate_latency_connections_and_processors() {
        let text = line(&Progress {
            phase: "running",
            elapsed: Duration::from_millis(2_500),
            connections: (3, 4),
            rate: 1234.4,
            latency: None,
            server_busy: Some(0.5),
            client_busy: 0.25,
        });
        assert_eq!(text, "  2.5 s  running  1234/s  warming up  3/4 connections  server 50% client 25%");
    }
}
