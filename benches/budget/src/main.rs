//! Budgets: instructions and allocations of calls and messages, counted and compared with `baseline.tsv`. `benches/budget/run` builds and
//! starts it; `benches/README.md` says what the figures are.

mod baseline;
mod core;
mod heap;
mod meter;
mod served;
mod step;

use baseline::{Baseline, Figures};
use meter::{Meter, Side};
use std::{
    env,
    process::{Command, ExitCode, Stdio},
};

const USAGE: &str = "benches/budget/run [--accept [KEY]] [--only TEXT]

Counts and compares. More than 3 % above the baseline fails.
  --accept       writes what was counted as the new baseline: what fell, and what is new
  --accept KEY   writes what rose, too; CHANGELOG.md must have a line with `(budget: KEY)` that says why
  --only TEXT    only the rows whose name contains TEXT; nothing can be accepted then";

/// What is counted, and what runs it: it answers how many calls, or messages, it measured.
struct Row {
    name: &'static str,
    side: Side,
    run: fn(&mut Meter) -> u32,
}

const fn row(name: &'static str, side: Side, run: fn(&mut Meter) -> u32) -> Row {
    Row { name, side, run }
}

const ROWS: [Row; 15] = [
    row("core server, unary call of 8 octets, 1 at once", Side::Server, core::unary::<1, 8, 20>),
    row("core server, unary call of 8 octets, 100 at once", Side::Server, core::unary::<100, 8, 1>),
    row("core server, reply of 8 octets in a stream", Side::Server, core::replies::<250>),
    row("core server, request of 8 octets in a stream", Side::Server, core::upload::<250>),
    row("core server, unary call of 64 KiB", Side::Server, core::unary::<1, 65_536, 3>),
    row("core client, unary call of 8 octets, 1 at once", Side::Client, core::unary::<1, 8, 20>),
    row("core client, unary call of 8 octets, 100 at once", Side::Client, core::unary::<100, 8, 1>),
    row("core client, reply of 8 octets in a stream", Side::Client, core::replies::<250>),
    row("core client, request of 8 octets in a stream", Side::Client, core::upload::<250>),
    row("core client, unary call of 64 KiB", Side::Client, core::unary::<1, 65_536, 3>),
    row("mio server, unary call of 8 octets, 1 at once", Side::Server, served::unary::<1, 8, 20>),
    row("mio server, unary call of 8 octets, 100 at once", Side::Server, served::unary::<100, 8, 1>),
    row("mio server, reply of 8 octets in a stream", Side::Server, served::replies::<250>),
    row("mio server, request of 8 octets in a stream", Side::Server, served::upload::<250>),
    row("mio server, unary call of 64 KiB", Side::Server, served::unary::<1, 65_536, 3>),
];

/// In the environment of a process that runs one row.
const RUNS: &str = "PINTLE_BUDGET_ROW";

/// The C library's variants of `memcpy` and the like are chosen by the processor: these are the plainest, which each has. (A name that the
/// library does not know is passed over.)
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSSE3,-SSE4_1,-SSE4_2,-BMI2,-RTM,-MOVBE";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Ok(row) = env::var(RUNS) {
        return run_row(&row);
    }
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => measure("").and_then(|found| Baseline::read()?.compare(&found)),
        ["--only", text] => measure(text).and_then(|found| Baseline::read()?.compare(&found)),
        ["--accept"] => measure("").and_then(|found| Baseline::read()?.accept(&found, None)),
        ["--accept", key] => measure("").and_then(|found| Baseline::read()?.accept(&found, Some(key))),
        ["--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Every row whose name contains `text`.
fn measure(text: &str) -> Result<Vec<(&'static str, Figures)>, String> {
    let mut found = Vec::new();
    println!("{:<52} {:>9} {:>9} {:>8}", "each call or message:", "instr.", "libraries", "allocs");
    for row in ROWS.iter().filter(|row| row.name.contains(text)) {
        let figures = figures(row).map_err(|why| format!("{}: {why}", row.name))?;
        println!("{:<52} {figures}", row.name);
        found.push((row.name, figures));
    }
    if found.iter().any(|(_, figures)| figures.own.is_none()) {
        println!("INSTRUCTIONS WERE NOT MEASURED: that takes Linux on x86-64, and a processor that steps. Allocations were.");
    }
    Ok(found)
}

/// What one row costs, per call or message, in a process of its own.
fn figures(row: &Row) -> Result<Figures, String> {
    let mut command = Command::new(env::current_exe().map_err(|error| error.to_string())?);
    let output = command.env(RUNS, row.name).env("GLIBC_TUNABLES", TUNABLES).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = || format!("it ended with {}: {said:?}", output.status);
    let numbers: Vec<Option<f64>> = said.split_whitespace().map(|number| number.parse().ok()).collect();
    let [Some(units), Some(allocations), own, library] = numbers[..] else { return Err(wrong()) };
    let each = |steps: f64| steps / units;
    Ok(Figures { own: own.map(each), library: library.map(each), allocations: each(allocations) })
}

/// Runs the row, and says how many calls or messages it measured, their allocations, and their instructions or `?`.
fn run_row(name: &str) -> ExitCode {
    let Some(row) = ROWS.iter().find(|row| row.name == name) else { return ExitCode::FAILURE };
    let mut meter = match Meter::new(row.side) {
        Ok(meter) => meter,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let units = (row.run)(&mut meter);
    let (steps, allocations) = meter.found();
    let [own, library] =
        [steps.map(|steps| steps.own), steps.map(|steps| steps.library)].map(|n| n.map_or("?".to_owned(), |n| n.to_string()));
    println!("{units} {allocations} {own} {library}");
    ExitCode::SUCCESS
}
