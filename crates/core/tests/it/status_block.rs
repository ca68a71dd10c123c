//! The status block: what counts, what does not, and what it says.
use expect_test::expect;
use loop_core::agent::claims::status_block::last;
use loop_core::agent::{Claim, DIALECTS, Dialect};
use loop_core::prompt::{status_instructions, system_prompt};

const LOOPR: &str = "---LOOPR_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\nWORK_TYPE: code\nFILES_MODIFIED: 2\nERRORS: 0\n\
                     SUMMARY: added the parser\n---END_LOOPR_STATUS---";
const LOOP: &str = "---LOOP_STATUS---\nSTATUS: COMPLETE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 2\n\
                    COMPLETION_INDICATORS: 2\nTESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: true\n\
                    RECOMMENDATION: nothing is left\n---END_LOOP_STATUS---";

/// What comes of a text, in one line.
fn said(text: &str) -> String {
    said_when_asked(text, "")
}

fn said_when_asked(text: &str, asked: &str) -> String {
    let block = last(text, asked);
    match (block.claim, block.error) {
        (Some(claim), None) => claim.brief(),
        (None, Some(error)) => format!("invalid: {error}"),
        (None, None) => "nothing".to_owned(),
        (Some(_), Some(_)) => "both".to_owned(),
    }
}

fn counts(text: &str) {
    assert!(said(text).starts_with("COMPLETE"), "{} <- {text}", said(text));
}

fn counts_not(text: &str) {
    assert_eq!(said(text), "nothing", "{text}");
}

#[test]
fn a_block_of_either_dialect_says_all_its_fields() {
    // req: B-05 partly: the parser
    // req: C-04
    let claim = |text: &str| serde_json::to_string(&last(text, "").claim).unwrap();
    expect![[r#"{"status":"COMPLETE","exit_signal":true,"work_type":"code","files_modified":2,"errors":0,"summary":"added the parser"}"#]]
        .assert_eq(&claim(LOOPR));
    expect![[r#"{"status":"COMPLETE","exit_signal":true,"work_type":"code","files_modified":2,"tasks_completed":1,"completion_indicators":2,"tests_status":"PASSING","summary":"nothing is left"}"#]]
        .assert_eq(&claim(LOOP));
}

#[test]
fn what_follows_from_a_claim_is_told_by_the_claim() {
    // req: C-04
    let of = |fields: &str| last(&format!("---LOOP_STATUS---\n{fields}\n---END_LOOP_STATUS---"), "").claim.unwrap();
    let done = of("STATUS: COMPLETE\nEXIT_SIGNAL: true\nCOMPLETION_INDICATORS: 2\nTASKS_COMPLETED: 1");
    assert!(done.complete() && done.exit_signal && done.claims_progress());
    assert_eq!(done.completion_indicators, Some(2));
    assert!(!done.blocked() && !done.test_only() && !done.claims_errors());
    let no_signal = of("STATUS: COMPLETE\nCOMPLETION_INDICATORS: 9");
    assert!(no_signal.complete() && !no_signal.exit_signal && !no_signal.claims_progress());
    let signal_only = of("STATUS: IN_PROGRESS\nEXIT_SIGNAL: true");
    assert!(signal_only.complete() && signal_only.completion_indicators.is_none());
    let testing = of("STATUS: IN_PROGRESS\nWORK_TYPE: TESTING\nFILES_MODIFIED: 1");
    assert!(testing.test_only() && testing.claims_progress() && !testing.complete());
    assert!(of("STATUS: BLOCKED").blocked());
    let failed = last(&LOOPR.replace("ERRORS: 0", "ERRORS: 1"), "").claim.unwrap();
    assert!(failed.claims_errors());
    expect!["COMPLETE, exit signal, code, 1 task, 2 files, 2 signs, tests passing: nothing is left"]
        .assert_eq(&said(LOOP));
    assert_eq!(Claim { status: "BLOCKED".to_owned(), ..Claim::default() }.brief(), "BLOCKED");
}

#[test]
fn the_words_of_one_dialect_for_the_kind_of_work_are_understood_in_the_other() {
    // req: C-04
    let kind = |word: &str| {
        last(&LOOPR.replace("WORK_TYPE: code", &format!("WORK_TYPE: {word}")), "").claim.unwrap().work_type
    };
    for (word, ours) in
        [("TESTING", "tests"), ("DOCUMENTATION", "docs"), ("refactoring", "refactoring"), ("Other", "other")]
    {
        assert_eq!(kind(word).as_deref(), Some(ours));
    }
}

#[test]
fn a_bad_value_makes_the_block_invalid_and_is_named() {
    // req: B-05 partly: the parser
    let with = |from: &str, to: &str| said(&LOOPR.replace(from, to));
    expect!["invalid: STATUS is `DONE`, not one of IN_PROGRESS, COMPLETE, BLOCKED, ERROR"]
        .assert_eq(&with("COMPLETE", "DONE"));
    expect!["invalid: STATUS is `IN_PROGRESS | COMPLETE`, not one of IN_PROGRESS, COMPLETE, BLOCKED, ERROR"]
        .assert_eq(&with("COMPLETE", "IN_PROGRESS | COMPLETE"));
    expect!["invalid: STATUS is empty, not one of IN_PROGRESS, COMPLETE, BLOCKED, ERROR"]
        .assert_eq(&with("STATUS: COMPLETE", "STATUS:"));
    expect!["invalid: STATUS is missing"].assert_eq(&with("STATUS: COMPLETE\n", ""));
    expect!["invalid: EXIT_SIGNAL is `yes`, not one of true, false"].assert_eq(&with("true", "yes"));
    expect!["invalid: ERRORS is `-1`, not a whole number"].assert_eq(&with("ERRORS: 0", "ERRORS: -1"));
    for junk in ["2 files", "~2", "+2", "2.0", "1,000", "٢", "many", "", "99999999999999999999"] {
        let said = with("FILES_MODIFIED: 2", &format!("FILES_MODIFIED: {junk}"));
        assert!(said.starts_with("invalid: FILES_MODIFIED"), "{said}");
    }
    expect!["invalid: STATUS is `ERROR`, not one of IN_PROGRESS, COMPLETE, BLOCKED"]
        .assert_eq(&said(&LOOP.replace("COMPLETE\n", "ERROR\n")));
    expect!["invalid: STATUS is said twice: `COMPLETE` and `IN_PROGRESS`"]
        .assert_eq(&with("EXIT", "STATUS: IN_PROGRESS\nEXIT"));
    expect!["invalid: STATUS is missing"].assert_eq(&said("---LOOP_STATUS---\n---END_LOOP_STATUS---"));
}

#[test]
fn fields_may_be_missing_unknown_or_said_twice_alike() {
    assert_eq!(said("---LOOPR_STATUS---\nSTATUS: COMPLETE\n---END_LOOPR_STATUS---"), "COMPLETE");
    counts(&LOOPR.replace("ERRORS", "MOOD: 7\nTESTS_STATUS: odd\njust words\nhttp://x\n: \nERRORS"));
    counts(&LOOPR.replace("EXIT_SIGNAL", "STATUS: complete\nEXIT_SIGNAL"));
    counts(&LOOPR.replace("SUMMARY: added the parser", "SUMMARY:"));
    assert!(said(&LOOPR.replace("added", "first: added\nSUMMARY: then")).ends_with("first: added"));
    assert!(
        said(&LOOP.replace("TASKS_COMPLETED_THIS_LOOP: 1", "TASKS_COMPLETED: 9\nTASKS_COMPLETED_THIS_LOOP: 1"))
            .contains("1 task,")
    );
}

#[test]
fn how_a_block_is_dressed_does_not_matter() {
    for block in [LOOPR, LOOP] {
        counts(block);
        counts(&block.replace('\n', "\r\n"));
        counts(&block.to_lowercase());
        counts(&block.replace('\n', "   \n  "));
        counts(&block.replace('\n', "\n\n"));
        counts(&format!("All done.\n\n{block}\n\nTell me if you need more."));
        counts(&block.lines().map(|line| format!("**{line}**\n")).collect::<String>());
        counts(&block.replace("STATUS: COMPLETE", "**STATUS:** COMPLETE"));
        counts(&block.replace("STATUS: COMPLETE", "- **Status**: `COMPLETE`"));
        counts(&block.replace("EXIT_SIGNAL", "Exit signal"));
        counts(&block.replace("STATUS---", "STATUS ---").replace("---LOOP", "--- LOOP"));
        counts(
            &block.replace("COMPLETE", "\u{1b}[1mCOM\u{1b}[0mPLETE").replace("---LOOP", "\u{1b}[32m---LO\u{1b}[0mOP"),
        );
    }
}

#[test]
fn only_a_complete_block_counts_and_of_several_the_last() {
    // req: B-05 partly: the parser
    let open = LOOP.replace("---END_LOOP_STATUS---", "");
    expect!["invalid: the block has no end: ---END_LOOP_STATUS---"].assert_eq(&said(&open));
    expect!["invalid: the block has no end: ---END_LOOP_STATUS---"]
        .assert_eq(&said(&format!("{open}---END_STATUS---")));
    counts_not(&format!("{open}---END_LOOPR_STATUS---"));
    counts_not(&LOOP.replace("---LOOP_STATUS---", ""));
    counts_not("");
    let unfinished = LOOP.replace("COMPLETE\n", "IN_PROGRESS\n").replace("true", "false");
    counts(&format!("{unfinished}\n\n{LOOP}"));
    assert!(said(&format!("{LOOP}\n\n{unfinished}")).starts_with("IN_PROGRESS"));
    assert!(said(&format!("{LOOP}\n\n{}", LOOPR.replace("COMPLETE", "DONE"))).starts_with("invalid: STATUS"));
    // One that was begun again is read from where it was begun last, and an open one hides none before it.
    counts(&format!("{}\n{LOOP}", unfinished.replace("---END_LOOP_STATUS---", "")));
    assert!(said(&format!("{unfinished}\n{open}")).starts_with("IN_PROGRESS"));
    counts(&format!("---LOOPR_STATUS---\nSTATUS: BLOCKED\n{LOOP}\n---END_LOOPR_STATUS---"));
}

#[test]
fn a_fenced_block_counts_only_as_the_last_thing_of_a_message() {
    // req: B-05 partly: the parser
    for block in [LOOPR, LOOP] {
        for (open, close) in
            [("```", "```"), ("```text", "```"), ("~~~", "~~~~"), ("  ```yaml", "  ```"), ("````", "````")]
        {
            let fenced = format!("{open}\n{block}\n{close}");
            counts(&fenced);
            counts(&format!("All tests pass.\n\n{fenced}\n\n"));
            counts(&format!("Here is my status:\n\n{fenced}\n\n<promise>COMPLETE</promise>\n---\n"));
            counts_not(&format!("{fenced}\n\nThat is what a block looks like."));
            counts_not(&format!("The format:\n{fenced}\nI am not done yet."));
            counts_not(&format!("For example:\n\n{fenced}"));
            counts_not(&format!("This is what the block will look like.\n{fenced}"));
            counts_not(&format!("When all is done I will write:\n\n{fenced}"));
            counts_not(&format!("The prompt says to end with:\n\n{fenced}"));
        }
        counts(&format!("```\n{block}"));
        counts_not(&format!("I wrote PROMPT.md:\n\n```markdown\n# Task\nDo it, then say\n\n{block}\n\nThanks.\n```"));
        counts_not(&format!("```\n{}\n```\n{}", &block[..40], &block[40..]));
        // What is shown hides nothing that was said.
        let unfinished = block.replace(": COMPLETE", ": IN_PROGRESS");
        assert!(said(&format!("{unfinished}\n\nFor example:\n\n{block}")).starts_with("IN_PROGRESS"));
        counts(&format!("```\n{unfinished}\n```\n\nNow it is done.\n\n{block}"));
        // A slip with fences does not hide the end.
        counts(&format!("```markdown\n# Title\n```rust\nfn a() {{}}\n```\n```\n\nDone.\n\n{block}"));
        counts(&format!("```\nlog\n\nDone.\n\n{block}"));
    }
}

#[test]
fn a_quoted_block_does_not_count() {
    // req: B-05 partly: the parser
    for block in [LOOPR, LOOP] {
        let each = |before: &str| block.lines().map(|line| format!("{before}{line}\n")).collect::<String>();
        for before in ["> ", ">", "| ", "+", "// ", "12: ", "\"", "- "] {
            counts_not(&each(before));
            counts_not(&format!("You wrote:\n\n{}\nSo I go on.", each(before)));
        }
        counts_not(&format!("The block:\n\n{}\nis not what I may write yet.", each("    ")));
        counts_not(&format!("For example:\n\n{}", each("\t")));
        counts_not(&format!("For example:\n\n{block}\n\nbut I am not there yet."));
        counts_not(&format!("A block, e.g.:\n{block}"));
        counts_not(&format!("<example>\n{block}\n</example>"));
        counts(&format!("I added an example to the README.\n\n{block}"));
        counts(&format!("It will scale. Status:\n\n{block}"));
        counts(&format!("Done:\n\n{}", each("    ")));
    }
}

#[test]
fn an_echo_of_what_was_asked_does_not_count() {
    // req: B-05 partly: the parser
    // req: C-06
    for dialect in DIALECTS {
        let asked = system_prompt(Some(dialect), "Work well.");
        let example = &asked[asked.rfind(&format!("---{}---", dialect.name())).unwrap()..];
        let example = example.strip_suffix("\n\nWork well.").unwrap();
        assert!(said(example).starts_with("IN_PROGRESS"), "the parser accepts the example: {}", said(example));
        for echo in [asked.as_str(), example, &example.replace('\n', "\r\n"), &example.replace(" of your", "\nof your")]
        {
            assert_eq!(said_when_asked(echo, &asked), "nothing", "{echo}");
        }
        let own = if dialect == Dialect::Loop { LOOP } else { LOOPR };
        assert!(said_when_asked(&format!("{asked}\n\n{own}"), &asked).starts_with("COMPLETE"));
        assert!(said_when_asked(&format!("{own}\n\n{asked}"), &asked).starts_with("COMPLETE"));
        let quoted: String = own.lines().map(|line| format!("> {line}\n")).collect();
        assert_eq!(said_when_asked(own, &format!("Last time you said:\n{quoted}")), "nothing");
    }
}

#[test]
fn the_system_prompt_tells_every_field_and_value_and_then_what_the_user_adds() {
    // req: C-06
    for dialect in DIALECTS {
        let text = status_instructions(dialect);
        assert_eq!(system_prompt(Some(dialect), ""), text);
        assert_eq!(system_prompt(Some(dialect), " \n"), text);
        assert_eq!(system_prompt(Some(dialect), "Be brief.\n"), format!("{text}\n\nBe brief."));
        // The other name of a field need not be told.
        for field in dialect.fields().iter().filter(|field| **field != "TASKS_COMPLETED") {
            assert!(text.contains(&format!("\n{field} is ")) && text.contains(&format!("\n{field}: ")), "{field}");
        }
    }
    for word in ["IN_PROGRESS", "COMPLETE", "BLOCKED", "ERROR", "true", "false", "tests", "code", "docs", "other"] {
        assert!(status_instructions(Dialect::Loopr).contains(word), "{word}");
    }
    for word in ["PASSING", "FAILING", "NOT_RUN", "IMPLEMENTATION", "TESTING", "DOCUMENTATION", "REFACTORING"] {
        assert!(status_instructions(Dialect::Loop).contains(word), "{word}");
    }
    assert_eq!(system_prompt(None, ""), "");
    assert_eq!(system_prompt(None, "Be brief."), "Be brief.");
}

#[test]
fn a_long_text_is_read_in_a_moment_and_what_is_kept_is_short() {
    let long = "x".repeat(200_000);
    let claim = last(&LOOPR.replace("added the parser", &long), "").claim.unwrap();
    assert!(claim.summary.unwrap().len() < 2000);
    assert!(said(&LOOPR.replace("COMPLETE", &long)).len() < 200);
    // Shapes that would take minutes if anything here were done again for every line.
    for shape in [
        "---LOOP_STATUS---\n",
        "```a\n",
        "```\n",
        "~~~\n",
        "\n",
        "---LOOP_STATUS---\n---END_LOOP_STATUS---\n",
        "> ```\n",
        "<promise>\n",
    ] {
        let text = format!("```\n{}\n```\n", shape.repeat(30_000));
        assert_eq!(last(&text, &text).claim, None);
        assert_eq!(last(&shape.repeat(30_000), &text).claim, None);
    }
}
