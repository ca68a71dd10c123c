//! `<promise>` and `<progress>`: what counts and what does not.
use loop_core::agent::claims::markers::{PROGRESS_MAX, find};

fn promise(text: &str) -> Option<String> {
    find(text, "").promise
}

fn progress(text: &str) -> Vec<String> {
    find(text, "").progress
}

#[test]
fn a_promise_counts_alone_on_its_line_or_after_the_end_of_a_sentence() {
    // req: A-26 partly: reading the marks
    for text in [
        "<promise>DONE</promise>",
        "All tests pass.\n\n<promise>DONE</promise>\n",
        "All tests pass. <promise>DONE</promise>",
        "**<promise>DONE</promise>**",
        "<PROMISE> DONE </Promise>",
        "<promise>\nDONE\n</promise>",
        "<progress>did it</progress><promise>DONE</promise>",
        "Good.\n```\n<promise>DONE</promise>\n```\n",
        "<promise>EARLIER</promise>\nno, rather:\n<promise>DONE</promise>",
        "\u{1b}[1m<prom\u{1b}[0mise>DONE</promise>",
    ] {
        assert_eq!(promise(text).as_deref(), Some("DONE"), "{text}");
    }
}

#[test]
fn a_promise_that_is_spoken_of_quoted_or_empty_does_not_count() {
    // req: A-26 partly: reading the marks
    for text in [
        "I will not say <promise>DONE</promise> before the tests pass.",
        "I cannot say <promise>DONE</promise>",
        "When it is done I will say: <promise>DONE</promise>",
        "Say `<promise>DONE</promise>`",
        "`<promise>DONE</promise>`",
        "> <promise>DONE</promise>",
        "```\n<promise>DONE</promise>\n```\nis what I will say.",
        "For example:\n<promise>DONE</promise>",
        "<promise></promise>",
        "<promise> \n </promise>",
        "<promise>DONE</promise>\n<promise></promise>",
        "<promise>DONE",
        "DONE</promise>",
    ] {
        assert_eq!(promise(text), None, "{text}");
    }
    assert_eq!(promise(&format!("<promise>{}</promise>", "x".repeat(5000))), None);
}

#[test]
fn a_prompt_that_names_the_promise_is_no_reason_to_refuse_it_but_an_echo_of_the_prompt_is() {
    // req: A-26 partly: reading the marks
    for asked in [
        "Fix it. Output `<promise>DONE</promise>` when done.",
        "Fix it.\nWhen all tests pass, output\n\n<promise>DONE</promise>\n\nand stop.",
        "Fix it. When all tests pass, end with this line. <promise>DONE</promise>",
    ] {
        assert_eq!(find("<promise>DONE</promise>", asked).promise.as_deref(), Some("DONE"), "{asked}");
        assert_eq!(find("All pass.\n<promise>DONE</promise>", asked).promise.as_deref(), Some("DONE"), "{asked}");
        assert_eq!(find(asked, asked).promise, None, "{asked}");
        let quoted = asked.replace('\n', "\n> ");
        assert_eq!(find(asked, &quoted).promise, None, "{asked}");
    }
    assert_eq!(find("<progress>description</progress>", "say <progress>description</progress>").progress.len(), 0);
}

#[test]
fn marks_of_progress_are_all_kept_up_to_a_bound() {
    // req: A-26 partly: reading the marks
    let text = "First <progress>wrote the parser</progress>, then\n<progress> tests\n for it </progress>\n`<progress>x</progress>`\n\
                > <progress>y</progress>\n<progress></progress>\n```\n<progress>z</progress>\n```\nend";
    assert_eq!(progress(text), ["wrote the parser", "tests for it"]);
    let many = "<progress>a</progress>".repeat(100_000);
    assert_eq!(progress(&many).len(), PROGRESS_MAX);
    assert!(progress(&format!("<progress>{}</progress>", "x".repeat(2000)))[0].len() < 1000);
}

#[test]
fn a_long_text_of_marks_is_read_in_a_moment() {
    for shape in [
        "<promise>",
        "</promise>",
        "<promise>a</promise>",
        "<progress></progress>",
        "<promise>a</promise>\n",
        "`<promise>a</promise>\n",
    ] {
        for wrapped in [shape.repeat(10_000), format!("words\n```\nwords\n{}\n```\n", shape.repeat(10_000))] {
            let marks = find(&wrapped, &wrapped);
            assert!(marks.progress.is_empty());
        }
    }
}
