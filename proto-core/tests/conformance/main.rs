//! HTTP/2 to the letter: every rule of RFC 9113 (and of RFC 7541, where it shows on a connection) as named cases for the client and
//! the server. Expectations come from the specification; where it leaves a choice, the row says ours and why.
//!
//! `cargo test --test conformance -- --nocapture` prints the cases by section.

mod case;
mod lab;
#[path = "../support/peer.rs"]
mod peer;

mod blocks;
mod fields;
mod flow;
mod frames;
mod goaway;
mod messages;
mod sends;
mod settings;
mod start;
mod states;
mod transitions;

use case::{Case, Expect, Role, Run};
use pintle_core::testing::Cut;
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

fn cases() -> Vec<Case> {
    let groups = [
        start::cases(),
        frames::cases(),
        settings::cases(),
        blocks::cases(),
        states::cases(),
        flow::cases(),
        fields::cases(),
        messages::cases(),
        goaway::cases(),
        sends::cases(),
    ];
    groups.into_iter().flatten().collect()
}

fn run(case: &Case, server: bool, cut: Cut) {
    match &case.run {
        Run::Code(test) => test(cut),
        Run::Row(row) => lab::Lab::new(server, row.given, row.settings, row.config, cut).run(row),
    }
}

/// Each case, its input whole and octet by octet.
#[test]
fn every_case_holds() {
    let mut failed = Vec::new();
    for case in &cases() {
        let servers: &[bool] = match (case.role, &case.run) {
            (Role::Client, _) => &[false],
            (Role::Server, _) | (Role::Both, Run::Code(_)) => &[true],
            (Role::Both, Run::Row(_)) => &[false, true],
        };
        for &server in servers {
            for cut in [Cut::Whole, Cut::Octet] {
                if catch_unwind(AssertUnwindSafe(|| run(case, server, cut))).is_err() {
                    let role = if server { "server" } else { "client" };
                    failed.push(format!("{} ({}, {role}, {cut:?})", case.name, case.section));
                    eprintln!("^ {}", failed[failed.len() - 1]);
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn cases_are_named_and_many() {
    let cases = cases();
    let mut names = BTreeSet::new();
    let mut sections: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        assert!(names.insert(&case.name), "{} is there twice", case.name);
        assert!(!case.section.is_empty(), "{} has no section", case.name);
        *sections.entry(case.section).or_default() += 1;
        if let Run::Row(row) = &case.run {
            assert!(!matches!(row.expect, Expect::Unsaid), "{} expects nothing", case.name);
        }
    }
    for (section, count) in &sections {
        println!("{section:>12}  {count}");
    }
    let of = |role| cases.iter().filter(|case| case.role == role).count();
    println!("{} cases: {} client, {} server, {} both", cases.len(), of(Role::Client), of(Role::Server), of(Role::Both));
    assert!(cases.len() >= 300);
}
