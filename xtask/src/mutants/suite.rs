//! The tests of core: how long each takes, and which changes it reaches.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Short ones: there are thousands of runs.
const SAMPLES: [(&str, &str); 3] = [("STORMS", "300"), ("SIMULATION", "8000"), ("LAWS", "200")];
/// Damaged recordings: they have nothing to do with judging.
const SKIPPED: &str = "fuzz::";
/// A change may take memory without end.
const MEMORY_KIB: &str = "4194304";
const POLL: Duration = Duration::from_millis(2);

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreTest {
    pub program: PathBuf,
    pub name: String,
    /// Whether it passes without any change.
    pub is_green: bool,
    pub time: Duration,
    /// The changes whose place it reaches.
    pub reaches: BTreeSet<usize>,
}

/// How a call of tests ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEnd {
    Passed,
    /// The first test that failed, where it has a name.
    Failed(Option<String>),
    TimedOut,
}

/// What a call of a test program needs.
#[derive(Debug)]
pub struct Call<'a> {
    pub program: &'a Path,
    pub folder: &'a Path,
    pub names: &'a [&'a str],
    pub variable: (&'a str, &'a str),
    pub limit: Duration,
    /// Where its output is written.
    pub output: &'a Path,
}

impl Call<'_> {
    /// Runs the tests, one after the other.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn run(&self) -> Result<CallEnd> {
        let output =
            fs::File::create(self.output).with_context(|| format!("cannot write {}", self.output.display()))?;
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")]).arg(self.program);
        command.args(["--exact", "--test-threads=1"]).args(self.names).current_dir(self.folder);
        command.envs(SAMPLES).env(self.variable.0, self.variable.1).env("RUST_BACKTRACE", "0");
        command.env("CARGO_MANIFEST_DIR", self.folder);
        let mut child =
            command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).spawn().context("cannot start sh")?;
        let until = Instant::now() + self.limit;
        loop {
            if let Some(status) = child.try_wait()? {
                return self.ended(status);
            }
            if Instant::now() > until {
                child.kill()?;
                child.wait()?;
                return Ok(CallEnd::TimedOut);
            }
            std::thread::sleep(POLL);
        }
    }

    fn ended(&self, status: ExitStatus) -> Result<CallEnd> {
        if status.success() {
            return Ok(CallEnd::Passed);
        }
        let text = fs::read(self.output).context("cannot read the output of a test")?;
        let text = String::from_utf8_lossy(&text);
        let failed = text.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        Ok(CallEnd::Failed(failed.map(str::to_owned)))
    }
}

/// Runs every test once alone, without a change, and records what it reaches.
///
/// # Errors
/// When a test program cannot be started.
pub fn reach(programs: &[PathBuf], folder: &Path, scratch: &Path, jobs: usize) -> Result<Vec<CoreTest>> {
    let mut names = Vec::new();
    for program in programs {
        let output = Command::new(program).args(["--list", "--format", "terse"]).current_dir(folder).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let tests = text.lines().filter_map(|line| line.strip_suffix(": test")).filter(|name| !name.contains(SKIPPED));
        names.extend(tests.map(|name| (program.clone(), name.to_owned())));
    }
    let next = AtomicUsize::new(0);
    let tests = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|worker| {
                let (next, tests, names) = (&next, &tests, &names);
                scope.spawn(move || -> Result<()> {
                    while let Some((program, name)) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let test = alone(program, name, folder, &scratch.join(format!("hits-{worker}")))?;
                        tests.lock().map_err(|_| anyhow::anyhow!("a worker failed"))?.push(test);
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))?)
    })?;
    let mut tests = tests.into_inner().map_err(|_| anyhow::anyhow!("a worker failed"))?;
    // What a process takes to start is not the test's.
    let start = tests.iter().map(|test: &CoreTest| test.time).min().unwrap_or_default();
    tests.iter_mut().for_each(|test| test.time = test.time.saturating_sub(start) + Duration::from_millis(1));
    tests.sort_by(|left, right| (left.time, &left.name).cmp(&(right.time, &right.name)));
    Ok(tests)
}

fn alone(program: &Path, name: &str, folder: &Path, hits: &Path) -> Result<CoreTest> {
    fs::write(hits, []).with_context(|| format!("cannot write {}", hits.display()))?;
    let (output, variable) = (hits.with_extension("out"), hits.display().to_string());
    let limit = Duration::from_secs(600);
    let variable = ("MUTANT_HITS", variable.as_str());
    let call = Call { program, folder, names: &[name], variable, limit, output: &output };
    let began = Instant::now();
    let is_green = call.run()? == CallEnd::Passed;
    let time = began.elapsed();
    let bytes = fs::read(hits)?;
    let reaches =
        bytes.as_chunks::<4>().0.iter().filter_map(|id| usize::try_from(u32::from_le_bytes(*id)).ok()).collect();
    Ok(CoreTest { program: program.to_owned(), name: name.to_owned(), is_green, time, reaches })
}
