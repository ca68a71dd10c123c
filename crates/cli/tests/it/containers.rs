//! Agents in real containers: what goes in and comes out, and what is found out before anything begins.
use std::fs;

use loop_host::container::{self, ContainerRefusal, ContainerRequest};
use loop_testkit::{Engine, IMAGE, Ran, Running, TestEnv};

use crate::user;

/// An engine, a container that waits in it, and a user whose workspace is `/inside` there.
pub(crate) struct Place {
    pub(crate) engine: Engine,
    pub(crate) user: TestEnv,
}

/// The name of the container.
pub(crate) const BOX: &str = "box";

impl Place {
    pub(crate) fn docker() -> Self {
        Self::of(Engine::docker(), &["--init"])
    }

    fn of(engine: Engine, more: &[&str]) -> Self {
        let user = user();
        engine.container(BOX, &user.work(), more);
        Self { engine, user }
    }

    /// The words that run a command in the container as an agent of a run.
    pub(crate) fn words(&self, run: &str, command: &[&str]) -> Vec<String> {
        let socket = self.engine.socket();
        let report = self.user.root().join(run);
        let words = ["container-exec", "--container", BOX, "--workdir", "/inside", "--run", run];
        let paths = ["--socket", socket.to_str().unwrap(), "--report", report.to_str().unwrap(), "--"];
        words.into_iter().chain(paths).chain(command.iter().copied()).map(str::to_owned).collect()
    }

    pub(crate) fn begin(&self, run: &str, command: &[&str]) -> Running {
        self.user.begin(&self.words(run, command))
    }

    fn ran(&self, command: &[&str], prompt: &[u8]) -> Ran {
        // A file, as a run gives it.
        let file = self.user.root().join("prompt");
        fs::write(&file, prompt).unwrap();
        let mut command = self.user.command(&self.words("run", command));
        let child = command.stdin(fs::File::open(file).unwrap()).spawn().unwrap();
        Running::of(child, self.user.root()).end()
    }

    /// How many were left running and were ended, as a run was told.
    pub(crate) fn ended(&self, run: &str) -> u32 {
        let gone = container::exec::reported(&self.user.root().join(run)).unwrap();
        assert_eq!(gone.left, Vec::<String>::new());
        gone.ended
    }
}

#[test]
fn what_goes_into_a_container_and_comes_out_of_it_is_what_the_agent_sees_and_says() {
    // req: C-01 partly: exec without a terminal, streams told apart, exit code; before loop start has the flag
    let place = Place::docker();
    let ran = place.ran(&["sh", "-c", "cat; pwd; echo aside >&2; exit 7"], b"the prompt\n").expect_code(7);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("the prompt\n/inside\n", "aside\n"));
    assert_eq!(place.ended("run"), 0);

    // More than any buffer between us holds, both ways at once.
    let prompt = "0123456789abcde\n".repeat(10 * 1024 * 64);
    let ran = place.ran(&["sh", "-c", "cat; head -c 100000 /dev/zero >&2"], prompt.as_bytes()).expect_code(0);
    assert!(ran.stdout == prompt.as_bytes(), "{} bytes came back", ran.stdout.len());
    assert_eq!(ran.stderr.len(), 100_000);

    // Whoever does not read its prompt is not waited for.
    let ran = place.ran(&["sh", "-c", "exec <&-; echo done"], prompt.as_bytes()).expect_code(0);
    assert_eq!(ran.out(), "done\n");

    let ran = place.ran(&["no-such-agent"], b"").expect_code(127);
    assert!(ran.err().contains("no-such-agent"), "{}", ran.text());
}

#[test]
fn an_agent_in_a_container_has_the_variables_that_were_asked_for_and_no_others() {
    let place = Place::docker();
    let file = place.user.root().join("variables");
    let variables = [("TOKEN", "secret"), ("TWO", "one\nother"), ("LOOP_MARK", "forged")];
    fs::write(&file, variables.map(|(name, value)| format!("{name}={value}\0")).concat()).unwrap();
    let mut words = place.words("run", &["env"]);
    words.splice(1..1, ["--env-file".to_owned(), file.to_str().unwrap().to_owned()]);
    let mut command = place.user.command(&words);
    let ran = Running::of(command.env("OUTSIDE", "1").spawn().unwrap(), place.user.root()).end().expect_code(0);
    for line in ["TOKEN=secret\n", "TWO=one\nother\n", "LOOP_MARK=:run:\n"] {
        assert!(ran.out().contains(line), "{line} in {}", ran.out());
    }
    assert!(!ran.out().contains("OUTSIDE") && !ran.out().contains("forged"), "{}", ran.out());
    fs::write(&file, "A=1\nB=x y\n\n").unwrap();
    let ran = place.user.run(&words).expect_code(0);
    assert!(ran.out().contains("A=1\n") && ran.out().contains("B=x y\n"), "{}", ran.out());
}

#[test]
fn files_can_be_put_where_an_agent_in_a_container_reads_them() {
    let place = Place::docker();
    let long = format!("/loop-files/{}/settings.json", "long-name/".repeat(12).trim_end_matches('/'));
    let files = [("/loop-files/a/one".to_owned(), b"1\n".repeat(400)), (long.clone(), b"other".to_vec())];
    container::put(&place.engine.socket(), BOX, &files).unwrap();
    let ran = place.ran(&["sh", "-c", "cat /loop-files/a/one; cat \"$0\"", &long], b"").expect_code(0);
    assert_eq!(ran.stdout, [b"1\n".repeat(400), b"other".to_vec()].concat());
    let wrong = container::put(&place.engine.socket(), BOX, &[("/a/../etc/passwd".to_owned(), Vec::new())]);
    assert!(wrong.unwrap_err().to_string().contains("is not an absolute path"));
}

#[test]
fn a_container_that_cannot_be_worked_in_is_found_out_before_anything_begins() {
    // req: C-01 partly: no such container and one that does not run, by the parts
    let place = Place::docker();
    let (socket, work) = (place.engine.socket(), place.user.work());
    let check = |name: &str| container::check(&socket, name, &work);
    let refused = |name: &str| -> ContainerRefusal { check(name).unwrap_err() };
    let found = check(BOX).unwrap();
    assert_eq!((found.workdir.as_str(), found.warnings.len()), ("/inside", 0), "{found:?}");
    assert!(found.id.len() == 64 && found.id.starts_with(&place.engine.run(&["ps", "-q"])));
    fs::create_dir(work.join("part")).unwrap();
    assert_eq!(container::check(&socket, &found.id, &work.join("part")).unwrap().workdir, "/inside/part");

    assert_eq!(refused("nobody").what, "no container nobody");
    assert!(refused("../../info").what.contains("../../info"), "a name is no path of the API");
    let elsewhere = container::check(&socket, BOX, place.user.root()).unwrap_err();
    assert!(
        elsewhere.why.contains("is not mounted in it") && elsewhere.hint.contains("docker run -v"),
        "{elsewhere:?}"
    );
    place.engine.container("frozen", &work, &[]);
    drop(place.engine.run(&["pause", "frozen"]));
    assert_eq!(
        (refused("frozen").why.as_str(), refused("frozen").hint.as_str()),
        ("it is paused", "docker unpause frozen")
    );
    drop(place.engine.run(&["unpause", "frozen"]));
    drop(place.engine.run(&["kill", "frozen"]));
    assert_eq!(
        (refused("frozen").why.as_str(), refused("frozen").hint.as_str()),
        ("it is exited", "docker start frozen")
    );
    let socket_mount = format!("{}:/engine", socket.display());
    place.engine.container("open", &work, &["--volume", &socket_mount]);
    let warnings = check("open").unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("(/engine)"), "{warnings:?}");
    let nowhere = container::check(&place.user.root().join("no-socket"), BOX, &work).unwrap_err();
    assert!(nowhere.why.contains("does not answer"), "{nowhere:?}");

    // As the program that is the agent to a run says it.
    let ran = place.user.run(&[
        "container-exec",
        "--container",
        "nobody",
        "--run",
        "r",
        "--socket",
        socket.to_str().unwrap(),
        "--",
        "true",
    ]);
    assert!(ran.expect_code(125).err().contains("nobody"));
}

fn container_of_a_run_comes_and_goes(place: &Place) {
    let (socket, work) = (place.engine.socket(), place.user.work());
    let wish = ContainerRequest { image: IMAGE, run: "run7", workspace: &work, network: false };
    // One that a crash left behind is replaced.
    let lost = container::start(&socket, wish).unwrap();
    let id = container::start(&socket, wish).unwrap();
    let listed = || place.engine.run(&["ps", "--all", "--no-trunc", "--quiet", "--filter", "label=loop.run=run7"]);
    assert!(id != lost && listed() == id, "{}", listed());
    let found = container::check(&socket, &id, &work).unwrap();
    assert_eq!((found.workdir.as_str(), found.warnings.len()), (work.to_str().unwrap(), 0), "{found:?}");
    let mut words =
        place.words("run7", &["sh", "-c", "touch made && id -u && echo ~ && touch ~/note && ls /sys/class/net"]);
    words.splice(2..5, [id.clone(), "--workdir".to_owned(), found.workdir]);
    let ran = place.user.run(&words).expect_code(0);
    assert_eq!(ran.out(), "0\n/loop-home\nlo\n", "{}", ran.text());
    assert!(work.join("made").exists());
    container::remove(&socket, &id).unwrap();
    container::remove(&socket, &id).unwrap();
    container::start(&socket, wish).unwrap();
    assert_eq!(container::remove_of_run(&socket, "run7").unwrap(), 1);
    assert_eq!(listed(), "");
}

#[test]
fn a_container_made_of_an_image_has_the_workspace_and_no_network_and_goes_with_its_run() {
    let place = Place::docker();
    container_of_a_run_comes_and_goes(&place);
    let (socket, work) = (place.engine.socket(), place.user.work());
    let wish = ContainerRequest { image: "no-such-image", run: "run7", workspace: &work, network: false };
    let refused = container::start(&socket, wish).unwrap_err();
    assert_eq!(refused.hint, "docker pull no-such-image");
    let above = socket.parent().unwrap();
    let refused = container::start(&socket, ContainerRequest { image: IMAGE, workspace: above, ..wish }).unwrap_err();
    assert!(refused.why.contains("socket is in it"), "{refused:?}");
}

#[test]
fn podman_does_the_same_behind_its_socket() {
    // req: C-01 partly: Podman's socket
    let engine = Engine::podman();
    let place = Place::of(engine, &[]);
    let ran = place.ran(&["sh", "-c", "cat; pwd; echo aside >&2; exit 7"], b"the prompt\n").expect_code(7);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("the prompt\n/inside\n", "aside\n"));
    let found = container::check(&place.engine.socket(), BOX, &place.user.work()).unwrap();
    assert_eq!((found.workdir.as_str(), found.warnings.len()), ("/inside", 0), "{found:?}");
    let missing = container::check(&place.engine.socket(), "nobody", &place.user.work()).unwrap_err();
    assert_eq!(missing.what, "no container nobody");
    crate::containers_ended::cancelled(&place, "podman-1");
    crate::containers_ended::cancelled(&place, "podman-2");
    container_of_a_run_comes_and_goes(&place);
}
