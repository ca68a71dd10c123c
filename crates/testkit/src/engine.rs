//! Real container engines, private to a test: a daemon of its own with its own folders and socket, an image made of busybox, and
//! nothing left of them when the test is over, however it ends.
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::environment::wait_at_most;
use crate::loop_image::MountScratch;

/// The image with a shell, made of busybox alone.
pub const IMAGE: &str = "loop-busybox";
/// The image that has busybox under its own name only: no shell is found in it.
pub const IMAGE_WITHOUT_SHELL: &str = "loop-bare";

/// Waits until its input is closed, then removes all containers and ends the daemon.
const GUARDIAN: &str = r#"
cat >/dev/null
docker ps --all --quiet | while read -r id; do docker rm --force "$id"; done
kill "$1"
for _ in $(seq 300); do
  case "$(cat "/proc/$1/stat")" in '' | *') Z '*) break ;; esac
  sleep 0.1
done
# Podman keeps one of these for each exec, minutes after its end.
for file in /proc/[0-9]*; do
  case "$(tr '\0' ' ' <"$file/cmdline")" in *conmon\ *"$2"/*) kill -KILL "${file#/proc/}" ;; esac
done
"#;

/// Waits in a container, and takes in who is dead.
pub const IDLE: &str = "while :; do sleep 3600 & wait $!; done";

const PODMAN_STORAGE: &str = "[storage]\ndriver = \"vfs\"\nrunroot = \"ROOT/run\"\ngraphroot = \"ROOT/graph\"\n";
/// Its usual limits are above what a machine that is itself a container may allow.
const PODMAN_SETTINGS: &str = "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\ntmp_dir = \"ROOT/tmp\"\n\
[containers]\nlog_driver = \"k8s-file\"\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n";

/// A daemon of the test's own.
#[derive(Debug)]
pub struct Engine {
    daemon: Child,
    guardian: Child,
    /// The last to go.
    scratch: MountScratch,
}

impl Engine {
    /// Docker.
    ///
    /// # Panics
    /// Where nothing can be mounted, and where a program for it is missing.
    #[must_use]
    pub fn docker() -> Self {
        Self::begin(|root| {
            let mut command = Command::new("dockerd");
            command.args(["--bridge=none", "--iptables=false", "--ip-masq=false", "--ip-forward=false"]);
            command.arg("--data-root").arg(root.join("data")).arg("--exec-root").arg(root.join("exec"));
            command.arg("--pidfile").arg(root.join("pid")).arg("--host").arg(host(root));
            command
        })
    }

    /// Podman behind its socket, which speaks the same.
    ///
    /// # Panics
    /// As [`Engine::docker`].
    #[must_use]
    pub fn podman() -> Self {
        Self::begin(|root| {
            let own = |text: &str| text.replace("ROOT", &root.display().to_string());
            fs::write(root.join("storage.conf"), own(PODMAN_STORAGE)).expect("a file");
            fs::write(root.join("containers.conf"), own(PODMAN_SETTINGS)).expect("a file");
            let mut command = Command::new("podman");
            command.args(["system", "service", "--time", "0"]).arg(host(root));
            command.env("CONTAINERS_STORAGE_CONF", root.join("storage.conf"));
            command.env("CONTAINERS_CONF", root.join("containers.conf"));
            command
        })
    }

    fn begin(command: impl FnOnce(&Path) -> Command) -> Self {
        let scratch = MountScratch::new();
        let root = scratch.path().to_owned();
        let mut command = command(&root);
        let path = std::env::var("PATH").unwrap_or_default();
        let log = || File::options().create(true).append(true).open(root.join("log")).expect("a log");
        command.env("PATH", format!("{path}:/usr/sbin:/sbin")).stdin(Stdio::null()).stdout(log()).stderr(log());
        let daemon = command.process_group(0).spawn().expect("a container engine: run ./check --install");
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARDIAN, "guardian", &daemon.id().to_string()]).arg(&root).process_group(0);
        // Its folder stays until it has done its work.
        guardian.stdin(Stdio::piped()).stdout(scratch.held()).stderr(Stdio::null());
        let guardian = as_client(&mut guardian, &root).spawn().expect("sh");
        let engine = Self { daemon, guardian, scratch };
        let up = wait_at_most(std::time::Duration::from_secs(60), || engine.client(&["version"]).is_ok());
        assert!(up, "the engine did not come up: {}", fs::read_to_string(root.join("log")).unwrap_or_default());
        engine.make_images();
        engine
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.scratch.path().join("socket")
    }

    fn client(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new("docker");
        command.args(words).stdin(Stdio::null());
        let output = as_client(&mut command, self.scratch.path()).output().expect("docker: run ./check --install");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// What Docker's own program says to these words.
    ///
    /// # Panics
    /// When it fails.
    #[must_use]
    pub fn run(&self, words: &[&str]) -> String {
        self.client(words).unwrap_or_else(|error| panic!("docker {words:?}: {error}"))
    }

    fn make_images(&self) {
        let root = self.scratch.path().join("image");
        fs::create_dir_all(root.join("bin")).expect("a folder");
        fs::copy("/bin/busybox", root.join("bin/busybox")).expect("busybox: run ./check --install");
        self.import(&root, IMAGE_WITHOUT_SHELL);
        let list = Command::new("/bin/busybox").arg("--list").output().expect("busybox");
        for name in String::from_utf8_lossy(&list.stdout).lines().filter(|name| *name != "busybox") {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).expect("a link");
        }
        self.import(&root, IMAGE);
    }

    fn import(&self, root: &Path, name: &str) {
        let tar = Command::new("tar").arg("-C").arg(root).args(["-c", "."]).output().expect("tar");
        let mut command = Command::new("docker");
        command.args(["import", "-", name]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut import = as_client(&mut command, self.scratch.path()).spawn().expect("docker");
        import.stdin.take().expect("a pipe").write_all(&tar.stdout).expect("the image is taken");
        assert!(import.wait().expect("docker").success(), "docker import");
    }

    /// Starts a container that waits, with a folder of ours mounted as `/inside`.
    pub fn container(&self, name: &str, workspace: &Path, more: &[&str]) {
        let mount = format!("{}:/inside", workspace.display());
        let mut words = vec!["run", "--detach", "--name", name, "--network", "none", "--volume", &mount];
        words.extend(more);
        words.extend([IMAGE, "sh", "-c", IDLE]);
        drop(self.run(&words));
    }

    /// Everybody who is in a container, the dead who were not taken in too.
    #[must_use]
    pub fn processes(&self, container: &str) -> Vec<String> {
        let list = self.run(&["exec", container, "ps", "-o", "pid,args"]);
        list.lines().skip(1).map(str::trim).filter(|line| !line.contains("ps -o pid,args")).map(str::to_owned).collect()
    }
}

fn host(root: &Path) -> String {
    format!("unix://{}", root.join("socket").display())
}

/// Docker's own program, for this daemon and without the user's settings.
fn as_client<'a>(command: &'a mut Command, root: &Path) -> &'a mut Command {
    command.env("DOCKER_HOST", host(root)).env("DOCKER_CONFIG", root.join("client"))
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        self.guardian.wait().ok();
        self.daemon.wait().ok();
    }
}
