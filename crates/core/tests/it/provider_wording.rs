//! Every sentence has one class, whoever shows it; where a vendor means something else by it, the row says so.
use loop_core::agent::provider::wording::{ProviderError, VENDORS, Vendor, of_code, of_words};
use loop_core::agent::{Begin, End, Failure, Stream, adapter};
use loop_core::run::Ended;
use serde_json::json;

use Failure::{Auth, Billing, Context, Model, Network, Overload, RateLimit, Refusal, TurnLimit};

/// A sentence, its class, and the vendors by whom it means something else.
type Row = (&'static str, Option<Failure>, &'static [(Vendor, Option<Failure>)]);

const QUOTA: &str = "You exceeded your current quota, please check your plan and billing details.";

const SENTENCES: &[Row] = &[
    (QUOTA, Some(Billing), &[(Vendor::Google, Some(RateLimit))]),
    ("Quota exceeded. Check your plan and billing details.", Some(Billing), &[(Vendor::Google, Some(RateLimit))]),
    ("Quota exceeded for requests per minute.", Some(Billing), &[(Vendor::Google, Some(RateLimit))]),
    ("You exceeded your current quota, check billing. Please retry in 34.07s.", Some(RateLimit), &[]),
    ("You have exhausted your daily quota on this model.", Some(RateLimit), &[]),
    ("insufficient_quota", Some(Billing), &[]),
    ("Credit balance is too low", Some(Billing), &[]),
    ("You are out of credits", Some(Billing), &[]),
    ("402 Payment Required", Some(Billing), &[]),
    ("To use Codex with your plan, upgrade to Plus", Some(Billing), &[]),
    ("Rate limit reached for gpt: Limit 3. To raise it, visit https://x.y/account/billing", Some(RateLimit), &[]),
    ("You’ve hit your usage limit. Purchase more credits or try again at 7:45 PM.", Some(RateLimit), &[]),
    ("You've hit your session limit · resets 7:44pm (UTC)", Some(RateLimit), &[]),
    ("You've hit your weekly limit · resets Nov 18, 2:27am (UTC)", Some(RateLimit), &[]),
    ("Claude AI usage limit reached|1794772800", Some(RateLimit), &[]),
    ("exceeded retry limit, last status: 429 Too Many Requests", Some(RateLimit), &[]),
    ("API Error: Request rejected (429) · This request would exceed your account's rate limit.", Some(RateLimit), &[]),
    ("Too many tokens, please wait before trying again.", Some(RateLimit), &[]),
    ("Plan limit reached", None, &[(Vendor::OpenAi, Some(RateLimit))]),
    ("Invalid API key · Please run /login", Some(Auth), &[]),
    ("unexpected status 401 Unauthorized: see billing", Some(Auth), &[]),
    ("Request had invalid authentication credentials.", Some(Auth), &[]),
    ("Missing environment variable: `KEY`.", Some(Auth), &[]),
    ("Your input exceeds the context window of this model.", Some(Context), &[]),
    ("Prompt is too long", Some(Context), &[]),
    ("Reached maximum number of turns (2)", Some(TurnLimit), &[]),
    ("Reached max session turns for this session. Increase the number of turns.", Some(TurnLimit), &[]),
    ("The input token count (2) exceeds the maximum number of tokens allowed (1).", Some(Context), &[]),
    ("This request was flagged as potentially violating our usage policy", Some(Refusal), &[]),
    ("The model is overloaded. Please try again later.", Some(Overload), &[]),
    ("Selected model is at capacity. Please try a different model.", Some(Overload), &[]),
    ("The server had an error while processing your request. Sorry about that!", Some(Overload), &[]),
    ("API Error: 529 Overloaded", Some(Overload), &[]),
    ("An internal error has occurred.", None, &[(Vendor::Google, Some(Overload))]),
    ("The model is currently unavailable", None, &[(Vendor::Google, Some(Overload))]),
    ("Connection failed: error sending request", Some(Network), &[]),
    ("connect ECONNREFUSED 127.0.0.1:1", Some(Network), &[]),
    ("API Error: Unable to connect to API (ConnectionRefused)", Some(Network), &[]),
    ("exception TypeError: fetch failed sending request", Some(Network), &[]),
    ("The socket was closed", None, &[(Vendor::Opencode, Some(Network))]),
    ("No conversation found with session ID: 1", None, &[]),
    ("the model `x` does not exist", None, &[]),
    ("The model `x` does not exist or you do not have access to it.", Some(Model), &[]),
    (
        "There's an issue with the selected model (x). It may not exist or you may not have access to it.",
        Some(Model),
        &[],
    ),
    ("[API Error: models/x is not found for API version v1beta.]", Some(Model), &[]),
    ("the file `x` does not exist", None, &[]),
    ("", None, &[]),
];

#[test]
fn every_sentence_has_one_class_for_every_vendor() {
    for (words, class, overrides) in SENTENCES {
        for vendor in VENDORS {
            let expected = overrides.iter().find(|(only, _)| *only == vendor).map_or(*class, |(_, class)| *class);
            let found = ProviderError::of_words(vendor, words).class();
            assert_eq!(found, expected, "{vendor:?}: {words}");
        }
    }
}

#[test]
fn a_limit_of_google_is_one_whichever_agent_shows_it() {
    for vendor in VENDORS {
        let by_code = ProviderError { code: Some("RESOURCE_EXHAUSTED"), ..ProviderError::of_words(vendor, QUOTA) };
        assert_eq!(by_code.class(), Some(RateLimit), "{vendor:?}");
        let words = format!("{QUOTA} {{\"status\": \"RESOURCE_EXHAUSTED\"}}");
        assert_eq!(of_words(Vendor::Google, &words), Some(RateLimit));
        assert_eq!(ProviderError::of_words(vendor, &words).class(), Some(RateLimit), "{vendor:?}");
    }
}

#[test]
fn a_code_counts_first_a_status_next_and_words_last_but_for_what_hides_behind_a_limit() {
    let class = |code, status, words| ProviderError { vendor: Vendor::Any, code, status, words }.class();
    for (code, status, words, expected) in [
        (Some("billing_error"), Some(429), "rate limit", Some(Billing)),
        (Some("rate_limit"), Some(429), QUOTA, Some(Billing)),
        (Some("rate_limit_error"), Some(500), "no", Some(RateLimit)),
        (Some("server_error"), None, "unable to connect", Some(Network)),
        (Some("server_error"), Some(500), "unable to connect", Some(Overload)),
        (Some("odd"), Some(429), "no", Some(RateLimit)),
        (None, Some(400), "prompt is too long", Some(Context)),
        (None, Some(429), "context window", Some(Context)),
        (None, Some(403), "rate limit, billing", Some(Auth)),
        (None, Some(400), "connection refused", None),
        (None, None, "connection refused", Some(Network)),
        (None, Some(418), "no", None),
    ] {
        assert_eq!(class(code, status, words), expected, "{code:?} {status:?} {words}");
    }
    assert_eq!((of_code("odd"), of_code("CreditsError")), (None, Some(Billing)));
}

/// The last error of each agent, in the words of its own stream.
fn failed(agent: &str, words: &str) -> (String, String) {
    let out = match agent {
        "claude" | "qwen" | "grok" => json!({"type": "result", "subtype": "error", "is_error": true, "result": words}),
        "codex" => json!({"type": "turn.failed", "error": {"message": words}}),
        "gemini" => json!({"type": "result", "status": "error", "error": {"message": words}}),
        "cline" => json!({"type": "error", "errorClass": "rate_limit", "message": words}),
        "cursor" => json!({"type": "result", "subtype": "error", "is_error": true, "result": words}),
        "opencode" => json!({"type": "error", "error": {"name": "APIError", "data": {"message": words}}}),
        "copilot" => json!({"type": "session.error", "data": {"errorType": "query", "message": words}}),
        "pi" => {
            json!({"type": "message_end", "message": {"role": "assistant", "stopReason": "error", "errorMessage": words}})
        }
        "aider" => return (format!("Aider v1\n\nlitellm.RateLimitError: {words}\n"), String::new()),
        agent => {
            assert!(adapter(agent).unwrap().behind_bridge, "say here how {agent} tells an error");
            return (String::new(), words.to_owned());
        }
    };
    (format!("{out}\n"), String::new())
}

#[test]
fn the_same_quota_sentence_ends_a_run_of_every_agent_but_those_of_google() {
    for agent in loop_core::agent::ADAPTERS {
        for (words, named) in [(QUOTA.to_owned(), false), (format!("{QUOTA} Please retry in 20s."), true)] {
            let (stdout, stderr) = failed(agent.name, &words);
            let mut stream = Stream::new((agent.reader)(Begin::default()));
            stream.push(stdout.as_bytes());
            let (ended, stderr) = (&Ended::Exit(1), stderr.as_bytes());
            let end = End { ended, stderr, asked: "", now_ms: 1_794_769_200_000, utc_offset_s: 0, continued: false };
            let reading = stream.end(&end);
            let waits = named || agent.name.starts_with("gemini");
            let expected = if waits { RateLimit } else { Billing };
            assert_eq!(reading.failure, Some(expected), "{}: {words}", agent.name);
        }
    }
}
