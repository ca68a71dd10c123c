//! Python: which runner, and by which interpreter.
use super::{Candidate, CheckUse, Language, Part};
use crate::policy::protect::paths::name_of;

/// Files that name what is installed.
const DEPENDENCIES: [&str; 6] =
    ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "setup.cfg", "Pipfile"];

pub(super) fn candidates(part: &Part<'_>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = tests(part).into_iter().collect();
    let names = |word: &str| DEPENDENCIES.iter().find(|file| part.text(file).contains(word));
    let mut add = |shows, command: String, reason: String| {
        found.push(part.check(shows, Language::Python, &command, reason));
    };
    let ruff = part.first(&["ruff.toml", ".ruff.toml"]).or_else(|| names("[tool.ruff").copied());
    if let Some(file) = ruff {
        add(
            CheckUse::Lint,
            runner(part).command("ruff check", "ruff check"),
            format!("{} sets up ruff", part.path(file)),
        );
    } else if let Some(file) = part.first(&[".flake8"]) {
        add(CheckUse::Lint, runner(part).command("flake8", "-m flake8"), format!("there is {}", part.path(file)));
    }
    let mypy = part.first(&["mypy.ini", ".mypy.ini"]).or_else(|| names("[tool.mypy").copied());
    if let Some(file) = mypy {
        add(CheckUse::Types, runner(part).command("mypy .", "-m mypy ."), format!("{} sets up mypy", part.path(file)));
    }
    if let Some(file) = names("[tool.bandit") {
        let command = runner(part).command("bandit -c pyproject.toml -r .", "-m bandit -c pyproject.toml -r .");
        add(CheckUse::Audit, command, format!("{} sets up bandit", part.path(file)));
    }
    found
}

fn tests(part: &Part<'_>) -> Option<Candidate> {
    let check = |command: String, reason: String| Some(part.check(CheckUse::Test, Language::Python, &command, reason));
    let pytest = |reason: String| check(runner(part).command("pytest", "-m pytest"), reason);
    for (file, section) in [
        ("pytest.ini", ""),
        ("pyproject.toml", "[tool.pytest"),
        ("tox.ini", "[pytest]"),
        ("setup.cfg", "[tool:pytest]"),
        ("conftest.py", ""),
    ] {
        if part.has(file) && (section.is_empty() || part.text(file).contains(section)) {
            let what = if section.is_empty() { "there is" } else { "pytest is set up in" };
            return pytest(format!("{what} {}", part.path(file)));
        }
    }
    if let Some(file) = DEPENDENCIES.iter().find(|file| part.text(file).contains("pytest")) {
        return pytest(format!("{} names pytest", part.path(file)));
    }
    for (file, command) in [("tox.ini", "tox"), ("noxfile.py", "nox")] {
        if part.has(file) {
            return check(command.to_owned(), format!("there is {}", part.path(file)));
        }
    }
    if part.has("manage.py") {
        let command = runner(part).command("python manage.py test", "manage.py test");
        return check(command, format!("{} is of Django", part.path("manage.py")));
    }
    let is_python = part.first(&["setup.py", "setup.cfg", "pyproject.toml", "requirements.txt", "Pipfile"]).is_some();
    // Another project may have a script of such a name.
    let is_usual = |path: &str| !path.contains('/') || path.starts_with("test");
    let is_here = |path: &&str| is_test(path) && (is_python || part.folder.is_empty() && is_usual(path));
    let file = part.below().find(is_here)?;
    if part.listing.text(&part.path(file)).contains("unittest") {
        let command = runner(part).command("python -m unittest", "-m unittest");
        // Without a folder it finds tests in packages only.
        let from = file.rsplit_once('/').map_or(String::new(), |(folder, _)| format!(" discover -s {folder}"));
        return check(format!("{command}{from}"), format!("{} is of unittest", part.path(file)));
    }
    pytest(format!("{} looks like a test of pytest", part.path(file)))
}

fn is_test(path: &str) -> bool {
    let name = name_of(path);
    path.split('/').count() <= 2 && name.starts_with("test_") && name.ends_with(".py")
}

/// How programs of the project's environment are called.
enum Runner {
    /// By a tool that knows the environment.
    Tool(&'static str),
    /// By an interpreter.
    Interpreter(&'static str),
}

fn runner(part: &Part<'_>) -> Runner {
    const LOCKS: [(&str, &str); 4] =
        [("uv.lock", "uv run"), ("poetry.lock", "poetry run"), ("pdm.lock", "pdm run"), ("Pipfile.lock", "pipenv run")];
    if let Some((_, tool)) = LOCKS.into_iter().find(|(lock, _)| part.has(lock)) {
        return Runner::Tool(tool);
    }
    let own = [".venv/bin/python", "venv/bin/python"].into_iter().find(|path| part.has(path));
    Runner::Interpreter(own.unwrap_or("python3"))
}

impl Runner {
    /// `by_name` behind a tool, `by_module` behind an interpreter.
    fn command(&self, by_name: &str, by_module: &str) -> String {
        match self {
            Self::Tool(tool) => format!("{tool} {by_name}"),
            // A program that is not a module.
            Self::Interpreter(_) if by_module == by_name => by_name.to_owned(),
            Self::Interpreter(program) => format!("{program} {by_module}"),
        }
    }
}
