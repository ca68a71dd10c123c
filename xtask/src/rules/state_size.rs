//! The state of a run stays small enough to reason about: few parts, and few flags in all of them.
//!
//! Each flag doubles the number of combinations that somebody has to think of. Counted are the fields of `RunState`, and
//! every field with a `bool` in the types that it is made of. Types that are written to the journal are content of facts,
//! and settings are what people chose: neither is counted.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Field, Fields, Item, Meta, Visibility};

use super::size::is_cfg_test;
use crate::{Finding, Tree, tokens};

/// Where the state is.
const STATE_FILE: &str = "crates/core/src/run/state.rs";
/// Its type.
const STATE: &str = "RunState";
/// How many public fields it has at most.
const FIELDS_MAX: usize = 20;
/// How many fields with a `bool` its parts have at most, in all.
const FLAGS_MAX: usize = 12;
/// Where the types of its parts are looked for.
const CORE: &str = "crates/core/src/";
/// What people chose.
const SETTINGS: &str = "crates/core/src/settings/";

/// Finds a state with too many fields, or with too many flags in its parts.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(state) = state_size(tree) else { return Vec::new() };
    let mut findings = Vec::new();
    if state.public_fields > FIELDS_MAX {
        let count = state.public_fields;
        let fault =
            format!("{STATE} has {count} public fields, at most {FIELDS_MAX}; make what belongs together a part");
        findings.push(Finding::new(STATE_FILE, state.line, fault));
    }
    let flags = &state.flags;
    if flags.len() > FLAGS_MAX {
        let fault = format!(
            "the parts of {STATE} have {} flags, at most {FLAGS_MAX}; make an enum of those that exclude each other, or \
             store what they were made from: {}",
            flags.len(),
            flags.join(", ")
        );
        findings.push(Finding::new(STATE_FILE, state.line, fault));
    }
    findings
}

/// How large the state is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSize {
    /// The line of its type.
    pub line: usize,
    /// How many public fields it has.
    pub public_fields: usize,
    /// The flags of all its parts, as `Type::field`.
    pub flags: Vec<String>,
}

/// How large the state in this tree is; none where there is no state.
#[must_use]
pub fn state_size(tree: &Tree) -> Option<StateSize> {
    let types = types_of(tree);
    let state = types.get(STATE)?.iter().find(|one| one.path == STATE_FILE)?;
    let flags = flags_of(state, &types).iter().map(|flag| format!("{}::{}", flag.of, flag.name)).collect();
    Some(StateSize { line: state.line, public_fields: state.public_fields, flags })
}

/// A type of core.
struct StateType {
    name: String,
    path: String,
    line: usize,
    public_fields: usize,
    /// Its fields with a `bool`.
    flags: Vec<String>,
    /// The types that its fields name.
    uses: Vec<String>,
    is_public: bool,
}

/// A field with a `bool`.
struct StateFlag<'a> {
    of: &'a str,
    name: &'a str,
}

type Types = BTreeMap<String, Vec<StateType>>;

/// The flags of this type, and of all that it is made of.
fn flags_of<'a>(state: &'a StateType, types: &'a Types) -> Vec<StateFlag<'a>> {
    let (mut seen, mut next, mut flags) = (BTreeSet::new(), vec![state], Vec::new());
    while let Some(one) = next.pop() {
        if !seen.insert((one.path.as_str(), one.name.as_str())) {
            continue;
        }
        flags.extend(one.flags.iter().map(|name| StateFlag { of: &one.name, name }));
        next.extend(one.uses.iter().filter_map(|name| named(name, &one.path, types)));
    }
    flags.sort_by_key(|flag| (flag.of, flag.name));
    flags
}

/// The type that a file means by a name: its own, else one that others can see.
fn named<'a>(name: &str, path: &str, types: &'a Types) -> Option<&'a StateType> {
    let all = types.get(name)?;
    all.iter().find(|one| one.path == path).or_else(|| all.iter().find(|one| one.is_public))
}

/// The types of core by name, without those that are content of facts, or settings.
fn types_of(tree: &Tree) -> Types {
    let mut types = Types::new();
    let files = tree.rust().filter(|file| file.path.starts_with(CORE) && !file.path.starts_with(SETTINGS));
    for file in files {
        // The size rule reports what is not Rust.
        let Ok(parsed) = syn::parse_file(&file.text) else { continue };
        let mut reader = TypeReader { path: &file.path, found: Vec::new() };
        reader.visit_file(&parsed);
        for one in reader.found {
            types.entry(one.name.clone()).or_default().push(one);
        }
    }
    types
}

struct TypeReader<'a> {
    path: &'a str,
    found: Vec<StateType>,
}

impl TypeReader<'_> {
    fn add(&mut self, ident: &syn::Ident, visibility: &Visibility, fields: Vec<&Field>) {
        let mut one = StateType {
            name: ident.to_string(),
            path: self.path.to_owned(),
            line: ident.span().start().line,
            public_fields: fields.iter().filter(|field| matches!(field.vis, Visibility::Public(_))).count(),
            flags: Vec::new(),
            uses: Vec::new(),
            is_public: !matches!(visibility, Visibility::Inherited),
        };
        for field in fields {
            let mut words = Words::default();
            words.visit_type(&field.ty);
            if words.0.iter().any(|word| word == "bool") {
                one.flags.push(field.ident.as_ref().map_or_else(|| "0".to_owned(), ToString::to_string));
            }
            one.uses.extend(words.0);
        }
        self.found.push(one);
    }
}

impl<'ast> Visit<'ast> for TypeReader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if let Item::Struct(one) = item
            && !is_stored(&one.attrs)
        {
            return self.add(&one.ident, &one.vis, all_of(&one.fields));
        }
        if let Item::Enum(one) = item
            && !is_stored(&one.attrs)
        {
            let fields = one.variants.iter().flat_map(|variant| all_of(&variant.fields)).collect();
            return self.add(&one.ident, &one.vis, fields);
        }
        if let Item::Type(one) = item {
            self.add(&one.ident, &one.vis, Vec::new());
            let mut words = Words::default();
            words.visit_type(&one.ty);
            if let Some(added) = self.found.last_mut() {
                added.uses = words.0;
            }
            return;
        }
        let is_test = matches!(item, Item::Mod(module) if module.attrs.iter().any(is_cfg_test));
        if !is_test {
            visit::visit_item(self, item);
        }
    }
}

fn all_of(fields: &Fields) -> Vec<&Field> {
    fields.iter().collect()
}

/// Whether a type is written to the journal.
fn is_stored(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        let is_derive = list.path.is_ident("derive");
        is_derive && list.tokens.clone().into_iter().any(|token| tokens::is_word(Some(&token), "Serialize"))
    })
}

/// The names that a type is written with.
#[derive(Default)]
struct Words(Vec<String>);

impl<'ast> Visit<'ast> for Words {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.0.push(segment.ident.to_string());
        visit::visit_path_segment(self, segment);
    }
}
