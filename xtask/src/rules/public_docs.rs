//! Every public item says what it is. Fields and variants may speak by their names alone, which rustc's `missing_docs`
//! cannot allow.
#![expect(clippy::wildcard_enum_match_arm, reason = "syn may add kinds of syntax in any version")]

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Meta, TraitItem, Visibility};

use super::size::is_cfg_test;
use crate::{File, Finding, Tree};

/// Finds public items without a doc comment.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| file.is_src()).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    // The size rule reports what is not Rust.
    let Ok(parsed) = syn::parse_file(&file.text) else { return Vec::new() };
    let mut items = Items { path: &file.path, findings: Vec::new() };
    items.visit_file(&parsed);
    items.findings
}

struct Items<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Items<'_> {
    fn look(&mut self, attributes: &[Attribute], kind: &str, name: &syn::Ident) {
        if !attributes.iter().any(is_doc) {
            let message = format!("public {kind} `{name}` has no doc comment; say in a sentence what it is");
            self.findings.push(Finding::new(self.path, name.span().start().line, message));
        }
    }
}

/// `/// …`, `#[doc = "…"]`, `#[doc(hidden)]`.
fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_exported(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| matches!(&attribute.meta, Meta::Path(path) if path.is_ident("macro_export")))
}

impl<'ast> Visit<'ast> for Items<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(it) if it.attrs.iter().any(is_cfg_test) => return,
            // The doc comment of a module in a file of its own is in that file; there is a rule for it.
            Item::Mod(it) if is_public(&it.vis) && it.content.is_some() => self.look(&it.attrs, "module", &it.ident),
            Item::Struct(it) if is_public(&it.vis) => self.look(&it.attrs, "struct", &it.ident),
            Item::Enum(it) if is_public(&it.vis) => self.look(&it.attrs, "enum", &it.ident),
            Item::Union(it) if is_public(&it.vis) => self.look(&it.attrs, "union", &it.ident),
            Item::Trait(it) if is_public(&it.vis) => {
                self.look(&it.attrs, "trait", &it.ident);
                for inside in &it.items {
                    match inside {
                        TraitItem::Fn(it) => self.look(&it.attrs, "function", &it.sig.ident),
                        TraitItem::Const(it) => self.look(&it.attrs, "constant", &it.ident),
                        TraitItem::Type(it) => self.look(&it.attrs, "type", &it.ident),
                        _ => {}
                    }
                }
            }
            Item::Fn(it) if is_public(&it.vis) => self.look(&it.attrs, "function", &it.sig.ident),
            Item::Const(it) if is_public(&it.vis) => self.look(&it.attrs, "constant", &it.ident),
            Item::Static(it) if is_public(&it.vis) => self.look(&it.attrs, "static", &it.ident),
            Item::Type(it) if is_public(&it.vis) => self.look(&it.attrs, "type", &it.ident),
            Item::Macro(it) if is_exported(&it.attrs) => {
                if let Some(name) = &it.ident {
                    self.look(&it.attrs, "macro", name);
                }
            }
            // What implements a trait is described there.
            Item::Impl(it) if it.trait_.is_none() => {
                for inside in &it.items {
                    match inside {
                        ImplItem::Fn(it) if is_public(&it.vis) => self.look(&it.attrs, "function", &it.sig.ident),
                        ImplItem::Const(it) if is_public(&it.vis) => self.look(&it.attrs, "constant", &it.ident),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }
}
