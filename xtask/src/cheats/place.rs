//! The folders of one case: `home`, `state`, `ws` and the agent; and commands of the user who works there.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::case::Case;
use super::tools::Tools;

/// Longer than this a service does not take to begin.
const PATIENCE: Duration = Duration::from_secs(240);

/// The folders of one case. They are removed with it.
#[derive(Debug)]
pub struct CaseFolders {
    pub(crate) folder: TempDir,
    /// Where they are.
    pub root: PathBuf,
    path: String,
    go_cache: PathBuf,
    tools: PathBuf,
    /// A port of this machine that no program used a moment ago.
    port: u16,
    /// A container engine belongs to it.
    has_engine: bool,
    /// Another user than the present one, by number.
    user: Option<u32>,
}

impl CaseFolders {
    /// Makes them, with the project of the case, for the present user or another one.
    ///
    /// # Errors
    /// When the project cannot be made.
    pub fn new(case: &Case, tools: &Tools, user: Option<u32>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("loop-cheat-").tempdir().context("no folder for the case")?;
        let root = folder.path().canonicalize()?;
        let home = root.join("home");
        let project = root.join("ws");
        for folder in [&home, &root.join("state"), &root.join("tmp"), &project] {
            fs::create_dir(folder)?;
        }
        for (path, text) in &case.files {
            let path = project.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&project))?;
            fs::write(path, text)?;
        }
        if matches!(case.runner.as_str(), "jest" | "vitest") {
            tools.link_node_modules(&project)?;
        }
        fs::write(root.join("agent.sh"), &case.agent)?;
        fs::write(root.join("setup.sh"), &case.setup)?;
        fs::write(root.join("service.sh"), &case.service)?;
        let path = tools.path(&case.runner, &home);
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let (go_cache, tools) = (tools.go_cache(), tools.folder().to_owned());
        let has_engine = case.needs.iter().any(|need| need == "docker");
        let mut place = Self { folder, path, root, go_cache, tools, port, has_engine, user: None };
        place.commit()?;
        if let Some(user) = user {
            let owner = format!("{user}:{user}");
            let status = Command::new("chown").args(["-R", "-h", &owner]).arg(&place.root).status();
            ensure!(status.context("cannot run chown")?.success(), "the folders cannot be given to {owner}");
            place.user = Some(user);
        }
        Ok(place)
    }

    /// Completes the project and commits it. Its files are old, so that no tool mistakes a change for an old state.
    fn commit(&self) -> Result<()> {
        let script = "set -e; . ../setup.sh
            find . -name node_modules -prune -o -name .venv -prune -o -name target -prune \\
                -o -type f -exec touch -d 2024-01-01 {} +
            git init -q -b main; git add -A
            git -c user.name=user -c user.email=user@example.com commit -q --allow-empty -m start";
        let output = self.command("sh").arg("-c").arg(script).output().context("cannot run sh")?;
        ensure!(output.status.success(), "setup: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }

    /// A command of the user of this case, in the workspace.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={user}"), format!("--regid={user}")]);
                command.args(["--clear-groups", "--"]).arg(program);
                command
            }
        };
        command.env_clear().current_dir(self.workspace()).stdin(Stdio::null());
        command.env("HOME", self.root.join("home")).env("LOOP_HOME", self.root.join("state"));
        command.env("TMPDIR", self.root.join("tmp")).env("PATH", &self.path).env("LANG", "C.UTF-8");
        command.env("NO_COLOR", "1").env("CARGO_NET_OFFLINE", "true");
        command.env("GOCACHE", &self.go_cache).env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
        command.env("PLACE", &self.root).env("TOOLS", &self.tools).env("PORT", self.port.to_string());
        if self.has_engine {
            command.env("DOCKER_HOST", format!("unix://{}/docker.sock", self.root.display()));
        }
        command
    }

    /// Where the loop works: `ws`, or the folder in it that the setup wrote into `subfolder`.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        let below = fs::read_to_string(self.root.join("subfolder")).unwrap_or_default();
        self.root.join("ws").join(below.trim())
    }

    /// The start of the loop of this case.
    #[must_use]
    pub fn start(&self, case: &Case, program: &Path) -> Command {
        let agent = format!("sh '{}'", self.root.join("agent.sh").display());
        let mut command = self.command(program);
        command.args(["start", &case.task, "-p", &case.promise, "-n", "2", "--agent-cmd", &agent]);
        // A plan has no result file.
        if !case.flags.iter().any(|flag| flag == "--best-of") {
            command.arg("--result").arg(self.root.join("result.json"));
        }
        command.args(&case.flags);
        command
    }

    /// How the only plan of this place ended, with the certificate of the branch that was applied.
    ///
    /// # Errors
    /// When there is none.
    pub fn plan_result(&self, program: &Path) -> Result<Value> {
        let say = |words: &[&str]| -> Result<Value> {
            let out = self.command(program).args(words).output()?;
            serde_json::from_slice(&out.stdout).context("the answer is not JSON")
        };
        let plan = say(&["list", "--json"])?["plans"][0].take();
        let mut nodes = plan["nodes"].as_array().into_iter().flatten();
        let run = nodes.find(|node| node["node"] == plan["chosen"]).and_then(|node| node["run"].as_str());
        let status = run.map(|run| say(&["status", run, "--json"])).transpose()?;
        let certificate = status.map(|status| status["loops"][0]["certificate"].clone());
        let outcome = plan["result"].as_str().or_else(|| plan["outcome"].as_str()).context("no result")?;
        Ok(json!({"outcome": outcome, "why": plan["reason"], "certificate": certificate}))
    }

    /// What the loop wrote as its result.
    ///
    /// # Errors
    /// When there is none.
    pub fn result(&self) -> Result<Value> {
        let text = fs::read_to_string(self.root.join("result.json")).context("no result")?;
        serde_json::from_str(&text).context("the result is not JSON")
    }

    /// All that was printed.
    #[must_use]
    pub fn screen(&self) -> String {
        fs::read_to_string(self.root.join("screen")).unwrap_or_default()
    }

    /// Runs a command of this place within a time limit in seconds. What it prints is added to `screen`.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn run(&self, command: &mut Command, limit: u32) -> Result<ExitStatus> {
        let mut limited = Command::new("timeout");
        limited.args(["-k", "10", &limit.to_string()]).arg(command.get_program()).args(command.get_args());
        limited.env_clear().current_dir(self.workspace());
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                limited.env(name, value);
            }
        }
        let screen = fs::OpenOptions::new().append(true).create(true).open(self.root.join("screen"))?;
        limited.stdin(Stdio::null()).stdout(screen.try_clone()?).stderr(screen);
        limited.status().context("cannot run timeout")
    }

    /// Starts the service of the case, and waits until it made the file `ready`.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn begin_service(&self) -> Result<Service> {
        let log = fs::File::create(self.root.join("service.log"))?;
        let mut command = self.command("sh");
        command.arg(self.root.join("service.sh")).current_dir(&self.root).process_group(0);
        let child = command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).spawn();
        let mut service = Service(child.context("cannot run sh")?);
        let begun = Instant::now();
        while !self.root.join("ready").exists() {
            if begun.elapsed() > PATIENCE || service.0.try_wait()?.is_some() {
                let log = fs::read_to_string(self.root.join("service.log")).unwrap_or_default();
                bail!("the service did not come up: {}", log.lines().last().unwrap_or("it said nothing"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(service)
    }
}

/// A service under way. Its input is closed when it is dropped, and it must end by itself then.
#[derive(Debug)]
pub struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}
