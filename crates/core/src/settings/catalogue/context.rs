//! What the prompt of an iteration says about the ones before.
use super::flag;
use crate::settings::choices::{PromptForm, TextWriter};
use crate::settings::value::Kind;

topic! {
    /// What the prompt of an iteration says about the ones before.
    ContextSettings {
        /// What the sections of a prompt are: what loop measured, with one line for each iteration (facts); or a summary
        /// and what the agent wrote in the last three iterations (history).
        prompt_form: PromptForm {
            kind: PromptForm::KIND,
            default: "facts",
            flag: flag("prompt-form", "FORM"),
            may_change: true,
        }
        /// With prompt_form history: so many iterations are kept as they are. Older ones are in the summary only. Never more than 100.
        raw_window_size: Option<u32> {
            kind: Kind::CountOrUnlimited(100),
            default: "5",
            flag: flag("raw-window-size", "N"),
            may_change: true,
        }
        /// With prompt_form history: the summary is written again after so many iterations.
        summarize_every: Option<u32> {
            kind: Kind::CountOrUnlimited(1_000_000),
            default: "10",
            flag: flag("summarize-every", "N"),
            may_change: true,
        }
        /// With prompt_form history: the summary has at most about so many tokens; never more than 8000.
        max_summary_tokens: Option<u32> {
            kind: Kind::CountOrUnlimited(100_000),
            default: "2000",
            flag: flag("max-summary-tokens", "N"),
            may_change: true,
        }
        /// Who writes summaries: loop itself, by an extract (loop), or the cheapest enabled agent (agent). Where the agent
        /// gives none, the extract serves.
        text_writer: TextWriter {
            kind: TextWriter::KIND,
            default: "loop",
            flag: flag("text-writer", "WHO"),
            may_change: true,
        }
    }
}
