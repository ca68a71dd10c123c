//! Money and tokens: amounts, prices, what is left, and which cap of a day stands in the way.
use expect_test::expect;
use loop_core::agent::Usage;
use loop_core::machine::consult;
use loop_core::policy::budget::{
    MICROS, least, money_exact, money_pair, money_text, parse_money, remainder, share, warns,
};
use loop_core::policy::prices::{Price, Prices, cost_of};
use loop_core::policy::reserve::{CallCost, Cap, DAY_MS, Day, Reserved, Wanted, day_cap, day_of, next_day_in_ms};
use loop_core::refusal::Refusal;
use loop_core::run::StreamReport;
use loop_core::run::decide::{cost_of_call, model_of_call};
use loop_core::settings::prices_from_toml;

use crate::play::Story;
use crate::world::Seed;

#[test]
fn money_is_read_as_people_write_it_and_nothing_else_is() {
    for (text, micros) in [
        ("2.50", 2_500_000),
        ("$2.50", 2_500_000),
        (" 2.5 USD ", 2_500_000),
        ("2.5usd", 2_500_000),
        ("$ 7", 7_000_000),
        ("0", 0),
        ("0.000001", 1),
        ("10.1000000000", 10_100_000),
        ("999999999.999999", 999_999_999_999_999),
    ] {
        assert_eq!(parse_money(text), Ok(micros), "{text}");
    }
    for text in [
        "",
        "$",
        "USD",
        "-1",
        "$-1",
        "- 1",
        "+1",
        "NaN",
        "inf",
        "1e3",
        "1,50",
        "1.2.3",
        ".5",
        "5.",
        "0.0000001",
        "1000000000",
        "99999999999999999999999",
        "2 50",
        "€5",
        "5 EUR",
        "0x10",
        "1_000",
        "٣",
    ] {
        let Refusal { why, hint } = parse_money(text).expect_err(text);
        assert!(!why.is_empty() && hint.contains("2.50"), "{text}");
    }
}

#[test]
fn what_is_written_is_read_back_and_what_people_see_is_cents() {
    let mut seed = Seed::new(7);
    for _ in 0..2000 {
        let digits = seed.below(15) + 1;
        let micros = seed.below(10_u64.pow(u32::try_from(digits).unwrap()));
        assert_eq!(parse_money(&money_exact(micros)), Ok(micros));
        let shown = parse_money(&money_text(micros)).unwrap();
        assert!(shown.abs_diff(micros) <= 5_000 && (micros >= 10_000 || shown == micros), "{micros}");
    }
    let shown = [0, 1, 4_200, 9_999, 10_000, 14_999, 15_000, 995_000, 12_345_678_900_000, u64::MAX].map(money_text);
    expect![[r#"$0.00 $0.000001 $0.0042 $0.009999 $0.01 $0.01 $0.02 $1.00 $12345678.90 $18446744073709.55"#]]
        .assert_eq(&shown.join(" "));
}

#[test]
fn two_amounts_that_differ_never_look_the_same() {
    // CLI-D15c
    let mut seed = Seed::new(8);
    for _ in 0..2000 {
        let one = seed.below(100_000);
        let other = one.saturating_add(seed.below(20_000));
        let (shown, most) = money_pair(one, other);
        assert_eq!(shown == most, one == other, "{one} {other}: {shown} of {most}");
    }
    assert_eq!(money_pair(12_400, 10_000), ("$0.0124".to_owned(), "$0.01".to_owned()));
}

const TABLE: &str = "# mine\n\nclaude-sonnet*  input=3 output=$15.00 cache_read=0.3 cache_write=3.75\n\
                     gpt-* output=10 input=1.25\n* input=0.5 output=0.5\n";

fn usage(input: u64, output: u64) -> Usage {
    Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() }
}

#[test]
fn prices_are_read_line_by_line_and_their_text_is_always_the_same() {
    let prices = Prices::parse(TABLE).unwrap();
    expect![[r#"
        claude-sonnet* input=3.00 output=15.00 cache_read=0.30 cache_write=3.75
        gpt-* input=1.25 output=10.00 cache_read=1.25 cache_write=1.25
        * input=0.50 output=0.50 cache_read=0.50 cache_write=0.50"#]]
    .assert_eq(&prices.to_string());
    assert_eq!(Prices::parse(&prices.to_string()), Ok(prices));
    assert!(Prices::parse("").unwrap().is_empty() && !Prices::parse(TABLE).unwrap().is_empty());
}

#[test]
fn a_wrong_price_is_named_with_its_model() {
    let wrong = |text: &str| Prices::parse(text).map(|_| ()).expect_err(text);
    let many: String = (0..33).map(|number| format!("m{number} input=1 output=1\n")).collect();
    let long: String = (0..20).map(|number| format!("{number}{} input=1 output=1\n", "m".repeat(100))).collect();
    let told = [
        "gpt input=1",
        "gpt input=1 output=x",
        "gpt input=1 output=-2",
        "gpt input=1 output=2 inptu=3",
        "gpt input=1 input=2 output=2",
        "gpt input=1 output=2 cheap",
        "input=1 output=2",
        "a input=1 output=2\na input=2 output=2",
        &many,
        &long,
    ]
    .map(|text| wrong(text).why)
    .join("\n");
    expect![[r#"
        gpt: output is missing
        gpt: output: it is not an amount of dollars
        gpt: output: an amount of money is never below zero
        gpt: there is no price called inptu
        gpt: input stands there twice
        gpt: "cheap" is not a price
        "input=1" is not a name of a model
        a has a price already
        there are more than 32 prices
        they are longer than 2048 bytes"#]]
    .assert_eq(&told);
    assert_eq!(wrong("gpt input=1 output=2 inptu=3").hint, "did you mean input?");
}

#[test]
fn what_the_program_told_wins_over_the_table_and_what_nobody_knows_is_unknown() {
    let prices = Prices::parse(TABLE).unwrap();
    let cost = |usage: &Usage, model| consult(|deciding| cost_of(usage, model, &prices, deciding));
    let sonnet = Some("claude-sonnet-5");
    assert_eq!(cost(&usage(1_000_000, 100_000), sonnet), Some(4_500_000));
    let cached = Usage { cache_read_tokens: Some(1_000_000), cache_creation_tokens: Some(2_000_000), ..usage(0, 0) };
    assert_eq!(cost(&cached, sonnet), Some(300_000 + 7_500_000));
    assert_eq!(cost(&Usage { cost_micros: Some(42), ..cached }, sonnet), Some(42));
    assert_eq!(cost(&usage(1_000_000, 0), Some("gpt-6")), Some(1_250_000), "the first that fits holds");
    assert_eq!(cost(&usage(1_000_000, 0), None), Some(500_000), "a model that nobody named has the price of all");
    assert_eq!(cost(&usage(1, 0), sonnet), Some(3));
    assert_eq!(cost(&usage(1, 0), Some("x")), Some(1), "rounded up");
    for unknown in
        [Usage::default(), Usage { input_tokens: None, ..usage(0, 9) }, Usage { output_tokens: None, ..usage(9, 0) }]
    {
        assert_eq!(cost(&unknown, sonnet), None);
    }
    let gpt = Prices::parse("gpt* input=1 output=1").unwrap();
    for model in [Some("mine"), None] {
        assert_eq!(consult(|deciding| cost_of(&usage(1, 1), model, &gpt, deciding)), None);
    }
    assert_eq!(cost(&usage(u64::MAX, u64::MAX), sonnet), Some(u64::MAX), "never round the corner");
}

#[test]
fn tables_of_a_toml_file_are_the_same_prices_in_their_order() {
    let text = "agent = \"codex\"\n[prices.\"gpt-*\"]\ninput = 1.25\noutput = 10\n\
                [prices.\"*\"]\ninput = 1_000.10\noutput = \"$3.00\"\ncache_read = 0.000001\n";
    expect![[r#"
        gpt-* input=1.25 output=10.00 cache_read=1.25 cache_write=1.25
        * input=1000.10 output=3.00 cache_read=0.000001 cache_write=1000.10"#]]
    .assert_eq(&prices_from_toml(text, "config.toml").unwrap().to_string());
    assert!(prices_from_toml("agent = \"codex\"", "config.toml").unwrap().is_empty());
    let wrong = [
        "[prices.a]\ninput = 1.0\n",
        "\n[prices.a]\ninput = nan\noutput = 1\n",
        "[prices.a]\ninput = 1e3\noutput = 1\n",
        "[prices.a]\ninput = true\noutput = 1\n",
        "[prices]\na = 3\n",
        "[prices.\"a b\"]\ninput = 1\noutput = 1\n",
        "[prices",
    ]
    .map(|text| {
        let error = prices_from_toml(text, "config.toml").expect_err(text);
        format!("{error}: {}", error.why())
    });
    expect![[r#"
        config.toml:1: prices cannot be "a": a: output is missing
        config.toml:2: prices cannot be "a": a: input: it is not an amount of dollars
        config.toml:1: prices cannot be "a": a: input: it is not an amount of dollars
        config.toml:1: prices cannot be "a": input must be a number and is boolean
        config.toml:2: prices cannot be "a": it must be a table and is integer
        config.toml:1: prices cannot be "a b": "a b" is not a name of a model"#]]
    .assert_eq(&wrong[..6].join("\n"));
    assert!(wrong[6].contains("not a valid settings file"));
}

#[test]
fn a_person_is_warned_once_at_four_fifths_and_the_rest_is_never_below_zero() {
    let cap = 10 * MICROS;
    assert_eq!([0, 7_999_999, 8_000_000, cap, 3 * cap].map(|spent| share(spent, cap)), [0, 79, 80, 100, 300]);
    assert!(warns(7_999_999, 8_000_000, cap) && warns(0, 3 * cap, cap));
    assert!(!warns(8_000_000, 9_000_000, cap) && !warns(0, 7_999_999, cap));
    assert_eq!((share(0, 0), share(u64::MAX, 1), remainder(5, 9), remainder(9, 5)), (100, u32::MAX, 0, 4));
    assert_eq!(
        [least(Some(3), Some(2)), least(None, Some(2)), least(Some(3), None), least(None, None)],
        [Some(2), Some(2), Some(3), None]
    );
}

#[test]
fn what_was_not_told_counts_as_the_worst_case_and_says_so() {
    let worst = Wanted { worst_micros: 5 * MICROS, worst_tokens: 1000, ..Wanted::default() };
    let spent = |cost, tokens| CallCost::of(cost, tokens, &worst);
    assert_eq!(spent(Some(2), Some(3)), CallCost { cost_micros: 2, tokens: 3, told: true, tokens_told: true });
    assert_eq!(spent(None, Some(4)), CallCost { cost_micros: 5 * MICROS, tokens: 4, told: false, tokens_told: true });
    assert_eq!(spent(Some(1), None), CallCost { cost_micros: 1, tokens: 1000, told: true, tokens_told: false });
    assert_eq!(spent(None, None), CallCost { cost_micros: 5 * MICROS, tokens: 1000, told: false, tokens_told: false });
}

#[test]
fn days_add_up_and_only_a_call_that_was_granted_has_a_number() {
    let day = |number: u32| Day { calls: number, cost_micros: 10, tokens: 20, untold: 1 };
    assert_eq!(day(3).plus(day(4)), Day { calls: 7, cost_micros: 20, tokens: 40, untold: 2 });
    let granted = Reserved::Granted {
        ledger: None,
        reservation: 7,
        hour_calls: 0,
        oldest_ms: None,
        next_free_ms: None,
        day: day(1),
        left_micros: None,
        left_tokens: None,
    };
    let denied = Reserved::Denied { ledger: None, cap: Cap::CallsPerDay, free_in_ms: None, hour_calls: 0, day: day(1) };
    assert_eq!([granted.number(), denied.number()], [Some(7), None]);
}

#[test]
fn a_table_of_prices_and_the_name_of_a_model_have_a_longest_length() {
    let line = |number: usize, more: usize| format!("m{number:02}{} input=1 output=2", "x".repeat(more));
    let of = |last: usize| (0..20).map(|number| line(number, if number == 0 { last } else { 40 })).collect::<Vec<_>>();
    let length = |last: usize| Prices::parse(&of(last).join("\n")).unwrap().to_string().len();
    let room = 2048 - length(0);
    assert_eq!(length(room), 2048);
    assert!(Prices::parse(&of(room + 1).join("\n")).unwrap_err().why.contains("longer than 2048 bytes"));
    let named = |model: &str| Prices::parse(&format!("{model} input=1 output=2"));
    assert!(named(&"m".repeat(128)).is_ok() && named(&"m".repeat(129)).is_err());
    let told = [("input", "1"), ("output", "2")].into_iter().collect();
    for model in ["", "#m", "a b", "a=b"] {
        assert!(Price::of(model, &told).is_err(), "{model:?}");
    }
}

#[test]
fn days_are_those_of_utc() {
    assert_eq!(
        (day_of(DAY_MS - 1), day_of(DAY_MS), next_day_in_ms(DAY_MS - 1), next_day_in_ms(DAY_MS)),
        (0, 1, 1, DAY_MS)
    );
}

#[test]
fn a_cap_of_the_day_holds_until_tomorrow_or_until_a_running_call_is_over() {
    let wanted = Wanted {
        calls_per_day: Some(3),
        cost_per_day_micros: Some(100),
        tokens_per_day: Some(50),
        ..Wanted::default()
    };
    let day = |calls, cost_micros, tokens| Day { calls, cost_micros, tokens, untold: 0 };
    let noon = DAY_MS / 2;
    let judged = |used: Day, open: Day| day_cap(&wanted, used, open, noon);
    let none = Day::default();
    assert_eq!(judged(day(2, 99, 49), none), None);
    assert_eq!(judged(day(3, 0, 0), none), Some((Cap::CallsPerDay, Some(noon))));
    assert_eq!(judged(day(2, 100, 0), none), Some((Cap::CostPerDay, Some(noon))));
    assert_eq!(judged(day(2, 0, 70), none), Some((Cap::TokensPerDay, Some(noon))));
    assert_eq!(judged(day(2, 100, 0), day(1, 1, 0)), Some((Cap::CostPerDay, None)), "the running call may be cheaper");
    assert_eq!(judged(day(3, 0, 0), day(1, 0, 0)), Some((Cap::CallsPerDay, Some(noon))), "a running call is a call");
    assert_eq!(
        judged(day(2, 100, 50), day(1, 9, 0)),
        Some((Cap::TokensPerDay, Some(noon))),
        "what is sure comes first"
    );
    assert_eq!(day_cap(&Wanted::default(), day(9, 900, 900), none, noon), None);
}

#[test]
fn a_call_of_an_agent_that_names_no_model_costs_what_the_chosen_model_does() {
    let settings =
        [("agent", "codex"), ("agent_model", "gpt-x"), ("prices", "gpt-x input=1 output=2"), ("max_cost", "9")];
    let mut story = Story::new(&settings);
    story.say("opened / saved / fail / agent-ok");
    let stream = StreamReport { usage: usage(1_000_000, 0), ..StreamReport::default() };
    assert_eq!(model_of_call(&story.state, &stream), Some("gpt-x"));
    assert_eq!(consult(|deciding| cost_of_call(&story.state, &stream, deciding)), Some(1_000_000));
    let named = StreamReport { model: Some("other".to_owned()), ..stream };
    assert_eq!(consult(|deciding| cost_of_call(&story.state, &named, deciding)), None);
}
