//! The rules of a makefile, as far as they are plain text: which commands a goal runs. Nothing is run.

/// The names of makefiles, in the order in which make looks for them.
pub(crate) const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// So many goals of a makefile are followed.
const GOALS_MAX: usize = 100;

/// The rules of a makefile, as far as they are plain text.
pub(crate) struct Rules {
    all: Vec<Rule>,
    variables: Vec<Variable>,
}

struct Rule {
    goal: String,
    needs: Vec<String>,
    lines: Vec<String>,
}

/// A variable of a makefile.
pub(super) struct Variable {
    name: String,
    value: String,
    is_exported: bool,
}

/// How a variable is set.
pub(super) enum Assignment {
    /// `=`, `:=`
    Set,
    /// `+=`
    Added,
    /// `?=`
    IfNone,
}

impl Rules {
    /// The rules of a text, without variables of a command line.
    pub(crate) fn of_text(text: &str) -> Self {
        Self::of(text, Vec::new())
    }

    /// The first goal of the file: what `make` alone makes.
    pub(super) fn first(&self) -> Option<&str> {
        self.all.first().map(|rule| rule.goal.as_str())
    }

    /// `fixed` are the variables of the command line: no line of the file changes them.
    pub(super) fn of(text: &str, fixed: Vec<Variable>) -> Self {
        let names: Vec<String> = fixed.iter().map(|variable| variable.name.clone()).collect();
        let mut rules = Self { all: Vec::new(), variables: fixed };
        let whole = text.replace("\\\n", " ");
        let mut in_rule = 0;
        for line in whole.lines() {
            if let Some(command) = line.strip_prefix('\t') {
                let command = command.trim_start_matches(['@', '-', '+', ' ']).to_owned();
                let from = rules.all.len().saturating_sub(in_rule);
                rules.all.iter_mut().skip(from).for_each(|rule| rule.lines.push(command.clone()));
                continue;
            }
            let line = line.split('#').next().unwrap_or_default();
            if let Some((variable, how)) = assignment(line) {
                if !names.contains(&variable.name) {
                    rules.assign(variable, &how);
                }
            } else if let Some(exported) = line.strip_prefix("export ") {
                let is_named = |name: &str| exported.split_whitespace().any(|word| word == name);
                rules.variables.iter_mut().for_each(|known| known.is_exported |= is_named(&known.name));
            } else if let Some((goals, rest)) = line.split_once(':') {
                let (needs, inline) = rest.trim_start_matches(':').split_once(';').unwrap_or((rest, ""));
                let needs: Vec<String> = needs.split_whitespace().map(str::to_owned).collect();
                let lines: Vec<String> =
                    [inline.trim()].iter().filter(|line| !line.is_empty()).map(|line| (*line).to_owned()).collect();
                let goals: Vec<&str> = goals.split_whitespace().filter(|goal| !goal.starts_with('.')).collect();
                in_rule = goals.len();
                for goal in goals {
                    rules.all.push(Rule { goal: goal.to_owned(), needs: needs.clone(), lines: lines.clone() });
                }
            }
        }
        rules
    }

    /// Recipes are expanded after the whole file was read: the last value counts.
    fn assign(&mut self, new: Variable, how: &Assignment) {
        let Some(known) = self.variables.iter_mut().find(|known| known.name == new.name) else {
            return self.variables.push(new);
        };
        known.is_exported |= new.is_exported;
        match how {
            Assignment::Set => known.value = new.value,
            Assignment::Added => known.value = format!("{} {}", known.value, new.value),
            Assignment::IfNone => {}
        }
    }

    /// The value of a variable that the commands see.
    pub(super) fn exported(&self, name: &str) -> Option<String> {
        let variable = self.variables.iter().find(|variable| variable.name == name && variable.is_exported)?;
        Some(self.expanded(&variable.value))
    }

    /// The commands of a goal, those of what it needs first. None where it has no rule or needs too many goals.
    pub(crate) fn lines(&self, goal: &str) -> Option<Vec<String>> {
        let mut seen = Vec::new();
        let mut lines = Vec::new();
        self.collect(goal, &mut seen, &mut lines);
        (1..=GOALS_MAX).contains(&seen.len()).then_some(lines)
    }

    fn collect<'a>(&'a self, goal: &'a str, seen: &mut Vec<&'a str>, lines: &mut Vec<String>) {
        let mut rules = self.all.iter().filter(|rule| rule.goal == goal).peekable();
        if rules.peek().is_none() || seen.contains(&goal) || seen.len() > GOALS_MAX {
            return;
        }
        seen.push(goal);
        for rule in rules {
            rule.needs.iter().for_each(|need| self.collect(need, seen, lines));
            lines.extend(rule.lines.iter().map(|line| self.expanded(line)));
        }
    }

    fn expanded(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for _ in 0..3 {
            for variable in &self.variables {
                for name in [format!("$({})", variable.name), format!("${{{}}}", variable.name)] {
                    line = line.replace(&name, &variable.value);
                }
            }
        }
        // One that is not defined here is empty, unless the environment has it.
        ["$(MAKE)", "${MAKE}"].iter().fold(line, |line, name| line.replace(name, "make"))
    }
}

/// The variable that a line sets, and how.
pub(super) fn assignment(line: &str) -> Option<(Variable, Assignment)> {
    let (left, value) = line.split_once('=')?;
    let how = match left.trim_end().chars().next_back() {
        Some('+') => Assignment::Added,
        Some('?') => Assignment::IfNone,
        Some(_) | None => Assignment::Set,
    };
    let left = left.trim_end().trim_end_matches([':', '?', '+']).trim();
    let (is_exported, name) = left.strip_prefix("export ").map_or((false, left), |name| (true, name.trim()));
    let name = name.strip_prefix("override ").unwrap_or(name).trim();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let variable = Variable { name: name.to_owned(), value: value.trim().to_owned(), is_exported };
    is_name.then_some((variable, how))
}
