//! `loop workflow`: files are checked and shown.
use serde_json::json;

use crate::user;

/// The example of the documentation, as it is written there.
pub(crate) const EXAMPLE: &str = r#"name: implement-feature
description: Full feature implementation with TDD

env:
  FEATURE_NAME: "{{feature}}"

loops:
  - id: write-tests
    prompt: "Write failing tests for {{feature}}"
    promise: "npm test 2>&1 | grep -q 'failing'"
    max_iterations: 5

  - id: implement
    prompt: "Implement {{feature}} to make tests pass"
    promise: "npm test"
    depends_on: [write-tests]
    max_iterations: 15

  - id: refactor
    prompt: "Refactor {{feature}} for clarity, keeping tests passing"
    promise: "npm test && npm run lint"
    depends_on: [implement]
    max_iterations: 5

  - id: document
    prompt: "Add documentation for {{feature}}"
    promise: "npm run docs:check"
    depends_on: [refactor]
    max_iterations: 3

on_complete:
  - "notify-send 'Feature complete: {{feature}}'"

on_failure:
  - "loop rollback {{failed_loop}} initial"
"#;

#[test]
fn a_file_is_checked_as_a_whole_and_every_mistake_has_its_line() {
    // req: D-12 partly: check
    let user = user();
    user.write("work/flow.yaml", EXAMPLE);
    let fine = user.run(&["workflow", "check", "flow.yaml", "--set", "feature=user-auth"]).expect_code(0);
    assert_eq!(fine.out(), "flow.yaml is fine: 4 entries in 4 steps\n");
    let unset = user.run(&["workflow", "check", "flow.yaml"]).expect_code(4);
    assert_eq!(unset.err().matches("the variable feature is not set").count(), 6, "{}", unset.err());
    assert!(unset.err().contains("flow.yaml:5:18: the variable feature is not set"), "{}", unset.err());
    assert!(unset.err().contains("  hint: add --set feature=VALUE\n"), "{}", unset.err());
    assert!(unset.err().ends_with("hint: fix the file, then: loop workflow check flow.yaml\n"), "{}", unset.err());
    let wrong = EXAMPLE.replace("max_iterations: 3", "max_iteration: 3").replace("[refactor]", "[refactored]");
    user.write("work/wrong.yaml", &wrong);
    let ran = user.run(&["workflow", "check", "wrong.yaml", "--set", "feature=x", "--set", "featur=y", "--json"]);
    let answer = ran.expect_code(4).json();
    assert_eq!((&answer["version"], &answer["fine"]), (&json!(1), &json!(false)));
    let whats: Vec<&str> =
        answer["errors"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    let wanted = ["wrong.yaml has no variable featur", "no loop has the id refactored", "unknown key max_iteration"];
    assert_eq!(whats, wanted);
    assert_eq!(answer["errors"][2]["line"], 29);
    assert_eq!(answer["errors"][2]["hint"], "did you mean max_iterations?");
}

#[test]
fn a_workflow_is_shown_without_values_for_its_variables() {
    // req: D-12 partly: show
    let user = user();
    user.write("work/flow.yaml", EXAMPLE);
    let text = user.run(&["workflow", "show", "flow.yaml"]).expect_code(0).out();
    assert!(
        text.contains("4 entries, 4 steps; the longest chain (*): write-tests → implement → refactor → document"),
        "{text}"
    );
    assert!(text.contains("* implement    waits for write-tests\n"), "{text}");
    let dot = user.run(&["workflow", "show", "flow.yaml", "--format", "dot"]).expect_code(0).out();
    assert!(dot.contains("  \"write-tests\" -> \"implement\" [style=bold];\n"), "{dot}");
    let svg = user.run(&["workflow", "show", "flow.yaml", "--format", "svg"]).expect_code(0).out();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let data = user.run(&["workflow", "show", "flow.yaml", "--json", "--only", "implement"]).expect_code(0).json();
    assert_eq!(data["version"], 1);
    assert_eq!(data["loops"].as_array().unwrap().len(), 2);
    assert_eq!(data["loops"][1]["settings"]["max_iterations"], "15");
    let near = user.run(&["workflow", "show", "flow.yaml", "--only", "implment"]).expect_code(4);
    assert!(near.err().contains("hint: did you mean implement?"), "{}", near.err());
}

#[test]
fn a_file_or_a_value_that_cannot_be_read_is_refused_with_a_hint() {
    let user = user();
    user.write("work/flow.yaml", EXAMPLE);
    let missing = user.run(&["workflow", "check", "no.yaml"]).expect_code(4);
    assert!(missing.err().contains("cannot read no.yaml"), "{}", missing.err());
    for word in ["feature", "1x=2", "failed_loop=x"] {
        let ran = user.run(&["workflow", "check", "flow.yaml", "--set", word]).expect_code(4);
        assert!(ran.err().contains("cannot be taken") && ran.err().contains("hint: "), "{}", ran.err());
    }
    let twice =
        user.run(&["workflow", "check", "flow.yaml", "--set", "feature=a", "--set", "feature=b"]).expect_code(4);
    assert!(twice.err().contains("it is given twice"), "{}", twice.err());
}
