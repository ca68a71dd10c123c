//! `loop bug`: a text file for a report of a bug. No secret is in its bytes.
use loop_testkit::TestEnv;

use crate::user;

/// Secrets of each kind, and where each comes from.
const SECRETS: [&str; 6] = [
    "value-in-the-environment",
    "sk-ant-api03-inTheTask0123456789",
    "ghp_0123456789abcdefABCDEF0123456789abcd",
    "hunter2-in-a-setting",
    "T00/B00/path-of-a-web-hook",
    "password-in-a-gate",
];

/// A loop with a secret in the environment, the task, the output of its agent, its settings and its gate.
fn with_secrets() -> (TestEnv, String) {
    let user = user().with("MY_SERVICE_TOKEN", SECRETS[0]).with("USER", "ann-of-tests");
    let task = format!("fix the login with {} now", SECRETS[1]);
    let agent = format!(
        "echo the key is {} and $MY_SERVICE_TOKEN; echo by ann-of-tests in $HOME; echo 'password: {}'",
        SECRETS[2], SECRETS[3]
    );
    user.write("agent.sh", &agent);
    let env = format!("MY_SERVICE_TOKEN,PLAIN={}", SECRETS[3]);
    let notify = format!("https://hooks.example.invalid/{}", SECRETS[4]);
    let promise = format!("DB_PASSWORD={} test -e never", SECRETS[5]);
    let words =
        ["start", &task, "--promise", &promise, "--agent-cmd", "sh ../agent.sh", "-n", "1", "--agent-env", &env];
    user.write("config/config.toml", &format!("notify = \"curl {notify}\"\n"));
    user.run(&words).expect_code(1);
    let id = user.id();
    (user, id)
}

#[test]
fn no_secret_of_the_environment_the_task_the_output_or_the_settings_is_in_the_file() {
    let (user, id) = with_secrets();
    for more in [&[][..], &["--with-output"]] {
        let said = user.run(&[&["bug", &id, "-o", "../bug.txt"], more].concat()).expect_code(0).out();
        let file = user.read("bug.txt");
        for secret in SECRETS {
            assert!(!file.contains(secret) && !said.contains(secret), "{secret} is in it with {more:?}");
        }
        let home = user.root().display().to_string();
        assert!(!file.contains(&home) && !file.contains("ann-of-tests"), "folders and the user are replaced: {file}");
        assert!(said.contains("Nothing was sent."), "{said}");
    }
}

#[test]
fn it_has_what_is_needed_and_leaves_outputs_out_unless_asked() {
    let (user, id) = with_secrets();
    let file = user.run(&["bug", &id, "-o", "-"]).expect_code(0).out();
    for part in ["program and platform", "doctor", "settings of this folder", "status of the loop", "journal"] {
        assert!(file.contains(&format!("===== {part} =====")), "{part} is not in {file}");
    }
    assert!(file.contains("fix the login with [removed] now"), "the task is in it, without the key: {file}");
    assert!(!file.contains("the key is"), "what the agent wrote is not in it");
    let file = user.run(&["bug", &id, "-o", "-", "--with-output"]).expect_code(0).out();
    assert!(file.contains("the key is [removed] and [redacted MY_SERVICE_TOKEN]"), "{file}");
}

#[test]
fn without_an_id_it_is_about_the_newest_loop_of_this_folder_and_without_a_loop_about_the_machine() {
    let user = user();
    let answer = user.run(&["bug", "--json"]).expect_code(0).json();
    assert_eq!((&answer["id"], &answer["file"]), (&serde_json::Value::Null, &"loop-bug-machine.txt".into()));
    user.run(&crate::start("true", "test -e x", &["-n", "1"])).expect_code(1);
    let answer = user.run(&["bug", "--json"]).expect_code(0).json();
    assert_eq!(answer["id"], user.id());
    assert!(user.read(&format!("work/loop-bug-{}.txt", user.id())).contains("===== journal ====="));
}

#[test]
fn a_loop_whose_journal_is_damaged_can_be_reported() {
    let user = user();
    user.run(&crate::start("true", "test -e x", &["-n", "1"])).expect_code(1);
    let journal = user.run_folder(&user.id()).join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replace("do it", "do not")).unwrap();
    let file = user.run(&["bug", &user.id(), "-o", "-"]).expect_code(0).out();
    assert!(file.contains("===== why the loop cannot be read =====") && file.contains("do not"), "{file}");
}
