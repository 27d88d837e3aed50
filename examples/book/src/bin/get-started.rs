//! Does what the get-started pages say, as a stranger would: makes a crate outside of the repository, writes the files, enters the
//! commands, and compares what is printed. `cargo run --bin get-started`, or with the pages to try: `-- start-tokio.md`.

use pintle_book::page::{Page, Step, repository};
use std::{env, error::Error, fs, path::Path, process::Command, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = env::args().skip(1).collect();
    let chosen = |page: &Page| if wanted.is_empty() { page.name.starts_with("start-") } else { wanted.contains(&page.name) };
    let pages: Vec<Page> = Page::all().into_iter().filter(chosen).collect();
    if pages.is_empty() {
        return Err("there is no such page".into());
    }
    let place = env::temp_dir().join(format!("pintle-get-started-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    // Where the pages' clone would lie.
    std::os::unix::fs::symlink(repository().canonicalize()?, place.join("pintle"))?;
    let mut failed = 0;
    for page in &pages {
        let began = Instant::now();
        let result = follow(page, &place);
        println!("{:<20} {:>3} s  {}", page.name, began.elapsed().as_secs(), if result.is_ok() { "ok" } else { "FAILED" });
        if let Err(error) = result {
            failed += 1;
            println!("{error}");
        }
    }
    fs::remove_dir_all(&place)?;
    if failed > 0 { Err(format!("{failed} of {} pages failed", pages.len()).into()) } else { Ok(()) }
}

/// Does what `page` says, in the directory `place`.
fn follow(page: &Page, place: &Path) -> Result<(), Box<dyn Error>> {
    let (mut script, mut expected) = (String::from("set -e\n"), String::new());
    for block in &page.blocks {
        match block.step() {
            Some(Step::Run(commands)) => script += commands,
            Some(Step::Write { path, text, .. }) => script += &format!("cat >'{path}' <<'END-OF-FILE'\n{text}END-OF-FILE\n"),
            Some(Step::See(text)) => expected += text,
            None => {}
        }
    }
    if expected.is_empty() {
        return Err("the page does not say what its program prints".into());
    }
    // All pages share what they build.
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), Into::into).join("get-started");
    // Debug information and increments would only cost time here.
    let lean = [("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")];
    let output = Command::new("bash").arg("-c").arg(&script).current_dir(place).env("CARGO_TARGET_DIR", target).envs(lean).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("it ended with {}\n{printed}{}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    if printed != expected {
        return Err(format!("it printed\n{printed}instead of\n{expected}").into());
    }
    Ok(())
}
