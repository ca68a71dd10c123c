//! What a function may return instead: a few values for each return type, as cargo-mutants chooses them.
#![expect(clippy::wildcard_enum_match_arm, reason = "syn may add kinds of syntax in any version")]

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{GenericArgument, PathArguments, PathSegment, ReturnType, Type, TypeParamBound, TypePath, TypeReference};

const DEFAULT: &str = "Default::default()";

/// Values for what a function returns. Some of them may not compile.
#[must_use]
pub fn of_return(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, given) => of_type(given),
    }
}

/// The type of the items, where an iterator is returned whose type has no name.
#[must_use]
pub fn iterator_item(output: &ReturnType) -> Option<&Type> {
    let ReturnType::Type(_, given) = output else { return None };
    let Type::ImplTrait(given) = &**given else { return None };
    given.bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let segment = bound.path.segments.last().filter(|segment| segment.ident == "Iterator")?;
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
        arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::AssocType(item) if item.ident == "Item" => Some(&item.ty),
            _ => None,
        })
    })
}

/// Values of a type.
#[must_use]
pub fn of_type(given: &Type) -> Vec<String> {
    match given {
        Type::Path(path) => of_path(path),
        Type::Reference(reference) => of_reference(reference),
        Type::Tuple(tuple) => {
            let mut all = vec![String::new()];
            for item in &tuple.elems {
                let values = of_type(item);
                all =
                    all.iter().flat_map(|begun| values.iter().map(move |value| format!("{begun}{value}, "))).collect();
            }
            all.iter().map(|items| format!("({})", items.trim_end())).collect()
        }
        Type::Array(array) => {
            let length = source(array.len.span());
            of_type(&array.elem).iter().map(|value| format!("[{value}; {length}]")).collect()
        }
        Type::Paren(inner) => of_type(&inner.elem),
        Type::Never(_) | Type::ImplTrait(_) => Vec::new(),
        _ => vec![DEFAULT.to_owned()],
    }
}

fn source(span: Span) -> String {
    span.source_text().unwrap_or_default()
}

fn of_reference(reference: &TypeReference) -> Vec<String> {
    match &*reference.elem {
        Type::Path(path) if path.path.is_ident("str") && reference.mutability.is_none() => {
            vec!["\"\"".to_owned(), "\"xyzzy\"".to_owned()]
        }
        Type::Slice(slice) => std::iter::once("Vec::leak(Vec::new())".to_owned())
            .chain(of_type(&slice.elem).iter().map(|value| format!("Vec::leak(vec![{value}])")))
            .collect(),
        other => of_type(other).iter().map(|value| format!("Box::leak(Box::new({value}))")).collect(),
    }
}

fn of_path(path: &TypePath) -> Vec<String> {
    let Some(last) = path.path.segments.last() else { return vec![DEFAULT.to_owned()] };
    let name = last.ident.to_string();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match name.as_str() {
        "bool" => words(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => words(&["0", "1"]),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => words(&["0", "1", "-1"]),
        "f32" | "f64" => words(&["0.0", "1.0", "-1.0"]),
        "String" => words(&["String::new()", "\"xyzzy\".into()"]),
        _ => of_generic(&name, &arguments(last), path),
    }
}

fn arguments(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return Vec::new() };
    let types = arguments.args.iter();
    types
        .filter_map(|argument| match argument {
            GenericArgument::Type(given) => Some(given),
            _ => None,
        })
        .collect()
}

fn of_generic(name: &str, arguments: &[&Type], path: &TypePath) -> Vec<String> {
    let with = |first: Option<&str>, frame: &dyn Fn(&str) -> String| -> Vec<String> {
        let values = arguments.first().map(|given| of_type(given)).unwrap_or_default();
        first.map(str::to_owned).into_iter().chain(values.iter().map(|value| frame(value))).collect()
    };
    match (name, arguments.len()) {
        ("Result", 1 | 2) => with(None, &|value| format!("Ok({value})")),
        ("Option", 1) => with(Some("None"), &|value| format!("Some({value})")),
        ("Vec", 1) => with(Some("vec![]"), &|value| format!("vec![{value}]")),
        ("Box" | "Rc" | "Arc", 1) => with(None, &|value| format!("{name}::new({value})")),
        ("Cow", 1) => {
            let borrowed = of_reference_to(arguments[0]);
            let owned = borrowed.iter().map(|value| format!("Cow::Owned({value}.to_owned())"));
            borrowed.iter().map(|value| format!("Cow::Borrowed({value})")).chain(owned).collect()
        }
        ("BinaryHeap" | "BTreeSet" | "HashSet" | "LinkedList" | "VecDeque", 1) => {
            with(Some(&format!("{name}::new()")), &|value| format!("{name}::from_iter([{value}])"))
        }
        ("BTreeMap" | "HashMap", 2) => {
            let keys = of_type(arguments[0]);
            let values = of_type(arguments[1]);
            let pairs = keys.iter().flat_map(|key| values.iter().map(move |value| format!("({key}, {value})")));
            std::iter::once(format!("{name}::new()"))
                .chain(pairs.map(|pair| format!("{name}::from_iter([{pair}])")))
                .collect()
        }
        (_, 1) if !path.path.is_ident("Self") => {
            let values = of_type(arguments[0]);
            let framed = values.iter().flat_map(|value| {
                [
                    format!("{name}::from_iter([{value}])"),
                    format!("{name}::new({value})"),
                    format!("{name}::from({value})"),
                ]
            });
            std::iter::once(format!("{name}::new()")).chain(framed).collect()
        }
        _ => vec![DEFAULT.to_owned()],
    }
}

fn of_reference_to(given: &Type) -> Vec<String> {
    match given {
        Type::Path(path) if path.path.is_ident("str") => vec!["\"\"".to_owned(), "\"xyzzy\"".to_owned()],
        _ => of_type(given).iter().map(|value| format!("Box::leak(Box::new({value}))")).collect(),
    }
}
