//! A hostile author hands over a proof, a branch or a checkout: what he wants to be believed or run is not.
use std::fs;
use std::path::{Path, PathBuf};

use loop_core::attestation::{GatesMatch, ProofCheck, Rerun, TreeMatch};
use loop_host::attestation::{CheckError, CheckRequest, check_proof, find_note};
use loop_host::checkpoint::ObjectFormat;
use loop_host::checkpoint::user_git::Checkout;
use loop_host::gate::GateProgress;
use loop_testkit::must;
use serde_json::{Value, json};

use crate::attestation::{Scene, git, plain};

/// What CI asks: the base's gates, run here.
fn run_request<'a>(scene: &Scene, folder: &'a Path, copies: &'a Path) -> CheckRequest<'a> {
    CheckRequest {
        signers_revision: None,
        gates_from: Some("base:.loop.toml".to_owned()),
        run: true,
        ..scene.request(folder, copies)
    }
}

/// An unsigned proof, checked as CI does it.
fn run_unsigned(scene: &Scene, statement: &Value) -> Result<ProofCheck, CheckError> {
    let (repo, copies) = (scene.repo(), scene.path("copies"));
    let request = run_request(scene, &repo, &copies);
    check_proof(plain(statement).to_line().as_bytes(), &request, &mut |_| {})
}

#[test]
fn a_proof_about_another_folder_than_the_bases_gates_are_for_does_not_hold() {
    let scene = Scene::new("");
    scene.write("sub/check.sh", "true\n");
    scene.write("work.txt", "to do\n");
    must(&scene.repo(), "chmod +x sub/check.sh; git add -A; git commit -qm 'an easy folder'");
    let tree = git(&scene.repo(), &["rev-parse", "HEAD:sub"]);
    let mut statement = scene.statement(&tree, None);
    statement["predicate"]["scope"]["folder"] = json!("sub");
    let check = run_unsigned(&scene, &statement).unwrap();
    assert_eq!(check.exit_code, 1, "{check:?}");
    assert!(check.why.contains("folder"), "{check:?}");
}

#[test]
fn one_gate_must_be_as_strict_and_have_passed() {
    let scene = Scene::new("");
    let mut statement = scene.own();
    let mut passed = statement["predicate"]["gates"][0].clone();
    passed["required"] = json!(false);
    let mut failed = statement["predicate"]["gates"][0].clone();
    failed["verdict"] = json!("fail");
    statement["predicate"]["gates"] = json!([passed, failed]);
    let check = run_unsigned(&scene, &statement).unwrap();
    assert!(check.exit_code == 1 && matches!(check.gates, GatesMatch::Weaker { .. }), "{check:?}");
}

#[test]
fn a_merge_with_local_changes_is_not_run() {
    let scene = Scene::new("");
    must(&scene.repo(), "git checkout -q -b side; echo more >> work.txt; git commit -qam side");
    let statement = scene.own();
    must(
        &scene.repo(),
        "git checkout -q main; echo x > x; git add x; git commit -qm main; git merge -q --no-ff -m merge side",
    );
    assert_eq!(run_unsigned(&scene, &statement).unwrap().exit_code, 0);
    scene.write("x", "changed\n");
    let refused = run_unsigned(&scene, &statement);
    assert!(
        refused.as_ref().is_err_and(|error| error.to_string().contains("the checkout has local changes (changed x)")),
        "{refused:?}"
    );
}

#[test]
fn a_proof_that_does_not_say_that_its_gates_passed_does_not_hold() {
    let scene = Scene::new("");
    for (place, value) in [
        ("/predicate/gates/0/verdict", json!("fail")),
        ("/predicate/gates/0/verdict", Value::Null),
        ("/predicate/gates/0/required", json!(false)),
        ("/predicate/gates", json!([])),
    ] {
        let mut statement = scene.own();
        *statement.pointer_mut(place).unwrap() = value;
        let check = scene.check(&scene.signed(&statement, &["ann"]));
        assert_eq!(check.exit_code, 1, "{place}: {check:?}");
    }
}

#[test]
fn what_qualifies_the_end_there_is_said_here() {
    let scene = Scene::new("");
    let mut statement = scene.own();
    statement["predicate"]["qualification"] = json!("in the workspace only, 1 finding named");
    statement["predicate"]["judge"] = json!({"workspace": {"why": "there is no copy"}});
    statement["predicate"]["named"] = json!([{"kind": "suspect_lines", "text": "src/a.rs:3 asks who runs it"}]);
    statement["predicate"]["weaker"] = json!(["2 tests fewer"]);
    let check = scene.check(&scene.signed(&statement, &["ann"]));
    assert_eq!(check.exit_code, 0, "{check:?}");
    assert!(check.why.ends_with("; there: in the workspace only, 1 finding named"), "{}", check.why);
    let said = format!("{check:?}");
    for what in ["there is no copy", "asks who runs it", "2 tests fewer"] {
        assert!(said.contains(what), "{what}: {said}");
    }
    assert_eq!(check.against, Vec::<String>::new(), "nothing of this speaks against it");
}

#[test]
fn a_proof_that_says_both_verified_and_accepted_is_not_verified() {
    let scene = Scene::new("");
    for (field, value) in [
        ("outcome", json!("accepted")),
        ("accepted", json!({"command": "loop accept"})),
        ("findings", json!([{"kind": "clean_copy", "text": "the copy fails"}])),
    ] {
        let mut statement = scene.own();
        statement["predicate"][field] = value;
        let check = scene.check(&scene.signed(&statement, &["ann"]));
        assert!(!check.verified_there, "{field}: {check:?}");
        assert!(check.why.contains("it is not verified"), "{field}: {}", check.why);
    }
}

#[test]
fn rules_that_leave_out_files_are_seen_where_no_commit_can_be_read() {
    let scene = Scene::new("");
    must(scene.root.path(), "cp -r repo plain; rm -rf plain/.git; cp -r repo odd; echo x > odd/.git/HEAD");
    for folder in ["plain", "odd"] {
        let folder = scene.path(folder);
        let files = scene.files(&folder, ObjectFormat::Sha1);
        fs::write(folder.join("evil.rs"), "x").unwrap();
        let mut statement = scene.statement(&files.git_tree, Some(&files.sha256));
        statement["predicate"]["scope"]["skip"] = json!(["evil.rs"]);
        let copies = scene.path("copies");
        let request = CheckRequest { signers_revision: None, ..scene.request(&folder, &copies) };
        let check = check_proof(plain(&statement).to_line().as_bytes(), &request, &mut |_| {}).unwrap();
        let TreeMatch::Partial { names } = &check.tree else { panic!("{folder:?}: {check:?}") };
        assert_eq!((check.exit_code, names.words()), (1, "evil.rs".to_owned()));
    }
}

#[test]
fn a_committed_file_that_the_rules_leave_out_is_named_though_the_commit_is_the_same() {
    let scene = Scene::new("");
    let mut statement = scene.statement(&scene.tree("HEAD"), None);
    statement["predicate"]["scope"]["skip"] = json!(["check.sh"]);
    scene.write("check.sh", "true\n");
    let check = scene.check(&scene.signed(&statement, &["ann"]));
    assert_eq!(check.dirty.words(), "not compared check.sh", "{check:?}");
}

#[test]
fn a_name_that_means_two_revisions_is_refused() {
    let scene = Scene::new("");
    let public = fs::read_to_string(scene.path("bob.pub")).unwrap();
    must(&scene.repo(), "git update-ref refs/remotes/origin/main base");
    scene.write("signers", &format!("bob@example.org {public}"));
    must(&scene.repo(), "git commit -qam 'trust me'; git tag origin/main");
    let line = scene.signed(&scene.own(), &["bob"]).to_line();
    let (repo, copies) = (scene.repo(), scene.path("copies"));
    let ask = |revision: &str| {
        let revision = Some(format!("{revision}:signers"));
        check_proof(
            line.as_bytes(),
            &CheckRequest { signers_revision: revision, ..scene.request(&repo, &copies) },
            &mut |_| {},
        )
    };
    let refused = ask("origin/main");
    assert!(refused.as_ref().is_err_and(|error| error.to_string().contains("refs/tags/origin/main")), "{refused:?}");
    assert_eq!(ask("refs/remotes/origin/main").unwrap().exit_code, 1);
}

#[test]
fn a_base_that_is_the_commit_itself_is_said() {
    let scene = Scene::new("");
    let check = scene.check(&scene.signed(&scene.own(), &["ann"]));
    assert!(check.hints.iter().any(|hint| hint.contains("base is the commit that is checked out")), "{check:?}");
    scene.write("new", "x");
    must(&scene.repo(), "git add -A; git commit -qm new");
    let check = scene.check(&scene.signed(&scene.own(), &["ann"]));
    assert!(check.exit_code == 0 && check.hints.is_empty(), "{check:?}");
}

#[test]
fn a_new_file_that_a_program_reads_before_the_bases_is_named() {
    let scene = Scene::new("");
    scene.write(".loop.toml", "promise = \"make test\"\n");
    scene.write("Makefile", "test:\n\tgrep -q done work.txt\n");
    must(&scene.repo(), "git add -A; git commit -qm make; git branch -qf base");
    scene.write("GNUmakefile", "test:\n\ttrue\n");
    must(&scene.repo(), "git add -A; git commit -qm faster");
    let mut statement = scene.own();
    statement["predicate"]["gates"][0]["command"] = json!("make test");
    let (repo, copies) = (scene.repo(), scene.path("copies"));
    let request = CheckRequest { run: false, ..run_request(&scene, &repo, &copies) };
    let check = check_proof(plain(&statement).to_line().as_bytes(), &request, &mut |_| {}).unwrap();
    assert_eq!(check.gates, GatesMatch::Same { changed: vec!["GNUmakefile".to_owned()] });
}

#[test]
fn signers_behind_a_link_of_the_checkout_are_said() {
    let scene = Scene::new("");
    let public = fs::read_to_string(scene.path("bob.pub")).unwrap();
    fs::write(scene.path("all"), format!("bob@example.org {public}")).unwrap();
    must(&scene.repo(), "ln -s ../all trusted; git add -A; git commit -qm trust");
    let (repo, copies) = (scene.repo(), scene.path("copies"));
    let line = scene.signed(&scene.own(), &["bob"]).to_line();
    for path in [repo.join("trusted"), repo.join("signers"), PathBuf::from("trusted")] {
        let request =
            CheckRequest { signers: Some(path.clone()), signers_revision: None, ..scene.request(&repo, &copies) };
        let check = check_proof(line.as_bytes(), &request, &mut |_| {}).unwrap();
        assert!(check.hints.iter().any(|hint| hint.contains("a file of this checkout")), "{path:?}: {check:?}");
    }
}

#[test]
fn gates_from_a_file_of_the_checkout_are_said() {
    let scene = Scene::new("");
    let (repo, copies) = (scene.repo(), scene.path("copies"));
    let request = CheckRequest { gates_from: Some(".loop.toml".to_owned()), ..run_request(&scene, &repo, &copies) };
    let check = check_proof(plain(&scene.own()).to_line().as_bytes(), &request, &mut |_| {}).unwrap();
    assert!(check.hints.iter().any(|hint| hint.contains("the gates are a file of this checkout")), "{check:?}");
}

#[test]
fn names_and_commands_with_control_characters_reach_neither_the_screen_nor_a_shell() {
    let scene = Scene::new("");
    let mark = scene.path("ran");
    let mut statement = scene.own();
    statement["predicate"]["gates"][0]["name"] = json!("\u{1b}[2J\r\npromise/../../x");
    let line = scene.signed(&statement, &["ann"]).to_line();
    let (repo, copies) = (scene.repo(), scene.path("copies"));
    let request = CheckRequest { run: true, ..scene.request(&repo, &copies) };
    let mut shown = String::new();
    let check = check_proof(line.as_bytes(), &request, &mut |progress| {
        if let GateProgress::Started(gate) = progress {
            shown.push_str(&gate.name);
        }
    });
    assert!(check.is_ok_and(|check| check.exit_code == 0));
    assert!(!shown.is_empty() && !shown.contains(char::is_control), "{shown:?}");
    statement["predicate"]["gates"][0]["command"] = json!(format!("touch {}\u{1b}[8m", mark.display()));
    let line = scene.signed(&statement, &["ann"]).to_line();
    let refused = check_proof(line.as_bytes(), &request, &mut |_| {});
    assert!(matches!(refused, Err(CheckError::Unable(_))), "{refused:?}");
    assert_eq!(
        fs::read_dir(scene.root.path())
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("ran"))
            .count(),
        0
    );
}

#[test]
fn a_note_on_the_commit_is_not_taken_and_its_place_is_named() {
    let scene = Scene::new("");
    let line = scene.signed(&scene.own(), &["ann"]).to_line();
    let head = git(&scene.repo(), &["rev-parse", "HEAD"]);
    Checkout::of(&scene.repo()).unwrap().unwrap().add_note(&head, &line, 1_700_000_000).unwrap();
    let (repo, copies) = (scene.repo(), scene.path("copies"));
    let refused = find_note(&scene.request(&repo, &copies)).unwrap_err().to_string();
    assert!(refused.contains("a note on the commit") && refused.contains(&scene.tree("HEAD")), "{refused}");
}

#[test]
fn tries_that_cannot_be_read_are_not_read_as_one_try() {
    let scene = Scene::new("");
    for passes in [json!("1of50"), json!("0of1"), json!("2of1"), json!("x"), json!(1), json!([1, 20])] {
        let mut statement = scene.own();
        statement["predicate"]["gates"][0]["passes"] = passes.clone();
        let refused = run_unsigned(&scene, &statement);
        assert!(matches!(refused, Err(CheckError::NotProof(_))), "{passes}: {refused:?}");
    }
}

#[test]
fn a_hostile_configuration_and_attributes_run_nothing_while_gates_are_run_again() {
    let scene = Scene::new("");
    let mark = scene.path("fired");
    let trap = scene.path("trap");
    fs::write(&trap, format!("#!/bin/sh\ntouch {}\nexit 0\n", mark.display())).unwrap();
    scene.write(".gitattributes", "* filter=evil diff=evil\n");
    must(
        &scene.repo(),
        "git add -A; git commit -qm attributes; git branch -qf base; chmod +x ../trap; mkdir ../hooks; cp ../trap ../hooks/post-checkout; cp ../trap ../hooks/reference-transaction",
    );
    let trap = trap.display();
    let config = format!(
        "[core]\n\tfsmonitor = {trap}\n\thooksPath = {}\n\tsshCommand = {trap}\n[filter \"evil\"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n[diff \"evil\"]\n\ttextconv = {trap}\n[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tprogram = {trap}\n\tdefaultKeyCommand = {trap}\n[include]\n\tpath = /dev/null\n",
        scene.path("hooks").display()
    );
    let file = scene.repo().join(".git/config");
    fs::write(&file, fs::read_to_string(&file).unwrap() + &config).unwrap();
    let statement = scene.own();
    let check = run_unsigned(&scene, &statement).unwrap();
    assert!(check.exit_code == 0 && matches!(check.run, Rerun::Ran { .. }), "{check:?}");
    assert!(!mark.exists());
    // A trap that cannot fire is none.
    assert!(!loop_testkit::with_git(
        &scene.repo(),
        "touch work.txt; git status --porcelain > /dev/null; test ! -e ../fired"
    ));
}

#[test]
fn a_merge_that_brings_files_of_its_own_is_not_called_the_tree_of_the_proof() {
    let scene = Scene::new("");
    must(&scene.repo(), "git checkout -q -b side; echo more >> work.txt; git commit -qam side");
    let proof = scene.signed(&scene.own(), &["ann"]);
    must(
        &scene.repo(),
        "git checkout -q main; git merge -q --no-ff --no-commit side; echo evil > evil; git add -A; git commit -qm merge",
    );
    let check = scene.check(&proof);
    assert_eq!(check.tree, TreeMatch::BranchTip);
    assert!(check.why.contains("on the branch's tip, not on the files of this merge: promise"), "{}", check.why);
    assert_eq!(check.covered, Vec::<String>::new());
    let ran = run_unsigned(&scene, &serde_json::from_slice(&proof.payload).unwrap()).unwrap();
    assert!(ran.why.starts_with("every required gate passes here, on the files of this merge"), "{}", ran.why);
}
