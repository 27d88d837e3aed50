//! Shows a recorded connection and plays it again: see the crate's documentation.

use pintle_recorder::{Options, Verdict, rust_test, timeline};
use std::{
    fmt::{self, Write},
    io,
    process::ExitCode,
};

const USAGE: &str = "\
usage: pintle-replay [--to N] [--all] [--quiet] [--test NAME] FILE

Plays a connection that was recorded and compares what leaves it, octet by octet.
Prints a line per record, and the verdict.

  --to N       stop behind record N and show the connection as it is there
  --all        also the questions that nothing came of (is there an event? a large message?); their numbers are left out otherwise
  --quiet      only the verdict
  --test NAME  print a Rust test that plays the tape, to be pasted; nothing else

Exit status: 0 it plays to the same octet, 1 it differs, 2 it cannot be read.
";

struct Arguments {
    options: Options,
    test: Option<String>,
    file: String,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let tape = match std::fs::read(&arguments.file) {
        Ok(tape) => tape,
        Err(error) => {
            eprintln!("cannot read {}: {error}", arguments.file);
            return ExitCode::from(2);
        }
    };
    if let Some(name) = arguments.test {
        print(&rust_test(&name, &tape, &arguments.file));
        return ExitCode::SUCCESS;
    }
    match timeline(&tape, arguments.options, &mut Stdout(io::stdout().lock())) {
        // Nobody reads on: `| head`.
        Ok(Verdict::Same) | Err(fmt::Error) => ExitCode::SUCCESS,
        Ok(Verdict::Differs) => ExitCode::from(1),
        Ok(Verdict::Unreadable) => ExitCode::from(2),
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (mut options, mut test, mut file) = (Options::default(), None, None);
    while let Some(argument) = arguments.next() {
        let mut value = |what: &str| arguments.next().ok_or_else(|| format!("{argument} needs {what}"));
        match argument.as_str() {
            "--to" => options.to = Some(value("a number")?.parse().map_err(|_| "--to needs the number of a record".to_owned())?),
            "--all" => options.all = true,
            "--quiet" => options.quiet = true,
            "--test" => test = Some(value("a name")?),
            option if option.starts_with('-') => return Err(format!("there is no option {option}")),
            _ => {
                if file.replace(argument).is_some() {
                    return Err("one tape at a time".to_owned());
                }
            }
        }
    }
    Ok(Arguments { options, test, file: file.ok_or("which tape?")? })
}

fn print(text: &str) {
    // Nobody reads: nothing to do.
    let _ = Stdout(io::stdout().lock()).write_str(text);
}

struct Stdout(io::StdoutLock<'static>);

impl Write for Stdout {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        io::Write::write_all(&mut self.0, text.as_bytes()).map_err(|_| fmt::Error)
    }
}
