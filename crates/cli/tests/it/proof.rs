//! `loop proof` and `loop verify FILE`: a proof is made, handed over, and checked where there are no records of the loop.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use loop_core::attestation::{Envelope, base64};
use loop_testkit::{TestEnv, must};
use serde_json::{Value, json};

use crate::{start, user};

const AGENT: &str = "echo done > work.txt";
const PROMISE: &str = "./check.sh";

/// A user with a repository, two keys and a list of signers in the base.
fn with_repository() -> TestEnv {
    let user = user();
    user.write("work/work.txt", "to do\n");
    user.write("work/check.sh", "#!/bin/sh\ngrep -q done work.txt\n");
    user.write("work/.loop.toml", "promise = \"./check.sh\"\n");
    for name in ["ann", "bob"] {
        let words = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"];
        let made = Command::new("ssh-keygen").args(words).arg(user.root().join(name)).status();
        assert!(made.is_ok_and(|made| made.success()), "ssh-keygen must be installed");
    }
    user.write("work/.github/signers", &format!("ann@example.org {}", user.read("ann.pub")));
    must(
        &user.work(),
        "chmod +x check.sh; git init -q -b main; git add -A; git commit -qm base; git checkout -q -b topic",
    );
    user
}

/// The same, with a loop that is done and committed. The id of the loop.
fn done(more: &[&str]) -> (TestEnv, String) {
    let user = with_repository();
    let more = [&["--approve", "--strength", "off"], more].concat();
    user.run(&start(AGENT, PROMISE, &more)).expect_code(0);
    must(&user.work(), "git commit -qam work");
    let id = user.id();
    (user, id)
}

/// A fresh user in a clone, who has no records.
fn elsewhere(origin: &TestEnv, clone: &str) -> TestEnv {
    let other = user();
    fs::remove_dir_all(other.work()).unwrap();
    let from = origin.work();
    must(other.root(), &format!("git clone -q {clone} file://{} work", from.display()));
    other
}

fn statement(line: &str) -> Value {
    let envelope: Value = serde_json::from_str(line).unwrap();
    serde_json::from_slice(&base64::decode(envelope["payload"].as_str().unwrap()).unwrap()).unwrap()
}

fn proof_of(user: &TestEnv, id: &str, more: &[&str]) -> String {
    user.run(&[&["proof", id], more].concat()).expect_code(0).out().trim_end().to_owned()
}

fn tree(folder: &Path) -> String {
    let done = Command::new("git").args(["rev-parse", "HEAD^{tree}"]).current_dir(folder).output().unwrap();
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

fn key(user: &TestEnv, name: &str) -> String {
    user.root().join(name).display().to_string()
}

#[test]
fn a_signed_proof_is_checked_and_run_again_where_there_are_no_records() {
    let (user, id) = done(&[]);
    let line = proof_of(&user, &id, &["--sign", &key(&user, "ann")]);
    let said = statement(&line);
    assert_eq!(said["subject"][0]["digest"]["gitTree"], tree(&user.work()));
    assert_eq!(said["predicate"]["baseline"]["gates"][0]["verdict"], "fail", "it was red before");
    let certificate = &user.run(&["status", &id, "--json"]).json()["loops"][0]["certificate"];
    assert_eq!(certificate["git_tree"], tree(&user.work()));
    let other = elsewhere(&user, "-b topic");
    other.write("proof.json", &format!("{line}\n"));
    let signers = ["--allowed-signers-rev", "origin/main:.github/signers"];
    let claimed = other.run(&[&["verify", "../proof.json"], &signers[..]].concat()).expect_code(0);
    assert!(claimed.out().starts_with("ok: claimed by ann@example.org (SHA256:"), "{}", claimed.text());
    assert!(claimed.out().contains("is that of the commit that is checked out"), "{}", claimed.text());
    let ran = other.run(&["verify", "../proof.json", "--run", "--gates-from", "origin/main:.loop.toml"]).expect_code(0);
    assert!(ran.out().starts_with("ok: every required gate passes here"), "{}", ran.text());
    let nobody = other.run(&["verify", "../proof.json"]).expect_code(4);
    assert!(nobody.out().starts_with("not ok: claimed, but not by a key that you trust"), "{}", nobody.text());
    assert_eq!(other.tree("work/.git/refs/notes").len(), 0, "nothing of the repository was changed");
}

#[test]
fn a_note_on_the_tree_is_found_after_a_squash_in_a_clone_of_depth_1() {
    let (user, id) = done(&[]);
    let noted = user.run(&["proof", &id, "--sign", &key(&user, "ann"), "--note"]).expect_code(0);
    assert!(noted.out().contains("git push origin refs/notes/loop"), "{}", noted.text());
    must(&user.work(), "git checkout -q main; git merge -q --squash topic; git commit -qm squashed");
    let other = elsewhere(&user, "--depth 1 -b main");
    let missing = other.run(&["verify", "--note"]).expect_code(4);
    assert!(missing.err().contains("no note in refs/notes/loop"), "{}", missing.text());
    must(&other.work(), "git fetch -q origin refs/notes/loop:refs/notes/loop");
    let words = ["verify", "--note", "--allowed-signers-rev", "origin/main:.github/signers"];
    let found = other.run(&[&words[..], &["--format", "json"]].concat()).expect_code(0).json();
    assert_eq!((&found["tree"]["state"], &found["signature"]["signer"]), (&json!("head"), &json!("ann@example.org")));
    let run = ["--run", "--gates-from", "origin/main:.loop.toml", "--format", "junit"];
    let junit = other.run(&[&words[..], &run].concat()).expect_code(0);
    assert!(
        junit.out().contains("<testcase classname=\"loop.") && junit.out().contains("failures=\"0\""),
        "{}",
        junit.out()
    );
}

#[test]
fn of_several_proofs_in_a_note_one_that_holds_is_taken() {
    let (user, id) = done(&[]);
    user.run(&["proof", &id, "--sign", &key(&user, "ann"), "--note"]).expect_code(0);
    user.run(&["proof", &id, "--sign", &key(&user, "bob"), "--note"]).expect_code(0);
    user.run(&["verify", "--note", "--allowed-signers-rev", "main:.github/signers"]).expect_code(0);
}

#[test]
fn untrusted_commands_are_not_run() {
    let (user, id) = done(&[]);
    let line = proof_of(&user, &id, &[]);
    let mut said = statement(&line);
    said["predicate"]["gates"][0]["command"] = json!(format!("touch {}", user.root().join("ran").display()));
    said["predicate"]["gates"][0]["command_sha256"] = Value::Null;
    let own = said["predicate"]["gates"][0].clone();
    let base =
        json!({"name": "base", "command": "./check.sh", "required": true, "verdict": "pass", "timeout_ms": 9000});
    said["predicate"]["gates"] = json!([own, base]);
    let envelope = Envelope { payload: said.to_string().into_bytes(), signatures: Vec::new() };
    user.write("evil.json", &envelope.to_line());
    let refused = user.run(&["verify", "../evil.json", "--run"]).expect_code(4);
    assert!(refused.out().contains("untrusted commands are not run"), "{}", refused.text());
    // The gate of the base is run, and only that one.
    user.run(&["verify", "../evil.json", "--run", "--gates-from", "main:.loop.toml"]).expect_code(0);
    assert!(!user.root().join("ran").exists());
    // Signed by somebody who is not trusted it is the same.
    let signed = user.run(&["verify", "../evil.json", "--run", "--allowed-signers-rev", "main:.github/signers"]);
    signed.expect_code(1);
    assert!(!user.root().join("ran").exists());
}

#[test]
fn untrusted_texts_bring_no_control_bytes_to_the_terminal() {
    let (user, id) = done(&[]);
    let mut said = statement(&proof_of(&user, &id, &[]));
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\n\u{202e}verified";
    for field in ["id", "outcome", "at", "loop", "platform"] {
        said["predicate"][field] = json!(evil);
    }
    said["predicate"]["weaker"] = json!([evil]);
    said["predicate"]["withheld"] = json!([evil]);
    said["predicate"]["revision"] = json!(evil);
    said["predicate"]["gates"][0]["name"] = json!(evil);
    let envelope = Envelope { payload: said.to_string().into_bytes(), signatures: Vec::new() };
    user.write("evil.json", &envelope.to_line());
    for format in ["text", "markdown", "junit", "json"] {
        let shown = user.run(&["verify", "../evil.json", "--format", format]);
        let odd = |byte: &u8| *byte < b' ' && *byte != b'\n';
        assert!(!shown.text().bytes().any(|byte| odd(&byte)), "{format}: {:?}", shown.text());
        assert!(!shown.text().contains('\u{202e}'), "{format}: {:?}", shown.text());
    }
}

#[test]
fn what_is_of_this_machine_or_looks_like_a_secret_is_withheld_and_named() {
    let user = with_repository();
    let folder = user.work().display().to_string();
    let gates = [
        format!("here=cd {folder} && ./check.sh"),
        "key=API_TOKEN=hunter2secret ./check.sh".to_owned(),
        "plain=sh check.sh".to_owned(),
    ];
    let mut words = start(AGENT, PROMISE, &["--approve", "--strength", "off", "--judge", "workspace"]);
    words.extend(gates.iter().flat_map(|gate| ["--gate", gate.as_str()]));
    user.run(&words).expect_code(0);
    let id = user.id();
    let made = user.run(&["proof", &id]).expect_code(0);
    assert!(made.err().contains("gates[1].command, gates[2].command"), "{}", made.err());
    let said = statement(made.out().trim_end());
    let text = said.to_string();
    assert!(!text.contains(&folder) && !text.contains("hunter2secret"), "{text}");
    let home = user.root().display().to_string();
    assert!(!text.contains(&home), "{text}");
    assert_eq!(said["predicate"]["withheld"], json!(["gates[1].command", "gates[2].command"]));
    assert!(said["predicate"]["gates"][1]["command_sha256"].is_string());
    assert!(said["predicate"]["gates"][2]["command_sha256"].is_null(), "a short secret could be guessed from its hash");
    let pr = user.run(&["proof", &id, "--pr", "--trailer"]).expect_code(0);
    assert!(!pr.out().contains("hunter2secret") && !pr.out().contains(&folder), "{}", pr.out());
    assert!(pr.out().contains("| plain | `sh check.sh` | pass |") && pr.out().contains("Loop-Proof: "), "{}", pr.out());
}

#[test]
fn only_an_end_that_is_done_has_a_proof() {
    let user = with_repository();
    user.run(&start("true", PROMISE, &["--approve", "-n", "1"])).expect_code(1);
    let id = user.id();
    let refused = user.run(&["proof", &id]).expect_code(4);
    assert!(refused.err().contains("it ended without being done"), "{}", refused.text());
    user.run(&["proof", "nothing"]).expect_code(4);
}

#[test]
fn an_accepted_loop_is_handed_over_as_accepted() {
    let user = with_repository();
    // The gate passes whatever the sources are: that is what speaks against it.
    let words = start("echo x > other.txt", "test -e other.txt", &["--strength", "require"]);
    fs::remove_file(user.work().join(".loop.toml")).unwrap();
    user.run(&words).expect_code(1);
    let id = user.id();
    let refused = user.run(&["proof", &id]).expect_code(4);
    assert!(refused.err().contains(&format!("loop accept {id}")), "{}", refused.text());
    user.run(&["accept", &id, "--because", "it is fine"]).expect_code(0);
    let line = proof_of(&user, &id, &["--sign", &key(&user, "ann")]);
    let said = statement(&line);
    assert_eq!((&said["predicate"]["verified"], &said["predicate"]["outcome"]), (&json!(false), &json!("accepted")));
    assert_eq!(said["predicate"]["accepted"]["because"], "it is fine");
    user.write("proof.json", &line);
    must(&user.work(), "git add -A; git commit -qm work");
    let found = user.run(&["verify", "../proof.json", "--allowed-signers-rev", "main:.github/signers"]).expect_code(0);
    assert!(found.out().contains("a person accepted it, it is not verified: "), "{}", found.text());
}

#[test]
fn an_agent_gets_no_proof_of_its_own_work() {
    let user = with_repository();
    let program = env!("CARGO_BIN_EXE_loop");
    let state = user.state().display().to_string();
    let agent = format!(
        "echo done > work.txt; for id in $(ls {state}/runs); do {program} proof $id > proof.txt 2>&1; echo $? >> proof.txt; done"
    );
    user.run(&start(&agent, PROMISE, &["--approve", "--strength", "off"])).expect_code(0);
    let said = user.read("work/proof.txt");
    assert!(said.contains("from inside a loop") && said.ends_with("4\n"), "{said}");
}

#[test]
fn the_key_of_the_users_git_is_used_and_that_of_the_repository_is_not() {
    let (user, id) = done(&[]);
    let none = user.run(&["proof", &id, "--sign"]).expect_code(4);
    assert!(
        none.err().contains("gpg.format is not ssh") && none.err().contains("--sign ~/.ssh/id_ed25519"),
        "{}",
        none.err()
    );
    must(&user.work(), &format!("git config gpg.format ssh; git config user.signingKey {}", key(&user, "bob")));
    user.run(&["proof", &id, "--sign"]).expect_code(4);
    user.write("home/.gitconfig", &format!("[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = {}\n", key(&user, "ann")));
    user.write("proof.json", &proof_of(&user, &id, &["--sign"]));
    let found = user.run(&["verify", "../proof.json", "--allowed-signers-rev", "main:.github/signers", "--json"]);
    assert_eq!(found.expect_code(0).json()["signature"]["signer"], "ann@example.org");
    // A program of that name in the workspace is not the one that gets the key.
    let fake: PathBuf = user.work().join("bin");
    fs::create_dir(&fake).unwrap();
    must(&user.work(), "printf '#!/bin/sh\\ntouch ../stolen\\n' > bin/ssh-keygen; chmod +x bin/ssh-keygen");
    let mut command = user.command(&["proof", &id, "--sign"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", fake.display()));
    assert!(command.output().unwrap().status.success());
    assert!(!user.root().join("stolen").exists());
}

#[test]
fn a_file_is_written_and_a_loop_is_still_verified_by_its_id() {
    let (user, id) = done(&[]);
    let written = user.run(&["proof", &id, "-o", "proof.json"]).expect_code(0);
    assert!(written.err().contains("do not commit this file"), "{}", written.text());
    assert_eq!(written.out(), "");
    fs::remove_file(user.work().join("proof.json")).unwrap();
    let again = user.run(&["verify", &id]).expect_code(0);
    assert!(again.out().contains("verified: every required gate passes again"), "{}", again.text());
    let wrong = user.run(&["verify", &id, "--run"]).expect_code(4);
    assert!(wrong.err().contains("is a loop of this machine, not a proof"), "{}", wrong.text());
    let nothing = user.run(&["verify", "no-such.json"]).expect_code(4);
    assert!(nothing.err().contains("cannot read no-such.json"), "{}", nothing.text());
}

#[test]
fn a_file_that_is_named_like_a_revision_does_not_take_its_place() {
    let (user, id) = done(&[]);
    let mut said = statement(&proof_of(&user, &id, &[]));
    user.write("work/main:.loop.toml", "promise = \"true\"\n");
    must(&user.work(), "git add -A; git commit -qm base");
    said["predicate"]["gates"][0]["command"] = json!("true");
    said["predicate"]["gates"][0]["command_sha256"] = Value::Null;
    said["subject"][0]["digest"] = json!({"gitTree": tree(&user.work())});
    let envelope = Envelope { payload: said.to_string().into_bytes(), signatures: Vec::new() };
    user.write("evil.json", &envelope.to_line());
    let refused = user.run(&["verify", "../evil.json", "--run", "--gates-from", "main:.loop.toml"]).expect_code(1);
    assert!(refused.out().contains("weaker than those of the base"), "{}", refused.text());
    let file = user.run(&["verify", "../evil.json", "--run", "--gates-from", "./main:.loop.toml"]).expect_code(0);
    assert!(file.out().contains("the gates are a file of this checkout"), "{}", file.text());
}

#[test]
fn what_qualifies_a_loop_is_said_where_its_proof_is_checked() {
    let (user, id) = done(&["--judge", "workspace"]);
    user.write("proof.json", &proof_of(&user, &id, &["--sign", &key(&user, "ann")]));
    let signers = ["--allowed-signers-rev", "main:.github/signers"];
    for format in ["text", "markdown", "junit", "json"] {
        let found = user.run(&[&["verify", "../proof.json", "--format", format], &signers[..]].concat()).expect_code(0);
        assert!(found.out().contains("in the workspace only"), "{format}: {}", found.text());
    }
    let run = user.run(&["verify", "../proof.json", "--run", "--gates-from", "main:.loop.toml"]).expect_code(0);
    assert!(run.out().lines().next().is_some_and(|line| line.ends_with("in the workspace only")), "{}", run.text());
    let pr = user.run(&["proof", &id, "--pr"]).expect_code(0);
    assert!(pr.out().contains("in the workspace only"), "{}", pr.text());
}

#[test]
fn the_repository_of_a_git_hook_is_not_that_of_the_gates() {
    let (user, id) = done(&[]);
    user.write(
        "work/check.sh",
        "#!/bin/sh\ntest -z \"$GIT_DIR$GIT_WORK_TREE$GIT_INDEX_FILE$GIT_CONFIG_COUNT\" && grep -q done work.txt\n",
    );
    must(&user.work(), "git commit -qam check; git branch -qf main");
    let mut said = statement(&proof_of(&user, &id, &[]));
    said["subject"][0]["digest"] = json!({"gitTree": tree(&user.work())});
    let envelope = Envelope { payload: said.to_string().into_bytes(), signatures: Vec::new() };
    user.write("proof.json", &envelope.to_line());
    let mut command = user.command(&["verify", "../proof.json", "--run", "--gates-from", "main:.loop.toml"]);
    command.env("GIT_DIR", user.root().join("elsewhere")).env("GIT_WORK_TREE", "/").env("GIT_INDEX_FILE", "index");
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.fsmonitor")
        .env("GIT_CONFIG_VALUE_0", "touch fired");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
fn a_proof_is_not_written_through_a_link_of_the_workspace() {
    let (user, id) = done(&[]);
    user.write("home/precious", "mine\n");
    must(&user.work(), "ln -s ../home/precious loop-proof.json; ln -s ../home folder");
    for output in ["loop-proof.json", "folder/precious"] {
        let refused = user.run(&["proof", &id, "-o", output]).expect_code(3);
        assert!(refused.err().contains("link"), "{}", refused.text());
    }
    assert_eq!(user.read("home/precious"), "mine\n");
}

#[test]
fn only_gates_that_are_covered_here_are_named_for_a_program() {
    let (user, id) = done(&[]);
    let line = proof_of(&user, &id, &["--sign", &key(&user, "ann")]);
    user.write("proof.json", &line);
    let ask = ["verify", "../proof.json", "--format", "gates", "--gates-from", "main:.loop.toml"];
    let trusted = ["--allowed-signers-rev", "main:.github/signers"];
    assert_eq!(user.run(&[&ask[..], &trusted].concat()).expect_code(0).out(), "promise\n");
    assert_eq!(user.run(&ask).expect_code(4).out(), "", "nobody is trusted");
    user.write("work/new", "x");
    assert_eq!(user.run(&[&ask[..], &trusted].concat()).expect_code(0).out(), "", "local changes");
    fs::remove_file(user.work().join("new")).unwrap();
    let mut said = statement(&line);
    said["predicate"]["platform"] = json!("other-os");
    let envelope = Envelope { payload: said.to_string().into_bytes(), signatures: Vec::new() };
    user.write("proof.json", &envelope.to_line());
    let run = user.run(&[&ask[..], &["--run"]].concat()).expect_code(0);
    assert_eq!(run.out(), "promise\n", "it ran here");
    let wrong = user.run(&["verify", &id, "--format", "gates"]).expect_code(4);
    assert!(wrong.err().contains("--format gates is of a proof"), "{}", wrong.text());
}

#[test]
fn a_proof_names_the_files_that_its_gates_use() {
    let (user, id) = done(&[]);
    let line = proof_of(&user, &id, &["--sign", &key(&user, "ann")]);
    let blob = Command::new("git").args(["rev-parse", "HEAD:check.sh"]).current_dir(user.work()).output().unwrap();
    let blob = String::from_utf8(blob.stdout).unwrap();
    let inputs = &statement(&line)["predicate"]["gates"][0]["inputs"];
    assert_eq!(*inputs, json!([{"gitBlob": blob.trim(), "path": "check.sh"}]));
}

#[test]
fn a_text_for_a_pull_request_has_no_name_of_a_test_that_the_proof_withholds() {
    let user = with_repository();
    let folder = user.work().display().to_string();
    let script = format!(
        "#!/bin/sh\necho 'TAP version 13'; echo 1..1\nif grep -q done work.txt; then echo 'ok 1 - reads {folder}/x'; else echo 'not ok 1 - reads {folder}/x'; exit 1; fi\n"
    );
    user.write("work/check.sh", &script);
    must(&user.work(), "git commit -qam tap");
    user.run(&start(AGENT, PROMISE, &["--approve", "--strength", "off", "--judge", "workspace"])).expect_code(0);
    let id = user.id();
    let said = statement(&proof_of(&user, &id, &[]));
    assert_eq!(said["predicate"]["turned"], json!({"count": 1, "first": [null]}));
    let pr = user.run(&["proof", &id, "--pr"]).expect_code(0);
    assert!(!pr.out().contains(&folder), "{}", pr.out());
}

#[test]
fn a_text_for_a_pull_request_says_that_protected_files_were_changed_and_restored() {
    let user = with_repository();
    let agent = format!("echo true > check.sh; test -e once && {{ {AGENT}; }}; touch once");
    user.run(&start(&agent, PROMISE, &["--approve", "--strength", "off"])).expect_code(0);
    let pr = user.run(&["proof", &user.id(), "--pr"]).expect_code(0).out();
    let said = "- Restored: the agent changed protected files in 2 iterations; the gates ran with the originals\n";
    assert!(pr.contains(said), "{pr}");
    let (user, id) = done(&[]);
    assert!(!user.run(&["proof", &id, "--pr"]).expect_code(0).out().contains("Restored"));
}

#[test]
fn the_line_that_a_signed_proof_prints_succeeds_with_the_keys_of_the_reader() {
    let user = user();
    user.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    must(user.root(), "ssh-keygen -q -t ed25519 -N '' -f ann");
    user.write("signers", &format!("ann@example.org {}", user.read("ann.pub")));
    let key = user.root().join("ann").display().to_string();
    let ran = user.run(&["proof", &user.id(), "--sign", &key, "-o", "../proof.json"]).expect_code(0);
    let line = "check it elsewhere: loop verify ../proof.json --allowed-signers SIGNERS\n";
    assert!(ran.err().contains(line), "{}", ran.text());
    user.run(&["verify", "../proof.json", "--allowed-signers", "../signers"]).expect_code(0);
    let pr = user.run(&["proof", &user.id(), "--pr"]).expect_code(0).out();
    assert!(!pr.contains("origin/main"), "there is no project file: {pr}");
}

#[test]
fn the_hint_about_another_tree_is_not_about_keys() {
    let user = user();
    user.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    user.run(&["proof", &user.id(), "-o", "../proof.json"]).expect_code(0);
    user.write("work/more", "");
    let ran = user.run(&["verify", "../proof.json"]).expect_code(1);
    assert!(ran.text().contains("about another tree") && !ran.text().contains("whom you trust"), "{}", ran.text());
}
