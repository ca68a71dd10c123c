//! The small changes that can be made to a source file, each at its place.
#![expect(clippy::wildcard_enum_match_arm, reason = "syn may add kinds of syntax in any version")]

use std::ops::Range;

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprConst, ExprMatch, ExprRepeat, ExprUnary, ImplItemConst,
    ImplItemFn, ItemConst, ItemFn, ItemImpl, ItemMod, ItemStatic, ItemTrait, Pat, PatGuard, Signature, Stmt,
    TraitItemFn, Type, UnOp,
};

use super::values;
use crate::rules::size::is_cfg_test;

/// A change of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// Its number: from 1, over all files.
    pub id: usize,
    /// From the root of the workspace.
    pub file: String,
    pub line: usize,
    /// The last line of what is changed.
    pub last_line: usize,
    /// The function it is in, with its type.
    pub function: String,
    /// What is changed, in words.
    pub what: String,
    /// Why it cannot be behind a switch.
    pub left_out: Option<&'static str>,
}

/// How the changes of a place are put behind switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// An expression that is replaced by another.
    Expression,
    /// The content of a function's braces; another value is returned at their beginning.
    Body,
    /// The same for an iterator whose type has no name: both values have the same type only behind an enum.
    IteratorBody,
    /// A pattern without guard, which then does not match.
    Arm,
    /// A guard of a pattern that then does not match.
    GuardedArm,
}

/// A place that has changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Bytes of the source.
    pub at: Range<usize>,
    pub shape: Shape,
    pub choices: Vec<Choice>,
}

/// One change of a place: the text that is there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub id: usize,
    pub text: String,
}

/// All of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    pub mutants: Vec<Mutant>,
    pub sites: Vec<Site>,
}

/// The changes of a file; the first has the number `first`.
///
/// # Errors
/// When the text is not Rust.
pub fn find(file: &str, text: &str, first: usize) -> Result<Found> {
    let parsed = syn::parse_file(text).with_context(|| format!("{file} is not Rust"))?;
    let mut finder = Finder { file, text, next: first, within: Vec::new(), fixed: None, found: Found::default() };
    finder.visit_file(&parsed);
    Ok(finder.found)
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    next: usize,
    /// Names of types and functions around the place.
    within: Vec<String>,
    /// Why nothing here can be behind a switch.
    fixed: Option<&'static str>,
    found: Found,
}

/// A change before it has a number.
struct Draft {
    text: String,
    what: String,
}

const CONST_FN: &str = "in a const fn";
const CONST_ITEM: &str = "in a constant";
const LET_CHAIN: &str = "&& before or behind a let";

impl Finder<'_> {
    fn add(&mut self, at: Range<usize>, shape: Shape, drafts: Vec<Draft>) {
        self.add_at(at.start, Site { at, shape, choices: Vec::new() }, drafts);
    }

    fn add_at(&mut self, place: usize, mut site: Site, drafts: Vec<Draft>) {
        let line = self.text[..place].matches('\n').count() + 1;
        let last_line = self.text[..site.at.end].matches('\n').count() + 1;
        for draft in drafts {
            let mutant = Mutant {
                id: self.next,
                file: self.file.to_owned(),
                line,
                last_line,
                function: self.within.join("::"),
                what: draft.what,
                left_out: self.fixed,
            };
            site.choices.push(Choice { id: self.next, text: draft.text });
            self.found.mutants.push(mutant);
            self.next += 1;
        }
        if self.fixed.is_none() && !site.choices.is_empty() {
            self.found.sites.push(site);
        }
    }

    fn fixed_by<T>(&mut self, why: Option<&'static str>, then: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.fixed;
        self.fixed = before.or(why);
        let value = then(self);
        self.fixed = before;
        value
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) {
        if excluded(attributes) {
            return;
        }
        self.within.push(signature.ident.to_string());
        let why = signature.constness.is_some().then_some(CONST_FN);
        self.fixed_by(why, |finder| {
            finder.body(signature, block);
            visit::visit_block(finder, block);
        });
        self.within.pop();
    }

    fn body(&mut self, signature: &Signature, block: &Block) {
        if block.stmts.is_empty() {
            return;
        }
        let open = block.brace_token.span.open().byte_range().end;
        let close = block.brace_token.span.close().byte_range().start;
        let now = self.text[open..close].split_whitespace().collect::<String>();
        let (shape, values) = match values::iterator_item(&signature.output) {
            Some(item) => {
                let once = values::of_type(item);
                let once = once.iter().map(|value| format!("::std::iter::once({value})"));
                (Shape::IteratorBody, std::iter::once("::std::iter::empty()".to_owned()).chain(once).collect())
            }
            None => (Shape::Body, values::of_return(&signature.output)),
        };
        let values = values.into_iter().filter(|value| value.split_whitespace().collect::<String>() != now);
        let drafts = values.map(|text| Draft { what: format!("returns {text}"), text }).collect();
        let place = signature.fn_token.span.byte_range().start;
        self.add_at(place, Site { at: open..close, shape, choices: Vec::new() }, drafts);
    }

    fn constant(&mut self, attributes: &[Attribute], name: &str, value: &Expr) {
        if excluded(attributes) {
            return;
        }
        self.within.push(name.to_owned());
        self.fixed_by(Some(CONST_ITEM), |finder| finder.visit_expr(value));
        self.within.pop();
    }

    fn guard(&mut self, guard: &PatGuard) {
        let at = guard.guard.span().byte_range();
        let was = &self.text[at.clone()];
        let drafts = ["true", "false"]
            .map(|word| Draft { text: word.to_owned(), what: format!("guard `{}` is {word}", short(was)) });
        self.add(at, Shape::Expression, drafts.into());
        self.visit_expr(&guard.guard);
    }

    fn arm(&mut self, arm: &Arm) {
        let draft = || {
            let pattern = match &arm.pat {
                Pat::Guard(guard) => guard.pat.span(),
                other => other.span(),
            };
            let pattern = short(&self.text[pattern.byte_range()]);
            vec![Draft { text: String::new(), what: format!("arm `{pattern}` is left out") }]
        };
        let (at, shape) = match &arm.pat {
            Pat::Guard(guard) => (guard.guard.span().byte_range(), Shape::GuardedArm),
            other => (other.span().byte_range(), Shape::Arm),
        };
        let drafts = draft();
        self.add(at, shape, drafts);
    }
}

/// At most some characters, on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= 60 { line } else { format!("{}…", line.chars().take(60).collect::<String>()) }
}

fn excluded(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("test") || is_cfg_test(attribute))
}

/// Whether a chain of `&&` binds names with `let`, and so is not a value.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary { left, op: BinOp::And(_), right, .. }) => has_let(left) || has_let(right),
        _ => false,
    }
}

/// What is tried in place of an operator.
fn instead_of(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let of_default = item.trait_.as_ref().is_some_and(|(path, _)| path.is_ident("Default"));
        if excluded(&item.attrs) || of_default {
            return;
        }
        let name = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.within.push(name.unwrap_or_else(|| "impl".to_owned()));
        visit::visit_item_impl(self, item);
        self.within.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.within.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.within.pop();
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !excluded(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.constant(&item.attrs, &item.ident.to_string(), &item.expr);
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.constant(&item.attrs, &item.ident.to_string(), &item.expr);
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.constant(&item.attrs, &item.ident.to_string(), &item.expr);
    }

    fn visit_expr_const(&mut self, expression: &'ast ExprConst) {
        self.fixed_by(Some(CONST_ITEM), |finder| visit::visit_expr_const(finder, expression));
    }

    fn visit_expr_repeat(&mut self, expression: &'ast ExprRepeat) {
        self.visit_expr(&expression.expr);
    }

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    /// Patterns have no expressions that could be changed; a guard is one.
    fn visit_pat(&mut self, pattern: &'ast Pat) {
        if let Pat::Guard(guard) = pattern {
            self.guard(guard);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        self.visit_expr(&expression.expr);
        let wild = expression.arms.iter().any(|arm| matches!(arm.pat, Pat::Wild(_)));
        for arm in &expression.arms {
            if wild && !matches!(arm.pat, Pat::Wild(_)) {
                self.arm(arm);
            }
            self.visit_pat(&arm.pat);
            self.visit_expr(&arm.body);
        }
    }

    fn visit_expr_binary(&mut self, expression: &'ast ExprBinary) {
        let at = expression.span().byte_range();
        let operator = expression.op.span().byte_range();
        let was = &self.text[operator.clone()];
        let drafts = instead_of(&expression.op).iter().map(|other| Draft {
            text: format!("{}{other}{}", &self.text[at.start..operator.start], &self.text[operator.end..at.end]),
            what: format!("`{was}` is `{other}` in `{}`", short(&self.text[at.clone()])),
        });
        let drafts = drafts.collect();
        let chained = has_let(&expression.left) || has_let(&expression.right);
        let place = operator.start;
        self.fixed_by(chained.then_some(LET_CHAIN), |finder| {
            finder.add_at(place, Site { at, shape: Shape::Expression, choices: Vec::new() }, drafts);
        });
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast ExprUnary) {
        let at = expression.span().byte_range();
        let deleted = match &expression.op {
            UnOp::Not(_) => Some("!"),
            UnOp::Neg(_) => Some("-"),
            _ => None,
        };
        if let Some(deleted) = deleted {
            let what = format!("without `{deleted}` in `{}`", short(&self.text[at.clone()]));
            let text = self.text[expression.expr.span().byte_range()].to_owned();
            self.add(at, Shape::Expression, vec![Draft { text, what }]);
        }
        visit::visit_expr_unary(self, expression);
    }
}
