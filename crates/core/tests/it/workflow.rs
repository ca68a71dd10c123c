//! Workflow files: what they say, and everything that is wrong with one.
use expect_test::expect;
use loop_core::plan::OnConflict;
use loop_core::workflow::*;

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

pub(crate) fn read_with(text: &str, set: &[&str]) -> Result<Workflow, Vec<WorkflowError>> {
    let variables = Variables::read(set.iter().copied()).unwrap();
    read(WorkflowSource { text, file: "flow.yaml" }, &variables)
}

/// Everything that is wrong with a file, as a person sees it.
fn wrong(text: &str, set: &[&str]) -> String {
    let errors = read_with(text, set).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

fn loop_of<'a>(workflow: &'a Workflow, id: &str) -> &'a LoopEntry {
    match &workflow.entries.iter().find(|entry| entry.id == id).unwrap().work {
        EntryWork::Loop(work) => work,
        EntryWork::Ask(_) => panic!("{id} is a question"),
    }
}

/// A file with this promise, which is written as a text in double quotes.
fn with_promise(promise: &str) -> String {
    let promise = serde_json::to_string(promise).unwrap();
    format!("loops:\n  - {{id: a, prompt: do it, promise: {promise}}}\n")
}

fn filled(promise: &str, value: &str) -> Result<String, String> {
    let workflow = read_with(&with_promise(promise), &[&format!("x={value}")]);
    let workflow = workflow.map_err(|errors| errors.iter().map(|error| error.what.clone()).collect::<String>())?;
    Ok(loop_of(&workflow, "a").setting("promise").unwrap().to_owned())
}

#[test]
fn the_example_of_the_documentation_is_read_with_its_variable_filled_in() {
    // req: D-12 partly: reading of the file
    let workflow = read_with(EXAMPLE, &["feature=user-auth"]).unwrap();
    assert_eq!(workflow.name, "implement-feature");
    assert_eq!(workflow.env, [EnvVariable { name: "FEATURE_NAME".into(), value: "user-auth".into() }]);
    let ids: Vec<&str> = workflow.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["write-tests", "implement", "refactor", "document"]);
    assert_eq!(workflow.entries[3].depends_on, [2]);
    let first = loop_of(&workflow, "write-tests");
    assert_eq!(first.prompt, "Write failing tests for user-auth");
    assert_eq!(first.setting("promise"), Some("npm test 2>&1 | grep -q 'failing'"));
    assert_eq!(first.setting("max_iterations"), Some("5"));
    assert_eq!(first.given[0].origin.to_string(), "flow.yaml:10");
    assert_eq!(workflow.on_complete, ["notify-send 'Feature complete: user-auth'"]);
    assert_eq!(workflow.on_failure, ["loop rollback \"${LOOP_FAILED_LOOP}\" initial"]);
}

/// A file with a mistake in nearly every line.
const MISTAKES: &str = "\
name: x
task: y
loops:
  - id: a
    prompt: \"{{feature}} and {{featrue}}\"
    promise: make test
    max_iteration: 5
  - id: a
    prompt: 7
    promise: make
    timeout: 5
    depends_on: [a, aa, b]
    commit: true
  - id: b
    depends_on: [b2]
    no_promise: maybe
  - id: -c
    prompt: {{feature}}
    needs: [a]
on_complete: {a: b}
on_conflict: rebase
";

/// What is said about it.
const SAID: &str = r#"--set unused: flow.yaml has no variable unused
  hint: take it out, or use {{unused}} in the file
flow.yaml:2:1: unknown key task
  2 | task: y
    | ^
  hint: the keys are name, description, env, loops, parallel, budget, on_conflict, hook_timeout, on_complete, on_failure
flow.yaml:5:30: the variable featrue is not set
  5 |     prompt: "{{feature}} and {{featrue}}"
    |                              ^
  hint: --set has feature: did you mean {{feature}}?
flow.yaml:7:5: unknown key max_iteration
  7 |     max_iteration: 5
    |     ^
  hint: did you mean max_iterations?
flow.yaml:8:9: two loops have the id a: also in line 4
  8 |   - id: a
    |         ^
  hint: give each its own id
flow.yaml:9:13: prompt must be a text, not a number
  9 |     prompt: 7
    |             ^
  hint: write it in quotes: "7"
flow.yaml:11:14: timeout cannot be "5": a duration needs a unit
  11 |     timeout: 5
     |              ^
  hint: write a unit: 5s, 5m, 5h or 5d
flow.yaml:12:21: no loop has the id aa
  12 |     depends_on: [a, aa, b]
     |                     ^
  hint: did you mean a?
flow.yaml:13:5: commit cannot stand in a workflow: a loop of a workflow works in a copy of the workspace
  13 |     commit: true
     |     ^
  hint: commit by yourself after the workflow: git commit
flow.yaml:14:9: the loop b has no prompt
  14 |   - id: b
     |         ^
  hint: add prompt: with the task, or ask: with a question to a person
flow.yaml:15:18: no loop has the id b2
  15 |     depends_on: [b2]
     |                  ^
  hint: did you mean b?
flow.yaml:16:17: no_promise cannot be "maybe": it is a switch
  16 |     no_promise: maybe
     |                 ^
  hint: use true or false
flow.yaml:17:9: id cannot be "-c"
  17 |   - id: -c
     |         ^
  hint: use letters, digits, `-`, `_` and `.`, begin with a letter or a digit, at most 48 of them
flow.yaml:17:9: a loop has no promise
  17 |   - id: -c
     |         ^
  hint: add promise: with a command that passes when the work is done, or no_promise: true
flow.yaml:18:13: prompt: a variable at the beginning of a value needs quotes
  18 |     prompt: {{feature}}
     |             ^
  hint: write it in quotes: "{{name}}"
flow.yaml:19:5: unknown key needs
  19 |     needs: [a]
     |     ^
  hint: did you mean depends_on?
flow.yaml:20:14: on_complete must be a list of texts, not a map
  20 | on_complete: {a: b}
     |              ^
  hint: write a list of texts
flow.yaml:21:14: on_conflict cannot be "rebase": it must be one of: stop, rerun, agent
  21 | on_conflict: rebase
     |              ^
  hint: use one of: stop, rerun, agent
"#;

#[test]
fn everything_that_is_wrong_is_said_at_once_with_line_column_and_a_hint() {
    // req: D-12 partly: errors of the file
    assert_eq!(wrong(MISTAKES, &["feature=auth", "unused=1"]), SAID);
}

#[test]
fn a_circle_is_shown_with_its_whole_path() {
    // req: D-12 partly: errors of the file
    let text = "\
loops:
  - {id: a, prompt: p, promise: t, depends_on: [c]}
  - {id: b, prompt: p, promise: t, depends_on: [a]}
  - {id: c, prompt: p, promise: t, depends_on: [b]}
  - {id: d, prompt: p, promise: t, depends_on: [d]}
";
    expect![[r#"
        flow.yaml:3:49: these loops wait for each other: a → c → b → a
          3 |   - {id: b, prompt: p, promise: t, depends_on: [a]}
            |                                                 ^
          hint: take a out of depends_on of b
        flow.yaml:5:49: these loops wait for each other: d → d
          5 |   - {id: d, prompt: p, promise: t, depends_on: [d]}
            |                                                 ^
          hint: take d out of depends_on of d
    "#]]
    .assert_eq(&wrong(text, &[]));
}

#[test]
fn a_variable_without_quotes_is_named_where_yaml_takes_it_for_a_map() {
    let begins = "loops:\n  - id: a\n    prompt: {{feature}}\n    promise: make\n";
    let goes_on = "loops:\n  - id: a\n    prompt: {{feature}} is missing\n    promise: make\n";
    let tab = "loops:\n  - id: a\n\tprompt: x\n";
    let quote = "loops:\n  - id: a\n    prompt: \"x\n    promise: make\n";
    expect![[r#"
        flow.yaml:3:13: prompt: a variable at the beginning of a value needs quotes
          3 |     prompt: {{feature}}
            |             ^
          hint: write it in quotes: "{{name}}"

        flow.yaml:3:25: not valid YAML: while parsing a block mapping, did not find expected key
          3 |     prompt: {{feature}} is missing
            |                         ^
          hint: line 3: a value that begins with a variable needs quotes: "{{name}} …"

        flow.yaml:2:9: not valid YAML: while scanning a plain scalar, found a tab
          2 |   - id: a
            |         ^
          hint: YAML takes no tabs for indentation: use spaces

        flow.yaml:4:5: not valid YAML: invalid indentation in multiline quoted scalar
          4 |     promise: make
            |     ^
          hint: line 3: close the quote
    "#]]
    .assert_eq(&[begins, goes_on, tab, quote].map(|text| wrong(text, &["feature=x"])).join("\n"));
    let inside = "loops:\n  - id: a\n    prompt: the {{feature}} is missing\n    promise: make\n";
    let workflow = read_with(inside, &["feature=x"]).unwrap();
    assert_eq!(loop_of(&workflow, "a").prompt, "the x is missing");
}

#[test]
fn a_file_that_is_not_a_map_of_loops_is_refused() {
    let texts =
        ["", "- a\n", "loops: 3\n", "loops: []\n", "loops: [7]\n", "name: x\n", "loops:\n  - {}\n", "a: b: c\n"];
    expect![[r#"
        flow.yaml:1:1: a workflow file is a map of keys, not nothing
          1 | 
            | ^
          hint: begin with name: and loops:

        flow.yaml:1:1: a workflow file is a map of keys, not a list
          1 | - a
            | ^
          hint: begin with name: and loops:

        flow.yaml:1:8: loops must be a list of loops, not a number
          1 | loops: 3
            |        ^
          hint: write a list of loops

        flow.yaml:1:8: loops has 0 entries; there must be 1 to 64
          1 | loops: []
            |        ^
          hint: add a loop with id, prompt and promise, or divide the file

        flow.yaml:1:9: an entry of loops must be a map with id, prompt and promise, not a number
          1 | loops: [7]
            |         ^
          hint: write a map with id, prompt and promise

        flow.yaml:1:1: the key loops is missing
          1 | name: x
            | ^
          hint: add loops: with at least one loop

        flow.yaml:2:5: a loop has no id
          2 |   - {}
            |     ^
          hint: add id: with a short name, such as id: write-tests
        flow.yaml:2:5: a loop has no prompt
          2 |   - {}
            |     ^
          hint: add prompt: with the task, or ask: with a question to a person
        flow.yaml:2:5: a loop has no promise
          2 |   - {}
            |     ^
          hint: add promise: with a command that passes when the work is done, or no_promise: true

        flow.yaml:1:5: not valid YAML: mapping values are not allowed in this context
          1 | a: b: c
            |     ^
          hint: put the value in quotes, or fix the indentation
    "#]]
    .assert_eq(&texts.map(|text| wrong(text, &[])).join("\n"));
}

#[test]
fn a_setting_at_the_top_of_a_file_gets_a_hint_that_can_be_followed() {
    let hints = [
        ("promise", "promise belongs to a loop: give it to each loop"),
        ("gate", "gate belongs to a loop: give it to each loop"),
        ("commit", "commit is not possible in a workflow; commit by yourself after the workflow: git commit"),
        ("result", "result is not possible in a workflow; loop workflow run … --json says how it ended"),
        ("notify", "a workflow does not use notify yet; use on_complete and on_failure"),
        ("agent", "agent belongs to a loop; for all loops give it to loop workflow run FILE: --agent"),
        ("max_cost", "did you mean budget?"),
    ];
    for (key, hint) in hints {
        let said = wrong(&format!("{key}: x\n{}", with_promise("true")), &[]);
        assert!(said.contains(&format!("unknown key {key}\n")), "{said}");
        assert!(said.contains(&format!("hint: {hint}\n")), "{said}");
    }
}

#[test]
fn every_setting_of_a_start_may_stand_in_a_loop_and_is_checked_as_a_flag_is() {
    // req: D-12 partly: options of loop start
    let text = "\
loops:
  - id: a
    prompt: p
    promise: make test
    gate:
      lint: make lint
      bench: {command: make bench, timeout: 2m, watch: true}
    max_cost: 2.50
    agent_model: opus
    protect: [\"tests/**\", Makefile]
    protect_tests: true
    on_failure: overload wait 10m 50
";
    let workflow = read_with(text, &[]).unwrap();
    let work = loop_of(&workflow, "a");
    assert_eq!(work.setting("gate"), Some("lint=make lint\nbench[timeout=2m,watch]=make bench"));
    assert_eq!(work.setting("max_cost"), Some("2.50"));
    assert_eq!(work.setting("protect"), Some("tests/**\nMakefile"));
    assert_eq!(work.setting("protect_tests"), Some("true"));
    let wrong = wrong(
        "loops:\n  - id: a\n    prompt: p\n    promise: m\n    max-iterations: 3\n    judge: here\n    timeout: 5\n    \
         gate: [x]\n    on_failure: make clean\n    max_cost: 0\n    prompt_file: x\n    agent: [a]\n",
        &[],
    );
    expect![[r#"
        flow.yaml:5:5: unknown key max-iterations
          5 |     max-iterations: 3
            |     ^
          hint: did you mean max_iterations?
        flow.yaml:6:12: judge cannot be "here": it must be one of: auto, workspace
          6 |     judge: here
            |            ^
          hint: use one of: auto, workspace
        flow.yaml:7:14: timeout cannot be "5": a duration needs a unit
          7 |     timeout: 5
            |              ^
          hint: write a unit: 5s, 5m, 5h or 5d
        flow.yaml:8:11: gate cannot be "x": a gate needs a name and a command
          8 |     gate: [x]
            |           ^
          hint: write NAME=CMD, for example lint='cargo clippy', or lint[watch]='cargo clippy'
        flow.yaml:9:17: on_failure cannot be "make clean": "make clean" is not a class and what to do
          9 |     on_failure: make clean
            |                 ^
          hint: for example `overload wait 10m 50`, `refusal stop` or `auth next`; commands for a failure stand at the top of the file
        flow.yaml:10:15: max_cost cannot be "0": an amount of zero would allow no call at all
          10 |     max_cost: 0
             |               ^
          hint: for example 2.50
        flow.yaml:11:5: prompt_file is not a key of a loop
          11 |     prompt_file: x
             |     ^
          hint: write the text itself: prompt: | and the text in indented lines
        flow.yaml:12:12: agent must be agents: claude, claude,codex:gpt-5.2, or auto, not a list
          12 |     agent: [a]
             |            ^
          hint: write agents: claude, claude,codex:gpt-5.2, or auto
    "#]]
    .assert_eq(&wrong);
}

#[test]
fn what_holds_for_the_whole_stands_at_the_top() {
    let text = "\
parallel: 3
budget: 12.50
on_conflict: rerun
hook_timeout: 30s
env: {PORT: 8080, DEBUG: true, VERSION: 1.10}
loops:
  - {id: a, prompt: p, promise: t, touches: src/**}
  - {id: ok, ask: Is it right?, depends_on: a}
";
    let workflow = read_with(text, &[]).unwrap();
    assert_eq!(workflow.name, "flow");
    assert_eq!((workflow.parallel, workflow.budget_micros), (Some(3), Some(12_500_000)));
    assert_eq!((workflow.on_conflict, workflow.hook_timeout_ms), (OnConflict::Rerun, 30_000));
    let env: Vec<String> = workflow.env.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
    assert_eq!(env, ["PORT=8080", "DEBUG=true", "VERSION=1.10"]);
    assert_eq!(loop_of(&workflow, "a").touches, ["src/**"]);
    assert!(matches!(&workflow.entries[1].work, EntryWork::Ask(question) if question == "Is it right?"));
}

#[test]
fn a_value_in_a_command_is_quoted_for_where_it_stands() {
    // req: D-12 partly: quoting
    let value = "it's $(rm) \"x\" `y` \\z";
    let cases = [
        ("echo {{x}}", "echo 'it'\\''s $(rm) \"x\" `y` \\z'"),
        ("echo '{{x}}'", "echo 'it'\\''s $(rm) \"x\" `y` \\z'"),
        ("echo \"{{x}}\"", "echo \"it's \\$(rm) \\\"x\\\" \\`y\\` \\\\z\""),
        ("echo \"$(cat {{x}})\"", "echo \"$(cat 'it'\\''s $(rm) \"x\" `y` \\z')\""),
        ("A={{x}} make", "A='it'\\''s $(rm) \"x\" `y` \\z' make"),
    ];
    for (template, command) in cases {
        assert_eq!(filled(template, value).unwrap(), command, "{template}");
    }
    assert_eq!(
        filled("docker ps --format '{{{{.Names}}' | grep {{x}}", "a").unwrap(),
        "docker ps --format '{{.Names}}' | grep 'a'"
    );
}

#[test]
fn a_variable_that_cannot_be_quoted_for_certain_is_refused() {
    // req: D-12 partly: quoting
    for template in [
        "echo `cat {{x}}`",
        "cat <<EOF\n{{x}}\nEOF",
        "echo $(( {{x}} + 1 ))",
        "test $(({{x}})) = 1",
        "echo ${A:-{{x}}}",
        "echo ${{x}}",
        "echo \"${{x}}\"",
        "echo \\{{x}}",
        "true # {{x}}",
        "case a in a) echo {{x}};; esac",
        "[[ {{x}} -gt 1 ]]",
        "eval {{x}}",
        "sh -c \"npm test {{x}}\"",
        "timeout 5 bash -ec 'npm test {{x}}'",
        "python3 -c \"print('{{x}}')\"",
        "node --eval '{{x}}'",
        "sed -i s/a/{{x}}/ file",
        "echo $'{{x}}'",
        "a[{{x}}]=1",
        "eval true 2>&1 {{x}}",
    ] {
        let refused = filled(template, "v").expect_err(template);
        assert!(refused.starts_with("a variable cannot be quoted "), "{template}: {refused}");
    }
}

#[test]
fn a_variable_that_another_program_would_run_as_code_is_refused() {
    for template in [
        // What is piped into an interpreter is code.
        "echo {{x}} | sh",
        "echo {{x}} | cat | sudo -u root bash -s a > log 2>&1",
        "(echo {{x}}; true) | /bin/sh -e",
        "echo {{x}} | { python3 -; }",
        "printf %s {{x}} | xargs -I{} sh -c '{}'",
        "bash <(echo {{x}})",
        "source <(echo {{x}})",
        // So is what an unknown program may take for it.
        "$SHELL -c {{x}}",
        "\"${SHELL}\" -c {{x}}",
        "exec env $SHELL -c {{x}}",
        "$(echo {{x}})",
        "{{x}} -c {{x}}",
        "flock file -c {{x}}",
        "script -qc {{x}} /dev/null",
        "env -S {{x}}",
        "env --split-string={{x}}",
        "npx -c {{x}}",
        "npm exec -c {{x}}",
        "npm exec --call={{x}}",
        "parallel {{x}}",
        "echo {{x}} | parallel",
        "alias x={{x}}",
        "make --eval={{x}}",
        "git grep -O{{x}} word",
        "git grep --open-files-in-pager={{x}} word",
        "git submodule foreach {{x}}",
        "rsync -e {{x}} a b",
        "rsync -aze {{x}} a b",
        "rsync --rsh={{x}} a b",
        "tar --to-command={{x}} -xf a.tar",
        "tar -I {{x}} -xf a.tar",
        "perl -e{{x}}",
    ] {
        let refused = filled(template, "v").expect_err(template);
        assert!(refused.starts_with("a variable cannot be quoted "), "{template}: {refused}");
    }
    for template in [
        "sh test.sh {{x}}",
        "eval true; make {{x}}",
        "python3 -m pytest {{x}}",
        "make # all\nmake {{x}}",
        "echo {{x}} | grep sh",
        "echo {{x}} | python3 count.py",
        "echo {{x}} | bash tool.sh > log 2>&1",
        "curl -s site | sh -s {{x}}",
        "$HOME/bin/tool {{x}}",
        "A=$(pwd) tool {{x}}",
        "diff <(echo {{x}}) file",
        "git switch -c {{x}}",
        "git commit -m {{x}}",
        "rsync -a --exclude={{x}} a b",
        "env A={{x}} make",
        "npm test -- --grep {{x}}",
        "tar -cf {{x}}.tar src",
    ] {
        filled(template, "v").expect(template);
    }
}

#[test]
fn a_value_cannot_add_an_entry_to_a_list() {
    for line in
        ["gate: [\"lint=make {{x}}\"]", "protect: [\"{{x}}\"]", "agent_env: \"A={{x}}\"", "touches: [\"{{x}}\"]"]
    {
        let text = format!("loops:\n  - id: a\n    prompt: p\n    promise: t\n    {line}\n");
        let refused = wrong(&text, &["x=a\nevil=rm -rf /"]);
        assert!(refused.contains("which would begin another entry of this list"), "{refused}");
        read_with(&text, &["x=fine"]).expect(line);
    }
    let args = "loops:\n  - id: a\n    prompt: p\n    promise: t\n    agent_args: --model {{x}}\n";
    assert_eq!(loop_of(&read_with(args, &["x=a b"]).unwrap(), "a").setting("agent_args"), Some("--model 'a b'"));
}

#[test]
fn values_are_not_filled_again() {
    let workflow = read_with(EXAMPLE, &["feature={{failed_loop}} {{feature}}"]).unwrap();
    assert_eq!(loop_of(&workflow, "document").prompt, "Add documentation for {{failed_loop}} {{feature}}");
    assert_eq!(workflow.on_complete, ["notify-send 'Feature complete: {{failed_loop}} {{feature}}'"]);
}

#[test]
fn the_failed_loop_is_known_in_on_failure_only() {
    let text =
        "loops:\n  - {id: a, prompt: p, promise: \"x {{failed_loop}}\"}\non_failure: [\"echo '{{failed_loop}}'\"]\n";
    expect![[r#"
        flow.yaml:2:36: {{failed_loop}} is known in on_failure only
          2 |   - {id: a, prompt: p, promise: "x {{failed_loop}}"}
            |                                    ^
          hint: take it out here
    "#]]
    .assert_eq(&wrong(text, &[]));
    let set = Variables::read(["failed_loop=x"]).unwrap_err();
    assert_eq!(set.to_string(), "--set failed_loop: loop itself sets it, in on_failure");
}

#[test]
fn a_file_is_shown_without_values_for_its_variables() {
    // req: D-12 partly: show
    let unset = Variables::default().with_unset();
    let workflow = read(WorkflowSource { text: EXAMPLE, file: "flow.yaml" }, &unset).unwrap();
    expect![[r#"
        implement-feature: Full feature implementation with TDD
        4 entries, 4 steps; the longest chain (*): write-tests → implement → refactor → document

        step 1
          * write-tests  starts at once
                         until npm test 2>&1 | grep -q 'failing'

        step 2
          * implement    waits for write-tests
                         until npm test

        step 3
          * refactor     waits for implement
                         until npm test && npm run lint

        step 4
          * document     waits for refactor
                         until npm run docs:check
    "#]]
    .assert_eq(&text(&workflow));
}

/// Two middle loops, a question, and one that waits for all.
const DIAMOND: &str = "\
name: diamond
loops:
  - {id: plan, prompt: p, promise: t}
  - {id: api, prompt: p, promise: \"test -e <api>\", depends_on: [plan]}
  - {id: page, prompt: p, gate: [\"lint=l\"], depends_on: [plan]}
  - {id: sure, ask: Is the plan right?, depends_on: [plan]}
  - {id: copy, prompt: p, no_promise: true, depends_on: [page]}
  - {id: join, prompt: p, promise: t, depends_on: [api, copy, sure]}
";

#[test]
fn a_diamond_is_drawn_as_text_dot_svg_and_json() {
    // req: D-12 partly: show
    let workflow = read_with(DIAMOND, &[]).unwrap();
    expect![[r#"
        diamond
        6 entries, 4 steps; the longest chain (*): plan → page → copy → join

        step 1
          * plan  starts at once
                  until t

        step 2
            api   waits for plan
                  until test -e <api>
          * page  waits for plan
                  until lint=l
            sure  waits for plan
                  asks you: Is the plan right?

        step 3
          * copy  waits for page
                  until the agent says it is done

        step 4
          * join  waits for api, copy, sure
                  until t
    "#]]
    .assert_eq(&text(&workflow));
    expect![[r#"
        digraph "diamond" {
          rankdir=LR;
          node [shape=box];
          "plan" [tooltip="until t" style=bold];
          "api" [tooltip="until test -e <api>"];
          "page" [tooltip="until lint=l" style=bold];
          "sure" [tooltip="asks you: Is the plan right?" shape=ellipse];
          "copy" [tooltip="until the agent says it is done" style=bold];
          "join" [tooltip="until t" style=bold];
          "plan" -> "api";
          "plan" -> "page" [style=bold];
          "plan" -> "sure";
          "page" -> "copy" [style=bold];
          "api" -> "join";
          "copy" -> "join" [style=bold];
          "sure" -> "join";
        }
    "#]]
    .assert_eq(&dot(&workflow));
    let picture = svg(&workflow);
    assert_eq!(picture.matches("<rect").count(), 6);
    assert_eq!(picture.matches("<path").count(), 7);
    assert!(picture.contains("test -e &lt;api&gt;") && !picture.contains("<api>"), "{picture}");
    let data = json(&workflow);
    assert_eq!(data["loops"][5]["depends_on"], serde_json::json!(["api", "copy", "sure"]));
    assert_eq!(data["loops"][5]["step"], 4);
    assert_eq!(data["loops"][1]["in_longest_chain"], false);
}

#[test]
fn only_one_loop_brings_what_it_depends_on() {
    // req: D-12 partly: --only
    let workflow = read_with(DIAMOND, &[]).unwrap();
    let part = only(&workflow, &["copy"]).unwrap();
    let ids: Vec<&str> = part.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["plan", "page", "copy"]);
    assert_eq!(part.entries[2].depends_on, [1]);
    let unknown = only(&workflow, &["copi"]).unwrap_err();
    assert_eq!(unknown, ("copi".to_owned(), Some("copy".to_owned())));
}

#[test]
fn no_text_makes_the_reader_panic() {
    let mut seed: u64 = 7;
    let mut below = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % most
    };
    let pieces = [
        "{{", "}}", "{{x}}", ": ", "\n", "  ", "- ", "[", "]", "{", "}", "\"", "'", "|", "&a", "*a", "<<: *a", "#",
        "é", "\t",
    ];
    for _ in 0..3000 {
        let mut text = EXAMPLE.to_owned();
        for _ in 0..=below(6) {
            let mut at = below(text.len().max(1)).min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match below(3) {
                0 => text.insert_str(at, pieces[below(pieces.len())]),
                1 => text.truncate(at),
                _ if at < text.len() => drop(text.remove(at)),
                _ => {}
            }
        }
        if let Err(errors) = read_with(&text, &["feature=a b", "x=1"]) {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(!error.hint.is_empty() && !error.what.is_empty(), "{error:?}");
                let lines = text.lines().count().max(1) + 1;
                assert!(error.at.is_none_or(|at| at.line <= lines && at.column >= 1), "{error:?}\n{text}");
            }
        }
    }
}

#[test]
fn an_answer_stands_in_prompts_and_commands_of_loops_that_wait_for_its_question() {
    // req: D-12 partly: the file
    let text = "loops:\n  - {id: which.port, ask: Which port?}\n  \
                - {id: a, prompt: \"use {{answer.which.port}}, not {{{{x}}\", promise: \"nc -z localhost {{answer.which.port}}\", depends_on: [which.port]}\n  \
                - {id: b, prompt: \"and {{answer.which.port}}\", promise: p, depends_on: [a]}\n";
    let read = |text: &str| read(WorkflowSource { text, file: "flow.yaml" }, &Variables::default());
    let workflow = read(text).unwrap();
    let EntryWork::Loop(work) = &workflow.entries[1].work else { panic!("a loop") };
    assert_eq!(work.setting("promise"), Some("nc -z localhost \"${ANSWER_WHICH_PORT}\""));
    assert_eq!(work.answers, ["which.port"]);
    let said = loop_core::workflow::with_answers(&work.prompt, |id| (id == "which.port").then(|| "{{80}}".to_owned()));
    assert_eq!(said, "use {{80}}, not {{x}}");
    assert_eq!(workflow.questions_before(2), [0]);
    let faults = |text: &str| read(text).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let early = faults("loops:\n  - {id: q, ask: Sure?}\n  - {id: a, prompt: \"x {{answer.q}}\", promise: p}\n");
    assert!(early.contains("flow.yaml:3:24: {{answer.q}} is not known here: a does not wait for q"), "{early}");
    let unknown = faults("loops:\n  - {id: a, prompt: \"x {{answer.b}}\", promise: p}\n");
    assert!(unknown.contains("no question has the id b"), "{unknown}");
    let place =
        faults("env: {X: \"{{answer.q}}\"}\nloops:\n  - {id: q, ask: Sure?}\n  - {id: a, prompt: x, promise: p}\n");
    assert!(place.contains("{{answer.q}} is known in prompts and in commands only"), "{place}");
    let twice = faults("loops:\n  - {id: a-b, ask: x}\n  - {id: a.b, ask: y}\n  - {id: a, prompt: x, promise: p}\n");
    assert!(twice.contains("would have one variable, ANSWER_A_B"), "{twice}");
}
