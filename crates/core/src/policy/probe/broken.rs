//! A test that failed at the start and passes now, made to fail again. An agent that hides just the failing tests from a
//! gate hides this one too; a further test would be noticed.
//!
//! What makes it fail also tries the assertions that its file uses: where one of them lets a wrong value through, the
//! test passes, and the gate with it.

/// Statements of Rust: a panic, unless an assertion is without effect. Written so that no lint reports unreachable code.
const RUST_PANIC: &str = "if ::std::hint::black_box(true) { panic!(\"not as expected\"); }";
/// Assertions of Rust with a wrong value.
const RUST_ASSERTIONS: &[&str] = &["assert_eq!(1, 2)", "assert_ne!(1, 1)", "assert!(1 > 2)"];
/// Matchers of jest and vitest with a wrong value.
const MATCHERS: &[&str] = &[
    "(1).toBe(2)",
    "(1).toEqual(2)",
    "(1).toStrictEqual(2)",
    "(1).toBeCloseTo(2)",
    "(1).toBeGreaterThan(2)",
    "(2).toBeLessThan(1)",
    "(0).toBeTruthy()",
    "(1).toBeFalsy()",
    "(1).toBeNull()",
    "(1).toBeUndefined()",
    "(undefined).toBeDefined()",
    "([]).toContain(1)",
    "([]).toHaveLength(1)",
    "('a').toMatch('b')",
    "({ a: 1 }).toMatchObject({ a: 2 })",
    "(() => {}).toThrow()",
];
/// Functions of `node:assert` with a wrong value.
const ASSERTIONS: &[&str] = &[
    ".strictEqual(1, 2)",
    ".equal(1, 2)",
    ".deepStrictEqual({ a: 1 }, { a: 2 })",
    ".deepEqual({ a: 1 }, { a: 2 })",
    ".notStrictEqual(1, 1)",
    ".notEqual(1, 1)",
    ".ok(false)",
    ".match('a', /b/)",
    ".throws(() => {})",
];

/// The name that is called: up to the bracket.
fn called(call: &str) -> &str {
    let from = call.rfind('.').unwrap_or(0);
    let rest = call.get(from..).unwrap_or(call);
    let end = rest.find('(').map_or(rest.len(), |at| at + 1);
    rest.get(..end).unwrap_or(rest)
}

/// Which of these a text calls.
fn used<'a>(calls: &'static [&'static str], text: &'a str) -> impl Iterator<Item = &'static str> + use<'a> {
    calls.iter().copied().filter(move |call| text.contains(called(call)))
}

/// The body of a failing test of JavaScript. `expect` and `assert` are expressions for these, where there are such.
pub(super) fn javascript_body(text: &str, expect: Option<&str>, assert: Option<&str>) -> String {
    let matchers = expect.map(|name| used(MATCHERS, text).map(move |call| format!("() => {name}{call}")));
    let functions = assert.map(|name| used(ASSERTIONS, text).map(move |call| format!("() => {name}{call}")));
    let mut tried: Vec<String> = matchers.into_iter().flatten().collect();
    tried.extend(functions.into_iter().flatten());
    let fails = "throw new Error('not as expected');";
    if tried.is_empty() {
        return fails.to_owned();
    }
    let tried = tried.join(", ");
    format!("for (const tried of [{tried}]) {{ try {{ tried(); }} catch (error) {{ continue; }} return; }} {fails}")
}

/// The statements of a failing test of Rust.
pub(super) fn rust_body(text: &str) -> String {
    let of = |call: &&&str| text.contains(call.split('(').next().unwrap_or(call));
    let tried = RUST_ASSERTIONS.iter().filter(of);
    let tried = tried.map(|call| format!("if ::std::panic::catch_unwind(|| {{ {call}; }}).is_ok() {{ return; }} "));
    tried.chain([RUST_PANIC.to_owned()]).collect()
}

/// The text with a statement at the beginning of the test with this title; none where it is not certain which it is.
///
/// Known are `test('title', () => {`, `it("title", async function () {` and the like.
pub(super) fn broken_javascript(text: &str, title: &str, statement: &str) -> Option<String> {
    let mut places = ['\'', '"', '`'].iter().flat_map(|quote| {
        let literal = format!("{quote}{title}{quote}");
        text.match_indices(&literal).map(|(at, _)| (at, at + literal.len())).collect::<Vec<_>>()
    });
    let (from, to) = places.next()?;
    if places.next().is_some() || title.is_empty() || title.contains(['\\', '$']) {
        return None;
    }
    let before = text.get(..from)?.rsplit('\n').next()?.trim();
    if !matches!(before, "test(" | "it(" | "await test(" | "await t.test(") {
        return None;
    }
    let after = text.get(to..)?;
    let head = after.get(..after.find('{')?)?;
    let opens = head.trim_end().ends_with("=>") || head.contains("function") && head.trim_end().ends_with(')');
    if !head.trim_start().starts_with(',') || !opens || head.contains('\n') {
        return None;
    }
    let at = to + head.len() + 1;
    Some(format!("{} {statement}{}", text.get(..at)?, text.get(at..)?))
}

/// The text with a statement at the beginning of a test function of Go.
pub(super) fn broken_go(text: &str, test: &str) -> Option<String> {
    let head = format!("func {test}(");
    let mut places = text.match_indices(&head).filter(|(at, _)| text[..*at].ends_with('\n'));
    let (at, _) = places.next()?;
    if places.next().is_some() {
        return None;
    }
    let rest = text.get(at + head.len()..)?;
    let name = rest.split_once(" *testing.T) {")?.0;
    if name == "_" || !super::project::is_identifier(name) {
        return None;
    }
    let end = at + head.len() + name.len() + " *testing.T) {".len();
    Some(format!("{}\n\t{name}.Fatal(\"not as expected\"){}", text.get(..end)?, text.get(end..)?))
}

/// The text with a statement at the beginning of a test function of Rust. `head` is `fn name(`.
pub(super) fn broken_rust(text: &str, head: &str) -> Option<String> {
    let head = format!("{head}) {{");
    let mut places = text.match_indices(&head);
    let (at, _) = places.next()?;
    if places.next().is_some() {
        return None;
    }
    let end = at + head.len();
    Some(format!("{} {}{}", text.get(..end)?, rust_body(text), text.get(end..)?))
}
