//! `ferrymq-bench`: the harness that reproduces the published workloads.

use std::process::ExitCode;

use clap::Parser;
use ferrymq_bench::command_line::{Command, CommandLine};
use ferrymq_bench::{session, table};

fn main() -> ExitCode {
    more_descriptors();
    let done = match CommandLine::parse().command {
        Command::List => {
            print!("{}", table::scenarios());
            Ok(())
        }
        Command::Run { name, options, target: Some(target), server_pid, .. } => {
            session::run_target(&name, &options, target, server_pid)
        }
        Command::Run { name, options, peer, .. } => session::run_private(&name, &options, peer),
        Command::Compare { name, peer, rounds, options } => session::compare(&name, &options, peer, rounds),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ferrymq-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// As many descriptors as this process may have; a server started by it inherits them.
fn more_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    // Refused: what there is has to do, and a run that needs more says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
