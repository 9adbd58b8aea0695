//! The binary as scripts and newcomers meet it: what it prints, how it ends, what it refuses.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// A fresh folder for one test, removed when it passes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ferrymq-serve-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A server that has greeted.
struct Server {
    process: Child,
    stdout: BufReader<ChildStdout>,
    greeting: String,
}

impl Server {
    fn start(words: &[&str]) -> Server {
        let mut process = ferrymq(words).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            assert!(stdout.read_line(&mut greeting).unwrap() > 0, "it ended: {greeting}");
        }
        Server { process, stdout, greeting }
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        let lines = self.greeting.lines().filter_map(|line| line.trim().strip_prefix("listens"));
        lines.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
    }

    /// Sends a signal, and waits for the end: the exit code.
    fn end(mut self, signal: i32) -> Option<i32> {
        // SAFETY: a signal to a child that was not waited for yet, so that its number names nobody else.
        unsafe { libc::kill(self.process.id() as i32, signal) };
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        self.process.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn ferrymq(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrymq"));
    command.args(words);
    command
}

/// Runs what ends by itself: its exit code, and what it said on stderr.
fn refused(words: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = ferrymq(words).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

const FREE_PORT: &str = "mqtt=127.0.0.1:0";

#[test]
fn it_greets_listens_and_ends_with_0_on_sigterm_and_sigint() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let folder = Folder::new(&format!("signal-{signal}"));
        let data = folder.path("data");
        let server = Server::start(&["serve", "--data-dir", &data, "--listen", FREE_PORT]);
        let [address] = server.addresses()[..] else { panic!("{}", server.greeting) };
        assert!(server.greeting.contains(&format!("mosquitto_sub -h 127.0.0.1 -p {} ", address.port())));
        assert!(TcpStream::connect(address).is_ok());
        assert_eq!(server.end(signal), Some(0));
    }
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let folder = Folder::new("second");
    let data = folder.path("data");
    let words = ["serve", "--data-dir", &data, "--listen", FREE_PORT];
    let first = Server::start(&words);
    let (code, says) = refused(&words);
    assert_eq!(code, Some(1));
    assert!(says.contains(&format!("in use by another ferrymq (process {})", first.process.id())), "{says}");
}

#[test]
fn data_can_be_used_again_after_kill_9() {
    let folder = Folder::new("again");
    let data = folder.path("data");
    let words = ["serve", "--data-dir", &data, "--listen", FREE_PORT];
    assert_eq!(Server::start(&words).end(libc::SIGKILL), None);
    assert_eq!(Server::start(&words).end(libc::SIGTERM), Some(0));
}

#[test]
fn an_address_in_use_is_named_with_what_to_do() {
    let folder = Folder::new("in-use");
    let data = folder.path("data");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let (code, says) = refused(&["serve", "--data-dir", &data, "--listen", &format!("mqtt={address}")]);
    assert_eq!(code, Some(1));
    assert!(says.contains(&format!("cannot listen on {address}: another program does")), "{says}");
    assert!(says.contains("--listen mqtt="), "{says}");
}

#[test]
fn an_address_that_others_reach_is_refused_and_nothing_is_created() {
    let folder = Folder::new("open");
    let data = folder.path("data");
    let (code, says) = refused(&["serve", "--data-dir", &data, "--listen", "mqtt=0.0.0.0:0"]);
    assert_eq!(code, Some(1));
    assert!(says.contains("0.0.0.0:0") && says.contains("--allow-anonymous-from any"), "{says}");
    assert!(!Path::new(&data).exists());
}

#[test]
fn everyone_is_let_in_where_that_is_said() {
    let folder = Folder::new("any");
    let data = folder.path("data");
    let listen = ["--listen", "mqtt=0.0.0.0:0", "--allow-anonymous-from", "any"];
    let server = Server::start(&[&["serve", "--data-dir", &data], &listen[..]].concat());
    assert!(server.greeting.contains("mosquitto_sub -h 127.0.0.1 "), "{}", server.greeting);
    assert_eq!(server.end(libc::SIGTERM), Some(0));
}

#[test]
fn several_queue_managers_run_in_one_process() {
    let folder = Folder::new("several");
    let file = folder.path("f.toml");
    let queue_manager = |name, durability| {
        let listener = "[[queue_manager.listener]]\naddress = '127.0.0.1:0'\n";
        format!("[[queue_manager]]\nname = '{name}'\ndurability = '{durability}'\n{listener}")
    };
    fs::write(&file, queue_manager("A", "fsync") + &queue_manager("B", "memory")).unwrap();
    let server = Server::start(&["serve", "--config", &file, "--data-dir", &folder.path("data")]);
    assert_eq!(server.addresses().len(), 2);
    assert!(server.greeting.contains("Queue manager A") && server.greeting.contains("Queue manager B"));
    assert_eq!(server.end(libc::SIGTERM), Some(0));
}

#[test]
fn a_wrong_file_is_refused_by_line_and_word_and_nothing_is_created() {
    let folder = Folder::new("wrong");
    let (file, data) = (folder.path("f.toml"), folder.path("data"));
    fs::write(&file, "[limits]\nconections = 1\n").unwrap();
    let expected = format!("ferrymq: {file}, line 2: conections: unknown field `conections`");
    for words in [vec!["serve", "--config", &file, "--data-dir", &data], vec!["config", "check", &file]] {
        let (code, says) = refused(&words);
        assert_eq!(code, Some(1));
        assert!(says.starts_with(&expected), "{says}");
    }
    assert!(!Path::new(&data).exists());
}

#[test]
fn a_wrong_log_filter_is_refused() {
    let (code, says) = refused(&["serve", "--log", "x=loud"]);
    assert_eq!(code, Some(1));
    assert!(says.starts_with("ferrymq: --log x=loud: "), "{says}");
}

#[test]
fn the_configuration_that_is_shown_passes_the_check() {
    let folder = Folder::new("show");
    let file = folder.path("f.toml");
    let shown = ferrymq(&["config", "show", "--listen", "mqtt=127.0.0.1:1885"]).output().unwrap();
    assert!(shown.status.success());
    fs::write(&file, &shown.stdout).unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().contains("address = \"127.0.0.1:1885\""));
    assert!(ferrymq(&["config", "check", &file]).output().unwrap().status.success());
}

#[test]
fn help_and_version_are_there() {
    let help = ferrymq(&["serve", "--help"]).output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    for option in ["--config", "--data-dir", "--listen", "--allow-anonymous-from", "--log"] {
        assert!(text.contains(option), "{text}");
    }
    let version = ferrymq(&["--version"]).output().unwrap();
    assert_eq!(
        String::from_utf8(version.stdout).unwrap(),
        format!("ferrymq {}\n", env!("CARGO_PKG_VERSION"))
    );
}
