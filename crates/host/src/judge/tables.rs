//! What tools put where: homes of tools, settings in HOME, caches, dependencies and their lock files.

/// Folders and files of HOME that hold tools and what they downloaded. They are linked into the HOME of a clean copy. One
/// with settings in it is not linked as a whole, but all the rest of it.
pub(super) const TOOL_HOMES: &[&str] = &[
    ".rustup",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/bin",
    ".cargo/.package-cache",
    "go",
    ".cache/go-build",
    ".npm",
    ".nvm",
    ".fnm",
    ".volta",
    ".bun",
    ".deno",
    ".cache/deno",
    ".cache/node",
    ".cache/pnpm",
    ".local/share/pnpm",
    ".yarn",
    ".cache/yarn",
    ".pyenv",
    ".cache/pip",
    ".cache/uv",
    ".local/share/uv",
    ".cache/pypoetry",
    ".cache/pre-commit",
    ".local/share/virtualenvs",
    ".local/share/mise",
    ".local/share/rtx",
    ".asdf",
    ".sdkman",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".gradle/jdks",
    ".gradle/native",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/Cypress",
    ".docker/contexts",
    ".docker/cli-plugins",
    ".docker/run",
    ".docker/buildx",
    ".rbenv",
    ".rvm",
    ".gem",
    ".bundle/cache",
    ".composer/cache",
    ".cache/composer",
    ".dotnet",
    ".nuget/packages",
    ".opam",
    ".ghcup",
    ".stack",
    ".cabal/packages",
    ".cabal/store",
    ".hex",
    ".mix",
    ".julia",
    ".juliaup",
    ".pub-cache",
    ".nix-profile",
    ".nix-defexpr",
    "miniconda3",
    "anaconda3",
    ".conda/pkgs",
];

/// Settings in HOME that decide what a gate does. Their content at the baseline is what a clean copy gets.
pub(super) const SETTINGS: &[&str] = &[
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/pnpm/rc",
    ".bunfig.toml",
    ".cargo/config",
    ".cargo/config.toml",
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_env",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".config/uv/uv.toml",
    ".config/pypoetry/config.toml",
    ".pydistutils.cfg",
    ".pythonrc.py",
    ".pytest.ini",
    ".pytest.toml",
    ".config/go/env",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".docker/config.json",
    ".config/mise/config.toml",
    ".mise.toml",
    ".tool-versions",
    ".rspec",
    ".gemrc",
    ".bundle/config",
    ".composer/config.json",
    ".nuget/NuGet/NuGet.Config",
    ".condarc",
    ".editorconfig",
    // In the homes of tools.
    ".rustup/settings.toml",
    ".pyenv/version",
    ".rbenv/version",
    ".stack/config.yaml",
    ".stack/global-project/stack.yaml",
    ".julia/juliaup/juliaup.json",
    ".juliaup/juliaup.json",
    ".volta/tools/user/platform.json",
    ".sdkman/etc/config",
    ".opam/config",
    ".hex/hex.config",
];

/// Folders of settings: all files in them are.
pub(super) const SETTING_FOLDERS: &[&str] = &[".nvm/alias", ".julia/config"];

/// A variable that leads to settings, or to a home of tools with settings in it.
#[derive(Debug)]
pub(super) struct HomeVariable {
    pub(super) name: &'static str,
    /// What it takes the place of, from HOME on.
    pub(super) instead_of: &'static str,
}

const fn variable(name: &'static str, instead_of: &'static str) -> HomeVariable {
    HomeVariable { name, instead_of }
}

/// Such variables. One that leads only to tools and downloads (`GOMODCACHE`, `UV_CACHE_DIR`) stays as it is: that is the
/// same as a link.
pub(super) const HOME_VARIABLES: &[HomeVariable] = &[
    variable("XDG_CONFIG_HOME", ".config"),
    variable("XDG_DATA_HOME", ".local/share"),
    variable("XDG_CACHE_HOME", ".cache"),
    variable("CARGO_HOME", ".cargo"),
    variable("RUSTUP_HOME", ".rustup"),
    variable("PYTHONUSERBASE", PYTHON_USER_BASE),
    variable("PYENV_ROOT", ".pyenv"),
    variable("RBENV_ROOT", ".rbenv"),
    variable("NVM_DIR", ".nvm"),
    variable("VOLTA_HOME", ".volta"),
    variable("SDKMAN_DIR", ".sdkman"),
    variable("STACK_ROOT", ".stack"),
    variable("OPAMROOT", ".opam"),
    variable("HEX_HOME", ".hex"),
    variable("JULIA_DEPOT_PATH", ".julia"),
    variable("GRADLE_USER_HOME", ".gradle"),
    variable("DOCKER_CONFIG", ".docker"),
    variable("COMPOSER_HOME", ".composer"),
    variable("MISE_CONFIG_DIR", ".config/mise"),
    variable("POETRY_CONFIG_DIR", ".config/pypoetry"),
    variable("npm_config_userconfig", ".npmrc"),
    variable("NPM_CONFIG_USERCONFIG", ".npmrc"),
    variable("GOENV", ".config/go/env"),
    variable("PIP_CONFIG_FILE", ".config/pip/pip.conf"),
    variable("GIT_CONFIG_GLOBAL", ".gitconfig"),
    variable("BUNDLE_USER_CONFIG", ".bundle/config"),
    variable("CONDARC", ".condarc"),
    variable("BASH_ENV", ".bash_env"),
    variable("PYTHONSTARTUP", ".pythonrc.py"),
];

/// Variables that lead to code or settings for which a clean copy has no place of its own.
pub(super) const LIVE_VARIABLES: &[&str] = &["PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB", "ZDOTDIR"];

/// Folders of HOME whose entries are linked one by one, if they are as they were at the baseline.
pub(super) const ENTRY_FOLDERS: &[&str] = &[".local/bin", "bin", ".python-user-base/bin"];

/// Where a new HOME has what PYTHONUSERBASE leads to.
const PYTHON_USER_BASE: &str = ".python-user-base";

/// The same, below `python3.*` in these folders: Python's user site.
pub(super) const PYTHON_LIBRARIES: &[&str] = &[".local/lib", ".python-user-base/lib"];
pub(super) const PYTHON_SITE: &str = "site-packages";

/// Folders that are only caches: never taken into a copy, unless they lie in a folder of dependencies.
const CACHES: &[&str] = &[
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".turbo",
    ".parcel-cache",
    ".nyc_output",
    ".eslintcache",
    ".stylelintcache",
    ".tsbuildinfo",
    "incremental",
    ".jest",
    ".vitest",
    ".angular",
];

/// Those of them that no person writes, and that tools make again. They are taken out of a copy also where no rule ignores
/// them: a compiled file can have another content than its source.
const COMPILED: &[&str] = &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];

/// The same inside of `node_modules`.
const NODE_CACHES: &[&str] = &["node_modules/.cache", "node_modules/.vite", "node_modules/.vitest"];

/// A kind of dependencies.
#[derive(Debug)]
pub(super) struct DependencyKind {
    /// The folders that they are installed in.
    pub(super) folders: &'static [&'static str],
    /// The files that say which ones: names, or their beginning and end around a `*`.
    pub(super) locks: &'static [&'static str],
    /// The files that say it where there is no such file.
    pub(super) manifests: &'static [&'static str],
}

/// The kinds of dependencies that are known.
pub(super) const DEPENDENCIES: &[DependencyKind] = &[
    DependencyKind {
        folders: &["node_modules", "bower_components", ".yarn", ".pnpm-store"],
        locks: &[
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
            "deno.lock",
        ],
        manifests: &["package.json"],
    },
    DependencyKind {
        folders: &[".venv", "venv", ".tox", ".nox", "env"],
        locks: &["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "requirements*.txt"],
        manifests: &["pyproject.toml", "setup.py", "setup.cfg", "Pipfile"],
    },
    DependencyKind { folders: &["vendor"], locks: &["go.sum", "composer.lock", "Gemfile.lock"], manifests: &[] },
];

/// The kind of dependencies that a path lies in, and the path of their folder.
pub(super) fn dependency_of(path: &[u8]) -> Option<(&'static DependencyKind, &[u8])> {
    let mut end = 0;
    for name in path.split(|byte| *byte == b'/') {
        end += name.len();
        let kind = DEPENDENCIES.iter().find(|kind| kind.folders.iter().any(|folder| folder.as_bytes() == name));
        if let Some(kind) = kind {
            return Some((kind, path.get(..end).unwrap_or(path)));
        }
        end += 1;
    }
    None
}

/// Whether a path is a pure cache, or lies in one.
pub(super) fn is_cache(path: &[u8]) -> bool {
    let has = |part: &[u8]| path.windows(part.len()).any(|window| window == part);
    if NODE_CACHES.iter().any(|cache| has(cache.as_bytes())) {
        return true;
    }
    let mut names = path.split(|byte| *byte == b'/');
    dependency_of(path).is_none() && names.any(|name| CACHES.iter().any(|cache| cache.as_bytes() == name))
}

/// Whether a path lies in what tools compiled.
pub(super) fn is_compiled(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| COMPILED.iter().any(|folder| folder.as_bytes() == name))
}

/// Whether a file's name is that of a list: a name, or what stands around a `*`.
pub(super) fn is_named(name: &[u8], list: &[&str]) -> bool {
    list.iter().any(|wanted| match wanted.split_once('*') {
        Some((begin, end)) => name.starts_with(begin.as_bytes()) && name.ends_with(end.as_bytes()),
        None => name == wanted.as_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_caches_outside_of_dependencies_only() {
        assert!(is_cache(b"src/__pycache__/a.pyc") && is_cache(b"target/debug/incremental"));
        assert!(!is_cache(b".venv/lib/a/__pycache__/a.pyc") && !is_cache(b"target/debug/deps"));
        assert!(is_cache(b"web/node_modules/.cache/x") && !is_cache(b"web/node_modules/x"));
        let (kind, folder) = dependency_of(b"web/node_modules/x/node_modules/y").unwrap();
        assert_eq!((folder, kind.folders[0]), (&b"web/node_modules"[..], "node_modules"));
        assert!(is_named(b"requirements-dev.txt", kind_of("venv")) && !is_named(b"requirements.in", kind_of("venv")));
    }

    fn kind_of(folder: &str) -> &'static [&'static str] {
        DEPENDENCIES.iter().find(|kind| kind.folders.contains(&folder)).unwrap().locks
    }
}
