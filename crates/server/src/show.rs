//! What goes to the terminal, and the commands that do nothing else. A reader that has gone away is no failure.

use std::fmt::Display;
use std::io::{self, Write};

use crate::Failure;
use crate::arguments::Config;
use crate::configuration::{Configuration, reference};

/// Runs `ferrymq config`.
pub fn run(config: Config) -> Result<(), Failure> {
    match config {
        Config::Show { config, changes } => {
            let configuration = Configuration::load(config.as_deref(), |c| changes.apply(c))?;
            say(&toml::to_string(&configuration)?);
        }
        Config::Check { file } => {
            Configuration::load(Some(&file), |_| {})?;
            say(&format_args!("{}: nothing is wrong with it\n", file.display()));
        }
        Config::Reference => say(&reference()),
    }
    Ok(())
}

/// To stdout.
pub fn say(text: &dyn Display) {
    let mut stdout = io::stdout().lock();
    let _ = write!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// To stderr, each line with the name of the program.
pub fn complain(error: &dyn std::error::Error) {
    for line in error.to_string().lines() {
        let _ = writeln!(io::stderr(), "ferrymq: {line}");
    }
}
