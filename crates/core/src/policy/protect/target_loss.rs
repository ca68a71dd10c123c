//! Whether a changed file that defines how tests are run has lost something by the change. Only what is certain is said:
//! everything of the start is still there, and what was added cannot switch tests off.
use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::target::{JSON_PARTS, TargetFormat};

/// Words before the name of another file that make or just reads.
const INCLUDES: &[&str] = &["include", "-include", "sinclude", "import", "import?", "mod"];
/// Words of a further recipe line that may undo what the others do.
const UNDOING: &[&str] = &[
    "rm", "mv", "cp", "ln", "sed", "exit", "true", ":", "kill", "pkill", "git", "touch", "chmod", "eval", "exec",
    "trap", "tee", "install", "export", "set", "unset", "alias",
];

/// Whether nothing that a file said about tests is lost: further targets, further steps, further scripts, comments.
///
/// ```
/// use loop_core::policy::protect::loses_nothing;
///
/// let before = "test:\n\tpytest -q\n";
/// assert!(loses_nothing("Makefile", before, "# tests\ntest: lint\n\tpytest -q\n\nlint:\n\truff .\n"));
/// assert!(!loses_nothing("Makefile", before, "test:\n\tpytest -q -k add\n"));
/// ```
#[must_use]
pub fn loses_nothing(file_name: &str, before: &str, after: &str) -> bool {
    match TargetFormat::of(file_name) {
        Some(TargetFormat::Json) => json_loses_nothing(before, after),
        Some(TargetFormat::Make) => makefile_loses_nothing(before, after),
        Some(TargetFormat::Pyproject | TargetFormat::Cargo | TargetFormat::Ini | TargetFormat::Whole) | None => false,
    }
}

fn json_loses_nothing(before: &str, after: &str) -> bool {
    let (Ok(Json::Object(before)), Ok(Json::Object(after))) =
        (serde_json::from_str::<Json>(before), serde_json::from_str::<Json>(after))
    else {
        return false;
    };
    JSON_PARTS.iter().all(|part| match (before.get(*part), after.get(*part)) {
        (Some(Json::Object(then)), Some(Json::Object(now))) if matches!(*part, "scripts" | "tasks") => {
            has_all_scripts(then, now)
        }
        (then, now) => then == now,
    })
}

/// All scripts are as they were, and no new one runs before or after one of them.
fn has_all_scripts(then: &Map<String, Json>, now: &Map<String, Json>) -> bool {
    let is_hook = |name: &str| {
        ["pre", "post"].iter().any(|begin| name.strip_prefix(begin).is_some_and(|of| now.contains_key(of)))
    };
    then.iter().all(|(name, line)| now.get(name) == Some(line))
        && now.keys().filter(|name| !then.contains_key(*name)).all(|name| !is_hook(name))
}

fn makefile_loses_nothing(before: &str, after: &str) -> bool {
    // What is included may have changed too.
    let includes = |line: &&str| line.split_whitespace().next().is_some_and(|word| INCLUDES.contains(&word));
    let (before, after) = (before.replace("\\\n", " "), after.replace("\\\n", " "));
    let (then, now) = (lines_of(&before), lines_of(&after));
    if then.iter().chain(&now).any(includes) {
        return false;
    }
    let known: BTreeSet<&str> = then.iter().filter_map(|line| rule_of(line)).flat_map(|rule| rule.targets).collect();
    let mut left = then.iter().peekable();
    // Whether the lines that follow belong to a rule that is new.
    let mut in_new_rule = false;
    for line in &now {
        if left.peek().is_some_and(|then| is_kept(then, line)) {
            left.next();
            in_new_rule = false;
            continue;
        }
        let is_harmless = match rule_of(line) {
            _ if line.starts_with('\t') => in_new_rule || !undoes(line),
            Some(rule) if rule.targets == [".PHONY"] => true,
            Some(rule) => {
                in_new_rule = rule.targets.iter().all(|target| is_new_target(target, &known));
                in_new_rule
            }
            None => false,
        };
        if !is_harmless {
            return false;
        }
    }
    left.next().is_none()
}

/// Lines without comments and without those that are empty.
fn lines_of(text: &str) -> Vec<&str> {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().map(str::trim_end).filter(is_said).collect()
}

struct Rule<'a> {
    targets: Vec<&'a str>,
    needs: Vec<&'a str>,
}

/// The line that begins a rule; none for a variable or a recipe.
fn rule_of(line: &str) -> Option<Rule<'_>> {
    let (targets, needs) = line.split_once(':').filter(|_| !line.starts_with(['\t', ' ']))?;
    let is_plain = !line.contains(['=', ';', '$', '|']) && !needs.starts_with(':');
    is_plain.then(|| Rule { targets: targets.split_whitespace().collect(), needs: needs.split_whitespace().collect() })
}

/// The same line, or the same rule that needs more.
fn is_kept(then: &str, now: &str) -> bool {
    then == now
        || match (rule_of(then), rule_of(now)) {
            (Some(then), Some(now)) => {
                then.targets == now.targets && then.needs.iter().all(|need| now.needs.contains(need))
            }
            (Some(_) | None, _) => false,
        }
}

/// Neither a target of the start, nor a pattern, nor one with a meaning of its own (`.IGNORE`).
fn is_new_target(target: &str, known: &BTreeSet<&str>) -> bool {
    !target.starts_with('.') && !target.contains('%') && !known.contains(target)
}

/// Whether a further recipe line may undo what the others do.
fn undoes(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['@', '-', '+']);
    let mut words = line.split(|letter: char| letter.is_whitespace() || ";&|()".contains(letter));
    line.contains(['>', '|', '$', '`']) || words.any(|word| UNDOING.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "T = pytest\n.PHONY: test\ntest: ready\n\t$(T) -q\nready:\n\tsh ready.sh\n";

    #[test]
    fn a_makefile_with_further_targets_steps_and_comments_loses_nothing() {
        for (from, to) in [
            ("T = pytest\n", "# how tests run\n\nT = pytest\n"),
            ("\tsh ready.sh\n", "\tsh ready.sh\nbuild:\n\trm -rf out\n\tcc a.c > log\n"),
            ("test: ready", "test: ready lint"),
            ("-q\n", "-q\n\tsh more.sh\n"),
            (".PHONY: test\n", ".PHONY: test build\n.PHONY: lint\n"),
        ] {
            assert!(
                MAKEFILE.contains(from) && loses_nothing("Makefile", MAKEFILE, &MAKEFILE.replace(from, to)),
                "{to}"
            );
        }
    }

    #[test]
    fn a_makefile_loses_something_by_whatever_may_switch_tests_off() {
        for (from, to) in [
            ("\t$(T) -q\n", ""),
            ("-q\n", "-q || true\n"),
            ("-q\n", "-q\n\trm -r tests\n"),
            ("-q\n", "-q \\\n\t -k add\n"),
            ("-q\n", "-q\n\techo x > tests/a\n"),
            ("test: ready", "test:"),
            ("T = pytest", "T = true"),
            ("T = pytest\n", "T = pytest\noverride T = true\n"),
            ("T = pytest\n", "T = pytest\n.IGNORE:\n"),
            ("T = pytest\n", "T = pytest\ninclude more.mk\n"),
            ("\tsh ready.sh\n", "\tsh ready.sh\ntest:\n\ttrue\n"),
            ("\tsh ready.sh\n", "\tsh ready.sh\n%:\n\ttrue\n"),
        ] {
            assert!(
                MAKEFILE.contains(from) && !loses_nothing("Makefile", MAKEFILE, &MAKEFILE.replace(from, to)),
                "{to}"
            );
        }
    }

    #[test]
    fn a_package_with_a_further_script_loses_nothing_unless_it_runs_around_one_of_the_start() {
        let before = r#"{"scripts": {"test": "jest"}, "jest": {"bail": true}}"#;
        let with = |script: &str| before.replace(r#""jest"}"#, &format!(r#""jest", {script}}}"#));
        assert!(loses_nothing("package.json", before, &with(r#""build": "tsc""#)));
        assert!(!loses_nothing("package.json", before, &with(r#""pretest": "rm -r tests""#)));
        assert!(!loses_nothing("package.json", before, &before.replace("true", "false")));
        assert!(!loses_nothing("package.json", before, "{}"));
        assert!(!loses_nothing("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -x\n"), "settings are not understood");
    }
}
