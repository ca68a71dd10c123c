//! Whether a changed file that defines how tests are run has lost something by the change. Only what is certain is said:
//! everything of the start is still there, and what was added cannot switch tests off.
use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::target::{JSON_PARTS, TargetFormat};

/// Words before the name of another file that make or just reads.
const INCLUDES: &[&str] = &["include", "-include", "sinclude", "import", "import?", "mod"];
/// Scripts of a package that npm, pnpm and yarn run of their own accord, most of them before the tests.
const LIFECYCLE: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "preuninstall",
    "uninstall",
    "postuninstall",
    "prepublish",
    "preprepare",
    "prepare",
    "postprepare",
    "prepublishOnly",
    "prepack",
    "postpack",
    "dependencies",
    "prestart",
    "poststart",
    "prestop",
    "poststop",
    "prerestart",
    "postrestart",
    "preversion",
    "version",
    "postversion",
    "pnpm:devPreinstall",
];
/// make makes these files again, by a rule for them, before it does anything else.
const MAKEFILES: &[&str] = &["Makefile", "makefile", "GNUmakefile"];

/// Whether nothing that a file said about tests is lost: further targets behind the first,
/// further scripts, comments. A rule of the start has the same lines, and needs no more than other rules of the start.
///
/// ```
/// use loop_core::policy::protect::loses_nothing;
///
/// let before = "test:\n\tpytest -q\n";
/// assert!(loses_nothing("Makefile", before, "# tests\ntest:\n\tpytest -q\n\nlint:\n\truff .\n"));
/// assert!(!loses_nothing("Makefile", before, "test:\n\tpytest -q -k add\n"));
/// assert!(!loses_nothing("Makefile", before, "lint:\n\truff .\n\ntest:\n\tpytest -q\n"), "`make` runs another one");
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

/// All scripts are as they were, and no new one runs without being named.
fn has_all_scripts(then: &Map<String, Json>, now: &Map<String, Json>) -> bool {
    // `pretest` of npm, `post-install-cmd` of composer.
    let is_around = |name: &str, begin: &str| {
        name.strip_prefix(begin).is_some_and(|of| of.starts_with('-') || now.contains_key(of))
    };
    let is_hook = |name: &str| LIFECYCLE.contains(&name) || is_around(name, "pre") || is_around(name, "post");
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
    let words: BTreeSet<&str> = then.iter().flat_map(|line| line.split(|letter| !is_of_target(letter))).collect();
    // What a rule of the start needs may be said by a variable or by a pattern: then a new rule may be meant.
    let may_add = then.iter().all(|line| is_clear(line));
    let is_new =
        |target: &&str| target.chars().all(is_of_target) && !words.contains(*target) && !MAKEFILES.contains(target);
    let mut left = then.iter().peekable();
    // The first target is what runs without a name. A new rule may stand behind one of the start only.
    let mut has_first = false;
    // Whether the lines that follow belong to a rule that is new.
    let mut in_new_rule = false;
    for line in &now {
        let is_step = line.starts_with(['\t', ' ']);
        if left.peek().is_some_and(|then| is_kept(then, line, &known)) {
            if is_step && in_new_rule {
                return false;
            }
            left.next();
            in_new_rule = false;
            has_first |=
                rule_of(line).is_some_and(|rule| rule.targets.iter().any(|target| target.chars().all(is_of_target)));
            continue;
        }
        let is_harmless = match rule_of(line) {
            _ if is_step => in_new_rule,
            Some(rule) => {
                in_new_rule = rule.targets == [".PHONY"] || may_add && has_first && rule.targets.iter().all(is_new);
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

/// The same line, or the same rule that needs other rules of the start, too.
fn is_kept(then: &str, now: &str, known: &BTreeSet<&str>) -> bool {
    then == now
        || match (rule_of(then), rule_of(now)) {
            (Some(then), Some(now)) => {
                let is_phony = then.targets == [".PHONY"];
                let is_fine = |need: &&str| is_phony || then.needs.contains(need) || known.contains(*need);
                then.targets == now.targets
                    && then.needs.iter().all(|need| now.needs.contains(need))
                    && now.needs.iter().all(is_fine)
            }
            (Some(_) | None, _) => false,
        }
}

/// The letters of a target that make neither expands, nor makes from another file, nor reads as a word of its own
/// (`.IGNORE`, `%`, `a.o`).
fn is_of_target(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// Whether a line of the start says plainly what it needs: a step, a variable, or a rule without patterns.
fn is_clear(line: &str) -> bool {
    let is_variable = || {
        let name = line.split_once('=').map(|(name, _)| name.trim_end_matches([':', '?', '+', '!', ' ']));
        name.is_some_and(|name| !name.is_empty() && name.chars().all(is_of_target))
    };
    let is_rule = || rule_of(line).is_some() && !line.contains(['%', '*', '?', '[']);
    line.starts_with(['\t', ' ']) || !line.contains(':') || is_variable() || is_rule()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "T = pytest\n.PHONY: test\ntest: ready\n\t$(T) -q\nready:\n\tsh ready.sh\n";

    #[test]
    fn a_makefile_with_further_targets_and_comments_loses_nothing() {
        for (from, to) in [
            ("T = pytest\n", "# how tests run\n\nT = pytest\n"),
            ("\tsh ready.sh\n", "\tsh ready.sh\nbuild:\n\trm -rf out\n\tcc a.c > log\n"),
            ("\tsh ready.sh\n", "\tsh ready.sh\nall: test ready\n"),
            ("ready:\n", "clean:\n\trm -rf out\nready:\n"),
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
            // Another rule is the one that runs without a name.
            (".PHONY: test\n", ".PHONY: test\nfine:\n\ttrue\n"),
            // What a rule of the start needs runs first.
            ("test: ready", "test: ready lint"),
            ("\tsh ready.sh\n", "\tsh ready.sh\nready: prep\nprep:\n\trm -f tests/test_hard.py\n"),
            ("test: ready\n\t$(T) -q\n", "test: ready prep\n\t$(T) -q\nprep:\n\trm -f tests/test_hard.py\n"),
            // Further lines of its own.
            ("\t$(T) -q\n", "\tfind tests -name 'test_h*' -delete\n\t$(T) -q\n"),
            ("\t$(T) -q\n", "\tpython3 fix.py\n\t$(T) -q\n"),
            ("-q\n", "-q\n\tsh more.sh\n"),
            // Lines of the start under another rule.
            ("\t$(T) -q\n", "other:\n\t$(T) -q\n"),
            ("\t$(T) -q\n", ".PHONY: other\n\t$(T) -q\n"),
            // make makes its own file first.
            ("\tsh ready.sh\n", "\tsh ready.sh\nMakefile:\n\trm -r tests\n"),
            ("\tsh ready.sh\n", "\tsh ready.sh\n./Make*:\n\trm -r tests\n"),
        ] {
            assert!(
                MAKEFILE.contains(from) && !loses_nothing("Makefile", MAKEFILE, &MAKEFILE.replace(from, to)),
                "{to}"
            );
        }
    }

    #[test]
    fn a_makefile_loses_something_by_a_rule_for_a_file_that_a_rule_of_the_start_needs() {
        let before = "test: data.txt\n\tpytest -q\n";
        assert!(!loses_nothing("Makefile", before, &format!("{before}data.txt:\n\trm -r tests\n")));
        assert!(loses_nothing("Makefile", before, &format!("{before}more:\n\ttouch more.txt\n")));
        // `make` makes `data.txt` from a file of its own rules, such as `data.txt.sh`.
        assert!(!loses_nothing("Makefile", before, &format!("{before}data.txt.sh:\n\trm -r tests\n")));
    }

    #[test]
    fn a_new_rule_may_be_meant_where_a_makefile_needs_what_a_variable_or_a_pattern_says() {
        let more = "more:\n\trm -r tests\n";
        for before in ["test: $(FIRST)\n\tpytest -q\n", "test: ready\n\tpytest -q\n%: %-first\n\ttrue\n"] {
            assert!(!loses_nothing("Makefile", before, &format!("{before}{more}")), "{before}");
        }
    }

    #[test]
    fn a_justfile_loses_something_by_another_first_recipe() {
        let before = "test:\n\tpytest -q\n";
        assert!(!loses_nothing("justfile", before, &format!("fine:\n\ttrue\n{before}")));
        assert!(loses_nothing("justfile", before, &format!("{before}fine:\n\ttrue\n")));
    }

    #[test]
    fn a_package_loses_something_by_a_script_that_npm_runs_of_its_own_accord() {
        let before = r#"{"scripts": {"test": "jest"}}"#;
        for name in ["preinstall", "install", "postinstall", "prepare", "prepublish", "dependencies", "prepack"] {
            let after = before.replace(r#""jest"}"#, &format!(r#""jest", "{name}": "rm -r tests"}}"#));
            assert!(!loses_nothing("package.json", before, &after), "{name}");
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
