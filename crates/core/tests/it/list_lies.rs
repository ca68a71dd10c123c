//! Agents that change the list instead of doing the work: every change is named, none is taken for nothing.
use ListChangeKind::{Added, Edited, FileRemoved, Other, Removed, Reordered, Ticked, Unreadable, Unticked, Weakened};
use loop_core::list::{ListChange, ListChangeKind, ListFormat, changed_by_agent, read, tick};

/// A change that an agent makes: a part of a list, and what it puts there.
struct Lie {
    name: &'static str,
    list: &'static Original,
    part: &'static str,
    put: &'static str,
    /// What must be found, in this order: `kind item detail`.
    found: &'static [(ListChangeKind, &'static str)],
}

struct Original {
    format: ListFormat,
    text: &'static str,
}

static PRD: Original = Original {
    format: ListFormat::UserStories,
    text: r#"{
  "verificationCommands": {"test": "npm test"},
  "userStories": [
    {"id": "US-1", "title": "Store", "acceptanceCriteria": ["It is stored", "Tests pass"], "priority": 1, "passes": true, "notes": "ok"},
    {"id": "US-2", "title": "Load", "description": "Read it back", "acceptanceCriteria": [
      {"id": "load", "text": "It is loaded", "command": "npm test load", "artifacts": ["load.log", "load.png"]},
      "Tests pass"], "priority": 2, "passes": false, "notes": "", "scope": ["src/load/**"], "check": "make load"},
    {"id": "US-3", "title": "Show", "acceptanceCriteria": ["It is shown"], "priority": 3, "dependsOn": ["US-2"], "passes": false}
  ]
}
"#,
};
static ROADMAP: Original = Original {
    format: ListFormat::Roadmap,
    text: "# Plan\n\nWords.\n\n## Tasks\n\n- [ ] **one**: First\n  - max_iterations: 20\n  - promise: make one\n  \
           - success: All tests pass\n\n  Goal: build it.\n\n- [ ] **two**: Second\n  - promise: make two\n",
};
static SPEC_KIT: Original = Original {
    format: ListFormat::SpecKit,
    text: "# Tasks: X\n\n## Phase 1: Setup\n\n- [X] T001 Set up\n- [ ] T002 [P] Model in src/model.py\n- [ ] T003 [P] Test \
           in tests/test_model.py\n\n## Phase 2: Work\n\n- [ ] T004 Service (depends on T002)\n  - verify: `pytest`\n",
};
static PLAN: Original = Original {
    format: ListFormat::Ralphex,
    text: "# Plan\n\n## Validation Commands\n\n- `go test ./...`\n\n### Task 1: Get\n\n- [x] Add Get\n- [ ] Test Get\n\n\
           ### Task 2: Put\n\n- [ ] Add Put\n",
};
static KIRO: Original = Original {
    format: ListFormat::Kiro,
    text: "# Implementation Plan\n\n- [ ] 1. Core\n  - [ ] 1.1 Parse\n    - _Requirements: 1.1, 1.2_\n  - [ ] 1.2 \
           Print\n    - _Requirements: 2.1_\n- [ ] 2. Shell\n  - _Depends: 1_\n",
};
static SPRINT: Original = Original {
    format: ListFormat::Bmad,
    text: "development_status:\n  epic-1: in-progress\n  1-1-sign-in: done\n  1-2-sign-out: ready-for-dev\n  1-3-reset: backlog\n",
};

macro_rules! lie {
    ($name:literal, $list:ident, $part:expr, $put:expr, [$($kind:ident $what:literal),*]) => {
        Lie { name: $name, list: &$list, part: $part, put: $put, found: &[$(($kind, $what)),*] }
    };
}

static LIES: &[Lie] = &[
    lie!("sets passes to true", PRD, "2, \"passes\": false", "2, \"passes\": true", [Ticked "US-2"]),
    lie!("adds passes", PRD, "\"passes\": false}\n  ]", "\"passes\":   true}\n  ]", [Ticked "US-3"]),
    lie!("takes a tick back to work again", PRD, "1, \"passes\": true", "1, \"passes\": false", [Unticked "US-1"]),
    lie!("writes a note of its own", PRD, "\"notes\": \"\"", "\"notes\": \"verified\"", [Edited "US-2: its notes"]),
    lie!("removes a criterion", PRD, ",\n      \"Tests pass\"]", "]", [Weakened "US-2: criterion 2 removed"]),
    lie!("softens a criterion", PRD, "It is loaded", "It may be loaded", [Weakened "US-2: criterion load changed"]),
    lie!("empties the criteria", PRD, "[\"It is shown\"]", "[]", [Weakened "US-3: criterion 1 removed"]),
    lie!("makes the command of a criterion easy", PRD, "npm test load", "true", [Weakened "US-2: the command of criterion load"]),
    lie!("removes the command of a criterion", PRD, ", \"command\": \"npm test load\"", "", [Weakened "US-2: the command of criterion load"]),
    lie!("removes an artifact", PRD, "\"load.log\", ", "", [Weakened "US-2: an artifact of criterion load"]),
    lie!("names an artifact that is there", PRD, "load.png", "README.md", [Weakened "US-2: an artifact of criterion load"]),
    lie!("makes the check easy", PRD, "make load", "exit 0", [Weakened "US-2: its command"]),
    lie!("removes the check", PRD, ", \"check\": \"make load\"", "", [Weakened "US-2: its command"]),
    lie!("makes the commands of the list easy", PRD, "npm test\"}", "echo ok\"}", [Weakened "the commands of the whole list"]),
    lie!("widens the scope", PRD, "src/load/**", "**", [Weakened "US-2: its scope"]),
    lie!("removes the scope", PRD, "\"scope\": [\"src/load/**\"], ", "", [Weakened "US-2: its scope"]),
    lie!("makes an item optional", PRD, "\"title\": \"Show\"", "\"title\": \"Show\", \"optional\": true", [Weakened "US-3: optional now"]),
    lie!("changes the priority", PRD, "\"priority\": 3", "\"priority\": 0", [Reordered "US-3: priority, phase or parallel"]),
    lie!("changes the title", PRD, "\"Load\"", "\"Load a little\"", [Edited "US-2: its title"]),
    lie!("changes the text", PRD, "Read it back", "Read some of it", [Edited "US-2: its text"]),
    lie!("gives an item another id", PRD, "\"US-3\"", "\"US-9\"", [Removed "US-3", Added "US-9"]),
    lie!("adds an item that is done", PRD, "\n  ]\n", ",{\"id\": \"US-4\", \"passes\": true}\n  ]\n", [Added "US-4: ticked already"]),
    lie!("drops a dependency", PRD, "\"dependsOn\": [\"US-2\"]", "\"dependsOn\": []", [Weakened "US-3: what it depends on"]),
    lie!("breaks the file", PRD, "\"US-2\",", "\"US-2\"", [Unreadable "line 5: not valid JSON: a comma or } is expected here"]),
    lie!("gives two items one id", PRD, "\"US-3\"", "\"US-1\"", [Unreadable "line 8: two items have the id US-1: also in line 4"]),
    lie!("ticks its own box", ROADMAP, "- [ ] **one**", "- [x] **one**", [Ticked "one"]),
    lie!("deletes a task", ROADMAP, "- [ ] **two**: Second\n  - promise: make two\n", "", [Removed "two"]),
    lie!("makes the promise easy", ROADMAP, "make one", "true", [Weakened "one: its command", Weakened "one: promise changed"]),
    lie!("removes the promise", ROADMAP, "  - promise: make two\n", "", [Weakened "two: its command", Weakened "two: promise removed"]),
    lie!("asks for less", ROADMAP, "All tests pass", "Tests exist", [Weakened "one: criterion success changed", Weakened "one: success changed"]),
    lie!("gives itself more iterations", ROADMAP, "max_iterations: 20", "max_iterations: unlimited", [Weakened "one: max_iterations changed"]),
    lie!("moves a task behind the list", ROADMAP, "- [ ] **two**", "## Later\n\n- [ ] **two**", [Removed "two"]),
    lie!("hides a task in a comment", ROADMAP, "- [ ] **two**", "<!--\n- [ ] **two**", [Edited "one: its text", Removed "two"]),
    lie!("ticks a task of Spec Kit", SPEC_KIT, "- [ ] T002", "- [X] T002", [Ticked "T002"]),
    lie!("swaps two tasks", SPEC_KIT, "- [ ] T002 [P] Model in src/model.py\n- [ ] T003 [P] Test in tests/test_model.py\n", "- [ ] T003 [P] Test in tests/test_model.py\n- [ ] T002 [P] Model in src/model.py\n", [Reordered "the order of the items"]),
    lie!("moves a task to another phase", SPEC_KIT, "## Phase 2: Work\n\n", "", [Reordered "T004: priority, phase or parallel", Edited "T004: its text"]),
    lie!("marks a task as parallel", SPEC_KIT, "T004 Service", "T004 [P] Service", [Reordered "T004: priority, phase or parallel"]),
    lie!("makes the command of a task easy", SPEC_KIT, "`pytest`", "`pytest || true`", [Weakened "T004: its command", Edited "T004: its text"]),
    lie!("ticks one box of a task", PLAN, "- [ ] Test Get", "- [x] Test Get", [Ticked "1"]),
    lie!("ticks the only box", PLAN, "- [ ] Add Put", "- [x] Add Put", [Ticked "2"]),
    lie!("removes the open box", PLAN, "- [ ] Test Get\n", "", [Ticked "1", Weakened "1: criterion 2 removed"]),
    lie!("makes the validation easy", PLAN, "`go test ./...`", "`go vet`", [Weakened "the commands of the whole list"]),
    lie!("makes a task optional", KIRO, "[ ] 1.2", "[ ]* 1.2", [Weakened "1.2: optional now"]),
    lie!("drops a requirement", KIRO, "1.1, 1.2", "1.1", [Weakened "1.1: criterion 1.2 removed", Edited "1.1: its text"]),
    lie!("drops what it waits for", KIRO, "  - _Depends: 1_\n", "", [Weakened "2: what it depends on", Edited "2: its text"]),
    lie!("ticks the parent only", KIRO, "- [ ] 1. Core", "- [x] 1. Core", [Ticked "1"]),
    lie!("sets a story to done", SPRINT, "ready-for-dev", "done", [Ticked "1-2-sign-out"]),
    lie!("sets a story to optional", SPRINT, "1-3-reset: backlog", "1-3-reset: optional", [Weakened "1-3-reset: optional now"]),
    lie!("sets an epic to done", SPRINT, "epic-1: in-progress", "epic-1: done", [Other "bytes that belong to no item"]),
];

fn shown(change: &ListChange) -> (ListChangeKind, String) {
    let parts = [change.item.as_deref().unwrap_or_default(), change.detail.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    (change.kind, parts.join(": "))
}

// req: P-12 partly: what is flagged
#[test]
fn every_change_that_an_agent_makes_to_a_list_is_named() {
    assert!(LIES.len() >= 40, "{}", LIES.len());
    for lie in LIES {
        assert_eq!(lie.list.text.matches(lie.part).count(), 1, "{}: {}", lie.name, lie.part);
        let after = lie.list.text.replace(lie.part, lie.put);
        let changes = changed_by_agent(lie.list.format, lie.list.text.as_bytes(), Some(after.as_bytes()));
        let found: Vec<(ListChangeKind, String)> = changes.iter().map(shown).collect();
        let wanted: Vec<(ListChangeKind, String)> =
            lie.found.iter().map(|(kind, what)| (*kind, (*what).to_owned())).collect();
        assert_eq!(found, wanted, "{}", lie.name);
    }
}

#[test]
fn a_list_that_is_gone_or_not_text_is_named() {
    for original in [&PRD, &ROADMAP, &SPEC_KIT, &PLAN, &KIRO, &SPRINT] {
        let before = original.text.as_bytes();
        let kinds = |after: Option<&[u8]>| -> Vec<ListChangeKind> {
            changed_by_agent(original.format, before, after).iter().map(|change| change.kind).collect()
        };
        assert_eq!(kinds(None), [FileRemoved]);
        assert_eq!(kinds(Some(b"\xff\xfe")), [Unreadable]);
        assert_eq!(kinds(Some(before)), []);
        let blank = [before, b"\n".as_slice()].concat();
        assert_eq!(kinds(Some(&blank)), [Other], "{:?}", original.format);
    }
}

#[test]
fn no_lie_is_ticked_by_the_harness() {
    for lie in LIES {
        let after = lie.list.text.replace(lie.part, lie.put);
        let list = read("", lie.list.text.as_bytes(), Some(lie.list.format)).unwrap();
        for (kind, what) in lie.found.iter().filter(|(kind, _)| [Ticked, Removed].contains(kind)) {
            let id = what.split(':').next().unwrap();
            let item = list.items.iter().find(|item| item.id == id).unwrap();
            let refused = tick(after.as_bytes(), list.format, item, None);
            assert!(refused.is_err(), "{} {kind:?}: a changed item is not ticked again", lie.name);
        }
    }
}

#[test]
fn a_change_is_told_in_one_line() {
    let change = |item: Option<&str>, detail: &str| {
        ListChange { kind: Weakened, item: item.map(str::to_owned), detail: detail.to_owned() }.to_string()
    };
    assert_eq!(change(Some("US-2"), "its command"), "US-2: weakened (its command)");
    assert_eq!(change(None, ""), "weakened");
}
