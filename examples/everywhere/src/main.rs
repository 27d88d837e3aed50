//! Starts the post office on every runtime and calls each: `cargo run --bin everywhere`

use everywhere::{SERVERS, visit::visit};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<10} {:<10} {:>5} {:>17} {:>17} {:>14}",
        "server", "style", "unary", "client streaming", "server streaming", "bidirectional"
    );
    for (name, style, start) in SERVERS {
        let seen = visit(&start()?)?;
        let counts = (seen.post.letters, seen.post_all.letters, seen.subscribe.len(), seen.correspond.len());
        println!("{name:<10} {style:<10} {:>5} {:>17} {:>17} {:>14}", counts.0, counts.1, counts.2, counts.3);
    }
    Ok(())
}
