//! Two ways around the limits that make code harder to read: a tuple as a parameter, which hides how many parameters
//! there are, and an assignment to several places at once, which a search for one of them does not find.
#![expect(clippy::wildcard_enum_match_arm, reason = "syn may add kinds of syntax in any version")]

use syn::visit::{self, Visit};
use syn::{Expr, ExprAssign, FnArg, ImplItemFn, ItemFn, ItemImpl, ItemMod, Pat, Signature, TraitItemFn, Type};

use super::size::is_cfg_test;
use crate::{File, Finding, Tree};

/// How many a crate has. The numbers only go down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Baseline {
    /// The folder under `crates`, or `xtask`.
    pub folder: &'static str,
    pub tuple_parameters: usize,
    pub multi_assignments: usize,
}

/// What is left of both. A crate that is not here may have none.
pub const BASELINES: &[Baseline] = &[];

/// Finds crates that have more than they may, or fewer than is written down.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, BASELINES)
}

/// The same, with other numbers.
#[must_use]
pub fn check_with(tree: &Tree, baselines: &[Baseline]) -> Vec<Finding> {
    let mut folders: Vec<&str> =
        tree.rust().filter(|file| file.is_src()).filter_map(|file| Some(file.in_crate()?.0)).collect();
    folders.dedup();
    folders.into_iter().flat_map(|folder| check_crate(tree, folder, baselines)).collect()
}

fn check_crate(tree: &Tree, folder: &str, baselines: &[Baseline]) -> Vec<Finding> {
    let files = tree.rust().filter(|file| file.is_src() && file.in_crate().is_some_and(|found| found.0 == folder));
    let mut seen = Seen::default();
    for file in files {
        seen.look(file);
    }
    let baseline = baselines.iter().find(|baseline| baseline.folder == folder);
    let parameters = Kind {
        found: seen.parameters,
        allowed: baseline.map_or(0, |baseline| baseline.tuple_parameters),
        name: "tuple_parameters",
    };
    let assignments = Kind {
        found: seen.assignments,
        allowed: baseline.map_or(0, |baseline| baseline.multi_assignments),
        name: "multi_assignments",
    };
    parameters.judge(folder).into_iter().chain(assignments.judge(folder)).collect()
}

/// One of the two, in one crate.
struct Kind {
    found: Vec<Finding>,
    allowed: usize,
    name: &'static str,
}

impl Kind {
    fn judge(self, folder: &str) -> Vec<Finding> {
        let Self { found, allowed, name } = self;
        match found.len() {
            count if count > allowed => found,
            count if count < allowed => {
                let message = format!("{folder} has {count} {name}, not {allowed}: write {count}");
                vec![Finding::new("xtask/src/rules/tuples.rs", 1, message)]
            }
            _ => Vec::new(),
        }
    }
}

#[derive(Default)]
struct Seen {
    path: String,
    parameters: Vec<Finding>,
    assignments: Vec<Finding>,
}

impl Seen {
    fn look(&mut self, file: &File) {
        // The size rule reports what is not Rust.
        let Ok(parsed) = syn::parse_file(&file.text) else { return };
        self.path.clone_from(&file.path);
        self.visit_file(&parsed);
    }

    fn look_at_parameters(&mut self, signature: &Signature) {
        for argument in &signature.inputs {
            let FnArg::Typed(argument) = argument else { continue };
            if is_tuple(&argument.ty) || matches!(&*argument.pat, Pat::Tuple(_)) {
                let name = &signature.ident;
                let message = format!("`{name}` takes a tuple; give what belongs together a type");
                let line = signature.fn_token.span.start().line;
                self.parameters.push(Finding::new(&self.path, line, message));
            }
        }
    }
}

/// `(A, B)`, also behind a reference. A list of pairs is none.
fn is_tuple(kind: &Type) -> bool {
    match kind {
        Type::Tuple(tuple) => tuple.elems.len() > 1,
        Type::Reference(reference) => is_tuple(&reference.elem),
        Type::Paren(inside) => is_tuple(&inside.elem),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !module.attrs.iter().any(is_cfg_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast ItemImpl) {
        // The parameters of a trait's functions are the trait's choice.
        if block.trait_.is_none() {
            for item in &block.items {
                if let syn::ImplItem::Fn(ImplItemFn { sig, .. }) = item {
                    self.look_at_parameters(sig);
                }
            }
        }
        visit::visit_item_impl(self, block);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.look_at_parameters(&function.sig);
        visit::visit_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.look_at_parameters(&function.sig);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_assign(&mut self, assignment: &'ast ExprAssign) {
        let places = |expression: &Expr| match expression {
            Expr::Tuple(tuple) => tuple.elems.iter().filter(|place| !matches!(place, Expr::Infer(_))).count(),
            _ => 1,
        };
        if places(&assignment.left) > 1 {
            let line = assignment.eq_token.span.start().line;
            let message = "an assignment to several places at once; write one for each";
            self.assignments.push(Finding::new(&self.path, line, message.to_owned()));
        }
        visit::visit_expr_assign(self, assignment);
    }
}
