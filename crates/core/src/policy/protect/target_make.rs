//! How a makefile or a justfile says that tests are run: the rules of tests with all that they need, the variables that
//! those use, and what changes how make itself runs them.
use std::collections::{BTreeMap, BTreeSet};

/// What is said under which name.
type Said = BTreeMap<String, String>;

/// Files that a makefile includes, and how deep.
const INCLUDED_MAX: usize = 50;
const DEPTH_MAX: usize = 3;
/// Rules and variables that one rule may reach.
const REACHED_MAX: usize = 500;
/// What changes how every recipe is run.
const SPECIAL: &[&str] = &[
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    ".RECIPEPREFIX",
    "PATH",
    "BASH_ENV",
    "LD_PRELOAD",
    "set shell",
];
const SPECIAL_RULES: &[&str] = &[".IGNORE", ".ONESHELL", ".DEFAULT", ".SECONDEXPANSION"];

/// A makefile with what it includes in the place of the lines that include it. `read` gets a path as it is written: from
/// the folder in which make runs.
pub(super) fn with_included(content: &str, read: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let mut left = INCLUDED_MAX;
    included(content, read, &mut left, DEPTH_MAX)
}

fn included(content: &str, read: &mut dyn FnMut(&str) -> Option<String>, left: &mut usize, depth: usize) -> String {
    let mut text = String::new();
    let content = content.replace("\\\n", " ");
    for line in content.lines() {
        let bare = line.split_once('#').map_or(line, |(line, _)| line);
        let mut words = bare.split_whitespace();
        let is_include = !line.starts_with('\t')
            && words
                .next()
                .is_some_and(|word| ["include", "-include", "sinclude", "import", "import?"].contains(&word));
        if !is_include || depth == 0 {
            text += line;
            text.push('\n');
            continue;
        }
        for path in words.map(|word| word.trim_matches(['\'', '"'])).filter(|path| !path.starts_with('/')) {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let plain = path.replace("$(CURDIR)/", "").replace("${CURDIR}/", "");
            if let Some(found) = read(&plain) {
                text += &included(&found, read, left, depth - 1);
            }
        }
    }
    text
}

#[derive(Debug, Default)]
struct Rule {
    needs: String,
    recipe: String,
}

impl Rule {
    fn text(&self) -> String {
        let Self { needs, recipe } = self;
        if needs.is_empty() { recipe.trim_start_matches("; ").to_owned() } else { format!("{needs}{recipe}") }
    }
}

/// What a file says, read once from its beginning to its end.
#[derive(Debug, Default)]
struct Makefile {
    is_just: bool,
    rules: BTreeMap<String, Rule>,
    variables: BTreeMap<String, String>,
    /// The rules to which the next line of a recipe belongs.
    open: Vec<String>,
    /// The conditions that hold here.
    conditions: Vec<String>,
    /// The variable whose lines these are.
    defining: Option<String>,
}

/// The rules of tests and what they need and use.
pub(super) fn of_make(content: &str, is_just: bool) -> Said {
    let mut file = Makefile { is_just, ..Makefile::default() };
    let text = content.replace("\\\n", " ");
    text.lines().for_each(|line| file.read(line));
    file.said()
}

impl Makefile {
    fn read(&mut self, line: &str) {
        if let Some(name) = self.defining.take() {
            if line.trim() != "endef" {
                self.set(&name, line);
                self.defining = Some(name);
            }
            return;
        }
        if self.is_recipe(line) {
            let line = one_line(line);
            let is_comment = line.starts_with('#') && !line.starts_with("#!");
            for name in self.open.iter().filter(|_| !line.is_empty() && !is_comment) {
                let rule = self.rules.entry(name.clone()).or_default();
                rule.recipe += &format!("; {line}");
            }
            return;
        }
        let line = one_line(line.split_once('#').map_or(line, |(line, _)| line));
        if line.is_empty() || self.is_condition(&line) {
            return;
        }
        self.open.clear();
        self.head(&line);
    }

    fn is_recipe(&self, line: &str) -> bool {
        let prefix = self.variables.get(".RECIPEPREFIX").and_then(|value| value.chars().last()).unwrap_or('\t');
        !self.open.is_empty() && (line.starts_with(prefix) || self.is_just && line.starts_with(' '))
    }

    /// What stands between `ifeq` and `endif` is said with its condition.
    fn is_condition(&mut self, line: &str) -> bool {
        let first = line.split([' ', '(']).next().unwrap_or_default();
        match first {
            _ if self.is_just => return false,
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => self.conditions.push(line.to_owned()),
            "else" => {
                let before = self.conditions.pop().unwrap_or_default();
                self.conditions.push(format!("{before} {line}"));
            }
            "endif" => drop(self.conditions.pop()),
            _ => return false,
        }
        // Lines of a recipe go on behind a condition, and it is theirs.
        for name in &self.open {
            self.rules.entry(name.clone()).or_default().recipe += &format!("; {line}");
        }
        true
    }

    /// The beginning of a rule, or a variable.
    fn head(&mut self, line: &str) {
        let mut line = line;
        while let Some(rest) = ["export ", "override ", "unexport "].iter().find_map(|word| line.strip_prefix(word)) {
            line = rest.trim_start();
        }
        if let Some(name) = line.strip_prefix("define ") {
            let name = name.trim_end_matches(['=', ':', '?', '+', ' ']).to_owned();
            self.set(&name, "");
            self.defining = Some(name);
            return;
        }
        let Some((names, rest)) = self.parted(line) else { return };
        let value = rest.trim_start_matches([':', '?', '+', '!']);
        if let Some(value) = value.strip_prefix('=') {
            return self.set(names.trim_end_matches(['?', '+', '!', ':', ' ']), value);
        }
        let (needs, recipe) = value.split_once(';').map_or((value, None), |(needs, recipe)| (needs, Some(recipe)));
        let condition = self.condition();
        let names = names.split_whitespace().map(|name| name.trim_start_matches('@').to_owned());
        for name in names.take(if self.is_just { 1 } else { usize::MAX }) {
            let rule = self.rules.entry(name.clone()).or_default();
            let needs = one_line(&format!("{} {condition}{needs}", rule.needs));
            rule.needs = needs;
            rule.recipe.extend(recipe.map(|recipe| format!("; {}", recipe.trim())));
            self.open.push(name);
        }
    }

    /// What stands before and from the first `:` or `=` that is in no brackets.
    fn parted<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        let mut depth = 0_i32;
        let at = line.char_indices().find(|(_, letter)| {
            match letter {
                '(' | '{' => depth += 1,
                ')' | '}' => depth -= 1,
                _ => {}
            }
            let is_head = *letter == ':' || *letter == '=' && !self.is_just;
            depth == 0 && is_head
        })?;
        line.split_at_checked(at.0)
    }

    fn condition(&self) -> String {
        if self.conditions.is_empty() { String::new() } else { format!("[{}] ", self.conditions.join(" and ")) }
    }

    /// Whatever was said of a variable counts, the later behind the earlier.
    fn set(&mut self, name: &str, value: &str) {
        let said = one_line(&format!("{}{value}", self.condition()));
        let all = self.variables.entry(name.trim().to_owned()).or_default();
        *all = if all.is_empty() { said } else { format!("{all}; {said}") };
    }

    fn said(&self) -> Said {
        let mut said = Said::new();
        let is_alike = |name: &str| ["TEST", "CHECK"].iter().any(|part| name.to_ascii_uppercase().contains(part));
        let alike = self.variables.iter().filter(|(name, _)| is_alike(name));
        said.extend(alike.map(|(name, value)| (name.clone(), value.clone())));
        let roots: Vec<&String> = self.rules.keys().filter(|name| is_test_name(name)).collect();
        if roots.is_empty() {
            return said;
        }
        for root in roots {
            let is_plain = ["test", "tests", "check"].contains(&root.as_str());
            let kind = if is_plain { root.clone() } else { format!("rule {root}") };
            let (rules, variables) = self.reached(root);
            let others = rules.into_iter().filter(|name| name != root && !is_test_name(name));
            let others = others.filter_map(|name| Some((format!("rule {name}"), self.rules.get(&name)?.text())));
            let used = variables.into_iter().filter(|name| !is_alike(name) && !SPECIAL.contains(&name.as_str()));
            let used = used.filter_map(|name| Some((name.clone(), self.variables.get(&name)?.clone())));
            said.extend(others.chain(used).map(|(name, value)| (format!("{name} [for {kind}]"), value)));
            let phony = self.rules.get(".PHONY").is_some_and(|rule| rule.needs.split(' ').any(|name| name == root));
            said.extend(phony.then(|| (format!("phony {root}"), "yes".to_owned())));
            said.extend(self.rules.get(root).map(|rule| (kind, rule.text())));
        }
        let special = SPECIAL.iter().filter_map(|name| Some(((*name).to_owned(), self.variables.get(*name)?.clone())));
        said.extend(special);
        let special = SPECIAL_RULES.iter().filter_map(|name| Some(((*name).to_owned(), self.rules.get(*name)?.text())));
        said.extend(special.map(|(name, text)| (name, if text.is_empty() { "set".to_owned() } else { text })));
        said
    }

    /// The rules that a rule needs or calls, and the variables that it and they use.
    fn reached(&self, root: &str) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut rules, mut variables) = (BTreeSet::new(), BTreeSet::new());
        let mut texts = Vec::new();
        let mut wanted = vec![root.to_owned()];
        while rules.len() + variables.len() < REACHED_MAX {
            if let Some(name) = wanted.pop() {
                let Some(rule) = self.rules.get(&name).filter(|_| rules.insert(name.clone())) else { continue };
                texts.push(rule.needs.clone());
                wanted.extend(self.named(&rule.needs));
                let calls = rule.recipe.split(';').filter(|line| line.contains("make") || line.contains("MAKE"));
                let calls = calls.chain(rule.recipe.split(';').filter(|line| self.is_just && line.contains("just ")));
                wanted.extend(calls.flat_map(|line| self.named(line)));
                texts.push(rule.recipe.clone());
            } else if let Some(text) = texts.pop() {
                for name in used(&text) {
                    let Some(value) = self.variables.get(&name).filter(|_| variables.insert(name.clone())) else {
                        continue;
                    };
                    wanted.extend(self.named(value));
                    texts.push(value.clone());
                }
            } else {
                break;
            }
        }
        (rules, variables)
    }

    /// The rules that words name, by a pattern too.
    fn named(&self, text: &str) -> Vec<String> {
        let words = text.split(|letter: char| letter.is_whitespace() || "()|&;".contains(letter));
        let words = words.filter(|word| !word.is_empty());
        let is_meant = |rule: &str, word: &str| {
            rule == word
                || rule.split_once('%').is_some_and(|(start, end)| {
                    !(start.is_empty() && end.is_empty())
                        && word.strip_prefix(start).is_some_and(|rest| rest.ends_with(end))
                })
        };
        words.flat_map(|word| self.rules.keys().filter(move |rule| is_meant(rule, word)).cloned()).collect()
    }
}

/// The variables that a text uses: `$(A)`, `${A:.c=.o}`, `$A`, `$$A`, `$(call A,…)` and `{{A}}`.
fn used(text: &str) -> Vec<String> {
    let is_name = |letter: char| letter.is_alphanumeric() || "_.-".contains(letter);
    let mut all = Vec::new();
    for part in text.split('$').skip(1).chain(text.split("{{").skip(1)) {
        let inner = part.trim_start_matches(['(', '{', ' ']);
        // One of the functions may have names among what it is given.
        let names = inner.split(|letter: char| !is_name(letter)).filter(|name| !name.is_empty());
        let is_function =
            inner.find([' ', ')', '}']).is_some_and(|at| inner.get(at..).is_some_and(|rest| rest.starts_with(' ')));
        let is_closed = inner.len() != part.len();
        all.extend(names.take(if is_function && is_closed { 3 } else { 1 }).map(str::to_owned));
        all.extend(inner.chars().next().filter(|_| !is_closed).map(String::from));
    }
    // What a condition asks for by its name.
    let words: Vec<&str> = text.split([' ', '[', ']']).collect();
    let asked = words.windows(2).filter(|pair| pair.first().is_some_and(|word| ["ifdef", "ifndef"].contains(word)));
    all.extend(asked.filter_map(|pair| pair.last().map(|name| (*name).to_owned())));
    all
}

/// Whether a rule is called like one that runs tests: `unit-test`, but neither `latest` nor `contest`.
fn is_test_name(name: &str) -> bool {
    !name.starts_with('.')
        && name.split(|letter: char| !letter.is_alphanumeric()).any(|part| ["test", "tests", "check"].contains(&part))
}

fn one_line(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::{target_changes, target_content, test_target};
    use super::{DEPTH_MAX, INCLUDED_MAX, REACHED_MAX, with_included};

    const MAKEFILE: &str = "\
include ci.mk
T = $(RUN) -q
RUN = pytest
O = x
ifdef CI
  ARGS = -x
endif
.PHONY: test
test: ready gen.o
	$(T) $(ARGS) tests
ready: deps
	./ready
deps:
	pip install -e .
%.o: %.c
	cc $<
docs:
	mkdocs $(O)
";
    const INCLUDED: &str = "-include more.mk\n";

    fn says(makefile: &str, more: &str) -> Option<String> {
        let mut read = |path: &str| match path {
            "ci.mk" => Some(INCLUDED.to_owned()),
            "more.mk" => Some(more.to_owned()),
            _ => None,
        };
        test_target("Makefile", &target_content("Makefile", makefile, &mut read))
    }

    fn told(after: &str, more: &str) -> Vec<String> {
        target_changes("Makefile", says(MAKEFILE, "").as_deref(), says(after, more).as_deref())
    }

    fn edited(from: &str, to: &str) -> Vec<String> {
        assert!(MAKEFILE.contains(from), "{from}");
        told(&MAKEFILE.replace(from, to), "")
    }

    #[test]
    fn what_a_test_needs_and_what_that_uses_is_told_when_it_changes() {
        assert_eq!(edited("./ready", "true"), [r#"Makefile: rule ready was "deps; ./ready" and is now "deps; true""#]);
        assert_eq!(
            edited("pip install -e .", "-rm -r tests"),
            [r#"Makefile: rule deps was "pip install -e ." and is now "-rm -r tests""#]
        );
        assert_eq!(edited("cc $<", "true"), [r#"Makefile: rule %.o was "%.c; cc $<" and is now "%.c; true""#]);
        assert_eq!(edited("RUN = pytest", "RUN = true"), [r#"Makefile: RUN was "pytest" and is now "true""#]);
        assert_eq!(edited("T = $(RUN) -q", "T := ${RUN} -k no").len(), 1);
        assert_eq!(edited("RUN = pytest", "RUN = pytest\noverride RUN = true").len(), 1);
        assert_eq!(edited("  ARGS = -x", "  ARGS = --co").len(), 1, "what is indented is set too");
        assert_eq!(edited("ifdef CI", "ifndef CI").len(), 1);
        assert_eq!(edited("\t$(T)", "\t-$(T)").len(), 1);
        assert_eq!(edited(" tests\n", " tests || true\n").len(), 1);
        assert_eq!(edited(".PHONY: test\n", "").len(), 1, "a file of that name would do instead");
    }

    #[test]
    fn what_changes_how_make_runs_everything_is_told() {
        for line in [
            ".IGNORE:",
            ".IGNORE: test",
            "MAKEFLAGS += -i",
            "SHELL = /bin/true",
            "SHELL:=/bin/true",
            "export SHELL = /bin/true",
            ".SHELLFLAGS = -c true",
            ".ONESHELL:",
            "define SHELL\n/bin/true\nendef",
            "ready: SHELL = /bin/true",
        ] {
            let after = format!("{line}\n{MAKEFILE}");
            assert_eq!(told(&after, "").len(), 1, "{line}");
            assert_eq!(told(MAKEFILE, &format!("{line}\n")).len(), 1, "{line} in a file that is included");
        }
    }

    #[test]
    fn what_an_included_file_says_is_said_by_the_makefile() {
        assert_eq!(told(MAKEFILE, "test: ; true\n").len(), 1);
        assert_eq!(told(MAKEFILE, "ready:\n\ttrue\n").len(), 1);
        assert_eq!(told(&MAKEFILE.replace("include ci.mk", "sinclude more.mk"), "T = true\n").len(), 1);
        let endless =
            target_content("Makefile", "include a.mk a.mk\n", &mut |_| Some("include a.mk a.mk\n".to_owned()));
        assert!(endless.len() < 10_000, "what includes itself comes to an end");
    }

    #[test]
    fn so_many_files_are_included_and_so_deep() {
        let reads = |content: &str| {
            let mut count = 0;
            with_included(content, &mut |path| {
                count += 1;
                path.strip_prefix("deep").map(|number| format!("include deep{}", number.len()))
            });
            count
        };
        let many: Vec<String> = (0..INCLUDED_MAX + 5).map(|number| format!("f{number}.mk")).collect();
        assert_eq!(reads(&format!("include {}\n", many.join(" "))), INCLUDED_MAX);
        assert_eq!(reads("include deep1\n"), DEPTH_MAX);
    }

    #[test]
    fn what_is_said_is_said_with_its_conditions_and_of_what_is_reached_only() {
        let says = |makefile: &str| test_target("Makefile", makefile).unwrap_or_default();
        for (makefile, said) in [
            ("define T\npytest\nendef\ntest:\n\t$(T)\n", "T [for test] = pytest\ntest = $(T)"),
            (
                "ifdef CI\nA = 1\nelse\nA = 2\nendif\ntest:\n\t$(A)\n",
                "A [for test] = [ifdef CI] 1; [ifdef CI else] 2\ntest = $(A)",
            ),
            ("test $(X:a=b): dep\n\tx\ndep:\n\ty\n", "rule dep [for test] = y\ntest = dep; x"),
            ("A += x\nA ?= y\nA := z\ntest:\n\t$(A)\n", "A [for test] = x; y; z\ntest = $(A)"),
            ("test:\n\t$(MAKE) lint\nlint:\n\truff\n", "rule lint [for test] = ruff\ntest = $(MAKE) lint"),
            ("test:\n\tmake lint\nlint:\n\truff\n", "rule lint [for test] = ruff\ntest = make lint"),
            ("test:\n\tjust lint\nlint:\n\truff\n", "test = just lint"),
            ("A = p\ntest:\n\t$Ax\n", "A [for test] = p\ntest = $Ax"),
            ("A = p\nAB = q\ntest:\n\t$(AB)\n", "AB [for test] = q\ntest = $(AB)"),
            ("A = p\ntest:\n\t$x A\n", "test = $x A"),
            ("A = p\ntest:\n\t$(call A,b)\n", "A [for test] = p\ntest = $(call A,b)"),
            ("test: foo\n\tx\n%.o: %.c\n\tcc\n%:\n\ty\n", "test = foo; x"),
            ("test: a.o\n\tx\n%.o: %.c\n\tcc\n", "rule %.o [for test] = %.c; cc\ntest = a.o; x"),
        ] {
            assert_eq!(says(makefile), said, "{makefile}");
        }
        let just = |text: &str| test_target("justfile", text).unwrap_or_default();
        assert_eq!(just("test: endif\n    y\nendif arg='a':\n    x\n"), "rule endif [for test] = x\ntest = endif; y");
        assert_eq!(just("test:\n    echo lint\nlint:\n    ruff\n"), "test = echo lint");
        assert_eq!(just("test:\n    just lint\nlint:\n    x\n"), "rule lint [for test] = x\ntest = just lint");
        let reached = |text: &str| says(text).matches(" [for test]").count();
        let chain = |line: &dyn Fn(usize) -> String| (0..REACHED_MAX + 5).map(line).collect::<String>();
        let rules = chain(&|number| format!("r{number}: r{}\n\tx\n", number + 1));
        assert_eq!(reached(&format!("test: r0\n\tx\n{rules}")), REACHED_MAX - 1);
        let variables = chain(&|number| format!("V{number} = $(V{})\n", number + 1));
        assert_eq!(reached(&format!("test:\n\t$(V0)\n{variables}")), REACHED_MAX - 1);
    }

    #[test]
    fn what_no_test_needs_is_not_told() {
        assert!(edited("mkdocs $(O)", "true").is_empty());
        assert!(edited("O = x", "O = y # a comment\n# another\nNEW = 1").is_empty());
        assert!(edited("\t./ready", "\t# first\n\n\t./ready").is_empty());
        assert!(edited("docs:", ".SILENT:\n.PHONY: docs ready\nclean:\n\trm x\ndocs: clean").is_empty());
        assert!(edited("docs:", "e2e-test: servers\n\t$(NEW)\nservers:\n\tup\nNEW = 1\ndocs:").is_empty());
        assert!(told(MAKEFILE, "UNUSED = 1\nlint:\n\truff\n").is_empty());
        let none = "SHELL = bash\nbuild:\n\tcc\n";
        assert_eq!(test_target("Makefile", none), None, "where there are no tests");
    }

    #[test]
    fn a_justfile_that_tests_otherwise_is_told() {
        let before =
            "import 'x.just'\nrun := 'pytest'\n@test arg='a': build\n    {{run}} tests\nbuild:\n    cc\ndocs:\n    x\n";
        let told = |from: &str, to: &str| {
            let after = test_target("justfile", &before.replace(from, to));
            target_changes("justfile", test_target("justfile", before).as_deref(), after.as_deref()).len()
        };
        let told = [told("'pytest'", "'true'"), told("cc", "true"), told("docs:", "set shell := ['true']\ndocs:")]
            .map(|count| count == 1);
        assert_eq!(told, [true; 3]);
        let after = test_target("justfile", &before.replace("    x", "    y"));
        assert_eq!(after, test_target("justfile", before));
    }
}
