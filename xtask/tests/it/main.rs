//! The house rules, tried on made-up trees, and then on the real one.

mod bench;
mod bookkeeping;
mod cheats;
mod clauses;
mod columns;
mod cycles;
mod deb;
mod edges;
mod ledger;
mod links;
mod machine_paths;
mod manual;
mod module_docs;
mod mutants;
mod names;
mod picture;
mod prints;
mod projects;
mod public_docs;
mod reference;
mod requirements;
mod room_tables;
mod root;
mod size;
mod specification_page;
mod state_size;
mod tiers;
mod tree;
mod tuples;
mod unique_types;
mod words;

use xtask::{Finding, Tree, tidy, workspace_root};

#[test]
fn the_house_is_tidy() -> anyhow::Result<()> {
    let findings = tidy(&Tree::load(&workspace_root())?);
    let told = told(&findings).join("\n");
    assert!(findings.is_empty(), "{} findings:\n{told}", findings.len());
    Ok(())
}

#[test]
fn findings_are_ordered_by_path_and_line() {
    let tree = Tree::of(&[
        ("crates/daemon/src/b.rs", "fn b() { todo!() }\n"),
        ("crates/daemon/src/a.rs", "//! A.\nfn a() { todo!() }\nfn b() { todo!() }\n"),
    ]);
    let places: Vec<String> = tidy(&tree).iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect();
    let (a, b) = ("crates/daemon/src/a.rs", "crates/daemon/src/b.rs");
    let expected = [(a, 2), (a, 3), (b, 1), (b, 1)].map(|(path, line)| format!("{path}:{line}"));
    assert_eq!(places, expected);
}

/// The findings as a person sees them.
fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
