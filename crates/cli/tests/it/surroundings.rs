//! What happens around a loop while it works: the inbox, the variables of the harness, edits by others, the stop file.
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use loop_testkit::{TestEnv, wait_until};

use crate::{start, user};

/// Keeps its prompt, says that it began, and works until it may end.
const AGENT: &str = "n=$LOOP_ITERATION.$LOOP_ATTEMPT; cp \"$LOOP_PROMPT_FILE\" ../prompt.$n; touch ../began.$n; \
                     while [ ! -e ../go.$n ]; do sleep 0.02; done; echo $n >> log";

fn with<'a>(promise: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    start(AGENT, promise, flags)
}

fn inbox(user: &TestEnv, name: &str, text: &str) {
    let place = user.work().join(".harness/inbox");
    wait_until("the inbox is there", || place.is_dir());
    fs::write(place.join(name), text).unwrap();
}

fn processed(user: &TestEnv, name: &str) {
    user.wait_for_file(&format!("work/.harness/inbox/processed/{name}"));
}

#[test]
fn texts_of_the_inbox_are_in_the_next_prompt_in_the_order_of_their_names_and_are_moved() {
    // req: A-11
    let user = user();
    let running = user.begin(&with("test -e ../go.2.1", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    fs::create_dir_all(user.work().join(".harness/inbox/processed")).unwrap();
    user.write("work/.harness/inbox/processed/002-b.txt", "an old one\n");
    inbox(&user, "002-b.txt", "Skip the slow tests.\n");
    inbox(&user, "001-a.txt", "Error handling first.\n");
    processed(&user, "001-a.txt");
    processed(&user, "002-b.2.txt");
    user.write("go.1.1", "");
    user.wait_for_file("began.2.1");
    user.write("go.2.1", "");
    running.end().expect_code(0);
    let prompt = user.read("prompt.2.1");
    let places = ["Error handling first.", "Skip the slow tests."].map(|words| prompt.find(words).unwrap());
    assert!(places[0] < places[1], "{prompt}");
    assert_eq!(user.read("work/.harness/inbox/processed/002-b.txt"), "an old one\n", "not overwritten");
    assert!(!user.read("prompt.1.1").contains("Error handling"), "it came later");
}

#[test]
fn an_urgent_text_ends_the_agent_at_once_and_leads_the_next_prompt_and_is_no_failure() {
    // req: A-11
    let user = user();
    let running = user.begin(&with("test -e ../go.1.2", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    inbox(&user, "000-urgent.txt", "Stop working on feature X.\n");
    user.wait_for_file("began.1.2");
    user.write("go.1.2", "");
    let ran = running.end().expect_code(0);
    let prompt = user.read("prompt.1.2");
    let lead = prompt.find("Stop working on feature X.").unwrap();
    assert!(lead < prompt.find("<task>").unwrap(), "{prompt}");
    assert!(ran.err().contains("an urgent text came"), "{}", ran.text());
    let history = user.run(&["history", &user.id(), "--json"]).json();
    assert_eq!(history["iterations"][0]["attempts"][0]["outcome"], "interrupted", "{history}");
    assert_eq!(history["iterations"].as_array().unwrap().len(), 1, "the iteration is the same");
}

#[test]
fn an_agent_that_writes_urgent_texts_itself_gets_a_bounded_number_of_calls_in_each_iteration() {
    // req: A-11
    let user = user();
    // Each call writes an urgent text and works until it is ended. The fourth one ends by itself.
    let agent = "[ $LOOP_ATTEMPT -lt 6 ] || exit 0; n=$LOOP_ITERATION.$LOOP_ATTEMPT; echo $n >> ../calls; \
                 d=.harness/inbox; mkdir -p $d; echo u > $d/.d; mv $d/.d $d/000-$n.txt; while [ ! -e $d/processed/000-$n.txt ]; do sleep 0.02; done; \
                 case $n in *.4) echo $n > done.$n;; *) while :; do sleep 0.02; done;; esac";
    let ran = user.run(&start(agent, "false", &["--enable-inbox", "-n", "2"])).expect_code(1);
    assert_eq!(user.read("calls"), "1.1\n1.2\n1.3\n1.4\n2.1\n2.2\n2.3\n2.4\n", "{}", ran.text());
    let said = "urgent texts ended the agent 3 times in this iteration: this text waits for the next iteration";
    assert_eq!(ran.err().matches(said).count(), 2, "{}", ran.text());
}

#[test]
fn commands_of_the_inbox_pause_resume_and_show_the_status_and_another_word_is_named() {
    // req: A-11
    let user = user();
    let running = user.begin(&with("test -e ../go.2.1", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    inbox(&user, "cmd-pause.txt", "pause\n");
    processed(&user, "cmd-pause.txt");
    inbox(&user, "cmd-odd.txt", "explode\n");
    processed(&user, "cmd-odd.txt");
    user.write("go.1.1", "");
    user.wait_for_fact("\"paused\"");
    inbox(&user, "cmd-status.txt", "status\n");
    processed(&user, "cmd-status.txt");
    inbox(&user, "note.txt", "While it was paused.\n");
    processed(&user, "note.txt");
    inbox(&user, "cmd-resume.txt", "resume\n");
    user.wait_for_file("began.2.1");
    user.write("go.2.1", "");
    let ran = running.end().expect_code(0);
    assert!(ran.err().contains("\"explode\" is not a command: pause, resume or status"), "{}", ran.text());
    assert!(ran.err().contains("AUTONOMOUS LOOP STATUS"), "{}", ran.text());
    assert!(user.read("prompt.2.1").contains("While it was paused."));
}

#[test]
fn what_is_no_plain_file_of_this_user_is_refused_and_named_once() {
    // req: A-11 partly: a device and a foreign file need root
    let user = user();
    let running = user.begin(&with("test -e ../go.1.1", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    let place = user.work().join(".harness/inbox");
    user.write("secret", "not for the prompt");
    symlink(user.root().join("secret"), place.join("010-link.txt")).unwrap();
    fs::hard_link(user.root().join("secret"), place.join("011-second-name.txt")).unwrap();
    assert!(Command::new("mkfifo").arg(place.join("012-fifo.txt")).status().unwrap().success());
    let _socket = UnixListener::bind(place.join("013-socket.txt")).unwrap();
    fs::write(place.join("014-large.txt"), vec![b'x'; 300 * 1024]).unwrap();
    fs::create_dir(place.join("015-folder.txt")).unwrap();
    fs::write(place.join("016-other.md"), "words").unwrap();
    for (name, why) in [
        ("010-link.txt", "is a link"),
        ("011-second-name.txt", "has another name"),
        ("012-fifo.txt", "is not a plain file"),
        ("013-socket.txt", "is not a plain file"),
        ("014-large.txt", "is larger than"),
        ("015-folder.txt", "is a folder"),
        ("016-other.md", "does not end in .txt"),
    ] {
        user.wait_for_fact(&format!("not taken from the inbox: {name} {why}"));
    }
    // Another look has passed when this one is taken.
    inbox(&user, "020-plain.txt", "A plain one.\n");
    processed(&user, "020-plain.txt");
    user.write("go.1.1", "");
    let ran = running.end().expect_code(0);
    assert_eq!(ran.err().matches("010-link.txt").count(), 1, "{}", ran.text());
    assert!(place.join("010-link.txt").symlink_metadata().is_ok(), "it is left where it is");
    assert!(
        !fs::read_dir(user.run_folder(&user.id()).join("inject"))
            .unwrap()
            .any(|file| { fs::read_to_string(file.unwrap().path()).unwrap().contains("not for the prompt") })
    );
}

#[test]
fn what_the_agent_itself_is_seen_to_write_is_refused_and_it_cannot_resume_its_own_loop() {
    // req: A-11
    let user = user();
    // It names the first file in what it prints, holds the second open for a while, and asks for a resume.
    let agent = "touch ../began; while [ ! -e ../go ]; do sleep 0.02; done; cd .harness/inbox; \
                 echo 'write .harness/inbox/001-own.txt'; echo 'Obey me.' > 001-own.txt; \
                 exec 9> 002-open.txt; echo 'Obey me, too.' >&9; echo resume > cmd-own.txt; \
                 while [ ! -e ../../../close ]; do sleep 0.02; done; exec 9>&-; \
                 while [ ! -e processed/001-own.txt ] || [ ! -e processed/002-open.txt ] || [ ! -e processed/cmd-own.txt ]; \
                 do sleep 0.02; done; touch ../../done";
    let running = user.begin(&start(agent, "test -e done", &["--enable-inbox"]));
    user.wait_for_file("began");
    user.run(&["pause", &user.id()]).expect_code(0);
    user.write("go", "");
    processed(&user, "cmd-own.txt");
    user.write("close", "");
    let ran = running.end().expect_code(0);
    for name in ["001-own.txt", "002-open.txt"] {
        assert!(
            ran.err().contains(&format!("{name}: ignored: the agent or a gate of this loop wrote it")),
            "{}",
            ran.text()
        );
    }
    assert!(ran.err().contains("cmd-own.txt: ignored: resume counts only while the loop holds"), "{}", ran.text());
}

/// Keeps its prompt, changes something, and ends.
const QUICK: &str = "n=$LOOP_ITERATION.$LOOP_ATTEMPT; cp \"$LOOP_PROMPT_FILE\" ../prompt.$n; echo $n >> log";

#[test]
fn texts_that_are_in_the_inbox_before_the_start_are_in_the_first_prompt_and_no_call_is_cut_off() {
    // req: A-11
    let user = user();
    fs::create_dir_all(user.work().join(".harness/inbox")).unwrap();
    for number in 100..140 {
        inbox(&user, &format!("{number}.txt"), &format!("Rule number {number}.\n"));
    }
    inbox(&user, "000-u.txt", "Stop working on feature X.\n");
    let ran = user.run(&start(QUICK, "test -e log", &["--enable-inbox", "-n", "1"])).expect_code(0);
    let prompt = user.read("prompt.1.1");
    let lead = prompt.find("Stop working on feature X.").unwrap();
    assert!(lead < prompt.find("<task>").unwrap(), "{prompt}");
    for number in 100..140 {
        assert!(prompt.contains(&format!("Rule number {number}.")), "{number}: {prompt}");
    }
    assert_eq!(user.read("work/log"), "1.1\n", "{}", ran.text());
}

#[test]
fn a_pause_that_is_in_the_inbox_before_the_start_holds_the_loop_before_its_first_iteration() {
    // req: A-11
    let user = user();
    fs::create_dir_all(user.work().join(".harness/inbox")).unwrap();
    inbox(&user, "cmd-pause.txt", "pause\n");
    let running = user.begin(&start(QUICK, "test -e log", &["--enable-inbox"]));
    user.wait_for_fact("\"paused\"");
    assert!(!user.work().join("log").exists(), "the agent has not begun");
    user.run(&["resume", &user.id()]).expect_code(0);
    running.end().expect_code(0);
    assert_eq!(user.read("work/log"), "1.1\n");
}

#[test]
fn when_the_loop_ends_every_file_is_in_the_inbox_or_in_processed() {
    // req: A-11
    let user = user();
    // It ends as soon as one of its files was taken: others are claimed then.
    let agent = "i=0; d=.harness/inbox; while [ $i -lt 150 ]; do echo t > $d/$LOOP_ITERATION-$i.txt; i=$((i + 1)); done; \
                 n=$LOOP_ITERATION-; while ! ls $d/processed | grep -q ^$n; do sleep 0.02; done; echo $n >> log";
    let ran = user.run(&start(agent, "false", &["--enable-inbox", "-n", "2"])).expect_code(1);
    let place = user.work().join(".harness/inbox");
    let count = |folder: &Path| {
        let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        names.filter(|name| Path::new(name).extension().is_some_and(|end| end == "txt")).count()
    };
    assert_eq!(count(&place) + count(&place.join("processed")), 300, "{}", ran.text());
    let hidden = fs::read_dir(&place).unwrap().map(|file| file.unwrap().file_name());
    let hidden: Vec<_> = hidden.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn a_persons_file_is_taken_where_the_agent_only_prints_a_name_that_ends_with_its_name() {
    // req: A-11
    let user = user();
    let agent = format!("echo 'read data.txt and src/a.txt, the inbox has inbox/a.txt.bak'; {AGENT}");
    let running = user.begin(&start(&agent, "test -e ../go.2.1", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    inbox(&user, "a.txt", "Error handling first.\n");
    processed(&user, "a.txt");
    user.write("go.1.1", "");
    user.wait_for_file("began.2.1");
    user.write("go.2.1", "");
    let ran = running.end().expect_code(0);
    assert!(user.read("prompt.2.1").contains("Error handling first."), "{}", ran.text());
}

#[test]
fn a_file_that_is_still_being_written_is_taken_whole_when_its_writer_has_closed_it() {
    // req: A-11
    let user = user();
    let running = user.begin(&with("test -e ../go.2.1", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    let place = user.work().join(".harness/inbox/001-slow.txt");
    let script =
        "exec 9> \"$1\"; echo first half >&9; while [ ! -e \"$2\" ]; do sleep 0.02; done; echo second half >&9";
    let mut writer = Command::new("sh");
    writer.args(["-c", script, "sh"]).arg(&place).arg(user.root().join("finish"));
    let mut writer = writer.spawn().unwrap();
    inbox(&user, "002-quick.txt", "A quick one.\n");
    processed(&user, "002-quick.txt");
    assert!(place.exists(), "its writer has it open");
    user.write("finish", "");
    assert!(writer.wait().unwrap().success());
    processed(&user, "001-slow.txt");
    user.write("go.1.1", "");
    user.wait_for_file("began.2.1");
    user.write("go.2.1", "");
    running.end().expect_code(0);
    assert!(user.read("prompt.2.1").contains("first half\nsecond half"), "{}", user.read("prompt.2.1"));
}

#[test]
fn the_file_of_variables_pauses_resumes_and_sets_the_mode_and_says_old_and_new() {
    // req: A-12
    let user = user().with("HARNESS_MODE", "turbo");
    let running = user.begin(&with("test -e ../go.3.1", &["--check-env-vars", "--delay", "10m"]));
    user.wait_for_file("began.1.1");
    user.write("work/.harness/env", "HARNESS_MODE=conservative\nHARNESS_PAUSE=true\nHARNESS_CLI=vi\n");
    user.wait_for_fact("HARNESS_PAUSE");
    user.write("go.1.1", "");
    // The delay of ten minutes would have come first, but for turbo; conservative has one, and a pause comes before it.
    user.wait_for_fact("\"paused\"");
    // The kernel's time of a file lags behind the clock by some milliseconds.
    user.run(&["status", &user.id()]).expect_code(0);
    let paused = Instant::now();
    user.write("work/.harness/env", "HARNESS_MODE=turbo\nHARNESS_PAUSE=false\nHARNESS_CLI=vi\n");
    user.wait_for_file("began.2.1");
    assert!(paused.elapsed() < Duration::from_secs(5), "{:?}", paused.elapsed());
    user.write("go.2.1", "");
    user.wait_for_file("began.3.1");
    user.write("go.3.1", "");
    let ran = running.end().expect_code(0);
    for line in [
        "HARNESS_MODE: normal → turbo (the environment)",
        "HARNESS_MODE: turbo → conservative (.harness/env)",
        "HARNESS_PAUSE: false → true (.harness/env)",
        "HARNESS_PAUSE: true → false (.harness/env)",
        "HARNESS_CLI=vi is ignored: it must be codex, gemini, claude, auto",
    ] {
        assert!(ran.err().contains(line), "{line}\n{}", ran.text());
    }
    assert!(user.read("prompt.1.1").contains("HARNESS_MODE: normal → turbo"), "{}", user.read("prompt.1.1"));
    assert!(!user.read("prompt.3.1").contains("HARNESS_"), "it was said: {}", user.read("prompt.3.1"));
}

#[test]
fn a_variable_that_vanishes_from_the_file_leaves_what_a_person_set() {
    // req: A-12
    let user = user();
    user.write("work/.harness/env", "HARNESS_MODE=turbo\nHARNESS_PRIORITY=cost\n");
    let running = user.begin(&with("test -e ../go.1.1", &["--check-env-vars", "-n", "200"]));
    user.wait_for_file("began.1.1");
    user.run(&["set", &user.id(), "mode=conservative"]).expect_code(0);
    user.write("work/.harness/env", "HARNESS_PRIORITY=cost\n");
    user.wait_for_fact("mode stays conservative");
    std::fs::remove_file(user.root().join("work/.harness/env")).unwrap();
    user.wait_for_fact("priority stays cost");
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    assert!(status.contains("1/100"), "{status}");
    user.write("go.1.1", "");
    let ran = running.end().expect_code(0);
    let line = "HARNESS_MODE is not set any more: mode stays conservative; to change it: loop set ";
    assert!(ran.err().contains(line), "{}", ran.text());
}

#[test]
fn what_may_be_the_agents_own_does_not_loosen_the_mode_and_the_loop_says_what_would() {
    // req: A-12
    let user = user().with("HARNESS_MODE", "conservative");
    let running = user.begin(&with("test -e ../go.1.1", &["--check-env-vars"]));
    user.wait_for_file("began.1.1");
    user.write("work/.harness/env", "HARNESS_MODE=normal\n");
    user.wait_for_fact("could be theirs");
    user.write("go.1.1", "");
    let ran = running.end().expect_code(0);
    assert!(ran.err().contains("mode=normal"), "{}", ran.text());
    assert!(!ran.err().contains("→ normal"), "{}", ran.text());
}

#[test]
fn what_the_agent_is_seen_to_write_into_the_file_of_variables_is_refused_and_said() {
    // req: A-12
    let user = user();
    // It names no path: the line that it writes is what it prints.
    let agent = "mkdir -p .harness; cd .harness; echo 'echo HARNESS_CLI=gemini HARNESS_PRIORITY=cost'; \
                 printf 'HARNESS_CLI=gemini\\nHARNESS_PRIORITY=cost\\n' > env; touch ../../wrote; \
                 while [ ! -e ../../go ]; do sleep 0.02; done; touch ../done";
    let running = user.begin(&start(agent, "test -e done", &["--check-env-vars"]));
    user.wait_for_file("wrote");
    let journal = user.state().join("runs").join(user.id()).join("journal.jsonl");
    let said = "HARNESS_PRIORITY in .harness/env is ignored: the agent changed it";
    wait_until("it is said", || fs::read_to_string(&journal).unwrap_or_default().contains(said));
    user.write("go", "");
    let ran = running.end().expect_code(0);
    assert!(ran.err().contains("HARNESS_CLI in .harness/env is ignored: the agent changed it"), "{}", ran.text());
}

#[test]
fn files_that_others_change_are_named_in_the_next_prompt_and_the_agents_are_not() {
    // req: A-10
    let user = user();
    for name in ["kept.txt", "gone.txt", "old-name.txt"] {
        user.write(&format!("work/{name}"), "before\n");
    }
    user.write("work/.gitignore", "*.log\n");
    let flags = ["--watch-workspace", "--watch-ignore", "*.tmp"];
    let running = user.begin(&with("test -e ../go.2.1", &flags));
    user.wait_for_file("began.1.1");
    user.run(&["pause", &user.id()]).expect_code(0);
    user.write("go.1.1", "");
    user.wait_for_fact("\"paused\"");
    user.write("work/kept.txt", "after\n");
    user.write("work/fresh.txt", "new\n");
    fs::remove_file(user.work().join("gone.txt")).unwrap();
    fs::rename(user.work().join("old-name.txt"), user.work().join("new-name.txt")).unwrap();
    for ignored in ["a.tmp", "b.log", "c.pyc"] {
        user.write(&format!("work/{ignored}"), "x");
    }
    user.wait_for_fact("new-name.txt");
    user.run(&["resume", &user.id()]).expect_code(0);
    user.wait_for_file("began.2.1");
    user.write("go.2.1", "");
    let ran = running.end().expect_code(0);
    let prompt = user.read("prompt.2.1");
    for line in ["modified: kept.txt", "created: fresh.txt", "deleted: gone.txt", "moved: old-name.txt → new-name.txt"]
    {
        assert!(prompt.contains(line), "{line}\n{prompt}");
    }
    for ignored in ["a.tmp", "b.log", "c.pyc", "modified: log", "created: log"] {
        assert!(!prompt.contains(ignored), "{ignored}\n{prompt}");
    }
    assert!(ran.err().contains("moved old-name.txt → new-name.txt"), "{}", ran.text());
}

#[test]
fn many_changes_of_others_are_fifty_names_and_a_number() {
    // req: A-10
    let user = user();
    let running = user.begin(&with("test -e ../go.2.1", &["--watch-workspace"]));
    user.wait_for_file("began.1.1");
    user.run(&["pause", &user.id()]).expect_code(0);
    user.write("go.1.1", "");
    user.wait_for_fact("\"paused\"");
    for number in 0..120 {
        fs::write(user.work().join(format!("file-{number:03}")), "x").unwrap();
    }
    user.wait_for_fact("\"more\":70");
    user.run(&["resume", &user.id()]).expect_code(0);
    user.wait_for_file("began.2.1");
    user.write("go.2.1", "");
    running.end().expect_code(0);
    let prompt = user.read("prompt.2.1");
    assert_eq!(prompt.matches("  - created: file-").count(), 50, "{prompt}");
    assert!(prompt.contains("and 70 more"), "{prompt}");
}

fn seconds_until_it_ends(user: &TestEnv, running: loop_testkit::Running) -> Duration {
    let asked = Instant::now();
    user.write("work/.harness/stop", "stop");
    let ran = running.end().expect_code(2);
    assert!(ran.out().contains("by the stop file"), "{}", ran.text());
    asked.elapsed()
}

#[test]
fn a_stop_file_is_seen_within_a_second_in_a_pause_and_in_a_delay() {
    // req: A-02
    let bound = Duration::from_secs(2);
    let flags = ["--stop-file", ".harness/stop", "--delay", "10m"];
    let paused = user();
    fs::create_dir(paused.work().join(".harness")).unwrap();
    let running = paused.begin(&with("false", &flags));
    paused.wait_for_file("began.1.1");
    paused.run(&["pause", &paused.id()]).expect_code(0);
    paused.write("go.1.1", "");
    paused.wait_for_fact("\"paused\"");
    // Seen within a second; the rest of the bound is for the end of the process on a busy machine.
    let took = seconds_until_it_ends(&paused, running);
    assert!(took < bound, "{took:?}");
    let delayed = user();
    fs::create_dir(delayed.work().join(".harness")).unwrap();
    let running = delayed.begin(&with("false", &flags));
    delayed.wait_for_file("began.1.1");
    delayed.write("go.1.1", "");
    delayed.wait_for_fact("\"delay\"");
    let took = seconds_until_it_ends(&delayed, running);
    assert!(took < bound, "{took:?}");
    assert!(!Path::new(&delayed.work().join(".harness/stop")).exists());
}

/// How many writers race: a sample, or what the variable says.
fn races() -> usize {
    std::env::var("INBOX_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// Writes one text in the way of its number: at once, in two halves, by a rename, or under a name that others use, too.
fn write_as(number: usize, place: &Path) {
    use std::io::Write;
    let text = format!("<text {number}>{}</text {number}>\n", "x".repeat(number % 700));
    let (first, second) = text.split_at(text.len() / 2);
    match number % 4 {
        0 => fs::write(place.join(format!("{number:04}-once.txt")), &text).unwrap(),
        1 => {
            let mut file = fs::File::create(place.join(format!("{number:04}-halves.txt"))).unwrap();
            file.write_all(first.as_bytes()).unwrap();
            std::thread::yield_now();
            file.write_all(second.as_bytes()).unwrap();
        }
        2 => {
            let draft = place.join(format!(".draft-{number}"));
            fs::write(&draft, &text).unwrap();
            fs::rename(draft, place.join(format!("{number:04}-renamed.txt"))).unwrap();
        }
        // Appended, so that writers of one name do not remove each other's text.
        _ => {
            let mut options = fs::OpenOptions::new();
            let name = place.join(format!("shared-{}.txt", number % 8));
            options.create(true).append(true).open(name).unwrap().write_all(text.as_bytes()).unwrap();
        }
    }
}

/// The texts that the loop has taken, in its run folder.
fn taken(user: &TestEnv) -> String {
    let folder = user.run_folder(&user.id()).join("inject");
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn of_many_writers_that_race_with_the_loop_no_text_is_lost_cut_or_taken_twice() {
    // req: A-11
    let user = user();
    let running = user.begin(&with("test -e ../go.1.1", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    let place = user.work().join(".harness/inbox");
    let count = races();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let place = &place;
            scope.spawn(move || {
                (0..count).filter(|number| number % 8 == writer).for_each(|number| write_as(number, place))
            });
        }
    });
    let left =
        || fs::read_dir(&place).unwrap().filter(|file| file.as_ref().unwrap().file_name() != "processed").count();
    assert!(
        loop_testkit::wait_at_most(Duration::from_secs(60 + count as u64 / 5), || left() == 0),
        "{} files are left",
        left()
    );
    user.write("go.1.1", "");
    running.end().expect_code(0);
    let taken = taken(&user);
    for number in 0..count {
        let whole = format!("<text {number}>{}</text {number}>\n", "x".repeat(number % 700));
        assert_eq!(taken.matches(&whole).count(), 1, "text {number}");
        assert_eq!(taken.matches(&format!("<text {number}>")).count(), 1, "a part of text {number}");
    }
    let stored: String = fs::read_dir(place.join("processed"))
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert_eq!(stored.len(), taken.len(), "what was moved is what was taken");
}

/// Keeps its prompt, and works until the text is taken.
const TAKES: &str = "cp \"$LOOP_PROMPT_FILE\" ../prompt.$LOOP_ITERATION; n=0; \
                     while [ ! -e .harness/inbox/processed/001-once.txt ] && [ $n -lt 200 ]; \
                     do sleep 0.05; n=$((n + 1)); done; echo x >> log";

/// Kills the loop at its k-th call of this name, resumes it, and looks at what became of the text. False if it was not
/// killed: there are fewer calls.
fn killed_at(call: &str, number: u32) -> Result<bool, String> {
    let user = user();
    fs::create_dir_all(user.work().join(".harness/inbox")).unwrap();
    user.write("work/.harness/inbox/001-once.txt", "Only once.\n");
    let log = user.root().join("calls");
    let (only, inject) = (format!("trace={call}"), format!("inject={call}:signal=KILL:when={number}"));
    let mut command = loop_testkit::strace(&["-e", &only, "-e", &inject], &log);
    command.arg(env!("CARGO_BIN_EXE_loop")).args(start(TAKES, "false", &["--enable-inbox", "-n", "2"]));
    user.apply_env(&mut command);
    let ran = loop_testkit::Running::of(command.spawn().unwrap(), user.root()).end();
    if ran.code == Some(1) {
        return Ok(false);
    }
    let Some(id) = user.ids().into_iter().next() else { return Ok(true) };
    let _resumed = user.run(&["resume", &id, "-n", "4"]);
    let journal = fs::read_to_string(user.run_folder(&id).join("journal.jsonl")).unwrap();
    let recorded = journal.matches("\"effect\":{\"text\"").count();
    let prompts = (1..=4).map(|number| fs::read_to_string(user.root().join(format!("prompt.{number}"))));
    let told = prompts.filter(|prompt| prompt.as_ref().is_ok_and(|prompt| prompt.contains("Only once."))).count();
    let processed = user.work().join(".harness/inbox/processed");
    let moved = processed.join("001-once.txt").exists();
    let is_alone = fs::read_dir(processed).map_or(0, Iterator::count) == 1;
    if recorded == 1 && told == 1 && moved && is_alone {
        return Ok(true);
    }
    Err(format!("{call} {number}: recorded {recorded} times, in {told} prompts, moved {moved}, alone {is_alone}"))
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn killed_around_a_file_that_it_takes_a_loop_loses_nothing_and_takes_nothing_twice() {
    // req: A-11
    let all = std::env::var("KILL_POINTS").is_ok_and(|text| text == "all");
    let (mut points, mut faults) = (0, Vec::new());
    // Two renames move a file; the syncs of its text and of the journal are between them.
    for (call, most) in [("renameat2", 40), ("fdatasync", 80), ("mkdirat", 80), ("fsync", 80)] {
        for number in (1..=most).step_by(if all || call == "renameat2" { 1 } else { 5 }) {
            match killed_at(call, number) {
                Ok(false) => break,
                Ok(true) => points += 1,
                Err(what) => faults.push(what),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(points >= 3, "only {points} points");
    println!("killed around a file of the inbox: {points} points, 0 lost, 0 twice");
}

#[test]
fn loop_set_pauses_resumes_and_sets_the_mode() {
    // req: A-12
    let user = user();
    let running = user.begin(&with("test -e ../go.2.1", &[]));
    user.wait_for_file("began.1.1");
    let id = user.id();
    user.run(&["set", &id, "pause=true"]).expect_code(0);
    let ran = user.run(&["set", &id, "mode=turbo"]).expect_code(0);
    assert!(ran.out().contains("mode = turbo"), "{}", ran.text());
    let ran = user.run(&["set", &id, "cli=nobody"]).expect_code(4);
    assert!(ran.err().contains("there is no agent \"nobody\""), "{}", ran.text());
    let ran = user.run(&["set", &id, "pause=later"]).expect_code(4);
    assert!(ran.err().contains("loop pause"), "{}", ran.text());
    user.write("go.1.1", "");
    user.wait_for_fact("\"paused\"");
    user.run(&["set", &id, "pause=false"]).expect_code(0);
    user.wait_for_file("began.2.1");
    user.write("go.2.1", "");
    running.end().expect_code(0);
}

#[test]
fn foreign_files_and_devices_in_the_inbox_are_refused_and_named() {
    // req: A-11
    let user = user();
    let running = user.begin(&with("test -e ../go.1.1", &["--enable-inbox"]));
    user.wait_for_file("began.1.1");
    let place = user.work().join(".harness/inbox");
    fs::write(place.join("001-foreign.txt"), "words").unwrap();
    std::os::unix::fs::chown(place.join("001-foreign.txt"), Some(12345), None).expect("root, who may give files away");
    let made = Command::new("mknod").arg(place.join("002-device.txt")).args(["c", "1", "3"]).status().unwrap();
    assert!(made.success(), "root, who may make devices");
    user.wait_for_fact("not taken from the inbox: 002-device.txt is not a plain file");
    user.wait_for_fact("001-foreign.txt belongs to another user");
    user.write("go.1.1", "");
    running.end().expect_code(0);
}

#[test]
fn a_folder_with_other_uses_is_refused_as_the_inbox_before_anything_is_made() {
    // req: A-11
    let user = user();
    user.write("work/todo.txt", "mine\n");
    fs::create_dir_all(user.work().join(".git")).unwrap();
    let home = user.root().display().to_string();
    for path in [".", "..", "/", ".git", "docs/../..", &home] {
        let ran = user.run(&start("true", "false", &["--enable-inbox", "--inbox-path", path])).expect_code(4);
        assert!(ran.err().contains("cannot be the inbox"), "{path}: {}", ran.text());
    }
    assert_eq!(user.read("work/todo.txt"), "mine\n");
    assert_eq!(user.ids(), Vec::<String>::new());
}
