//! The house rules, one file each. A new rule: a file, a line in [`ALL`], a test on a made-up tree.

pub mod bookkeeping;
pub mod clauses;
pub mod columns;
pub mod cycles;
pub mod edges;
pub mod ledger;
pub mod links;
pub mod machine_paths;
pub mod manual;
pub mod module_docs;
pub mod names;
pub mod prints;
pub mod public_docs;
pub mod requirements;
pub mod room_tables;
pub mod root;
pub mod size;
pub mod specification_page;
pub mod state_size;
pub mod tiers;
pub mod tuples;
pub mod unique_types;
pub mod words;

use crate::{Finding, Tree};

/// Every rule.
pub const ALL: &[fn(&Tree) -> Vec<Finding>] = &[
    bookkeeping::check,
    clauses::check,
    columns::check,
    cycles::check,
    edges::check,
    ledger::check,
    links::check,
    machine_paths::check,
    manual::check,
    module_docs::check,
    names::check,
    prints::check,
    public_docs::check,
    requirements::check,
    room_tables::check,
    root::check,
    size::check,
    specification_page::check,
    state_size::check,
    tiers::check,
    tuples::check,
    unique_types::check,
    words::check,
];
