//! How things look: the only way out to a terminal, and what goes over it.
//!
//! | file | what is there |
//! |---|---|
//! | `printer` `outbox` | the only code that prints; what waits to be printed while a run works |
//! | `live` `monitor` | the lines while a run works, and after each iteration |
//! | `header` `summary` | the first and the last lines of a run |
//! | `error` | an error: what, why, what to do next |
//! | `table` `diff` `pager` | tables, differences, long answers |
//! | `verified` `junit` | what `loop verify` found |
//!
//! Nothing here decides: it formats views of core.
pub(crate) mod diff;
pub(crate) mod error;
pub(crate) mod header;
pub(crate) mod junit;
pub(crate) mod live;
pub(crate) mod monitor;
pub(crate) mod now;
pub(crate) mod outbox;
pub(crate) mod pager;
pub(crate) mod printer;
pub(crate) mod sentences;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod verified;
