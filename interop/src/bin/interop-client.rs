//! `interop-client --runtime tokio|smol|mio|mio-local --target ADDRESS --case NAME`: runs a case (or `all`) of `pintle.interop.Interop` against
//! any server. Exit status 0: the answers were right. `--list` after a runtime prints the names of its cases.

use pintle_interop::{CASES, Wrong, mio_client, smol_client, tokio_client};
use std::process::ExitCode;

const USAGE: &str = "usage: interop-client --runtime tokio|smol|mio|mio-local (--target ADDRESS --case NAME|all | --list)";

fn main() -> Result<ExitCode, Wrong> {
    let (mut runtime, mut target, mut case) = (String::new(), String::new(), String::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--list" {
            println!("{}", cases(&runtime).join("\n"));
            return Ok(ExitCode::SUCCESS);
        }
        let value = args.next().ok_or(USAGE)?;
        match arg.as_str() {
            "--runtime" => runtime = value,
            "--target" => target = value,
            "--case" => case = value,
            _ => return Err(USAGE.into()),
        }
    }
    let run: fn(&str, &str) -> Result<(), Wrong> = match runtime.as_str() {
        "tokio" => on_tokio,
        "smol" => |target, case| smol::block_on(smol_client::run(target, case)),
        "mio" => mio_client::run,
        "mio-local" => mio_client::run_local,
        _ => return Err(USAGE.into()),
    };
    let cases = if case == "all" { cases(&runtime) } else { vec![case.as_str()] };
    let mut exit = ExitCode::SUCCESS;
    for case in cases {
        match run(&target, case) {
            Ok(()) => println!("ok      {case}"),
            Err(wrong) => {
                println!("FAILED  {case}: {wrong}");
                exit = ExitCode::FAILURE;
            }
        }
    }
    Ok(exit)
}

fn cases(runtime: &str) -> Vec<&'static str> {
    CASES.into_iter().filter(|case| runtime != "mio-local" || mio_client::is_local(case)).collect()
}

fn on_tokio(target: &str, case: &str) -> Result<(), Wrong> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(tokio_client::run(target, case))
}
