//! A proof that was handed over, checked in real checkouts with real keys: what was changed, swapped, signed for something
//! else or by somebody else, or is about other files, is found.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use loop_core::attestation::{Envelope, GatesMatch, ProofCheck, Rerun, SignatureTrust, TreeMatch, base64, canonical};
use loop_host::attestation::{CheckError, CheckRequest, SigningKey, check_proof, find_note, sign};
use loop_host::checkpoint::user_git::{Checkout, GitUser};
use loop_host::checkpoint::{CheckpointContext, ObjectFormat, PortableFiles, Recorded, RunCheckpoints};
use loop_testkit::{SENTINELS, fired, folder_in_memory, must, trapped, with_git};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A repository with one commit, its signers, and two keys.
pub(crate) struct Scene {
    pub(crate) root: TempDir,
}

/// The project file of the base.
const PROJECT: &str = "promise = \"./check.sh\"\n";

impl Scene {
    pub(crate) fn new(init: &str) -> Self {
        // In memory: a check syncs what it records.
        let scene = Self { root: folder_in_memory() };
        fs::create_dir(scene.repo()).unwrap();
        for name in ["ann", "bob"] {
            let key = scene.path(name);
            let words = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"];
            let made = Command::new("ssh-keygen").args(words).arg(&key).status();
            assert!(made.is_ok_and(|made| made.success()), "ssh-keygen must be installed");
        }
        let public = fs::read_to_string(scene.path("ann.pub")).unwrap();
        must(&scene.repo(), &format!("git init -q -b main {init}"));
        scene.write("signers", &format!("ann@example.org {public}"));
        scene.write(".loop.toml", PROJECT);
        scene.write("check.sh", "grep -q done work.txt\n");
        scene.write("work.txt", "done\n");
        scene.write("src/deep/a.rs", "fn a() {}\n");
        must(&scene.repo(), "chmod +x check.sh; ln -s work.txt link; git add -A; git commit -qm base; git branch base");
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.repo().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The tree of a revision, by git.
    pub(crate) fn tree(&self, revision: &str) -> String {
        git(&self.repo(), &["rev-parse", &format!("{revision}^{{tree}}")])
    }

    /// The files of a folder, by our hashes.
    pub(crate) fn files(&self, folder: &Path, format: ObjectFormat) -> PortableFiles {
        let scratch = tempfile::tempdir_in(self.root.path()).unwrap();
        let context = CheckpointContext {
            run: "run".to_owned(),
            store: scratch.path().join("state/checkpoints/store"),
            workspace: folder.to_owned(),
            settings: loop_core::settings::Values::default().checkpoint,
            backend: "git".to_owned(),
            litter: Vec::new(),
            user: GitUser::default(),
        };
        RunCheckpoints::open(context.clone(), std::sync::Arc::default()).unwrap().take("one", None).unwrap();
        Recorded::open(&context, "one").unwrap().portable(format).unwrap()
    }

    /// The statement of a proof about a tree.
    pub(crate) fn statement(&self, tree: &str, sha256: Option<&str>) -> Value {
        let digest = match sha256 {
            Some(sha256) => json!({"gitTree": tree, "sha256": sha256}),
            None => json!({"gitTree": tree}),
        };
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "urn:loop:proof:v1",
            "subject": [{"name": "workspace", "digest": digest}],
            "predicate": {
                "revision": 1, "verified": true, "outcome": "verified", "at": "2026-11-17T00:00:00Z", "loop": "0.1.0",
                "id": "abcdefg", "iterations": 2, "platform": "x86_64-linux",
                "scope": {"folder": "", "ignored": false, "skip": [], "litter": [], "file_max": null, "git_equal": true, "why": null},
                "gates": [{"name": "promise", "command": "./check.sh", "required": true, "verdict": "pass", "passes": null,
                    "timeout_ms": 60000, "trust_exit": false}],
                "weaker": [], "findings": [], "withheld": [],
            },
        })
    }

    /// The statement of a proof about what is checked out.
    pub(crate) fn own(&self) -> Value {
        let files = self.files(&self.repo(), ObjectFormat::Sha1);
        self.statement(&files.git_tree, Some(&files.sha256))
    }

    /// A proof signed with these keys.
    pub(crate) fn signed(&self, statement: &Value, keys: &[&str]) -> Envelope {
        let mut envelope = plain(statement);
        for key in keys {
            let key = SigningKey::File(self.path(key));
            let signature = sign(&envelope.signed_bytes(), &key, &self.repo(), self.root.path()).unwrap();
            envelope.signatures.push(signature);
        }
        envelope
    }

    pub(crate) fn request<'a>(&self, folder: &'a Path, copies: &'a Path) -> CheckRequest<'a> {
        CheckRequest {
            folder,
            copies,
            user: GitUser::default(),
            signers: None,
            signers_revision: Some("base:signers".to_owned()),
            gates_from: None,
            run: false,
            with_ignored: false,
            with_git: false,
        }
    }

    fn try_check(&self, folder: &Path, bytes: &[u8]) -> Result<ProofCheck, CheckError> {
        let copies = self.path("copies");
        let checked = check_proof(bytes, &self.request(folder, &copies), &mut |_| {});
        assert_eq!(fs::read_dir(&copies).map_or(0, Iterator::count), 0, "nothing is left behind");
        checked
    }

    pub(crate) fn check(&self, envelope: &Envelope) -> ProofCheck {
        self.try_check(&self.repo(), envelope.to_line().as_bytes()).unwrap()
    }
}

pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let done =
        Command::new("git").args(words).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

pub(crate) fn plain(statement: &Value) -> Envelope {
    Envelope { payload: canonical::text(statement).unwrap().into_bytes(), signatures: Vec::new() }
}

/// Every place of a value that is no list or table, as a pointer.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| places(value, &format!("{at}/{key}"), all)),
        Value::Array(list) if !list.is_empty() => {
            list.iter().enumerate().for_each(|(key, value)| places(value, &format!("{at}/{key}"), all));
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => all.push(at.to_owned()),
    }
}

#[test]
fn a_signed_proof_of_the_tree_that_is_checked_out_is_claimed_by_its_signer() {
    let scene = Scene::new("");
    let check = scene.check(&scene.signed(&scene.own(), &["ann"]));
    assert_eq!((check.exit_code, &check.tree, &check.run), (0, &TreeMatch::Head, &Rerun::NotAsked), "{check:?}");
    assert!(check.why.starts_with("claimed by ann@example.org (SHA256:"), "{}", check.why);
    assert_eq!(check.git_tree, scene.tree("HEAD"), "our tree is git's");
}

#[test]
fn every_field_that_is_changed_after_it_was_signed_breaks_the_signature() {
    let scene = Scene::new("");
    let own = scene.own();
    let signed = scene.signed(&own, &["ann"]);
    let mut all = Vec::new();
    places(&own, "", &mut all);
    assert!(all.len() > 25, "{all:?}");
    for place in all {
        let mut other = own.clone();
        let value = other.pointer_mut(&place).unwrap();
        *value = match value.take() {
            Value::Bool(is) => json!(!is),
            Value::Number(number) => json!(number.as_u64().unwrap() + 1),
            Value::String(text) if text.bytes().all(|byte| byte.is_ascii_hexdigit()) && text.len() >= 40 => {
                json!(text.replace(|digit| digit != '0', "0"))
            }
            Value::String(text) => json!(format!("{text}x")),
            Value::Null | Value::Array(_) | Value::Object(_) => json!("x"),
        };
        let envelope = Envelope { signatures: signed.signatures.clone(), ..plain(&other) };
        match scene.try_check(&scene.repo(), envelope.to_line().as_bytes()) {
            Ok(check) => {
                assert_eq!(check.exit_code, 1, "{place}: {check:?}");
                assert!(matches!(check.signature, SignatureTrust::Bad { .. }), "{place}: {check:?}");
            }
            Err(CheckError::NotProof(_)) => {}
            Err(error) => panic!("{place}: {error}"),
        }
    }
}

#[test]
fn the_payload_of_another_proof_does_not_fit_the_signature() {
    let scene = Scene::new("");
    let one = scene.signed(&scene.own(), &["ann"]);
    let mut other = scene.own();
    other["predicate"]["id"] = json!("gfedcba");
    let other = scene.signed(&other, &["ann"]);
    let swapped = Envelope { payload: other.payload, signatures: one.signatures };
    assert!(matches!(scene.check(&swapped).signature, SignatureTrust::Bad { .. }));
}

#[test]
fn of_two_signatures_a_wrong_one_counts_before_a_trusted_one() {
    let scene = Scene::new("");
    let both = scene.signed(&scene.own(), &["bob", "ann"]);
    let check = scene.check(&both);
    assert_eq!(check.exit_code, 0, "a further key that nobody knows takes nothing away: {check:?}");
    assert!(matches!(check.more_signatures[..], [SignatureTrust::UnknownKey { .. }]), "{check:?}");
    let mut other = scene.own();
    other["predicate"]["iterations"] = json!(3);
    let mut wrong = scene.signed(&scene.own(), &["ann"]);
    wrong.signatures.extend(scene.signed(&other, &["ann"]).signatures);
    assert_eq!(scene.check(&wrong).exit_code, 1);
}

#[test]
fn a_signature_for_another_purpose_counts_for_nothing() {
    let scene = Scene::new("");
    let mut envelope = plain(&scene.own());
    let file = scene.path("signed");
    fs::write(&file, envelope.signed_bytes()).unwrap();
    let made = Command::new("ssh-keygen")
        .args(["-q", "-Y", "sign", "-n", "git", "-f"])
        .arg(scene.path("ann"))
        .arg(&file)
        .status();
    assert!(made.is_ok_and(|made| made.success()));
    let signature = fs::read(scene.path("signed.sig")).unwrap();
    let key = "SHA256:x".to_owned();
    envelope.signatures.push(loop_core::attestation::EnvelopeSignature { key, signature });
    let check = scene.check(&envelope);
    assert_eq!(check.signature, SignatureTrust::Bad { why: "it was made for git, not for loop-proof".to_owned() });
}

#[test]
fn a_key_that_the_branch_itself_added_is_not_trusted() {
    let scene = Scene::new("");
    let public = fs::read_to_string(scene.path("bob.pub")).unwrap();
    scene.write("signers", &format!("bob@example.org {public}"));
    must(&scene.repo(), "git commit -qam 'trust me'");
    let check = scene.check(&scene.signed(&scene.own(), &["bob"]));
    assert_eq!((check.exit_code, &check.tree), (1, &TreeMatch::Head), "{check:?}");
    assert!(matches!(check.signature, SignatureTrust::UnknownKey { .. }), "{check:?}");
    let copies = scene.path("copies");
    let repo = scene.repo();
    for revision in ["HEAD:signers", "@:signers", ":signers", "HEAD~0:signers"] {
        let request = CheckRequest { signers_revision: Some(revision.to_owned()), ..scene.request(&repo, &copies) };
        let line = plain(&scene.own()).to_line();
        let refused = check_proof(line.as_bytes(), &request, &mut |_| {});
        assert!(matches!(refused, Err(CheckError::Wrong(_))), "{revision}: {refused:?}");
    }
}

#[test]
fn a_proof_of_another_commit_names_the_files_that_differ() {
    let scene = Scene::new("");
    let proof = scene.signed(&scene.own(), &["ann"]);
    scene.write("src/deep/a.rs", "fn b() {}\n");
    must(&scene.repo(), "git commit -qam later");
    let check = scene.check(&proof);
    let TreeMatch::Other { names } = &check.tree else { panic!("{check:?}") };
    assert_eq!((check.exit_code, names.words()), (1, "src/deep/a.rs".to_owned()));
}

#[test]
fn two_hashes_that_are_not_of_the_same_files_contradict_each_other() {
    let scene = Scene::new("");
    let statement = scene.statement(&scene.tree("HEAD"), Some(&"0".repeat(64)));
    assert_eq!(scene.check(&scene.signed(&statement, &["ann"])).tree, TreeMatch::Contradiction);
    let files = scene.files(&scene.repo(), ObjectFormat::Sha1);
    let statement = scene.statement(&"0".repeat(40), Some(&files.sha256));
    assert_eq!(scene.check(&scene.signed(&statement, &["ann"])).tree, TreeMatch::Contradiction);
}

#[test]
fn local_changes_of_a_checkout_are_named() {
    let scene = Scene::new("");
    let proof = scene.signed(&scene.own(), &["ann"]);
    scene.write("work.txt", "to do\n");
    scene.write("new", "x");
    fs::remove_file(scene.repo().join("link")).unwrap();
    let check = scene.check(&proof);
    assert_eq!(check.tree, TreeMatch::Head);
    assert_eq!(check.dirty.words(), "removed link, added new, changed work.txt");
}

#[test]
fn the_hash_of_the_files_is_what_other_tools_compute() {
    let scene = Scene::new("");
    let script = "git ls-files -s | while read mode id stage path; do \
        if test $mode = 120000; then sum=$(readlink -n \"$path\" | sha256sum); else sum=$(sha256sum < \"$path\"); fi; \
        echo \"$mode $path ${sum%% *}\"; done | LC_ALL=C sort -k2,2 | sha256sum > ../sum";
    must(&scene.repo(), script);
    let sum = fs::read_to_string(scene.path("sum")).unwrap();
    let files = scene.files(&scene.repo(), ObjectFormat::Sha1);
    assert_eq!(sum.split(' ').next(), Some(files.sha256.as_str()));
}

#[test]
fn another_umask_and_empty_folders_do_not_change_the_tree() {
    let scene = Scene::new("");
    let proof = scene.signed(&scene.own(), &["ann"]);
    must(
        scene.root.path(),
        "umask 002; git clone -q repo clone; cd clone; git branch base; mkdir -p empty/er; chmod 600 work.txt",
    );
    let check = scene.try_check(&scene.path("clone"), proof.to_line().as_bytes()).unwrap();
    assert_eq!((check.exit_code, &check.tree, check.dirty.is_nothing()), (0, &TreeMatch::Head, true), "{check:?}");
}

#[test]
fn a_checkout_with_other_line_ends_has_the_same_files() {
    let scene = Scene::new("");
    scene.write(".gitattributes", "*.txt text eol=crlf\n");
    must(&scene.repo(), "git add -A; git commit -qm crlf; rm work.txt; git checkout -q work.txt; git branch -qf base");
    assert_eq!(fs::read_to_string(scene.repo().join("work.txt")).unwrap(), "done\r\n");
    let proof = scene.signed(&scene.own(), &["ann"]);
    must(scene.root.path(), "git clone -q repo clone; cd clone; git branch -f base");
    let check = scene.try_check(&scene.path("clone"), proof.to_line().as_bytes()).unwrap();
    assert_ne!(check.git_tree, scene.tree("HEAD"), "the commit has other bytes");
    assert!(check.exit_code == 0 && matches!(check.tree, TreeMatch::Files { .. }), "{check:?}");
}

#[test]
fn a_submodule_counts_with_its_files() {
    let scene = Scene::new("");
    let inner = scene.path("inner");
    fs::create_dir(&inner).unwrap();
    must(&inner, "git init -q -b main; echo in > in; git add in; git commit -qm in");
    must(
        &scene.repo(),
        "git -c protocol.file.allow=always submodule -q add ../inner mod; git commit -qm mod; git branch -qf base",
    );
    let files = scene.files(&scene.repo(), ObjectFormat::Sha1);
    assert_eq!(files.nested, ["mod"]);
    let proof = scene.signed(&scene.statement(&files.git_tree, Some(&files.sha256)), &["ann"]);
    must(
        scene.root.path(),
        "git -c protocol.file.allow=always clone -q --recurse-submodules repo clone; cd clone; git branch -f base",
    );
    let check = scene.try_check(&scene.path("clone"), proof.to_line().as_bytes()).unwrap();
    assert!(check.exit_code == 0 && matches!(check.tree, TreeMatch::Files { .. }), "{check:?}");
    assert!(check.dirty.is_nothing(), "{check:?}");
}

#[test]
fn the_tree_of_a_sha256_repository_is_computed_in_its_own_format() {
    let scene = Scene::new("--object-format=sha256");
    let files = scene.files(&scene.repo(), ObjectFormat::Sha256);
    assert_eq!((files.git_tree.len(), files.git_tree.clone()), (64, scene.tree("HEAD")));
    let statement = scene.statement(&files.git_tree, Some(&files.sha256));
    let (copies, repo, line) = (scene.path("copies"), scene.repo(), scene.signed(&statement, &["ann"]).to_line());
    let by_revision = check_proof(line.as_bytes(), &scene.request(&repo, &copies), &mut |_| {});
    assert!(by_revision.is_err_and(|error| error.to_string().contains("SHA-256 objects")));
    let signers = Some(scene.repo().join("signers"));
    let request = CheckRequest { signers, signers_revision: None, ..scene.request(&repo, &copies) };
    let check = check_proof(line.as_bytes(), &request, &mut |_| {}).unwrap();
    assert!(check.exit_code == 0 && matches!(check.tree, TreeMatch::Files { .. }), "{check:?}");
    assert!(check.hints.iter().any(|hint| hint.contains("a file of this checkout")), "{check:?}");
}

#[test]
fn in_a_merge_the_branchs_tip_is_found() {
    let scene = Scene::new("");
    must(&scene.repo(), "git checkout -q -b side; echo more >> work.txt; git commit -qam side");
    let proof = scene.signed(&scene.own(), &["ann"]);
    must(
        &scene.repo(),
        "git checkout -q main; echo x > x; git add x; git commit -qm main; git merge -q --no-ff -m merge side",
    );
    let check = scene.check(&proof);
    assert_eq!((check.exit_code, &check.tree), (0, &TreeMatch::BranchTip), "{check:?}");
}

#[test]
fn a_proof_that_leaves_out_files_of_the_checkout_does_not_hold() {
    let scene = Scene::new("");
    let proof = scene.own();
    scene.write("evil.rs", "x");
    must(&scene.repo(), "git add -A; git commit -qm evil");
    let mut statement = proof;
    statement["predicate"]["scope"]["skip"] = json!(["evil.rs"]);
    let check = scene.check(&scene.signed(&statement, &["ann"]));
    let TreeMatch::Partial { names } = &check.tree else { panic!("{check:?}") };
    assert_eq!((check.exit_code, names.words()), (1, "evil.rs".to_owned()));
}

#[test]
fn a_folder_that_leads_out_of_the_checkout_is_refused() {
    let scene = Scene::new("");
    must(&scene.repo(), "ln -s / root");
    for folder in ["..", "a/../..", "\\x2e\\x2e", "/etc", ".git", "a//b", "root"] {
        let mut statement = scene.statement(&"0".repeat(40), None);
        statement["predicate"]["scope"]["folder"] = json!(folder);
        let refused = scene.try_check(&scene.repo(), plain(&statement).to_line().as_bytes());
        assert!(refused.as_ref().map_or(true, |check| check.exit_code == 3), "{folder}: {refused:?}");
    }
}

#[test]
fn fields_that_are_not_known_are_signed_along_and_ignored() {
    let scene = Scene::new("");
    let mut statement = scene.own();
    statement["predicate"]["later"] = json!({"field": [1, "x"]});
    statement["also"] = json!(true);
    let check = scene.check(&scene.signed(&statement, &["ann"]));
    assert_eq!((check.exit_code, check.unknown_revision), (0, None));
}

#[test]
fn a_revision_that_is_not_known_is_said() {
    let scene = Scene::new("");
    let mut statement = scene.own();
    statement["predicate"]["revision"] = json!(7);
    let check = scene.check(&scene.signed(&statement, &["ann"]));
    assert_eq!((check.exit_code, check.unknown_revision.as_deref()), (0, Some("7")));
}

#[test]
fn a_proof_by_weaker_commands_than_the_bases_fails() {
    let scene = Scene::new("");
    let (copies, repo) = (scene.path("copies"), scene.repo());
    let request = CheckRequest { gates_from: Some("base:.loop.toml".to_owned()), ..scene.request(&repo, &copies) };
    let of = |statement: &Value| {
        check_proof(scene.signed(statement, &["ann"]).to_line().as_bytes(), &request, &mut |_| {}).unwrap()
    };
    assert_eq!(of(&scene.own()).gates, GatesMatch::Same { changed: Vec::new() });
    let weaker: [(&str, Value); 5] = [
        ("command", json!("true")),
        ("required", json!(false)),
        ("verdict", json!("fail")),
        ("passes", json!("1of20")),
        ("trust_exit", json!(true)),
    ];
    for (field, value) in weaker {
        let mut statement = scene.own();
        statement["predicate"]["gates"][0][field] = value;
        let check = of(&statement);
        assert!(check.exit_code == 1 && matches!(check.gates, GatesMatch::Weaker { .. }), "{field}: {check:?}");
    }
    scene.write("check.sh", "true\n");
    must(&scene.repo(), "git commit -qam 'a weaker check'");
    assert_eq!(of(&scene.own()).gates, GatesMatch::Same { changed: vec!["check.sh".to_owned()] });
}

#[test]
fn bytes_that_are_no_proof_are_refused_and_never_panic() {
    let scene = Scene::new("");
    let line = scene.signed(&scene.own(), &["ann"]).to_line().into_bytes();
    let parse =
        |bytes: &[u8]| Envelope::parse(bytes).map(|envelope| loop_core::attestation::ProofClaims::of(&envelope));
    for length in 0..line.len() {
        assert!(parse(&line[..length]).is_err(), "cut off at {length}");
    }
    let mut seed = 7_u64;
    for _ in 0..3000 {
        let mut bytes = line.clone();
        for _ in 0..3 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(seed >> 33).unwrap() % bytes.len();
            bytes[at] = u8::try_from(seed >> 20 & 255).unwrap();
        }
        parse(&bytes).ok();
    }
    let huge = Envelope { payload: vec![b'{'; 700_000], signatures: Vec::new() };
    assert!(matches!(scene.try_check(&scene.repo(), huge.to_line().as_bytes()), Err(CheckError::NotProof(_))));
    assert_eq!(base64::decode(&base64::encode(&line)), Some(line));
}

#[test]
fn a_note_of_ours_is_one_of_git() {
    let scene = Scene::new("");
    let tree = scene.tree("HEAD");
    let mut checkout = Checkout::of(&scene.repo()).unwrap().unwrap();
    assert_eq!(checkout.note(&tree), Ok(None));
    assert!(checkout.add_note(&tree, "one", 1_700_000_000).unwrap());
    assert!(!checkout.add_note(&tree, "one", 1_700_000_000).unwrap(), "it is there already");
    assert_eq!(git(&scene.repo(), &["notes", "--ref=loop", "show", &tree]), "one");
    // So many notes that git sorts them into folders.
    let script = "mkdir ../notes; for n in $(seq 300); do echo $n > ../notes/$n; done; \
        first=$(echo first | git hash-object -w --stdin); git notes --ref=loop add -m y $first; \
        git hash-object -w ../notes/* | sed \"s/^/$first /\" | git notes --ref=loop copy --stdin && \
        git notes --ref=loop append -m two $(git rev-parse HEAD^{tree}) && git gc -q && \
        git ls-tree refs/notes/loop | grep -q ' tree '";
    assert!(with_git(&scene.repo(), script), "notes of git's own");
    let mut checkout = Checkout::of(&scene.repo()).unwrap().unwrap();
    assert!(checkout.add_note(&tree, "three", 1_700_000_000).unwrap());
    assert_eq!(git(&scene.repo(), &["notes", "--ref=loop", "show", &tree]), "one\n\ntwo\nthree");
    assert_eq!(git(&scene.repo(), &["notes", "--ref=loop", "list"]).lines().count(), 302);
    must(&scene.repo(), "git fsck --strict --no-dangling && test -z \"$(git status --porcelain)\"");
    fs::write(scene.repo().join(".git/refs/notes/loop.lock"), "").unwrap();
    let locked = Checkout::of(&scene.repo()).unwrap().unwrap().add_note(&tree, "four", 1);
    assert!(locked.is_err_and(|error| error.to_string().contains("loop.lock")));
}

#[test]
fn a_repository_that_names_programs_runs_none_of_them_while_it_is_noted_and_checked() {
    let root = tempfile::tempdir().unwrap();
    let traps = root.path().join("traps");
    let scene = Scene::new("");
    fs::create_dir(&traps).unwrap();
    let repo = root.path().join("trapped");
    fs::create_dir(&repo).unwrap();
    trapped(&repo, &traps, false);
    drop(fired(&traps));
    let files = scene.files(&repo, ObjectFormat::Sha1);
    let line = plain(&scene.statement(&files.git_tree, Some(&files.sha256))).to_line();
    let mut checkout = Checkout::of(&repo).unwrap().unwrap();
    checkout.add_note(&files.git_tree, &line, 1_700_000_000).unwrap();
    let copies = scene.path("copies");
    let request = CheckRequest { signers_revision: None, ..scene.request(&repo, &copies) };
    let found = find_note(&request).unwrap();
    assert_eq!(found, [line.clone().into_bytes()]);
    check_proof(line.as_bytes(), &request, &mut |_| {}).unwrap();
    assert!(fired(&traps).is_empty());
    // A check that cannot fail is none.
    with_git(&repo, SENTINELS[0].1);
    assert!(!fired(&traps).is_empty());
}
