//! Aider: how it is called, and what no recording shows of its text.
use loop_core::agent::{Failure, Permissions, Stdin, Terminal, Usage};
use loop_core::run::Ended;

use crate::agent_play::{Played, call, end, read, stream};

const HEAD: &str = "Detected dumb terminal.\n\nAider v0.86.2\nModel: x\nGit repo: none\nRepo-map: disabled\n\n";
const TOKENS: &str = "\nTokens: 1.8k sent, 42 received.\n";
const LIMITED: &str = "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for\n\
    gpt-test. Please try again in 20s.\nThe API provider has rate limited you. Try again later or check your quotas.\n";

fn class(error: &str) -> Option<Failure> {
    read("aider", &format!("{HEAD}{error}\n\n"), &Played::default()).failure
}

#[test]
fn the_prompt_comes_by_file_and_nothing_is_committed() {
    let args = ["--map-tokens".to_owned(), "0".to_owned()];
    let call_of =
        |permissions| call("aider", |ask| (ask.model, ask.args, ask.permissions) = (Some("gpt"), &args, permissions));
    let work = call_of(Permissions::Work);
    assert_eq!(work.stdin, Stdin::Nothing);
    assert_eq!(work.argv[3], "program", "the shell that starts it gets values as arguments alone");
    let words = work.argv[4..].join(" ");
    for part in [
        "--yes-always",
        "--no-auto-commits",
        "--no-dirty-commits",
        "--message-file /attempt/prompt.md",
        "/attempt/aider.chat.md",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(words.ends_with("--model gpt --map-tokens 0"), "{words}");
    assert!(call_of(Permissions::Edit).argv.contains(&"--no-suggest-shell-commands".to_owned()));
}

#[test]
fn each_error_has_its_class() {
    let rows = [
        ("litellm.RateLimitError: Rate limit reached. Add a payment method at https://x/billing", Failure::RateLimit),
        ("litellm.RateLimitError: You exceeded your current quota. Please retry in 34s.", Failure::RateLimit),
        ("litellm.AuthenticationError: AuthenticationError: x", Failure::Auth),
        ("litellm.PermissionDeniedError: no", Failure::Auth),
        (
            "litellm.BadRequestError: OpenAIException - Your input exceeds the context window\nof this model.",
            Failure::Context,
        ),
        ("litellm.ContextWindowExceededError: x", Failure::Context),
        ("Model openai/x has hit a token limit!\nToken counts below are approximate.", Failure::Context),
        (
            "litellm.RateLimitError: You exceeded your current quota, please check your plan and\nbilling details.",
            Failure::Billing,
        ),
        ("litellm.BadRequestError: Your credit balance is too low", Failure::Billing),
        ("litellm.BadRequestError: VertexAIException - API key not valid. Please pass a valid API key.", Failure::Auth),
        ("litellm.InternalServerError: AnthropicException - overloaded_error", Failure::Overload),
        ("litellm.InternalServerError: InternalServerError: OpenAIException - Connection\nerror.", Failure::Network),
        ("litellm.APIConnectionError: x", Failure::Network),
        ("litellm.Timeout: APITimeoutError - Request timed out.", Failure::Network),
        ("litellm.ContentPolicyViolationError: x", Failure::Refusal),
        ("litellm.NotFoundError: The model `x` does not exist", Failure::Crash),
    ];
    for (error, expected) in rows {
        assert_eq!(class(error), Some(expected), "{error}");
    }
}

#[test]
fn words_of_the_model_that_look_like_an_error_are_words() {
    let answer = "I saw this:\n\nlitellm.AuthenticationError: no\nRetrying in 32.0 seconds...\n\nand mended it.";
    let stderr = "TO LLM 2026-11-16T06:03:29\n-------\nSYSTEM be kind\n-------\nUSER do it\nLLM RESPONSE 2026-11-16T06:03:30\n\
        ASSISTANT I saw this:\nASSISTANT \nASSISTANT litellm.AuthenticationError: no\n";
    let reading = read("aider", &format!("{HEAD}{answer}\n{TOKENS}"), &Played { stderr, ..Played::default() });
    assert_eq!((reading.failure, reading.terminal), (None, Terminal::Success));
    assert_eq!(reading.text, "I saw this:\n\nlitellm.AuthenticationError: no");
}

#[test]
fn its_log_says_whose_words_are_whose() {
    let stdout = format!(
        "{HEAD}first{TOKENS}\n# 1 SEARCH/REPLACE block failed\n---STATUS---\nsecond{TOKENS}Applied edit to a\n"
    );
    let plain = read("aider", &stdout, &Played::default());
    assert!(
        plain.text.ends_with("second") && plain.text.contains("failed"),
        "without it, it cannot be told: {}",
        plain.text
    );
    let log = |rest: &str| format!("-------\nASSISTANT an example\n-------\nUSER do it\n{rest}");
    let told = log("LLM RESPONSE 2026-11-16T06:03:30\nASSISTANT second\n\n");
    assert_eq!(read("aider", &stdout, &Played { stderr: &told, ..Played::default() }).text, "second");
    let cut = "ow this\nASSISTANT second\n";
    assert_eq!(read("aider", &stdout, &Played { stderr: cut, ..Played::default() }).text, "second");
    let empty = log("LLM RESPONSE 2026-11-16T06:03:30\n\n");
    assert_eq!(read("aider", &stdout, &Played { stderr: &empty, ..Played::default() }).text, plain.text);
}

#[test]
fn tokens_and_cost_are_added_up() {
    let stdout = format!(
        "{HEAD}a\n\nTokens: 2.5k sent, 1k cache write, 500 cache hit, 34 received. Cost: $0.01 message, $0.01 session.\nb\n\n\
         Tokens: 12k sent, 1,200 received. Cost: $0.0042 message, $0.0142 session.\n"
    );
    let expected = Usage {
        input_tokens: Some(14_000),
        output_tokens: Some(1234),
        cache_read_tokens: Some(500),
        cache_creation_tokens: Some(1000),
        cost_micros: Some(14_200),
        turns: Some(2),
    };
    assert_eq!(read("aider", &stdout, &Played::default()).usage, expected);
}

#[test]
fn a_retry_of_its_own_is_seen_and_is_the_reason_when_we_end_it() {
    let mut waiting = stream("aider", Usage::default());
    waiting.push(format!("{HEAD}{LIMITED}Retrying in 0.2 seconds...\n").as_bytes());
    assert!(waiting.is_retrying());
    let reading = end(waiting, &Played { ended: Ended::ByUs, ..Played::default() });
    assert_eq!(reading.failure, Some(Failure::RateLimit));
    assert_eq!(reading.reset.map(|reset| reset.at_ms), Some(crate::agent_play::NOW_MS + 20_000));
    let over = read("aider", &format!("{HEAD}{LIMITED}Retrying in 0.2 seconds...\ndone\n{TOKENS}"), &Played::default());
    assert_eq!((over.failure, over.text.as_str()), (None, "done"));
    let working = read("aider", &format!("{HEAD}I am at"), &Played { ended: Ended::ByUs, ..Played::default() });
    assert_eq!((working.failure, working.terminal), (None, Terminal::Missing));
}

#[test]
fn without_a_key_it_is_not_waited_for() {
    let mut waiting = stream("aider", Usage::default());
    waiting.push(b"Detected dumb terminal.\n\nNo LLM model was specified and no API keys were provided.\nOpenRouter provides\n\nWaiting up to 5 minutes\n");
    assert!(waiting.is_retrying());
    assert_eq!(end(waiting, &Played { ended: Ended::ByUs, ..Played::default() }).failure, Some(Failure::Auth));
}
