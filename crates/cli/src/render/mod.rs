//! How things look: the only way out to a terminal, and what goes over it.
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
