//! Plays every script to every client, and judges what they make of it.

use super::{After, Script, server::Server};
use crate::Wrong;
use pintle_core::Code;
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// What a call may take beyond its deadline before it counts as hanging. Machines are slow at times.
const GRACE: Duration = Duration::from_secs(5);
/// How long a client may take to close a connection that is broken.
const CLOSING: Duration = Duration::from_secs(3);

/// A client program: what it is called, and how it is started.
#[derive(Debug, Clone)]
pub struct Program {
    /// As in the table.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Judged by all that a script says, not only by what every client must do.
    pub ours: bool,
}

/// What came of a script with a client.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The code's name, `HANG` or `PANIC`.
    pub code: String,
    /// The message of the status.
    pub message: String,
    /// What is wrong with it.
    pub wrong: Option<String>,
    /// How long the call took.
    pub took: Duration,
}

/// Plays `scripts` to one client, one after the other.
///
/// # Errors
/// The client cannot be started.
pub fn run(program: &Program, scripts: &[Script]) -> Result<Vec<Outcome>, Wrong> {
    let server = Server::start()?;
    let mut process = Process::start(program)?;
    let mut outcomes = Vec::new();
    for script in scripts {
        let outcome = play(&server, &mut process, script, program.ours);
        if outcome.code == "HANG" || outcome.code == "PANIC" {
            process = Process::start(program)?;
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn play(server: &Server, process: &mut Process, script: &Script, ours: bool) -> Outcome {
    server.arm(script.clone());
    let began = Instant::now();
    let called = process.ask(&format!("connect {}", server.address()), GRACE).and_then(|_| {
        let call = format!("call {} {} {}", script.shape.name(), script.deadline_ms, script.request);
        process.ask(&call, Duration::from_millis(script.deadline_ms) + GRACE)
    });
    let took = began.elapsed();
    server.disarm();
    let (code, message) = match called {
        Ok(answer) => answer,
        Err(end) => return Outcome { code: end.to_owned(), message: String::new(), wrong: Some("the call does not end".into()), took },
    };
    let wrong = judge(script, &code, &message, took, ours).or_else(|| next(server, process, script, ours).err());
    Outcome { code: name(&code), message, wrong, took }
}

/// What is wrong with how the call ended.
fn judge(script: &Script, code: &str, message: &str, took: Duration, ours: bool) -> Option<String> {
    let allowed = |number: &u32| number.to_string() == code;
    if !script.allow.iter().any(allowed) {
        let names: Vec<_> = script.allow.iter().map(|number| name(&number.to_string())).collect();
        return Some(format!("it must be {}", names.join(" or ")));
    }
    if took > Duration::from_millis(script.deadline_ms) + GRACE / 2 {
        return Some(format!("it took {took:?}"));
    }
    // The scripts send NOT_FOUND, and mostly without a message; all else the client says itself.
    if ours && code != "0" && code != "5" && message.is_empty() {
        return Some("it says nothing".to_owned());
    }
    (ours && !message.contains(script.says)).then(|| format!("it does not say {:?}", script.says))
}

/// The next call, which has to succeed.
fn next(server: &Server, process: &mut Process, script: &Script, ours: bool) -> Result<(), String> {
    if script.after == After::Closes && !server.is_left(CLOSING) {
        return Err("it keeps the connection".to_owned());
    }
    if script.after == After::Stuck {
        process.ask(&format!("connect {}", server.address()), GRACE).map_err(str::to_owned)?;
    }
    match process.ask("again", 10 * GRACE) {
        Ok((code, _)) if code == "0" => {}
        Ok((code, message)) => return Err(format!("the next call ends with {}: {message}", name(&code))),
        Err(end) => return Err(format!("the next call: {end}")),
    }
    if ours && script.after == After::Stays && server.was_reused() != Some(true) {
        return Err("it left the connection".to_owned());
    }
    Ok(())
}

fn name(code: &str) -> String {
    match code.parse() {
        Ok(number @ 0..=16) => Code::from_u32(number).name().to_owned(),
        _ => code.to_owned(),
    }
}

/// A client that runs.
struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    fn start(program: &Program) -> Result<Self, Wrong> {
        let [path, arguments @ ..] = &program.command[..] else { return Err("no program".into()) };
        let mut child = Command::new(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{path}: {error}"))?;
        let input = child.stdin.take().ok_or("it is piped")?;
        let output = child.stdout.take().ok_or("it is piped")?;
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines })
    }

    /// The first word of the answer and the rest, or how it failed to answer.
    fn ask(&mut self, line: &str, within: Duration) -> Result<(String, String), &'static str> {
        // If it is gone, no answer will come.
        let _ = writeln!(self.input, "{line}");
        let answer = self.lines.recv_timeout(within).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => "HANG",
            mpsc::RecvTimeoutError::Disconnected => "PANIC",
        })?;
        let (first, rest) = answer.split_once('\t').unwrap_or((&answer, ""));
        if first == "PANIC" {
            eprintln!("{rest}");
            return Err("PANIC");
        }
        Ok((first.to_owned(), rest.to_owned()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It is ours, and it may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The table, what is wrong in it, and the totals.
pub fn report(scripts: &[Script], columns: &[(Program, Vec<Outcome>)], verbose: bool) {
    let width = scripts.iter().map(|script| script.name.len()).max().unwrap_or_default();
    let cell = |outcome: &Outcome| match &outcome.wrong {
        Some(_) if matches!(&*outcome.code, "HANG" | "PANIC") => outcome.code.clone(),
        Some(_) => format!("WRONG {}", outcome.code),
        None => outcome.code.clone(),
    };
    print!("{:width$}", "");
    columns.iter().for_each(|(program, _)| print!("  {:24}", program.name));
    println!();
    for (row, script) in scripts.iter().enumerate() {
        print!("{:width$}", script.name);
        columns.iter().for_each(|(_, outcomes)| print!("  {:24}", cell(&outcomes[row])));
        println!();
    }
    for (program, outcomes) in columns {
        for (script, outcome) in scripts.iter().zip(outcomes) {
            let Outcome { code, message, wrong, took } = outcome;
            match wrong {
                Some(wrong) => {
                    println!("WRONG {} {} ({}): {code} {message:?} after {took:?}: {wrong}", program.name, script.name, script.section)
                }
                None if verbose => println!("ok    {} {}: {code} {message:?} after {took:?}", program.name, script.name),
                None => {}
            }
        }
    }
    for (program, outcomes) in columns {
        let (wrong, total) = (outcomes.iter().filter(|outcome| outcome.wrong.is_some()).count(), outcomes.len());
        let hung = outcomes.iter().filter(|outcome| matches!(&*outcome.code, "HANG" | "PANIC")).count();
        println!("hostile {}: {} ok, {} wrong, {hung} hung, of {total}", program.name, total - wrong, wrong - hung);
    }
}
