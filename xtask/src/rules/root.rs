//! The root shows at a glance what there is.

use crate::{Finding, Tree};

/// Names at the root, files and folders alike.
const ROOT_NAMES_MAX: usize = 25;

/// Finds a root that has grown too long.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let names = tree.root_names().len();
    let message = format!("{names} entries at the root, at most {ROOT_NAMES_MAX}; move some into a folder");
    (names > ROOT_NAMES_MAX).then(|| Finding::new(".", 1, message)).into_iter().collect()
}
