//! No file speaks of somebody's own machine.

use xtask::Tree;
use xtask::rules::machine_paths::check;

use crate::told;

#[test]
fn paths_that_hold_everywhere_are_fine() {
    let text = "\
see src/work/mod.rs, ./work/x, $HOME/work/x, {base}/root/x, **/work/*, https://work/ and
/workspace/x, /home/<name>/x, /home/$USER/x, /home/ and /usr/bin
";
    let tree = Tree::of(&[
        ("README.md", text),
        ("web/data.json", "\"/root/x\""),
        ("xtask/tests/it/machine_paths.rs", "/root/x"),
    ]);
    assert_eq!(told(&check(&tree)), [""; 0]);
}

#[test]
fn paths_of_one_machine_are_found() {
    for (line, path) in [
        ("cd /work/main", "/work/"),
        ("/root/.cargo/bin", "/root/"),
        ("see `/home/anna/loop`", "/home/anna"),
        ("file:///work/x", "/work/"),
        ("PATH=/usr/bin:/root/bin", "/root/"),
    ] {
        for file in ["README.md", "crates/a/src/b.rs", "Cargo.toml", "install.sh", ".ci/steps"] {
            assert_eq!(
                told(&check(&Tree::of(&[(file, &format!("\n{line}\n"))]))),
                [format!(
                    "{file}:2: `{path}` exists on one machine only; \
                     write a relative path or a placeholder"
                )]
            );
        }
    }
}
