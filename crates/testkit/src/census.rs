//! Who is alive, told by /proc alone: nothing of the program under test is asked.
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How many scans must find no process: one scan may miss a process that changes its pid.
const LOOKS: u32 = 2;
/// Longer than one who changes its pid keeps one.
const BETWEEN_PIDS: Duration = Duration::from_millis(30);

/// A process beyond doubt: pids come again, with another start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Being {
    pub pid: i32,
    /// When it was started, in clock ticks since boot.
    pub start: u64,
}

impl Being {
    /// Who has this pid now.
    #[must_use]
    pub fn at(pid: i32) -> Option<Self> {
        let start = stat_field(&format!("/proc/{pid}/stat"), 19)?.parse().ok()?;
        Some(Self { pid, start })
    }

    /// The pid of its parent.
    #[must_use]
    pub fn parent(self) -> Option<i32> {
        stat_field(&format!("/proc/{}/stat", self.pid), 1)?.parse().ok()
    }

    /// Whether any thread of it lives: that the first has ended does not make it dead.
    #[must_use]
    pub fn is_alive(self) -> bool {
        Self::at(self.pid) == Some(self) && has_a_living_thread(self.pid)
    }

    /// `pid start`, as escapees report.
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self { pid: words.next()?.parse().ok()?, start: words.next()?.parse().ok()? })
    }
}

fn stat_field(path: &str, number: usize) -> Option<String> {
    let stat = fs::read_to_string(path).ok()?;
    stat.get(stat.rfind(')')? + 1..)?.split_whitespace().nth(number).map(str::to_owned)
}

fn threads(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn has_a_living_thread(pid: i32) -> bool {
    let state = |thread: i32| stat_field(&format!("/proc/{pid}/task/{thread}/stat"), 0);
    threads(pid).into_iter().filter_map(state).any(|state| state != "Z" && state != "X")
}

/// Everybody of whom this holds, asked with the pid of a process.
fn everybody(mut is_meant: impl FnMut(i32) -> bool) -> BTreeSet<Being> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let found: Vec<i32> = pids.filter(|pid| is_meant(*pid)).collect();
    found.into_iter().filter_map(Being::at).filter(|being| has_a_living_thread(being.pid)).collect()
}

/// Whether a variable stands in the environment with which a process was started.
fn has_variable(pid: i32, variable: &str) -> bool {
    let wanted = |environment: &[u8]| environment.split(|byte| *byte == 0).any(|word| word == variable.as_bytes());
    match fs::read(format!("/proc/{pid}/environ")) {
        // Where the first thread has ended nothing is to be read of it; another one can be asked.
        Ok(environment) if environment.is_empty() => {
            threads(pid).into_iter().filter(|thread| *thread != pid).any(|thread| {
                fs::read(format!("/proc/{pid}/task/{thread}/environ")).is_ok_and(|environment| wanted(&environment))
            })
        }
        Ok(environment) => wanted(&environment),
        Err(_) => false,
    }
}

fn is_tagged(pid: i32, tag: &str) -> bool {
    has_variable(pid, &format!("ZOO_TAG={tag}")) || {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).next() == Some(format!("zoo-{tag}").as_bytes())
    }
}

/// The escapees of one case.
#[derive(Debug)]
pub struct Escapees<'a> {
    /// What stands in their environment or their name.
    pub tag: &'a str,
    /// Where they report.
    pub folder: &'a Path,
}

impl Escapees<'_> {
    /// Those who have reported, as they see themselves: in a PID namespace the pids are its own.
    #[must_use]
    pub fn reported(&self) -> BTreeSet<Being> {
        let entries = fs::read_dir(self.folder).into_iter().flatten().flatten();
        let is_report = |name: &str| name == "hopper" || name.parse::<i32>().is_ok();
        let reports = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_report));
        reports.filter_map(|entry| Being::read(&fs::read_to_string(entry.path()).ok()?)).collect()
    }

    /// Those who are alive, by their own word and by a look at everybody.
    #[must_use]
    pub fn alive(&self) -> BTreeSet<Being> {
        let mut alive: BTreeSet<Being> = self.reported().into_iter().filter(|being| being.is_alive()).collect();
        for _ in 0..LOOKS {
            alive.extend(everybody(|pid| is_tagged(pid, self.tag)));
            if !alive.is_empty() {
                return alive;
            }
        }
        alive.extend(self.hopper());
        alive
    }

    /// Who changes its pid all the time, and so writes another one while we look.
    fn hopper(&self) -> Option<Being> {
        let path = self.folder.join("hopper");
        let before = fs::read_to_string(&path).ok()?;
        std::thread::sleep(BETWEEN_PIDS);
        let after = fs::read_to_string(&path).ok()?;
        if before == after { None } else { Being::read(&after) }
    }

    /// Ends all of them, whatever it takes.
    pub fn end(&self) {
        fs::write(self.folder.join("stop"), "").ok();
        for _ in 0..200 {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            kill(&alive);
        }
    }
}

/// The processes of a program whose user has this home.
#[must_use]
pub fn processes_of(program: &Path, home: &Path) -> BTreeSet<Being> {
    let variable = format!("HOME={}", home.display());
    everybody(|pid| {
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program) && has_variable(pid, &variable)
    })
}

/// Kills them.
pub fn kill(beings: &BTreeSet<Being>) {
    signal("KILL", beings);
}

/// Sends a signal to those of them who are alive, in one stroke.
pub fn signal<'a>(name: &str, beings: impl IntoIterator<Item = &'a Being>) {
    let pids = beings.into_iter().filter(|being| being.is_alive()).map(|being| being.pid.to_string());
    let pids: Vec<String> = pids.collect();
    if !pids.is_empty() {
        let mut command = Command::new("kill");
        command.args(["-s", name, "--"]).args(pids).stderr(std::process::Stdio::null());
        command.status().ok();
    }
}
