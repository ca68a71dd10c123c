//! Walking a workspace: every name in scope is compared with what is remembered of it, and only what changed is read.
//!
//! `scanner` (the walk and its threads), `dir_scan` (one folder), `cache` and `cache_file` (what is remembered),
//! `read` (contents), `rules` and `dir_rules` (what is in scope), `hints` (a scan of some places only), `stat_pass`
//! (which places changed, by `stat` alone), `ignored` (a digest of what is not in scope), `derived` (names of what is
//! made from sources).
pub(super) mod cache;
pub(super) mod cache_file;
pub(super) mod derived;
pub(super) mod dir_rules;
pub(super) mod dir_scan;
pub(super) mod hints;
pub(super) mod ignored;
pub(super) mod read;
pub(super) mod rules;
pub(super) mod scanner;
pub(super) mod stat_pass;
