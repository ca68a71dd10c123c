//! Scanning a workspace: every name in scope is compared with the scan cache, and only what changed is read.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `scanner` | the walk, its threads and its hints | follow links |
//! | `dir_scan` | compares the names of one folder with the cache | read contents |
//! | `cache`, `cache_file` | what the last scan found; the same on disk | have to exist: without it more is read |
//! | `read` | reads contents and turns them into ids and objects | wait for a file that changes all the time |
//! | `rules`, `dir_rules` | what is in scope; the same for one folder at a time | run git |
//! | `hints` | what a scan of only some paths must check in addition | |
//! | `stat_pass` | which paths changed, by `stat` alone | read contents |
//! | `ignored` | a digest of the files that are not in scope | store them |
//! | `small_ignored` | small ignored files, for a part of their own in a checkpoint | count them as work |
//! | `left_out` | the names that are not in scope, with their stamps | read them |
//! | `derived` | names of files that are built from sources | |
pub(super) mod cache;
pub(super) mod cache_file;
pub(super) mod derived;
pub(super) mod dir_rules;
pub(super) mod dir_scan;
pub(super) mod hints;
pub(super) mod ignored;
pub(super) mod left_out;
pub(super) mod read;
pub(super) mod rules;
pub(super) mod scanner;
pub(super) mod small_ignored;
pub(super) mod stat_pass;
