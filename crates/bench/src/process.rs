//! What a process costs, read from outside: processor time, resident memory, and which process listens on a port.

use std::fs;
use std::io;
use std::time::Duration;

/// A process identifier of the operating system.
pub type Pid = u32;

/// Processor time (user + system) `pid` has used since it started, exited threads included.
///
/// Taken from the process's CPU clock in nanoseconds; where that is refused, from `/proc/<pid>/task/*/schedstat`
/// (nanoseconds, living threads only) and last `/proc/<pid>/stat` (ticks of 10 ms).
///
/// # Errors
/// When the process is gone.
pub fn cpu_time(pid: Pid) -> io::Result<Duration> {
    cpu_clock(pid).or_else(|_| tasks_schedstat(pid)).or_else(|_| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        parse_stat(&stat, ticks_per_second()).ok_or_else(|| unreadable("stat"))
    })
}

/// Whether `pid` is there and has not ended; one that ended and waits for its parent's interest has.
pub fn is_running(pid: Pid) -> bool {
    let state = |stat: String| stat[stat.rfind(')')? + 1..].trim_start().chars().next();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    stat.and_then(state).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Processor time this process has used itself.
pub fn own_cpu_time() -> Duration {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default()
}

fn cpu_clock(pid: Pid) -> io::Result<Duration> {
    let mut id: libc::clockid_t = 0;
    // SAFETY: `id` is a valid place for the result; a wrong pid is an error, not undefined.
    match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut id) } {
        0 => clock(id),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

fn clock(id: libc::clockid_t) -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    if unsafe { libc::clock_gettime(id, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

fn tasks_schedstat(pid: Pid) -> io::Result<Duration> {
    let mut total = Duration::ZERO;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end between the listing and the read.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        total += parse_schedstat(&text).ok_or_else(|| unreadable("schedstat"))?;
    }
    Ok(total)
}

/// The first field of a `schedstat`: nanoseconds on a processor.
pub fn parse_schedstat(text: &str) -> Option<Duration> {
    Some(Duration::from_nanos(text.split_ascii_whitespace().next()?.parse().ok()?))
}

/// utime + stime of a `/proc/<pid>/stat` line. The name in parentheses may hold blanks and parentheses itself.
pub fn parse_stat(text: &str, ticks_per_second: u64) -> Option<Duration> {
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_micros((user + system) * 1_000_000 / ticks_per_second))
}

fn ticks_per_second() -> u64 {
    system_constant(libc::_SC_CLK_TCK, 100)
}

fn system_constant(name: libc::c_int, else_take: u64) -> u64 {
    // SAFETY: takes a number, returns a number.
    u64::try_from(unsafe { libc::sysconf(name) }).ok().filter(|&value| value > 0).unwrap_or(else_take)
}

/// Resident memory of `pid` in bytes, kernel socket buffers not included: `smaps_rollup`, else `statm` (which lags
/// behind by some pages a processor).
///
/// # Errors
/// When the process is gone or neither file may be read.
pub fn resident_bytes(pid: Pid) -> io::Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    if let Some(bytes) = rollup.as_deref().and_then(parse_smaps_rollup) {
        return Ok(bytes);
    }
    let statm = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    parse_statm(&statm, system_constant(libc::_SC_PAGESIZE, 4096)).ok_or_else(|| unreadable("statm"))
}

/// The `Rss:` line of a `smaps_rollup`, in bytes.
pub fn parse_smaps_rollup(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The second field of a `statm` (resident pages), in bytes.
pub fn parse_statm(text: &str, page_size: u64) -> Option<u64> {
    Some(text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * page_size)
}

/// The local process that listens on TCP `port`, when there is one whose descriptors may be read.
pub fn listening_on(port: u16) -> Option<Pid> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|text| listening_inodes(&text, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let pids =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|e| e.file_name().to_str()?.parse::<Pid>().ok());
    pids.into_iter().find(|&pid| has_socket(pid, &inodes))
}

/// Inodes of the listening sockets (state 0A) on `port` in a `/proc/net/tcp` table.
pub fn listening_inodes(table: &str, port: u16) -> Vec<u64> {
    let wanted = format!(":{port:04X}");
    let listening = |line: &str| -> Option<u64> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        (fields.get(1)?.ends_with(&wanted) && *fields.get(3)? == "0A").then(|| fields.get(9)?.parse().ok())?
    };
    table.lines().skip(1).filter_map(listening).collect()
}

fn has_socket(pid: Pid, sockets: &[String]) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut links = descriptors.flatten().filter_map(|d| fs::read_link(d.path()).ok());
    links.any(|link| sockets.iter().any(|s| link.as_os_str() == s.as_str()))
}

fn unreadable(file: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc {file} is not in the form known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_past_a_name_with_blanks_and_parentheses() {
        let line = "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 7 7 20 0 1 0 12 0 0";
        assert_eq!(parse_stat(line, 100), Some(Duration::from_secs(3)));
        assert_eq!(parse_stat("nonsense", 100), None);
    }

    #[test]
    fn schedstat_gives_nanoseconds_on_a_processor() {
        assert_eq!(parse_schedstat("123456789 22 3\n"), Some(Duration::from_nanos(123_456_789)));
        assert_eq!(parse_schedstat(""), None);
    }

    #[test]
    fn resident_memory_is_read_from_either_file() {
        let rollup = "55d0-7fff ---p 00000000 00:00 0 [rollup]\nRss:                1316 kB\nPss:  5 kB\n";
        assert_eq!(parse_smaps_rollup(rollup), Some(1316 * 1024));
        assert_eq!(parse_smaps_rollup("Pss: 1 kB"), None);
        assert_eq!(parse_statm("1000 250 3 4 5 6 7\n", 4096), Some(250 * 4096));
    }

    #[test]
    fn only_the_listening_socket_of_the_port_is_found() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:075B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1\n\
            1: 0100007F:075B 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 778 1\n\
            2: 0100007F:075C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 779 1\n";
        assert_eq!(listening_inodes(table, 1883), [777]);
    }

    #[test]
    fn this_process_is_found_by_its_listener_and_has_cost_something() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a loopback listener");
        let port = listener.local_addr().expect("its address").port();
        assert_eq!(listening_on(port), Some(std::process::id()));
        assert!(cpu_time(std::process::id()).expect("own cpu time") > Duration::ZERO);
        assert!(tasks_schedstat(std::process::id()).expect("own schedstat") > Duration::ZERO);
        assert!(resident_bytes(std::process::id()).expect("own memory") > 100_000);
        assert!(own_cpu_time() > Duration::ZERO);
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
        let pid = child.id();
        assert!(is_running(pid));
        child.kill().and_then(|()| child.wait()).expect("ended");
        assert!(!is_running(pid));
        assert!(cpu_time(pid).is_err());
        assert!(resident_bytes(pid).is_err());
    }
}
