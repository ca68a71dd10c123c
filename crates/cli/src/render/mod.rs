//! How things look: the only way out to a terminal, and what goes over it.
//!
//! | file | what is there |
//! |---|---|
//! | `printer` `outbox` | the only code that prints; what waits to be printed while a run works |
//! | `live` `monitor` `now` | the lines while a run works, and after each iteration; what it is doing now |
//! | `header` `summary` `sentences` | the first and the last lines of a run; sentences that several of them use |
//! | `commit_message` | the message of `loop commit` |
//! | `import` | what `loop import` maps, leaves and writes |
//! | `hidden` | which hidden gate did not pass, for a person only |
//! | `status_box` | the status of a loop in a box |
//! | `recovery` | what is tried because a loop is stuck; what a person needs to know who is to help |
//! | `moment` | the local time, and how far away it is |
//! | `error` | an error: what, why, what to do next |
//! | `table` `wrap` `diff` `pager` | tables, long values beside a label, differences, long answers |
//! | `plan` `plan_live` `carried` | a plan: its branches while they work, the ranking, its end; a file read again |
//! | `plan_items` | the items of a list |
//! | `plan_diffs` `plan_history` | what each branch changed, for a choice; what happened in a plan |
//! | `plan_report` | a plan as a page to read |
//! | `surroundings` | what came from around a loop: inbox, variables, files that others changed |
//! | `report` `page` | the pages of `loop report`, as Markdown or HTML |
//! | `scores` | what each agent's tries came to, by class of task |
//! | `windows` | limits of providers: what is used, how fast, and what will become of it |
//! | `verified` `junit` `handed` | what `loop verify` found; of a proof that was handed over |
//!
//! Nothing here decides: it formats views of core.
pub(crate) mod carried;
pub(crate) mod commit_message;
pub(crate) mod diff;
pub(crate) mod error;
pub(crate) mod handed;
pub(crate) mod header;
pub(crate) mod hidden;
pub(crate) mod import;
pub(crate) mod junit;
pub(crate) mod live;
pub(crate) mod moment;
pub(crate) mod monitor;
pub(crate) mod now;
pub(crate) mod outbox;
pub(crate) mod page;
pub(crate) mod pager;
pub(crate) mod plan;
pub(crate) mod plan_diffs;
pub(crate) mod plan_history;
mod plan_items;
pub(crate) mod plan_live;
pub(crate) mod plan_report;
pub(crate) mod printer;
pub(crate) mod recovery;
pub(crate) mod report;
pub(crate) mod scores;
pub(crate) mod sentences;
pub(crate) mod status_box;
pub(crate) mod summary;
pub(crate) mod surroundings;
pub(crate) mod table;
pub(crate) mod verified;
pub(crate) mod windows;
pub(crate) mod wrap;
