//! Lists of work: errors with their places, words of formats, the order of items, and edits of a person.
use expect_test::{Expect, expect};
use loop_core::list::{BeadsCall, List, ListFormat, PickError, TickError, merge_edits, read, tick};

fn list(path: &str, text: &str) -> List {
    read(path, text.as_bytes(), None).unwrap()
}

fn error(path: &str, text: &str) -> String {
    let error = read(path, text.as_bytes(), None).unwrap_err();
    format!("{error}\n  {}\n", error.hint)
}

fn errors(path: &str, texts: &[&str]) -> String {
    texts.iter().map(|text| error(path, text)).collect()
}

fn check(actual: &str, expected: &Expect) {
    expected.assert_eq(actual);
}

/// A roadmap with one task that has one more line.
fn roadmap(line: &str) -> String {
    format!("# Plan\n\n## Tasks\n\n- [ ] **a**: First\n{line}\n")
}

// req: A-21 partly: errors
#[test]
fn a_wrong_key_of_a_roadmap_is_an_error_with_its_line_and_a_suggestion() {
    let lines = [
        "  - max_iteration: 5",
        "  - agent: claude",
        "  - colour: red",
        "  - max_time: 5",
        "  - max_time: 0s",
        "  - timeout: -1h",
        "  - max_iterations: many",
        "  - stuck_after: unlimited",
        "  - cli:",
        "  - max_time: 1h\n  - max_time: 1h",
        "  - max_time: 1h\n  - timeout: 2h",
        "  - just text",
        "  Goal: x\n  - max_time: 1h",
        "- [ ] **a**: Again",
        "- [ ] no id",
    ];
    let all: String = lines.iter().map(|line| error("roadmap.md", &roadmap(line))).collect();
    check(
        &all,
        &expect![[r#"
        roadmap.md:6:5: unknown key max_iteration
          did you mean max_iterations?
        roadmap.md:6:5: unknown key agent
          did you mean cli?
        roadmap.md:6:5: unknown key colour
          the keys are max_time, timeout, max_iterations, cli, stuck_after, completion_promise, success, promise; text for the agent begins with Goal:
        roadmap.md:6:15: max_time cannot be "5": a duration needs a unit
          write a unit: 5s, 5m, 5h or 5d
        roadmap.md:6:15: max_time cannot be "0s": a duration of zero would end everything at once
          write it with a unit: 30s, 5m, 1h30m, 7d
        roadmap.md:6:14: timeout cannot be "-1h": "-" is not a unit of time here
          write it with a unit: 30s, 5m, 1h30m, 7d
        roadmap.md:6:21: max_iterations cannot be "many": it must be a whole number from 1 to 4294967295, or unlimited
          for example 10, or unlimited
        roadmap.md:6:18: stuck_after cannot be "unlimited": it must be a number
          write 5, for example
        roadmap.md:6:9: cli cannot be "": it is empty
          write a value behind cli:
        roadmap.md:7:5: max_time is there twice: also in line 6
          delete one of them
        roadmap.md:7:14: timeout is 2h, but max_time in line 6 is 1h
          both mean the whole time of the task: delete one of them
        roadmap.md:6:5: a setting is key: value, not just text
          text for the agent begins with Goal:
        roadmap.md:7:5: the setting max_time stands behind the goal
          put all settings directly below the task
        roadmap.md:6:9: two items have the id a: also in line 5
          give each item its own id
        roadmap.md:6:7: a task needs an id: no id
          write - [ ] **id**: title
    "#]],
    );
}

// req: A-21 partly: the same time twice
// req: A-30 partly: in a roadmap
#[test]
fn a_roadmap_takes_both_names_of_its_time_if_they_say_the_same() {
    let list = list("roadmap.md", &roadmap("  - max_time: 90m\n  - timeout: 1h30m\n  - max_iterations: unlimited"));
    let settings: Vec<String> = list.items[0].settings.iter().map(|one| format!("{}={}", one.key, one.value)).collect();
    assert_eq!(settings, ["max_time=90m", "timeout=1h30m", "max_iterations=unlimited"]);
}

#[test]
fn a_json_file_that_is_not_a_list_says_where_and_what_is_expected() {
    let json = [
        "{\"items\": [\n  {\"id\": \"a\", \"passes\": \"no\"}\n]}",
        "{\"items\": [\n  {\"id\": \"a\"},\n  {\"id\": \"a\"}\n]}",
        "{\"items\": [\n  {\"id\": \"a\", \"dependsOn\": [\"c\"]},\n  {\"id\": \"b\"}\n]}",
        "{\"items\": [\n  {\"id\": \"a\", \"dependsOn\": [\"b\"]},\n  {\"id\": \"b\", \"dependsOn\": [\"a\"]}\n]}",
        "{\"items\": [\n  {\"id\": \"a\",}\n]}",
        "{\"items\": [\n  {\"id\": \"a\", \"id\": \"b\"}\n]}",
        "{\"items\": [\n  \"a\"\n]}",
        "{\"items\": [",
        "{\"name\": \"x\"}",
        "7",
        "",
    ];
    check(
        &errors("prd.json", &json),
        &expect![[r#"
        prd.json:2:25: passes must be true or false, not a text
          write passes as true or false
        prd.json:3:10: two items have the id a: also in line 2
          give each item its own id
        prd.json:2:29: a depends on c, which no item has as its id
          did you mean a?
        prd.json:2:29: items wait for each other: a → b → a
          remove one of these dependencies
        prd.json:2:14: not valid JSON: a key in double quotes is expected here
          fix the file; an editor with JSON support shows the place
        prd.json:2:15: the key id is there twice
          delete one of them
        prd.json:2:3: an item must be an object, not a text
          write {"id": …, "title": …, "passes": false}
        prd.json:1:12: not valid JSON: the file ends in the middle
          fix the file; an editor with JSON support shows the place
        prd.json:1:1: this is not a list of work: it has no items
          a list has "items" or "userStories"
        prd.json:1:1: this is not a list of work: it is a number
          write a list of items, or an object with "items"
        prd.json:1:1: not valid JSON: the file ends in the middle
          fix the file; an editor with JSON support shows the place
    "#]],
    );
}

#[test]
fn a_text_file_that_is_not_a_list_says_where_and_what_is_expected() {
    let markdown = ["# Only\n\nwords\n", "", "# T\n\n- [ ] T001 a (depends on T002)\n", "- [ ] T001 a\n- [ ] T001 b\n"];
    check(
        &errors("tasks.md", &markdown),
        &expect![[r#"
        tasks.md:1:1: this is not a list of work: it has no boxes
          write items as - [ ] text, or give --format with one of loopspec, user-stories, markdown-prd, ralphex, spec-kit, kiro, openspec, bmad, roadmap, task-list, beads
        tasks.md:1:1: this is not a list of work: it has no boxes
          write items as - [ ] text, or give --format with one of loopspec, user-stories, markdown-prd, ralphex, spec-kit, kiro, openspec, bmad, roadmap, task-list, beads
        tasks.md:3:26: T001 depends on T002, which no item has as its id
          did you mean T001?
        tasks.md:2:7: two items have the id T001: also in line 1
          give each item its own id
    "#]],
    );
    check(
        &error("specs/001-x/checklists/ux.md", "- [ ] CHK001 clear?\n"),
        &expect![[r#"
        specs/001-x/checklists/ux.md:1:1: this is a checklist of Spec Kit: it is about the quality of the requirements, not a list of tasks
          give tasks.md of the same feature, or --format task-list
    "#]],
    );
    check(
        &error("sprint-status.yaml", "development_status: {1-1-a: done}\n"),
        &expect![[r#"
        sprint-status.yaml:1:21: development_status must have one line for each story
          write each story in a line of its own
    "#]],
    );
    check(
        &error("sprint-status.yaml", "development_status:\n  1-1-a:\n"),
        &expect![[r#"
        sprint-status.yaml:2:3: 1-1-a has no status
          write one of backlog, ready-for-dev, in-progress, review, done, optional, blocked, deferred, drafted, contexted
    "#]],
    );
    check(
        &error("issues.jsonl", "{\"a\":1}\n{\"a\":2}\n"),
        &expect![[r#"
        issues.jsonl:1:1: these are not issues of beads
          only issues of beads are read from a file with one JSON value a line
    "#]],
    );
}

#[test]
fn bytes_that_are_not_utf8_are_named_with_their_place() {
    let error = read("TODO.md", b"- [ ] a\n- [ ] \xff\n", None).unwrap_err();
    assert_eq!(error.to_string(), "TODO.md:2:7: the text is not UTF-8");
}

#[test]
fn a_very_large_or_very_long_list_is_refused() {
    let long = "- [ ] a\n".repeat(10_001);
    assert_eq!(read("TODO.md", long.as_bytes(), None).unwrap_err().message, "the list has more than 10000 items");
    let large = "x".repeat(5 * 1024 * 1024);
    assert!(read("TODO.md", large.as_bytes(), None).unwrap_err().message.contains("larger than"));
    assert!(read("TODO.md", "- [ ] a\n".repeat(10_000).as_bytes(), None).is_ok());
}

#[test]
fn the_words_of_formats_are_parsed_and_printed() {
    for format in ListFormat::ALL {
        assert_eq!(ListFormat::named(format.word()), Ok(format));
    }
    assert_eq!(ListFormat::named("ralph-tui"), Ok(ListFormat::UserStories));
    assert_eq!(ListFormat::named("snarktank"), Ok(ListFormat::UserStories));
    let refusal = ListFormat::named("spec-kid").unwrap_err();
    check(
        &format!("{}\n{}", refusal.why, refusal.hint),
        &expect![[r#"
        unknown format "spec-kid"
        did you mean spec-kit? The formats are loopspec, user-stories, markdown-prd, ralphex, spec-kit, kiro, openspec, bmad, roadmap, task-list, beads"#]],
    );
    let refusal = ListFormat::named("jira").unwrap_err();
    check(
        &format!("{}\n{}", refusal.why, refusal.hint),
        &expect![[r#"
        unknown format "jira"
        The formats are loopspec, user-stories, markdown-prd, ralphex, spec-kit, kiro, openspec, bmad, roadmap, task-list, beads"#]],
    );
}

#[test]
fn the_format_that_was_read_is_shown_in_one_sentence() {
    let boxes = |done: usize, open: usize| {
        let line = |mark, number| format!("- [{mark}] T{number:03} work\n");
        let done = (1..=done).map(|number| line('X', number));
        format!(
            "# Tasks: X\n\n{}{}",
            done.collect::<String>(),
            (100..100 + open).map(|n| line(' ', n)).collect::<String>()
        )
    };
    let list = list("specs/001-x/tasks.md", &boxes(4, 37));
    assert_eq!(list.read_as(), "read as: Spec Kit tasks.md, 37 open of 41");
}

fn order(text: &str) -> Vec<String> {
    list("prd.json", text).open_in_order().into_iter().map(|item| item.id.clone()).collect()
}

// req: P-02 partly: selection
#[test]
fn the_next_item_is_the_first_open_one_or_the_one_with_the_lowest_priority() {
    let first = r#"[{"id":"a","passes":true},{"id":"b","passes":false},{"id":"c","passes":false}]"#;
    assert_eq!(order(first), ["b", "c"]);
    let lowest = r#"[{"id":"a","priority":3},{"id":"b"},{"id":"c","priority":1},{"id":"d","priority":1}]"#;
    assert_eq!(order(lowest), ["c", "d", "a", "b"]);
    assert_eq!(list("prd.json", r#"[{"id":"a","passes":true}]"#).next_open(), None);
}

#[test]
fn what_an_item_depends_on_comes_first_also_against_priority() {
    let text = r#"[{"id":"a","priority":1,"dependsOn":["c"]},{"id":"b","priority":2},{"id":"c","priority":9}]"#;
    assert_eq!(order(text), ["b", "c", "a"]);
}

#[test]
fn an_optional_item_is_taken_only_where_another_one_needs_it() {
    let text = r#"[{"id":"a","optional":true},{"id":"b","optional":true},{"id":"c","dependsOn":["b"]}]"#;
    assert_eq!(order(text), ["b", "c"]);
}

// req: P-02 partly: --item
#[test]
fn an_item_that_a_person_names_is_taken_or_the_reason_is_given() {
    let list =
        list("tasks.md", "# Implementation Plan\n- [x] 1. A\n- [ ] 2. B\n  - [ ] 2.1 C\n  - [x] 2.2 D\n- [ ] 3. E\n");
    assert_eq!(list.pick("3").unwrap().title, "E");
    assert_eq!(list.pick("1"), Err(PickError::Done("1".to_owned())));
    assert_eq!(list.pick("2").unwrap_err().to_string(), "2 is done with its parts: take one of 2.1");
    let stories = self::list("prd.json", r#"[{"id":"US-001"},{"id":"US-002"}]"#);
    assert_eq!(stories.pick("US-01").unwrap_err().to_string(), "the list has no item US-01: did you mean US-001?");
}

fn edges(list: &List) -> String {
    let edges = list.edges();
    edges.iter().map(|edge| format!("{}→{}", edge.item, edge.waits_for)).collect::<Vec<_>>().join(" ")
}

#[test]
fn parallel_marks_phases_and_dependencies_become_edges() {
    let sequence = list("TODO.md", "- [ ] a\n- [x] b\n- [ ] c\n- [ ] d\n");
    assert_eq!(edges(&sequence), "c→a d→c");
    let marked = list("tasks.md", "- [ ] T001 a\n- [ ] T002 [P] b\n- [ ] T003 [P] c\n- [ ] T004 d\n- [ ] T005 e\n");
    assert_eq!(edges(&marked), "T002→T001 T003→T001 T004→T002 T004→T003 T005→T004");
    let phases = "## Phase 1\n- [ ] T001 [P] a\n- [ ] T002 [P] b\n## Phase 2\n- [ ] T003 [P] c\n- [ ] T004 [P] d\n";
    assert_eq!(edges(&list("tasks.md", phases)), "T003→T001 T003→T002 T004→T001 T004→T002");
    let named =
        r#"[{"id":"a"},{"id":"b","dependsOn":["a"]},{"id":"c","dependsOn":["a"]},{"id":"d","dependsOn":["b","c"]}]"#;
    assert_eq!(edges(&list("prd.json", named)), "b→a c→a d→b d→c");
    let backwards = "- [ ] T001 a (depends on T003)\n- [ ] T002 b\n- [ ] T003 c\n";
    assert_eq!(edges(&list("tasks.md", backwards)), "T001→T003 T003→T002");
    let parts = "# Implementation Plan\n- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ] 1.2 C\n- [ ] 2. D\n  - _Depends: 1_\n";
    assert_eq!(edges(&list("tasks.md", parts)), "1.2→1.1 2→1.1 2→1.2");
}

#[test]
fn a_phase_that_is_done_holds_back_no_item() {
    let text = "## Phase 1\n- [x] T001 a\n## Phase 2\n- [x] T002 b\n## Phase 3\n- [ ] T003 c\n";
    assert_eq!(edges(&list("tasks.md", text)), "");
}

#[test]
fn issues_of_beads_are_closed_by_its_own_program() {
    let list = list("list.json", r#"[{"id":"bd-1","title":"A","status":"open","issue_type":"task"}]"#);
    let refused = tick(b"[]", list.format, &list.items[0], None);
    assert_eq!(refused, Err(TickError::ByProgram("bd-1".to_owned())));
    let words = |call: BeadsCall<'_>| call.words().map(|words| words.join(" "));
    let close = BeadsCall::Close { id: "bd-1", reason: "gates pass" };
    assert_eq!(words(close).unwrap(), "bd close bd-1 --reason gates pass --json");
    assert_eq!(words(BeadsCall::Claim("bd-1")).unwrap(), "bd update bd-1 --claim --json");
    assert_eq!(words(BeadsCall::Claim("--force")), None);
    assert_eq!(words(BeadsCall::Close { id: "a b", reason: "" }), None);
}

const ITEMS: &str = r#"[{"id":"a","title":"A"},{"id":"b","title":"B"},{"id":"c","title":"C"},{"id":"d","title":"D"}]"#;

#[test]
fn a_person_may_add_remove_and_reorder_items_while_others_run() {
    let before = list("prd.json", ITEMS);
    let now =
        list("prd.json", r#"[{"id":"d","title":"D"},{"id":"new"},{"id":"b","title":"B"},{"id":"c","title":"C2"}]"#);
    let edits = merge_edits(&before, &now, &["b"]);
    let ids: Vec<&str> = edits.list.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["d", "new", "b", "c"]);
    assert_eq!(edits.words(), ["added: new", "removed: a", "changed: c", "the order changed"]);
    assert!(!edits.is_nothing());
    assert!(merge_edits(&before, &before, &["b"]).is_nothing());
}

#[test]
fn a_running_item_is_not_disturbed_by_edits() {
    let before = list("prd.json", r#"[{"id":"a"},{"id":"b","title":"B","dependsOn":["a"]},{"id":"c","title":"C"}]"#);
    let now = list("prd.json", r#"[{"id":"c","title":"other","passes":true}]"#);
    let edits = merge_edits(&before, &now, &["b", "c"]);
    let items: Vec<(&str, &str, bool)> =
        edits.list.items.iter().map(|item| (item.id.as_str(), item.title.as_str(), item.done)).collect();
    assert_eq!(items, [("c", "C", false), ("b", "B", false)]);
    assert_eq!(edits.undisturbed, ["c", "b"]);
    assert_eq!(edits.removed, ["a"]);
    assert!(edits.list.items[1].depends_on.is_empty(), "what was removed is not waited for");
}

#[test]
fn ticks_of_a_person_are_told_apart_from_other_edits() {
    let before = list("TODO.md", "- [ ] a\n- [x] b\n- [ ] c\n");
    let now = list("TODO.md", "\n\n- [x] a\n- [ ] b\n- [ ] c\n");
    let edits = merge_edits(&before, &now, &[]);
    assert_eq!(edits.words(), ["ticked by a person: a", "open again: b"]);
}
