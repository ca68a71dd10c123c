//! Limits of providers for people and programs: what is used of each window, how fast, and what will become of it.
use loop_core::agent::{WindowSource, WindowState};
use loop_core::policy::forecast::{LikelyLimit, Outlook, Pace, PaceBasis, WHOLE, WindowForecast, WindowUse};
use loop_core::time;
use serde_json::{Value, json};

use super::moment;

/// The head of the table of windows.
pub(crate) const HEAD: [&str; 6] = ["AGENT", "WINDOW", "USED", "RESETS", "PACE", "OUTLOOK"];

/// One row of the table.
pub(crate) fn cells(account: &str, window: &WindowForecast, now_ms: u64) -> Vec<String> {
    vec![
        account.to_owned(),
        window.name.clone(),
        used(window, now_ms),
        window.resets_ms.map_or_else(|| "unknown".to_owned(), |at| moment::ahead(at, now_ms)),
        window.pace.map_or_else(|| "unknown".to_owned(), pace),
        outlook(window.outlook, now_ms),
    ]
}

fn used(window: &WindowForecast, now_ms: u64) -> String {
    let reached = window.last.window.state == WindowState::Reached;
    match window.used {
        WindowUse::ResetSince { at_ms } => format!("unknown: it began again {}", moment::ago(at_ms, now_ms)),
        _ if reached => "all of it".to_owned(),
        WindowUse::Known { permille, at_ms } => {
            format!("{}, {}", percent(permille), moment::ago_of(at_ms, now_ms))
        }
        WindowUse::NeverSaid => "unknown".to_owned(),
    }
}

/// Thousandths as percent, with a digit behind the point only where it says something.
pub(crate) fn percent(permille: u32) -> String {
    match permille % 10 {
        0 => format!("{} %", permille / 10),
        rest => format!("{}.{rest} %", permille / 10),
    }
}

fn pace(pace: Pace) -> String {
    let per_hour = u32::try_from(pace.permille_per_hour()).unwrap_or(u32::MAX);
    let basis = match pace.basis {
        PaceBasis::LastHours => "",
        PaceBasis::SinceItBegan => " since it began",
        PaceBasis::Earlier => " in an earlier window",
    };
    format!("{} an hour{basis}", percent(per_hour))
}

/// What will become of it, in a few words.
pub(crate) fn outlook(outlook: Outlook, now_ms: u64) -> String {
    match outlook {
        Outlook::Reached { until_ms: Some(until) } => format!("refused until {}", moment::ahead(until, now_ms)),
        Outlook::Reached { until_ms: None } => "refused; until when is unknown".to_owned(),
        Outlook::UsedUp { at_ms, .. } => format!("used up at {}", moment::ahead(at_ms, now_ms)),
        Outlook::Lasts => "lasts".to_owned(),
        Outlook::Unknown(why) => format!("unknown: {}", why.why()),
    }
}

/// A window for programs.
pub(crate) fn as_json(account: &str, window: &WindowForecast) -> Value {
    let said = &window.last;
    let used = match window.used {
        WindowUse::Known { permille, .. } => Some(f64::from(permille) / f64::from(WHOLE)),
        WindowUse::ResetSince { .. } | WindowUse::NeverSaid => None,
    };
    json!({
        "agent": account, "window": window.name, "used_share": used,
        "state": if matches!(window.used, WindowUse::ResetSince { .. }) { "unknown" } else { said.window.state.word() },
        "resets_at": window.resets_ms.map(time::rfc3339),
        "said_at": time::rfc3339(said.at_ms), "source": said.window.source.word(),
        "pace": window.pace.map(|pace| json!({
            "share_per_hour": per_hour(pace), "basis": pace.basis.word(),
            "whole_window_ms": pace.lasts_ms(WHOLE),
        })),
        "outlook": outlook_json(window.outlook),
    })
}

fn per_hour(pace: Pace) -> f64 {
    u32::try_from(pace.permille_per_hour()).map_or(f64::MAX, |permille| f64::from(permille) / f64::from(WHOLE))
}

/// An outlook for programs.
pub(crate) fn outlook_json(outlook: Outlook) -> Value {
    match outlook {
        Outlook::Reached { until_ms } => json!({"kind": "reached", "until": until_ms.map(time::rfc3339)}),
        Outlook::UsedUp { at_ms, again_ms } => {
            json!({"kind": "used_up", "at": time::rfc3339(at_ms), "again_at": again_ms.map(time::rfc3339)})
        }
        Outlook::Lasts => json!({"kind": "lasts"}),
        Outlook::Unknown(why) => json!({"kind": "unknown", "why": why.why()}),
    }
}

/// How windows are known, for the line below a table.
pub(crate) fn sources(windows: &[(String, WindowForecast)]) -> Option<String> {
    let names = [
        (WindowSource::Event, "events in the agent's output"),
        (WindowSource::SessionFile, "the file of the agent's session"),
        (WindowSource::Error, "fields of an error"),
        (WindowSource::Text, "the words of an error"),
    ];
    let known = names.iter().filter(|(source, _)| windows.iter().any(|(_, one)| one.last.window.source == *source));
    let words: Vec<&str> = known.map(|(_, words)| *words).collect();
    (!words.is_empty()).then(|| format!("said by the provider: {}", words.join(", ")))
}

/// A limit that a loop is likely to meet, as a sentence.
pub(crate) fn likely(agent: &str, limit: &LikelyLimit, now_ms: u64) -> String {
    match limit {
        LikelyLimit::Reached { window, until_ms: Some(until) } => {
            format!("the {window} limit of {agent} is reached until {}", moment::ahead(*until, now_ms))
        }
        LikelyLimit::Reached { window, until_ms: None } => {
            format!("the {window} limit of {agent} is reached; until when is unknown")
        }
        LikelyLimit::NotEnough { window, left, typical, runs, resets_ms } => {
            let resets = resets_ms.map_or(String::new(), |at| format!("; it resets at {}", moment::ahead(at, now_ms)));
            format!(
                "this loop is likely to reach the {window} limit of {agent}: {} is left, and 3 of 4 loops use up to {} \
                 (from {runs} that finished){resets}",
                percent(*left),
                percent(*typical)
            )
        }
    }
}
