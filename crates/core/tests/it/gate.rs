//! The three answers of a gate, and the leading `!`.
use loop_core::machine::consult;
use loop_core::policy::gate::{
    EarlierTests, ExitContradiction, PassesNeeded, Promise, Tally, TryEvidence, Verdict, contradiction,
};
use loop_core::run::Ended;
use loop_core::test_output::TestsSeen;

fn judge(line: &str, ended: &Ended, ran_before: bool) -> Verdict {
    consult(|deciding| Promise::parse(line).judge(ended, ran_before, deciding))
}

#[test]
fn exit_codes_signals_and_timeouts_have_three_meanings() {
    // req: D-25
    use Verdict::{Fail, Pass, Unverifiable};
    let cases = [
        (Ended::Exit(0), Pass, Pass),
        (Ended::Exit(1), Fail, Fail),
        (Ended::Exit(2), Fail, Fail),
        (Ended::Exit(255), Fail, Fail),
        (Ended::Exit(126), Unverifiable, Unverifiable),
        (Ended::Exit(127), Unverifiable, Unverifiable),
        (Ended::Exit(137), Unverifiable, Unverifiable),
        (Ended::Signal(9), Unverifiable, Unverifiable),
        (Ended::Signal(11), Unverifiable, Fail),
        (Ended::ByUs, Unverifiable, Fail),
        (Ended::NotStarted("no such folder".into()), Unverifiable, Unverifiable),
    ];
    for (ended, first, later) in cases {
        assert_eq!(judge("make test", &ended, false), first, "{ended:?} of a gate that never ran");
        assert_eq!(judge("make test", &ended, true), later, "{ended:?} of a gate that ran before");
    }
}

#[test]
fn a_leading_exclamation_mark_is_done_by_the_harness() {
    // req: D-25
    use Verdict::{Fail, Pass, Unverifiable};
    for line in [
        "! grep -q TODO src/",
        "!grep -q TODO src/",
        "  ! LC_ALL=C /usr/bin/grep TODO x",
        "! cat a | rg TODO",
        "! git grep -q TODO",
        "! git -C . grep foo",
        "! grep x nofile ;",
        "! grep x nofile # a; b",
        "! \"grep\" x nofile",
        "! command grep -q x nofile",
        "! env A=b timeout 5 grep x nofile",
        "! (grep -q x nofile)",
        "! (cd src && grep -rq x .)",
        "! find src -name '*.c' -exec grep -q TODO {} \\;",
        "! (true;grep -q TODO nosuch)",
        "! (cat a|grep -q TODO --badflag)",
        "! sh -c \"cd .;grep -q TODO nosuch\"",
        "! grep<nosuch TODO",
        "! grep -q TODO nosuch >| out",
        "! xzgrep -q TODO nosuch",
        "! pgrep --badflag",
        "! diff -q a b",
        "! [ -e $f ]",
        "! test -e $f",
    ] {
        let promise = Promise::parse(line);
        assert!(promise.negated && promise.searches, "{line}");
        assert!(!promise.command.contains('!'), "{line}");
        for (code, verdict) in [(0, Fail), (1, Pass), (2, Unverifiable), (127, Unverifiable)] {
            assert_eq!(judge(line, &Ended::Exit(code), true), verdict, "{line}: {code}");
        }
    }
    for (code, verdict) in [
        (0, Fail),
        (1, Pass),
        (2, Pass),
        (126, Unverifiable),
        (127, Unverifiable),
        (128, Unverifiable),
        (139, Unverifiable),
    ] {
        assert_eq!(judge("! ./has-bug", &Ended::Exit(code), true), verdict, "{code}");
    }
    for ended in [Ended::Signal(15), Ended::ByUs, Ended::NotStarted(String::new())] {
        assert_eq!(judge("! ./has-bug", &ended, true), Unverifiable);
    }
}

#[test]
fn an_escaped_semicolon_is_an_argument_and_a_timeout_is_no_answer() {
    // req: D-25
    let line = "! find . -exec ./check {} \\;";
    assert!(Promise::parse(line).command.ends_with("\\;"), "{:?}", Promise::parse(line));
    assert_eq!(judge("! timeout 5 ./check", &Ended::Exit(124), true), Verdict::Unverifiable);
    assert_eq!(judge("! ./check", &Ended::Exit(124), true), Verdict::Pass);
}

#[test]
fn one_command_is_told_from_several_through_quotes_and_brackets() {
    let ours = [
        "! grep 'a;b && c' x",
        "! grep \"a|| \\\" ;\" x | sort",
        "! (cd a && make lint)",
        "! test -n \"$(git status; true)\"",
        "! make 2>&1",
        "! make &> log",
        "! { a; b; }",
        "! nosuch # a; b",
        "! nosuch;",
        "! a#b",
    ];
    for line in ours {
        assert!(Promise::parse(line).negated, "{line}");
    }
    for line in ["! a && b", "! a || b", "! a; b", "! a\nb", "! a & b", "! a &", "! a )", "! a # x\nb", "! echo 'open"]
    {
        let promise = Promise::parse(line);
        assert!(!promise.negated && promise.left_to_shell && promise.command == line.trim(), "{line}");
    }
    assert!(!Promise::parse("make test").left_to_shell);
}

#[test]
fn several_tries_are_one_answer_as_soon_as_no_further_one_can_change_it() {
    use Verdict::{Fail, Pass, Unverifiable};
    let after = |tries: &[Verdict], needs: (u32, u32)| {
        let tally = tries.iter().fold(Tally::default(), |tally, one| tally.with(*one));
        assert_eq!(tally.tries() as usize, tries.len());
        let (passes, tries) = needs;
        consult(|deciding| tally.verdict(PassesNeeded { passes, tries }, deciding))
    };
    for (tries, wanted) in [
        (&[][..], None),
        (&[Pass], None),
        (&[Fail], None),
        (&[Unverifiable], None),
        (&[Pass, Pass], Some(Pass)),
        (&[Pass, Fail], None),
        (&[Pass, Unverifiable], None),
        (&[Fail, Fail], Some(Fail)),
        (&[Fail, Unverifiable], Some(Unverifiable)),
        (&[Unverifiable, Unverifiable], Some(Unverifiable)),
        (&[Pass, Fail, Pass], Some(Pass)),
        (&[Pass, Fail, Fail], Some(Fail)),
        (&[Pass, Unverifiable, Fail], Some(Unverifiable)),
    ] {
        assert_eq!(after(tries, (2, 3)), wanted, "{tries:?}");
    }
    for one in [Pass, Fail, Unverifiable] {
        assert_eq!(after(&[one], (1, 1)), Some(one));
    }
    assert_eq!(after(&[Fail, Fail], (1, 3)), None);
    assert_eq!(after(&[Fail, Fail, Fail], (1, 3)), Some(Fail));
    assert_eq!([Pass, Fail, Unverifiable].map(Verdict::name), ["pass", "fail", "unverifiable"]);
}

#[test]
fn only_what_speaks_last_in_a_pipe_says_by_two_that_it_could_not_search() {
    let two = |line: &str| judge(line, &Ended::Exit(2), true);
    for kept in ["! grep x f | sort", "! grep x f|sort", "! echo [|sort", "! cat '|' x | sort", "! a 2>&1 | sort"] {
        assert_eq!(two(kept), Verdict::Pass, "{kept}");
    }
    for unknown in ["! sort f | grep x", "! (grep x f | sort)", "! grep x f >| out", "! { grep x f | sort; }"] {
        assert_eq!(two(unknown), Verdict::Unverifiable, "{unknown}");
    }
    let late = |line: &str| judge(line, &Ended::Exit(124), true);
    assert_eq!(late("! timeout 5 make | sort"), Verdict::Pass);
    assert_eq!(late("! make | timeout 5 sort"), Verdict::Unverifiable);
}

#[test]
fn several_commands_behind_the_mark_are_left_to_the_shell_however_they_are_written() {
    for line in [
        "! a; b",
        "! a\nb",
        "! a & b",
        "! a && b",
        "! a || b",
        "! echo a#b; b",
        "! a # why\nb",
        "! (a",
        "! a)",
        "! echo 'a",
        "! echo \"a\\\"; b",
        "! echo `a",
    ] {
        assert!(Promise::parse(line).left_to_shell, "{line}");
    }
    for line in
        ["! (a; b)", "! a # b; c", "! a ';' b", "! a \\; b", "! a 2>&1", "! a &> f", "! a |& b", "! | x", "!", "! a;"]
    {
        assert!(!Promise::parse(line).left_to_shell, "{line}");
    }
}

#[test]
fn no_test_contradicts_exit_0_only_where_some_ran_before() {
    let said = |most| {
        let earlier = EarlierTests { most, accepted: 0 };
        consult(|deciding| contradiction(Some(&TestsSeen::default()), earlier, deciding))
    };
    assert_eq!(said(0), None);
    assert_eq!(said(3), Some(ExitContradiction::NoTests { before: 3 }));
}

#[test]
fn failing_tests_contradict_a_pass_by_exit_code_and_nothing_else() {
    let tests = TestsSeen { failed: 2, ..TestsSeen::default() };
    let judged = |promise: &str, code| {
        let tried = TryEvidence {
            ended: &Ended::Exit(code),
            tests: Some(&tests),
            ran_before: true,
            earlier: Some(EarlierTests::default()),
            trust_exit: false,
        };
        let found = consult(|deciding| Promise::parse(promise).judge_try(&tried, deciding));
        (found.verdict, found.contradiction)
    };
    let failing = Some(ExitContradiction::FailingTests { count: 2 });
    assert_eq!(judged("pytest", 0), (Verdict::Fail, failing));
    assert_eq!(judged("pytest", 1), (Verdict::Fail, None));
    assert_eq!(judged("! pytest", 1), (Verdict::Pass, None));
}

#[test]
fn a_red_gate_passes_only_when_tests_ran_and_one_of_them_fails_that_did_not_before() {
    // req: D-11 partly: a gate that demands a red run
    use Verdict::{Fail, Pass, Unverifiable};
    let seen = |passed, failed| Some(TestsSeen { passed, failed, ..TestsSeen::default() });
    let unloaded = Some(TestsSeen { failed: 1, files_only: true, ..TestsSeen::default() });
    let accepted = |accepted| Some(EarlierTests { most: 3, accepted });
    let cases = [
        (Ended::Exit(1), seen(2, 1), accepted(0), Pass),
        (Ended::Exit(1), seen(2, 1), None, Pass),
        // All pass; nothing ran; a file of tests cannot be loaded; no output that is known.
        (Ended::Exit(0), seen(3, 0), accepted(0), Fail),
        (Ended::Exit(1), seen(0, 0), accepted(0), Fail),
        (Ended::Exit(1), unloaded, accepted(0), Fail),
        (Ended::Exit(101), None, accepted(0), Fail),
        // It failed before any work.
        (Ended::Exit(1), seen(2, 1), accepted(1), Fail),
        (Ended::Exit(1), seen(2, 2), accepted(1), Pass),
        // A command that says that all is well is not red, whatever it prints.
        (Ended::Exit(0), seen(2, 1), accepted(0), Fail),
        (Ended::Exit(127), seen(2, 1), accepted(0), Unverifiable),
    ];
    for (ended, tests, earlier, verdict) in cases {
        let (tests, trust_exit) = (tests.as_ref(), false);
        let tried = TryEvidence { ended: &ended, tests, ran_before: true, earlier, trust_exit };
        let judged = consult(|deciding| Promise::parse("make test").wanting_red().judge_try(&tried, deciding));
        assert_eq!((judged.verdict, judged.contradiction), (verdict, None), "{ended:?} {tests:?} {earlier:?}");
    }
}
