//! The binary `ferrymq`: configuration and wiring.

mod arguments;
mod configuration;
mod data_directory;
mod greeting;
mod logging;
mod node;
mod open_files;
mod queue_manager_service;
mod queue_manager_thread;
mod settings;
mod show;
mod signal;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use arguments::{Arguments, Command, Serve};
use configuration::Configuration;
use data_directory::DataDirectory;
use node::Node;
use signal::StopSignals;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Serve(serve) => run(serve),
        Command::Config(config) => show::run(config),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            show::complain(&*error);
            ExitCode::FAILURE
        }
    }
}

/// What went wrong, for the operator to read.
type Failure = Box<dyn std::error::Error>;

/// The life of a server.
fn run(serve: Serve) -> Result<(), Failure> {
    let signals = StopSignals::block()?;
    logging::start(&serve.log)?;
    let configuration = Configuration::load(serve.config.as_deref(), |c| serve.changes.apply(c))?;
    let directory = Arc::new(DataDirectory::open(&configuration.data_dir)?);
    open_files::make_room_for(&configuration);
    let Some(node) = Node::start(&configuration, &directory, signals)? else { return Ok(()) };
    show::say(&node.greeting());
    node.run()
}
