//! Sizes that a reader can hold: a file, a function, a list of parameters.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, FnArg, ImplItemFn, Item, ItemFn, Meta, Signature, TraitItemFn};

use crate::{File, Finding, Tree, tokens};

/// Product lines a file: all before its inline tests.
const FILE_LINES_MAX: usize = 800;
/// Lines a function, from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// Parameters a function, `self` not counted.
const PARAMETERS_MAX: usize = 5;

/// Finds files, functions and lists of parameters that are too long.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| file.is_src() || file.is_tests()).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let parsed = match syn::parse_file(&file.text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let line = error.span().start().line;
            let message = format!("not Rust ({error}); fix it, `cargo check` says more");
            return vec![Finding::new(&file.path, line, message)];
        }
    };
    let mut functions = Functions { path: &file.path, findings: Vec::new() };
    functions.visit_file(&parsed);
    let mut findings = functions.findings;
    let lines = product_lines(&file.text, &parsed.items);
    if file.is_src() && lines > FILE_LINES_MAX {
        let message = format!("{lines} product lines, at most {FILE_LINES_MAX}; cut the file by topic");
        findings.push(Finding::new(&file.path, FILE_LINES_MAX + 1, message));
    }
    findings
}

/// The lines before the first inline module of tests, or all.
fn product_lines(text: &str, items: &[Item]) -> usize {
    let tests_begin = items.iter().find_map(|item| {
        let Item::Mod(module) = item else { return None };
        let line_of = |attribute: &Attribute| attribute.pound_token.span.start().line;
        let is_tests = module.content.is_some() && module.attrs.iter().any(is_cfg_test);
        module.attrs.iter().map(line_of).min().filter(|_| is_tests)
    });
    tests_begin.map_or(text.lines().count(), |line| line - 1)
}

/// `#[cfg(test)]`, `#[cfg(all(test, unix))]`; but not `#[cfg(not(test))]`.
pub(crate) fn is_cfg_test(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    list.path.is_ident("cfg") && has_word(&list.tokens, "test") && !has_word(&list.tokens, "not")
}

fn has_word(stream: &TokenStream, word: &str) -> bool {
    stream.clone().into_iter().any(|token| {
        let inside = matches!(&token, TokenTree::Group(group) if has_word(&group.stream(), word));
        inside || tokens::is_word(Some(&token), word)
    })
}

struct Functions<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, body: Option<&Block>) {
        let name = &signature.ident;
        let first = signature.fn_token.span.start().line;
        let last = body.map_or(first, |body| body.brace_token.span.close().end().line);
        let lines = last + 1 - first;
        if lines > FUNCTION_LINES_MAX {
            let message = format!(
                "`{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}; \
                 keep the decisions, move the steps out"
            );
            self.findings.push(Finding::new(self.path, first, message));
        }
        let typed = |argument: &&FnArg| matches!(argument, FnArg::Typed(_));
        let parameters = signature.inputs.iter().filter(typed).count();
        if parameters > PARAMETERS_MAX {
            let message = format!(
                "`{name}` has {parameters} parameters, at most {PARAMETERS_MAX}; \
                 give what belongs together a type"
            );
            self.findings.push(Finding::new(self.path, first, message));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.measure(&function.sig, Some(&function.block));
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.measure(&function.sig, Some(&function.block));
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.measure(&function.sig, function.default.as_ref());
        visit::visit_trait_item_fn(self, function);
    }
}
