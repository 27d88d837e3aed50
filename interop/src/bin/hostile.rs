//! `hostile [--only TEXT] [--list] [-v] [--ours NAME COMMAND ...] [--other NAME COMMAND ...]`: plays the scripts of [`pintle_interop::hostile`]
//! to client programs, a COMMAND ending at the next option. `interop/hostile` knows the commands. Exit status 0: ours did well.

use pintle_interop::{
    Wrong,
    hostile::{
        all,
        run::{Program, report, run},
    },
};
use std::{process::ExitCode, thread};

fn main() -> Result<ExitCode, Wrong> {
    let (mut only, mut list, mut verbose, mut programs) = (String::new(), false, false, Vec::new());
    let mut args = std::env::args().skip(1).peekable();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => only = args.next().ok_or("--only what?")?,
            "--list" => list = true,
            "-v" => verbose = true,
            "--ours" | "--other" => {
                let name = args.next().ok_or("which client?")?;
                let command = std::iter::from_fn(|| args.next_if(|next| !next.starts_with('-'))).collect();
                programs.push(Program { name, command, ours: arg == "--ours" });
            }
            _ => return Err(format!("what is {arg}?").into()),
        }
    }
    let scripts: Vec<_> = all().into_iter().filter(|script| script.name.contains(&only)).collect();
    if list {
        scripts.iter().for_each(|script| println!("{:44} {}", script.name, script.section));
        println!("{} scripts", scripts.len());
        return Ok(ExitCode::SUCCESS);
    }
    let columns = thread::scope(|scope| {
        let threads: Vec<_> = programs.iter().map(|program| scope.spawn(|| run(program, &scripts))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread of this program panicked")?);
        programs.iter().cloned().zip(joined).map(|(program, outcomes)| Ok((program, outcomes?))).collect::<Result<Vec<_>, Wrong>>()
    })?;
    report(&scripts, &columns, verbose);
    let failed = columns.iter().any(|(program, outcomes)| program.ours && outcomes.iter().any(|outcome| outcome.wrong.is_some()));
    Ok(if failed || scripts.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
