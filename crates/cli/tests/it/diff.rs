//! `loop history --diff`: two checkpoints of a loop, on a terminal and elsewhere.
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use loop_testkit::TestEnv;

use crate::{start, user};

/// A loop that has ended: an iteration that made and changed, a gate that wrote, an iteration that renamed.
struct Kept {
    user: TestEnv,
    id: String,
}

/// Line 1 to the given one.
const LINES: &str = "lines() { i=1; while [ $i -le $1 ]; do echo line $i; i=$((i+1)); done; }";
const AGENT: &str = r#"umask 022
if [ $LOOP_ITERATION = 1 ]; then
  printf 'one\n2\nthree\nfour' > notes
  printf 'a\033]0;owned\007b\302\23331m\tc\r\n\342\200\256abc \\ \303\274\n' > evil
else
  rm src/old.rs; . ../lines; lines 21 > src/new.rs; chmod 755 notes; printf '\000\001' > image
fi"#;
/// Writes only after iteration 1, and holds after iteration 2.
const PROMISE: &str = "umask 022; test -e image || { test -e evil && echo by the gate > report; false; }";

impl Kept {
    fn with_iterations() -> Self {
        let user = user();
        let lines = |count: u32| (1..=count).map(|line| format!("line {line}\n")).collect::<String>();
        user.write("lines", LINES);
        user.write("work/src/old.rs", &lines(20));
        user.write("work/notes", "one\ntwo\nthree\n");
        for name in ["notes", "src/old.rs"] {
            fs::set_permissions(user.work().join(name), Permissions::from_mode(0o644)).unwrap();
        }
        user.run(&start(AGENT, PROMISE, &[])).expect_code(0);
        Self { id: user.id(), user }
    }

    fn diff(&self, words: &[&str]) -> String {
        let ran = self.user.run(&[&["history", &self.id, "--diff"], words].concat()).expect_code(0);
        ran.same_everywhere(&ran.out())
    }

    fn screen(&self, variables: &str, words: &str) -> String {
        let line = format!("{variables} {} history {} --diff {words}", env!("CARGO_BIN_EXE_loop"), self.id);
        let (ran, screen) = self.user.on_a_terminal(&line);
        assert_eq!(ran.code, Some(0), "{}", ran.text());
        screen
    }
}

#[test]
fn what_an_iteration_changed_is_shown_as_git_would() {
    // req: D-09
    let kept = Kept::with_iterations();
    expect![[r#"
        diff --git a/image b/image
        new file mode 100644
        index 0000000000..bdc955b7b2
        Binary files /dev/null and b/image differ
        diff --git a/notes b/notes
        old mode 100644
        new mode 100755
        diff --git a/src/old.rs b/src/new.rs
        similarity index 94%
        rename from src/old.rs
        rename to src/new.rs
        index c4352f8b46..39b3a96e52 100644
        --- a/src/old.rs
        +++ b/src/new.rs
        @@ -18,3 +18,4 @@
         line 18
         line 19
         line 20
        +line 21
    "#]]
    .assert_eq(&kept.diff(&["2"]));
    let first = kept.diff(&["1"]);
    assert!(first.contains("-two\n+2\n three\n+four\n\\ No newline at end of file\n"), "{first}");
    assert!(first.contains("a\u{1b}]0;owned\u{7}b"), "a file is given as it is: {first:?}");
    assert!(!first.contains("\u{1b}[3"), "{first:?}");
    assert!(!kept.diff(&["2"]).contains("report"), "what the gate wrote is not the agent's");
    expect![[r#"
        # not by the agent: changed between iter-001 and iter-001+
        diff --git a/report b/report
        new file mode 100644
        index 0000000000..0036cf1ef8
        --- /dev/null
        +++ b/report
        @@ -0,0 +1 @@
        +by the gate
    "#]]
    .assert_eq(&kept.diff(&["1..1+"]));
    assert_eq!(kept.diff(&["1+"]), kept.diff(&["1..1+"]));
    let same = kept.user.run(&["history", &kept.id, "--diff", "2..2"]).expect_code(0);
    assert_eq!((same.out(), same.err()), (String::new(), "nothing differs between iter-002 and iter-002\n".to_owned()));
    let table = kept.user.run(&["history", &kept.id]).expect_code(0).out();
    let line =
        format!("after iteration 1: +1 -0 (1 file), not by the agent (report): loop history {} --diff 1+\n", kept.id);
    assert!(table.contains(&line), "{table}");
}

#[test]
fn the_numbers_come_as_bars() {
    let kept = Kept::with_iterations();
    expect![[r#"
        shown:
         evil                     |   2 ++
         image                    | Bin
         notes                    |   3 ++-
         report                   |   1 +
         src/old.rs => src/new.rs |   1 +
         5 files changed, 6 insertions(+), 1 deletion(-)
    "#]]
    .assert_eq(&format!("shown:\n{}", kept.diff(&["initial..2", "--stat"])));
}

#[test]
fn a_difference_for_programs_has_its_documented_shape() {
    let kept = Kept::with_iterations();
    expect![[r#"
        {
          "version": 1,
          "id": "$ID",
          "from": "iter-001+",
          "to": "iter-002",
          "by_agent": true,
          "totals": {
            "files": 3,
            "insertions": 1,
            "deletions": 0
          },
          "renames_given_up": false,
          "changes": [
            {
              "path": "image",
              "what": "made",
              "from_path": null,
              "similarity": null,
              "from_kind": null,
              "to_kind": "file",
              "from_mode": null,
              "to_mode": "0644",
              "insertions": null,
              "deletions": null,
              "binary": true,
              "too_large": false
            },
            {
              "path": "notes",
              "what": "mode",
              "from_path": null,
              "similarity": null,
              "from_kind": "file",
              "to_kind": "file",
              "from_mode": "0644",
              "to_mode": "0755",
              "insertions": 0,
              "deletions": 0,
              "binary": false,
              "too_large": false
            },
            {
              "path": "src/new.rs",
              "what": "renamed",
              "from_path": "src/old.rs",
              "similarity": 94,
              "from_kind": "file",
              "to_kind": "file",
              "from_mode": null,
              "to_mode": null,
              "insertions": 1,
              "deletions": 0,
              "binary": false,
              "too_large": false
            }
          ],
          "joined": [],
          "parted": []
        }
    "#]]
    .assert_eq(&kept.diff(&["2", "--json"]));
    let others: serde_json::Value = serde_json::from_str(&kept.diff(&["1+", "--json"])).unwrap();
    assert_eq!(
        (&others["by_agent"], &others["from"], &others["to"]),
        (&false.into(), &"iter-001".into(), &"iter-001+".into())
    );
}

#[test]
fn a_checkpoint_that_is_not_there_is_named_with_those_that_are() {
    let kept = Kept::with_iterations();
    let refused = |words: &[&str]| {
        let ran = kept.user.run(&[&["history", &kept.id], words].concat()).expect_code(4);
        ran.same_everywhere(&ran.err())
    };
    expect![[r#"
        error: no checkpoint "7" of loop $ID
          because: it was never taken, or is not kept any more
        hint: there are: initial, iter-001, iter-001+, iter-002 (loop checkpoint list $ID)
    "#]]
    .assert_eq(&refused(&["--diff", "1..7"]));
    expect![[r#"
        error: no checkpoint "../../../x" of loop $ID
          because: "../../../x" is not a valid name of a checkpoint
        hint: there are: initial, iter-001, iter-001+, iter-002 (loop checkpoint list $ID)
    "#]]
    .assert_eq(&refused(&["--diff", "initial..../../../x"]));
    expect![[r#"
        error: a difference cannot be "initial"
          because: alone it is the number of an iteration; two checkpoints are A..B
        hint: loop diff $ID 1, or loop diff $ID initial..2
    "#]]
    .assert_eq(&refused(&["--diff", "initial"]));
    assert!(refused(&["--stat"]).starts_with("error: "), "only with --diff");
    let user = user();
    user.run(&start("true", "true", &["--checkpoint", "none"])).expect_code(0);
    let ran = user.run(&["history", &user.id(), "--diff", "1"]).expect_code(4);
    expect![[r#"
        error: loop $ID keeps no checkpoints
          because: it was started with --checkpoint none
        hint: start with --checkpoint auto to be able to go back
    "#]]
    .assert_eq(&ran.same_everywhere(&ran.err()));
    assert!(!user.state().join("checkpoints").exists(), "looking makes nothing");
}

#[test]
fn on_a_terminal_it_is_coloured_and_no_byte_of_a_file_steers_it() {
    let kept = Kept::with_iterations();
    let screen = kept.screen("", "1 --no-pager");
    assert!(screen.contains("\u{1b}[1mdiff --git a/evil b/evil\u{1b}[0m\r\n"), "{screen:?}");
    assert!(screen.contains("\u{1b}[32m+a\\x1b]0;owned\\x07b\\xc2\\x9b31m\tc\\x0d\u{1b}[0m\r\n"), "{screen:?}");
    assert!(screen.contains("+\\xe2\\x80\\xaeabc \\ \u{fc}\u{1b}[0m\r\n"), "{screen:?}");
    assert!(
        screen.contains("\u{1b}[31m-two\u{1b}[0m") && screen.contains("\u{1b}[36m@@ -1,3 +1,4 @@\u{1b}[0m"),
        "{screen:?}"
    );
    let plain = kept.screen("NO_COLOR=1", "1 --no-pager");
    assert!(!plain.contains('\u{1b}') && plain.contains("+a\\x1b]0;owned"), "{plain:?}");
}

#[test]
fn a_pager_is_used_on_a_terminal_and_may_be_quit_early_or_be_none() {
    let kept = Kept::with_iterations();
    kept.user.program("my-pager", "echo \"paged $1 $LESS\"; sed 's/^/| /'; exit 3");
    let screen = kept.screen("PAGER='my-pager twice'", "1+");
    assert!(screen.contains("paged twice FRX\r\n| ") && screen.contains("+by the gate"), "{screen:?}");
    for variables in ["PAGER=", "PAGER=cat", "PAGER=no-such-pager", "TERM=dumb"] {
        let screen = kept.screen(variables, "1+");
        assert!(screen.contains("+by the gate") && !screen.contains("paged"), "{variables}: {screen:?}");
    }
    let screen = kept.screen("PAGER=my-pager", "1+ --no-pager");
    assert!(!screen.contains("paged"), "{screen:?}");
    let less = kept.screen("", "1+");
    assert!(less.contains("+by the gate"), "{less:?}");
    let piped = kept.screen("PAGER=my-pager", "1+ | cat");
    assert!(!piped.contains("paged") && !piped.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn a_pager_that_is_quit_early_is_no_error() {
    let kept = Kept::with_iterations();
    kept.user.write("work/long", &"a line of a long file\n".repeat(100_000));
    kept.user.run(&["checkpoint", &kept.id, "long"]).expect_code(0);
    kept.user.program("one-line", "head -n 1");
    let screen = kept.screen("PAGER=one-line", "2..long");
    assert!(screen.contains("diff --git a/long b/long") && !screen.contains("a line of"), "{screen:?}");
}
